"""What all facts about a kernel's layouts are made from."""

from __future__ import annotations

from collections.abc import Mapping

from tlxviz.analysis.layouts.banks import TRANSACTION
from tlxviz.analysis.layouts.pins import Pins
from tlxviz.analysis.layouts.uses import Uses
from tlxviz.devices.model import Device
from tlxviz.ir.accesses import agent_of
from tlxviz.ir.location import Location
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Program
from tlxviz.ir.sites import kernel_line

_OLDEST = 90


class Context:
    """A program, and what is known beside it.

    Args:
        device: By whose figures transactions become cycles.
        noted: `layouts` of the launch's metadata; None where there is none.
        scratch: What the compiler sets aside for conversions: lines of the TTGIR to bytes.
    """

    def __init__(
        self, program: Program, device: Device, noted: object = None, scratch: Mapping[int, int] | None = None
    ) -> None:
        self.program = program
        self.device = device
        self.scratch = scratch or {}
        self.pins = Pins(noted)
        self.operations = list(program.module.walk())
        self.uses = Uses(program.module)
        target = str(program.module.attributes.get("ttg.target", "")).rpartition(":")[2]
        self.capability = int(target) if target.isdecimal() else _OLDEST
        """`90` for Hopper."""
        self._agents: dict[Operation, tuple[str, ...]] = {}

    @property
    def spread(self) -> bool:
        """Whether a program is spread over several CTAs, so that its layouts are of all of them together."""
        return self.program.ctas_of_program > 1

    def line(self, location: Location) -> Location:
        """The place in the kernel's own source."""
        return kernel_line(location, self.program.kernel.location)

    def agents(self, operation: Operation) -> tuple[str, ...]:
        """The warp group that runs an operation; none where it is in a function that is not inlined."""
        if operation not in self._agents:
            agent = agent_of(self.program, operation)
            self._agents[operation] = (agent.name,) if agent is not None else ()
        return self._agents[operation]

    def busy(self, transactions: int) -> float:
        """Cycles of the path to shared memory."""
        return transactions * TRANSACTION / self.device.memory.shared_bytes_per_cycle


def variable(value: Value) -> str:
    """The variable that the source assigns a value to; empty if none."""
    place: Location | None = value.location
    while place is not None:
        if place.name:
            return place.name
        place = place.caller
    return ""
