"""What each warp group of some CTAs does, and in which order: to say what lies between the markers of a kernel.

A replay computes no values but those that the way depends on. Its times are those of the simulator; its order is that
of any run, where a warp group's way does not depend on who comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.dispatch import Dispatcher, Outcome, Tracing
from tlxviz.sim.effects import multiplies, shares, takes_over, talks
from tlxviz.sim.engine import AgentRun, Barrier, Cta
from tlxviz.sim.errors import HangError, UnsupportedOperation
from tlxviz.sim.footprint import footprint
from tlxviz.sim.kernels import CYCLE_LIMIT, Kernels, quiet_process
from tlxviz.sim.limits import check_launch
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import place
from tlxviz.sim.reach import reach
from tlxviz.sim.record import launch_cycles, launch_flop, statistics, totals_of_sms
from tlxviz.sim.rows import COLUMNS, table_of
from tlxviz.sim.unit import Options

__all__ = ["COLUMNS", "AgentReplay", "CtaReplay", "Replayed", "Standing", "replay"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a warp group stands that does not go on."""

    kind: str
    """`wait`, `named_wait`, `cluster_wait`, `join` for the default task that waits for the others to end, or `poll`."""
    site: int
    """-1 for `join` and `poll`."""
    since: int
    """In simulated cycles."""
    outer: int
    inner: int
    slot: int
    """Slot of the mbarrier, or number of the named barrier; else -1."""
    phase: int
    """Parity waited for, or number of the named barrier's or the cluster's phase; else -1."""
    barrier: int
    """Position of the mbarrier's array in `program.barriers`; else -1."""
    home: int
    """Rank of the CTA whose mbarrier it is; else -1."""
    round: int
    """Number of the phase waited for; else -1."""


@dataclass(frozen=True, slots=True)
class AgentReplay:
    """One run of a warp group in a CTA."""

    agent: int
    """Position in `program.agents`."""
    first_thread: int
    warps: int
    marks: NDArray[np.int32]
    """Numbers of the markers in the order in which it passed them."""
    places: NDArray[np.int64]
    """For each of these, how many rows the CTA had."""
    begin: int
    end: int
    """In simulated cycles; of a run that has not ended, the last that it is known to have reached."""
    done: bool
    """Whether it has ended."""
    blocked: Standing | None
    """Where it stands if it has not."""

    @property
    def warps_of_cta(self) -> range:
        """Its warps, counted over all of the CTA."""
        first = self.first_thread // 32
        return range(first, first + self.warps)


@dataclass(frozen=True, slots=True)
class CtaReplay:
    """One CTA."""

    cta: int
    """Linear number in the grid."""
    sm: int
    rank: int
    """In its cluster."""
    begin: int
    end: int
    rows: NDArray[np.int64]
    """What it did, in the order of recording, with `COLUMNS`; a wait that never ended has no row."""
    agents: tuple[AgentReplay, ...]
    """In the order in which they began: a row's `run` is a position here."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of the launch."""

    program: Program
    ctas: tuple[CtaReplay, ...]
    """Those that were asked for and the others of their clusters, by number, so far as they have begun."""
    hang: dict[str, Any] | None
    """The hang report, as traces have it, if they can never end."""
    cycles: int
    """What the launch takes in simulated cycles, as far as the CTAs that ran can tell; until it hangs, if it does."""
    flop: int
    """Of all CTAs of the launch."""
    per_sm: int
    """CTAs that share an SM."""
    statistics: dict[str, Any]
    """Those of a simulated trace."""
    each: dict[str, float]
    """What a CTA takes of its SM on the mean, by the names that `statistics` has for an SM's totals."""


def replay(launch: CaughtLaunch, device: Device, ctas: Sequence[int], *, cycle_limit: int = CYCLE_LIMIT) -> Replayed:
    """Runs CTAs of a launch with values off, and the others of their clusters; all CTAs if they wait for each other
    through memory. A launch that hangs is no error.

    Args:
        launch: The launch; its TTGIR may have markers.
        device: The GPU.
        ctas: Linear numbers of the CTAs; those that the grid does not have are left out.
        cycle_limit: Cycles after which a warp group counts as running away.

    Raises:
        SimulationError: the kernel does what the simulator, or a GPU, refuses.
    """
    kernels = Kernels(device)
    program = kernels.program(launch)
    if takes_over(program):
        raise UnsupportedOperation(
            f"kernel {launch.kernel} cannot be replayed: its CTAs take over others (cluster launch control), and which "
            "takes which is another matter each time; simulate it instead (--device sim:b200)"
        )
    total = math.prod(launch.grid)
    per_sm = check_launch(program, launch.metadata, launch.grid, device)
    placement = place(program.cluster, launch.grid, device)
    traced = placement.with_mates(number for number in ctas if 0 <= number < total)
    outcome = Outcome([], [], footprint(launch, program))
    arguments = kernels.arguments(launch)

    def kernel() -> Any:
        return kernels.kernel(launch, Options(False, True, cycle_limit, detailed=True))

    def plain() -> Any:
        return kernels.kernel(launch, Options(False, False, cycle_limit))

    data = reach(device, outcome.footprint, total, shared=shares(program), multiplies=multiplies(program))
    dispatcher = Dispatcher(program, device, placement, per_sm, data, arguments, plain, kernel)
    numbers = list(range(total)) if traced and talks(program) else sorted(traced)
    hang: dict[str, Any] | None = None
    if numbers:
        try:
            with torch.inference_mode(), quiet_process():
                dispatcher.run(numbers, Tracing(traced), lambda done: None, outcome)
        except HangError as error:
            hang = error.report
    return Replayed(
        program,
        tuple(_cta(program, cta, outcome.now) for cta in sorted(outcome.traced, key=lambda each: each.index)),
        hang,
        launch_cycles(launch, program, device, outcome) if hang is None else int(hang["cycle"]),
        launch_flop(launch, outcome),
        per_sm,
        statistics(launch, program, device, outcome, per_sm) if outcome.sms else {},
        {name: total / max(1, outcome.done) for name, total in totals_of_sms(outcome.sms).items()},
    )


def _cta(program: Program, cta: Cta, now: int) -> CtaReplay:
    agents = tuple(_agent(program, run, now) for run in cta.agents)
    rows = table_of(cta.rows, len(program.sites), cta.rank)
    end = max([cta.end, *(agent.end for agent in agents)])
    return CtaReplay(cta.index, cta.sm.index, cta.rank, cta.begin, end, rows, agents)


def _agent(program: Program, run: AgentRun, now: int) -> AgentReplay:
    marks = np.array(run.marks, np.int64).reshape(-1, 2)
    return AgentReplay(
        run.index,
        run.first_thread,
        program.agents[run.index].warps,
        marks[:, 0].astype(np.int32),
        marks[:, 1],
        int(run.begin),
        int(run.end if run.done else max(now, run.begin)),
        run.done,
        None if run.done else _standing(run),
    )


def _standing(run: AgentRun) -> Standing | None:
    if run.blocked is None:
        return None
    kind, site, since, outer, inner, target, key = run.blocked
    if isinstance(target, Barrier):
        home = target.home.rank if target.home is not None else 0
        return Standing(
            kind, site, int(since), outer, inner, target.slot, int(key), target.array, home, target.completed
        )
    if kind in ("named_wait", "cluster_wait"):
        slot = int(key) if kind == "named_wait" else -1
        return Standing(kind, site, int(since), outer, inner, slot, target.completed, -1, -1, target.completed)
    return Standing(kind, site, int(since), outer, inner, -1, -1, -1, -1, -1)
