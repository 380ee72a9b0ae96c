"""What inline assembly can see of the machine."""

from __future__ import annotations

import torch

from tlxviz.sim.engine import AgentRun, Cta
from tlxviz.sim.errors import RunawayError, SimulationError
from tlxviz.sim.memory import load_scalar, store_scalar
from tlxviz.sim.pointers import AddressSpace
from tlxviz.sim.ptx.memory import MemoryAccess, atomic_result

_UNSIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_SPIN_LIMIT = 1_000_000


class Environment:
    """The machine behind the inline assembly of one launch; implements `ptx_memory.AsmEnvironment`."""

    def __init__(self, space: AddressSpace, sms: int, clock_mhz: float) -> None:
        self._space = space
        self._sms = sms
        self._clock_mhz = clock_mhz
        self._cta: Cta | None = None
        self._agent: AgentRun | None = None
        self._cycle = 0
        self._slept = 0
        self._spins = 0

    def begin(self, cta: Cta, agent: AgentRun, cycle: int) -> None:
        """Says for whom the next statements run, and when."""
        self._cta, self._agent, self._cycle, self._slept, self._spins = cta, agent, int(cycle), 0, 0

    def elapsed(self) -> int:
        """Cycles that the statements since `begin` took beyond their issue."""
        return self._slept

    def special(self, name: str) -> int:
        """A special register."""
        cta, agent = self._cta, self._agent
        if cta is None or agent is None:
            raise SimulationError(f"inline assembly reads {name} in a function that is not inlined")
        register, _, letter = name.lstrip("%").partition(".")
        axis = {"x": 0, "y": 1, "z": 2}.get(letter, 0)
        match register:
            case "smid":
                return cta.sm.index
            case "nsmid":
                return self._sms
            case "ctaid":
                return cta.pid[axis]
            case "nctaid":
                return cta.grid[axis]
            case "cluster_ctarank":
                return cta.rank
            case "cluster_nctarank":
                return len(cta.cluster.ctas) if cta.cluster is not None else 1
            case "tid":
                return agent.first_thread if axis == 0 else 0
            case "warpid":
                return agent.first_thread // 32
            case "laneid":
                return 0
            case "clock" | "clock64":
                return self._cycle
            case "globaltimer":
                return round(self._cycle * 1000 / self._clock_mhz)
            case _:
                raise SimulationError(f"inline assembly reads {name}, which the simulator does not have")

    def load(self, address: int, access: MemoryAccess) -> int:
        """The bits at `address`."""
        base, offset = self._space.resolve(address, _UNSIGNED[access.bytes])
        self._slept += 1
        return int(load_scalar(base, offset)) & ((1 << 8 * access.bytes) - 1)

    def store(self, address: int, value: int, access: MemoryAccess) -> None:
        """Writes the bits `value`."""
        base, offset = self._space.resolve(address, _UNSIGNED[access.bytes])
        if access.bytes > 1:
            half = 1 << (8 * access.bytes - 1)
            value = ((value + half) & (2 * half - 1)) - half
        store_scalar(base, offset, value)

    def atomic(self, op: str, address: int, value: int, access: MemoryAccess, compare: int | None) -> int:
        """An atomic; returns the bits from before."""
        old = self.load(address, access)
        self.store(address, atomic_result(op, access.type, old, value, compare), access)
        return old

    def sleep(self, nanoseconds: int) -> None:
        """`nanosleep`."""
        self._slept += round(nanoseconds * self._clock_mhz / 1000)

    def fence(self, name: str) -> None:
        """Memory is in order here already."""

    def spin(self) -> None:
        """A loop inside the assembly cannot let others run, so it must not wait for them."""
        self._spins += 1
        if self._spins > _SPIN_LIMIT:
            raise RunawayError(
                "a loop inside inline assembly does not end: what it waits for has to be in a Triton loop"
            )
