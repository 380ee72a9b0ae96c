"""What a mutant does otherwise than the kernel that it was made from, found without the checker: by running both.

A mutant changes behaviour if, under some of many schedules, it hangs, the simulator refuses what it does, or a result
differs in a bit; or if two things happen that the simulator's numbers do not show: an operand of a wgmma is overwritten
while the wgmma may be under way (the simulator takes operands when a wgmma is issued), or a copy by the asynchronous
proxy touches what a warp group has written with no fence in between. In front of products and of TMA stores the
compiler itself adds the fence that is missing, behind the TTGIR: they need none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import torch

from tlxviz.check.extents import Extent, extent_of
from tlxviz.check.schedules import Pace, Schedule, adversarial
from tlxviz.devices.model import Device
from tlxviz.ir.operation import Operation
from tlxviz.launch.model import Launch
from tlxviz.sim.engine import AgentRun, Barrier
from tlxviz.sim.errors import HangError, SimulationError
from tlxviz.sim.kernels import Kernels, written_tensors
from tlxviz.sim.observer import At, View
from tlxviz.sim.runtime.remote import remote_view
from tlxviz.sim.shared import SharedView
from tlxviz.sim.watched import run_paced, watch

SCHEDULES = 24
SEED = 4711
"""Another than the checker's: what it finds is not what it was told."""


@dataclass(frozen=True)
class Behaviour:
    """What a kernel comes to."""

    ended: str
    """Why a run ended early; empty if none did."""
    results: frozenset[bytes]
    """Contents of the outputs, of each schedule."""
    orders: frozenset[Hashable]
    """Operands that were overwritten too early, and what no fence came before."""

    def change(self, original: Behaviour) -> str:
        """What it does otherwise, in a word; empty if nothing."""
        if self.ended:
            return self.ended
        if self.results - original.results:
            return "other results"
        new = self.orders - original.orders
        return sorted(str(kind) for kind, *_ in new)[0] if new else ""


@dataclass
class Laboratory:
    """Runs one kernel and its mutants."""

    launch: Launch
    device: Device
    schedules: int = SCHEDULES
    kernels: Kernels = field(init=False)

    def __post_init__(self) -> None:
        self.kernels = Kernels(self.device)
        self.before = [tensor.clone() for tensor in self._outputs(self.launch)]

    def _outputs(self, launch: Launch) -> Sequence[torch.Tensor]:
        outputs = written_tensors(launch, self.kernels.program(launch))
        assert outputs is not None
        return outputs

    def behaviour(self, ttgir: str, original: Behaviour | None = None) -> Behaviour:
        """Of a text in the place of the kernel's. Runs no more than it takes to differ from `original`.

        Raises:
            TlxvizError: it is no kernel.
        """
        launch = replace(self.launch, ttgir=ttgir)
        program = self.kernels.program(launch)
        results: set[bytes] = set()
        orders: set[Hashable] = set()
        for schedule in islice(adversarial(program, SEED), self.schedules):
            witness = Witness(schedule)
            try:
                watch(launch, self.device, self.kernels, witness)
                results.add(self._result(launch, schedule))
            except HangError:
                return Behaviour("hang", frozenset(), frozenset())
            except SimulationError as error:
                return Behaviour(type(error).__name__, frozenset(), frozenset())
            finally:
                self.kernels.bind(())
            orders |= witness.seen
            if original is not None and (results - original.results or orders - original.orders):
                break
        return Behaviour("", frozenset(results), frozenset(orders))

    def _result(self, launch: Launch, schedule: Schedule) -> bytes:
        outputs = self._outputs(self.launch)
        try:
            run_paced(launch, self.device, self.kernels, Pace(schedule))
            return b"".join(tensor.contiguous().view(torch.uint8).numpy().tobytes() for tensor in outputs)
        finally:
            for tensor, old in zip(outputs, self.before, strict=True):
                tensor.copy_(old)


@dataclass
class _Written:
    who: AgentRun
    op: Operation
    at: int


class Witness:
    """An observer that follows what the numbers of a simulation do not show."""

    def __init__(self, schedule: Schedule) -> None:
        pace = Pace(schedule)
        self.hold = pace.hold
        self.lag = pace.lag
        self.seen: set[Hashable] = set()
        self._events = 0
        self._fences: dict[AgentRun, int] = {}
        self._written: dict[tuple[int, int, Extent], _Written] = {}
        self._reading: list[tuple[int, int, Extent, int, Operation]] = []
        """Operands of wgmmas: CTA, buffer, part of it, the cycle at which the wgmma is done, and the operation."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None

    def fenced(self, me: AgentRun) -> None:
        self._events += 1
        self._fences[me] = self._events

    def wrote(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        if not isinstance(view, SharedView) or view.buffer < 0:
            return
        self._events += 1
        self._overwrite(me, op, at, view)
        self._written[self._place(me, view)] = _Written(me, op, self._events)

    def loads(self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier, mask: int = -1) -> None:
        views = [view]
        if mask >= 0:
            views = [remote_view(me.cta, view, rank) for rank in range(len(me.cta.cluster.ctas)) if mask >> rank & 1]
        for each in views:
            self._unfenced(me, op, each)
            self._overwrite(me, op, at, each)
            cta, buffer, extent = self._place(me, each)
            for key in [key for key in self._written if key[:2] == (cta, buffer) and key[2].overlaps(extent)]:
                del self._written[key]

    def multiplies(self, me: AgentRun, op: Operation, at: At, operands: Sequence[View]) -> None:
        done = me.mmas[-1][0]
        self._reading = [each for each in self._reading if each[3] > at[0]]
        self._reading += [(*self._place(me, view), done, op) for view in operands]

    def stores(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        if op.name == "ttng.async_store":
            self._unfenced(me, op, view)

    @staticmethod
    def _place(me: AgentRun, view: View) -> tuple[int, int, Extent]:
        home = view.home if view.home is not None else me.cta
        return home.index, view.buffer, extent_of(view)

    def _overwrite(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        cta, buffer, extent = self._place(me, view)
        for home, other, part, done, product in self._reading:
            if (home, other) == (cta, buffer) and done > at[0] and part.overlaps(extent):
                self.seen.add(("operand overwritten", *_lines(product, op)))

    def _unfenced(self, me: AgentRun, op: Operation, view: View) -> None:
        cta, buffer, extent = self._place(me, view)
        for (home, other, part), written in self._written.items():
            fenced = max(self._fences.get(who, 0) for who in (written.who, me))
            if (home, other) == (cta, buffer) and fenced < written.at and part.overlaps(extent):
                self.seen.add(("no fence", *_lines(written.op, op)))


def _lines(*operations: Operation) -> tuple[Any, ...]:
    """Of operations: what stays the same when lines of the TTGIR move."""
    return tuple((op.name, str(op.location)) for op in operations)
