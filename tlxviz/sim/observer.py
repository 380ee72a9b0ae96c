"""What the simulator tells of a run to somebody who watches how its agents are ordered: a checker of races.

Generated code of kernels that are compiled with `Options.watched` calls it, at the operations that order agents and at
those that touch shared or tensor memory, in the order of simulated time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tlxviz.ir.operation import Operation
from tlxviz.sim.descriptors import TileDescriptor
from tlxviz.sim.engine import AgentRun, Barrier, NamedBarrier
from tlxviz.sim.shared import SharedView
from tlxviz.sim.tensor_memory import TensorMemoryView

At = tuple[int, int, int]
"""The cycle, and the iterations of the outermost and the innermost loop; -1 outside of loops."""
View = SharedView | TensorMemoryView
ENGINES = ("loads", "stores", "copies", "wgmma", "tcgen05", "remote", "answers")
"""What does work for warp groups at its own pace: TMA loads and stores, `cp.async`, both kinds of tensor cores, what
goes to other CTAs of the cluster, and the block scheduler's answers."""
Sent = Any
"""What an observer wants to be told of again when something that was sent arrives."""


class Pacing(Protocol):
    """Who holds up agents in a run."""

    def hold(self, me: AgentRun) -> int:
        """Cycles by which `me` is held up before an operation that others can see."""
        ...

    def lag(self, me: AgentRun, engine: str) -> int:
        """Cycles by which one of `ENGINES` is late with what `me` hands it."""
        ...


class NanWatch(Pacing, Protocol):
    """Who looks for the first element that is no number."""

    def nan(self, me: AgentRun, op: Operation, at: At) -> None:
        """A result of an operation has one."""
        ...


class Observer(Pacing, Protocol):
    """Who watches a run. `me` is the warp group that executes `op`."""

    # agents

    def spawned(self, me: AgentRun, child: AgentRun) -> None:
        """The default task starts another warp group."""
        ...

    def joined(self, me: AgentRun) -> None:
        """The default task has waited for the others."""
        ...

    def ended(self, me: AgentRun) -> None: ...

    # mbarriers

    def initialised(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None:
        """It is about to be: it still is what it was in its last life."""
        ...

    def invalidated(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None: ...

    def arrived(self, me: AgentRun, op: Operation, at: At, barrier: Barrier) -> None:
        """An arrival, or an expectation of bytes, on a barrier of its own CTA has just been counted."""
        ...

    def sent(self, me: AgentRun, op: Operation, at: At, barriers: Sequence[Barrier]) -> Sent:
        """An arrival on barriers is under way: of another CTA, or when what `me` has started until now is complete."""
        ...

    def landed(self, cycle: int, sent: Sent) -> None:
        """It has just been counted."""
        ...

    def waited(self, me: AgentRun, op: Operation, at: At, barrier: Barrier, parity: int) -> None:
        """A wait for a phase of that parity goes on."""
        ...

    # other barriers

    def meets(self, me: AgentRun, op: Operation, at: At, barrier: NamedBarrier) -> None:
        """Threads are about to arrive at a named barrier."""
        ...

    def met(self, me: AgentRun, op: Operation, at: At, barrier: NamedBarrier) -> None:
        """A wait at a named barrier goes on."""
        ...

    def cluster_arrived(self, me: AgentRun) -> None:
        """An arrival at the cluster's barrier has just been counted."""
        ...

    def cluster_waited(self, me: AgentRun) -> None: ...

    # memory

    def read(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        """The warp group reads memory itself."""
        ...

    def wrote(self, me: AgentRun, op: Operation, at: At, view: View) -> None: ...

    def loads(self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier, mask: int = -1) -> None:
        """The TMA engine is to write `view`, and then tells the barrier of its bytes; in the CTAs of these ranks of the
        cluster, where a mask is given."""
        ...

    def answers(self, me: AgentRun, op: Operation, at: At, view: View, barrier: Barrier) -> None:
        """The same by the block scheduler, in all CTAs of the cluster."""
        ...

    def stores(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        """The TMA engine is to read `view`."""
        ...

    def stored(self, me: AgentRun, pending: int) -> None:
        """All but the last `pending` of the warp group's TMA stores have read their source."""
        ...

    def copies(self, me: AgentRun, op: Operation, at: At, view: View) -> None:
        """An asynchronous copy of the warp group is to write `view`, as part of the group that is open."""
        ...

    def committed(self, me: AgentRun) -> None:
        """The group of asynchronous copies that was open is complete when its copies are."""
        ...

    def copied(self, me: AgentRun, pending: int) -> None:
        """All but the last `pending` groups of copies have arrived."""
        ...

    def multiplies(self, me: AgentRun, op: Operation, at: At, operands: Sequence[View]) -> None:
        """A wgmma is to read its operands."""
        ...

    def multiplied(self, me: AgentRun, pending: int) -> None:
        """All but the last `pending` wgmmas are complete."""
        ...

    def tensor_work(
        self, me: AgentRun, op: Operation, at: At, reads: Sequence[View], writes: View, paired: bool
    ) -> None:
        """A tcgen05 product or copy is to read and write memory, in both CTAs of a pair if it is of two."""
        ...

    def tensor_work_done(self, me: AgentRun) -> None:
        """All tcgen05 products of the warp group until now are complete."""
        ...

    def sends(
        self, me: AgentRun, op: Operation, at: At, source: View | None, there: View, barrier: Barrier | None
    ) -> None:
        """A store, or a copy out of `source`, into another CTA is to write `there`, and then tells a barrier there."""
        ...

    # order of memory

    def fenced(self, me: AgentRun) -> None:
        """What the warp group knows to be written is now to be seen by the asynchronous proxy too."""
        ...

    def describes(self, me: AgentRun, op: Operation, at: At, place: tuple[int, int], memory: object) -> None:
        """A descriptor is written at a place in memory, which stays what it is as long as somebody keeps `memory`."""
        ...

    def uses(
        self,
        me: AgentRun,
        op: Operation,
        at: At,
        descriptor: TileDescriptor,
        corner: Sequence[int],
        told: Barrier | None,
    ) -> None:
        """A copy that has just been started uses a descriptor, for a tile that begins there; at none that is known for
        a gather. It tells a barrier when it is over, or is a store."""
        ...
