"""Two launches looked at together: the same roles in the same rows, one window over both, aligned at an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tlxviz.analysis.difference_places import align_groups
from tlxviz.analysis.groups import warp_groups
from tlxviz.analysis.iterations import Iterations, loop_iterations
from tlxviz.analysis.steady import SteadyState, steady_states
from tlxviz.trace.model import Trace, TrackKind
from tlxviz.tui.lane import Lane
from tlxviz.tui.linked_loops import iteration_at, same_iteration
from tlxviz.tui.linked_rows import MISSING, SideState, arrange
from tlxviz.tui.looks import Look
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

A, B = 0, 1
NAMES = ("A", "B")


@dataclass(frozen=True, slots=True)
class Alignment:
    """Cycles of the two launches that stand above each other."""

    cycles: tuple[int, int]
    said: str
    """What stands there, for people."""


@dataclass(eq=False)
class Link:
    """Keeps two states together. Whichever was changed leads, and the other follows.

    Args:
        a, b: Traces with at least one launch each.
        numbers: Which launch of each.
    """

    a: Trace
    b: Trace
    numbers: tuple[int, int] = (0, 0)
    lead: int = A
    """The side that was changed last."""
    listeners: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def __post_init__(self) -> None:
        self.sides = _side(self.a, self.numbers[0]), _side(self.b, self.numbers[1])
        self._rows: tuple[object, tuple[list[Lane], list[Lane]]] | None = None
        self._iterations: dict[tuple[int, int], Iterations] = {}
        self._steady: dict[tuple[int, int], dict[str, SteadyState | None]] = {}
        self._wholes = tuple(each.seen.whole for each in self.sides)
        groups = [warp_groups(each.launch) for each in self.sides]
        self.names = {
            groups[B][other].agent.name: groups[A][one].agent.name
            for one, other in align_groups(groups[A], groups[B])
            if one is not None and other is not None
        }
        """Names in A of the warp groups of B that correspond."""
        self.alignment = Alignment((self._wholes[A].begin, self._wholes[B].begin), "the first cycle")
        self._ctas = self._opened()
        for number, each in enumerate(self.sides):
            each.arranged = self._arranged
            each.folds = self._fold
            each.listeners.append(lambda number=number: self.follow(number))
        self.align_steady()
        self.whole()

    # ---- rows

    def _arranged(self, side: SideState) -> list[Lane]:
        key = tuple((each.cta, id(each.seen), frozenset(each.folded), tuple(each.pinned)) for each in self.sides)
        if self._rows is None or self._rows[0] != key:
            self._rows = key, arrange(self.sides, self.names)
        return self._rows[1][0 if side is self.sides[A] else 1]

    def pin(self) -> None:
        """Keeps the row under the cursor on top in both, or no longer."""
        at = self.sides[self.lead].lane
        rows = [side.visible()[at].key for side in self.sides if at < len(side.visible())]
        if len(rows) < 2:
            return
        pinned = any(key in side.pinned for key, side in zip(rows, self.sides, strict=True))
        for key, side in zip(rows, self.sides, strict=True):
            side.pinned = [each for each in side.pinned if each != key] if pinned else [*side.pinned, key]
        self.sides[self.lead].put_on(rows[self.lead])
        self.follow(self.lead)

    def _fold(self, side: SideState) -> None:
        self.lead = self.sides.index(side)
        self.fold()

    def fold(self) -> None:
        """Folds or unfolds the row under the cursor, or else the one that it is in, in both. A CTA that is unfolded is
        the one that is compared from then on."""
        lead = side = self.lead
        lane = self.sides[side].current()
        if lane is not None and lane.key.startswith(MISSING):  # it is the other's row
            side = 1 - side
            lane = self.sides[side].current()
        if lane is None:
            return
        state, other = self.sides[side], self.sides[1 - side]
        key = lane.key if lane.folds else lane.parent
        at = next((number for number, each in enumerate(state.visible()) if each.key == key), None)
        if at is None:
            return
        folds = key not in state.folded
        if not folds and lane.cta != state.cta:
            state.open_cta(lane.cta)
            self.follow(side)
            self.lead = lead
            self.whole()
            return
        for each, row in ((state, key), (other, other.visible()[at].key)):
            each.folded = each.folded | {row} if folds else each.folded - {row}
        for each in self.sides:
            each.lane = min(at, len(each.visible()) - 1)
        self.follow(self.lead)

    # ---- one window over both

    def follow(self, lead: int) -> None:
        """The state of a side has changed: the other shows the same time and row."""
        self.lead = lead
        if self._ctas != self._opened():  # somebody went to another CTA, with other iterations
            self._ctas = self._opened()
            self.align_steady()
            return
        one, other = self.sides[lead], self.sides[1 - lead]
        by = self.alignment.cycles[1 - lead] - self.alignment.cycles[lead]
        other.window = Window(one.window.begin + by, one.window.end + by)
        other.cursor = one.cursor + by
        other.lane = one.lane
        other.units = one.units
        other.span_from = one.span_from + by if one.span_from is not None else None
        other.span = Window(one.span.begin + by, one.span.end + by) if one.span is not None else None
        for each in self.listeners:
            each()

    def _opened(self) -> tuple[int, ...]:
        return tuple(each.cta for each in self.sides)

    def align(self, cycles: tuple[int, int], said: str) -> None:
        """Puts a cycle of A above one of B. What leads stays where it is."""
        self.alignment = Alignment(cycles, said)
        by = cycles[B] - cycles[A]
        a, b = self._wholes
        begin, end = min(a.begin, b.begin - by), max(a.end, b.end - by)
        self.sides[A].seen.whole = Window(begin, end)
        self.sides[B].seen.whole = Window(begin + by, end + by)
        self.follow(self.lead)

    def whole(self) -> None:
        """The time of both CTAs."""
        by = self.alignment.cycles[B] - self.alignment.cycles[A]
        lives = [each.cta_window() for each in self.sides]
        begin = min(lives[A].begin, lives[B].begin - by)
        end = max(lives[A].end, lives[B].end - by)
        shift = by if self.lead == B else 0
        self.sides[self.lead].window = Window(begin + shift, max(begin + 1, end) + shift)
        self.follow(self.lead)

    def restored(self, lead: int) -> None:
        """Both sides have been put as they were, with the alignment that they had."""
        self._ctas = self._opened()
        self.follow(lead)

    # ---- iterations

    def track(self, side: int) -> int | None:
        """The warp group whose iterations are meant: that of the row, or that of the main loop; None where there is
        none."""
        lane = self.sides[side].current()
        if lane is not None and self._is_group(side):
            return lane.track
        if lane is not None:
            other = self.sides[1 - side].current()
            if other is not None and other.track >= 0:
                matched = self._counterpart(side, self.sides[1 - side].launch.tracks[other.track].name)
                if matched is not None:
                    return matched
        return self._main(side)

    def _is_group(self, side: int) -> bool:
        """Whether the row is a warp group's."""
        lane = self.sides[side].current()
        tracks = self.sides[side].launch.tracks
        return lane is not None and lane.track >= 0 and tracks[lane.track].kind is TrackKind.WARP_GROUP

    def _counterpart(self, side: int, name: str) -> int | None:
        names = self.names if side == A else {one: other for other, one in self.names.items()}
        wanted = names.get(name)
        state = self.sides[side]
        return next(
            (
                number
                for number, track in enumerate(state.launch.tracks)
                if track.kind is TrackKind.WARP_GROUP and track.cta == state.cta and track.name == wanted
            ),
            None,
        )

    def _main(self, side: int) -> int | None:
        """The warp group of the open CTA with most iterations of those that issue products, or else of all."""
        state = self.sides[side]
        launch = state.launch
        multiplying = {site.agent for site in launch.sites if site.kind == "mma"}
        found = [
            (track.agent in multiplying, len(self.iterations(side, number)), -number)
            for number, track in enumerate(launch.tracks)
            if track.kind is TrackKind.WARP_GROUP and track.cta == state.cta
        ]
        return -max(found)[2] if found and max(found)[1] else None

    def iterations(self, side: int, track: int) -> Iterations:
        key = side, track
        if key not in self._iterations:
            seen = self.sides[side].seen
            self._iterations[key] = loop_iterations(seen.launch, seen.account.occupied, track)
        return self._iterations[key]

    def steady(self, side: int, track: int | None) -> SteadyState | None:
        """The steady state of a warp group; None where it has none."""
        if track is None:
            return None
        seen = self.sides[side].seen
        cta = seen.launch.tracks[track].cta
        if (side, cta) not in self._steady:
            self._steady[side, cta] = steady_states(seen.launch, seen.account.occupied, cta=cta, worst=0)
        return self._steady[side, cta].get(seen.launch.tracks[track].name)

    def align_steady(self) -> None:
        """Aligns both at the begin of the steady state of a role that has one in both, or of the main loops."""
        pairs = [(self._counterpart(A, name), self._counterpart(B, self.names[name])) for name in self.names]
        pairs.sort(key=lambda pair: pair[0] != self._main(A))
        pairs.append((self._main(A), self._main(B)))
        for one, other in pairs:
            a, b = self.steady(A, one), self.steady(B, other)
            if a is not None and b is not None:
                role = a.agent if a.agent == b.agent else f"{a.agent}/{b.agent}"
                self.align((a.begin, b.begin), f"steady state of {role}")
                return
        lives = [each.cta_window() for each in self.sides]
        self.align((lives[A].begin, lives[B].begin), "begin of the CTA")

    def align_here(self) -> str | None:
        """Aligns both at the iteration under the cursor. Returns why it cannot, or what is not as wished."""
        lead, other = self.lead, 1 - self.lead
        tracks = {side: self.track(side) for side in (lead, other)}
        loops: dict[int, Iterations] = {}
        for side, track in tracks.items():
            loop = self.iterations(side, track) if track is not None else None
            if loop is None or not len(loop):
                return f"{NAMES[side]} has no loop in this CTA to align at"
            loops[side] = loop
        here = iteration_at(loops[lead], self.sides[lead].cursor)
        there = same_iteration(loops[other], here)
        names = [
            self.sides[side].launch.tracks[track].name for side, track in sorted(tracks.items()) if track is not None
        ]
        role = names[0] if names[0] == names[1] else "/".join(names)
        numbers = [here, there] if lead == A else [there, here]
        said = [f"{each.run}:{each.number}" if here.run or there.run else f"{each.number}" for each in numbers]
        self.sides[lead].cursor = here.begin
        self.align(
            (numbers[A].begin, numbers[B].begin),
            f"iteration {said[0] if said[0] == said[1] else '/'.join(said)} of {role}",
        )
        if (here.run, here.number) != (there.run, there.number):
            return f"{NAMES[other]} has no iteration {said[lead]}: its last, {said[other]}, is taken"
        return None

    # ---- figures

    def waiting(self, side: int) -> float | None:
        """Share of the time on screen that a warp group waits: that of the row, and where the row is the other launch's
        alone, that of the main loop. None where the row is no warp group's."""
        if not any(self._is_group(each) for each in (A, B)):
            return None
        state, track = self.sides[side], self.track(side)
        lane = next((each for each in state.own() if each.track == track), None)
        if lane is None:
            return None
        begin, end = max(state.window.begin, lane.slices.life[0]), min(state.window.end, lane.slices.life[1])
        if end <= begin:
            return None
        edges = np.array([begin, end], np.int64)
        return int(lane.slices.coverage(edges)[Look.WAIT, 0]) / (end - begin)


def _side(trace: Trace, number: int) -> SideState:
    made = State.of(trace, number)
    return SideState(made.trace, made.seen, made.window, made.cta, cursor=made.cursor)
