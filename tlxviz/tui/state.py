"""What somebody looks at: the launch, the stretch of time, the lanes, the cursor and what is selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tlxviz.trace.model import LaunchTrace, Trace
from tlxviz.tui.lane import Lane
from tlxviz.tui.search import Hits
from tlxviz.tui.seen import Seen
from tlxviz.tui.window import Window

_REMEMBERED = 200
"""Places to go back to."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody was."""

    launch: int
    cta: int
    window: Window
    cursor: int
    lane: str
    event: int | None


@dataclass(frozen=True, slots=True)
class Rows:
    """How the lanes of a kernel's launches stand."""

    folded: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    pinned: tuple[str, ...] = ()


@dataclass(eq=False)
class State:
    """What is on screen. Whoever changes it calls `changed`; listeners then draw anew."""

    trace: Trace
    seen: Seen
    window: Window
    cta: int = 0
    """The CTA whose lanes are open."""
    lane: int = 0
    """Position of the cursor among `visible`."""
    cursor: int = 0
    """SM cycle at which the cursor stands."""
    event: int | None = None
    """Row of the selected event."""
    span: Window | None = None
    """The selected range."""
    span_from: int | None = None
    """Where a range begins that is being selected."""
    units: str = "cycles"
    """`cycles` or `ns`."""
    folded: set[str] = field(default_factory=set[str])
    """Keys of lanes whose own lanes are hidden."""
    pinned: list[str] = field(default_factory=list[str])
    """Keys of lanes that stay on top."""
    marks_of: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """SM cycles that are marked, for each launch."""
    lit: frozenset[int] = frozenset()
    """Sites whose events are lit."""
    hits: Hits | None = None
    """What the last search has found in this launch."""
    together: tuple[int, ...] = ()
    """Events of which the last key went to one."""
    worst: int | None = None
    """The event to which the way along the longest waits has gone."""
    theme: str = "dark"
    """`dark`, `light`, or `mono` for no colour."""
    panel: str = ""
    """The panel that is open, by its title; none before one was."""
    theme_kept: str = ""
    """The theme for the next session, if it is another."""
    said: str = ""
    """The answer to the last key."""
    places: list[Place] = field(default_factory=list[Place])
    """Where to go back to, the latest last."""
    listeners: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    met: set[str] = field(default_factory=set[str])
    """Keys of lanes that have come up so far: what stays folded until somebody unfolds it is folded only once."""
    rows_of: dict[str, Rows] = field(default_factory=dict[str, Rows])
    """The lanes of other kernels."""
    _visible: tuple[object, list[Lane]] | None = None

    @staticmethod
    def of(trace: Trace, number: int = 0) -> State:
        seen = Seen(trace.launches[number], number)
        ctas = seen.lanes.ctas
        state = State(trace, seen, seen.whole, ctas[0] if ctas else 0, cursor=seen.whole.begin)
        state.window = state.cta_window()
        state.cursor = state.window.begin
        return state

    def changed(self) -> None:
        for each in self.listeners:
            each()

    @property
    def launch(self) -> LaunchTrace:
        return self.seen.launch

    @property
    def marks(self) -> list[int]:
        """The marks of the open launch: SM cycles."""
        return self.marks_of.setdefault(self.seen.number, [])

    def cta_window(self) -> Window:
        """The time of the open CTA."""
        if self.cta not in self.seen.lanes.tracks:
            return self.seen.whole
        begin, end = self.seen.lanes.life(self.cta)
        return Window(begin, max(begin + 1, end)).within(self.seen.whole)

    def visible(self) -> list[Lane]:
        """The lanes from the top: those that are pinned, then all CTAs, with their lanes where they are unfolded."""
        lanes = self.seen.lanes
        made_from = (self.seen, frozenset(self.folded), tuple(self.pinned))
        if self._visible is None or self._visible[0] != made_from:
            self._meet(lanes.heads.values())
            found: list[Lane] = []
            self._unfold(lanes.roots, found)
            pinned = [lane for key in self.pinned if (lane := lanes.find(key))]
            keys = {lane.key for lane in pinned}
            made_from = (self.seen, frozenset(self.folded), tuple(self.pinned))
            self._visible = made_from, [*pinned, *(lane for lane in found if lane.key not in keys)]
        return self._visible[1]

    def _unfold(self, lanes: Iterable[Lane], found: list[Lane]) -> None:
        self._meet(lanes)
        for lane in lanes:
            found.append(lane)
            if lane.folds and lane.key not in self.folded:
                self._unfold(lane.own, found)

    def _meet(self, lanes: Iterable[Lane]) -> None:
        """Folds the lanes that stay folded until somebody unfolds them, when they come up for the first time."""
        fresh = [lane for lane in lanes if lane.key not in self.met]
        self.folded.update(lane.key for lane in fresh if lane.shut)
        self.met.update(lane.key for lane in fresh)

    def fold(self) -> None:
        """Folds or unfolds the lane under the cursor; of one that has no lanes in it, the lane that it is in."""
        lane = self.current()
        if lane is None:
            return
        key = lane.key if lane.folds else lane.parent
        self.folded ^= {key}
        head = self.seen.lanes.heads.get(lane.cta)
        if head is not None and key == head.key and key not in self.folded:
            self.cta = lane.cta
        keys = [each.key for each in self.visible()]
        self.lane = keys.index(key) if key in keys else min(self.lane, len(keys) - 1)

    def current(self) -> Lane | None:
        """The lane in which the cursor stands."""
        lanes = self.visible()
        return lanes[min(self.lane, len(lanes) - 1)] if lanes else None

    # ---- going somewhere

    def remember(self) -> None:
        """What is on screen is a place to go back to."""
        lane = self.current()
        here = Place(
            self.seen.number, self.cta, self.window, self.cursor, lane.key if lane is not None else "", self.event
        )
        if not self.places or self.places[-1] != here:
            self.places = [*self.places[1 - _REMEMBERED :], here]

    def back(self) -> bool:
        """Goes to the last place that was remembered; False if there is none."""
        if not self.places:
            return False
        place = self.places.pop()
        if place.launch != self.seen.number:
            self.open_launch(place.launch, remember=False)
        self.cta, self.window, self.cursor, self.event = place.cta, place.window, place.cursor, place.event
        self.put_on(place.lane)
        return True

    def put_on(self, key: str) -> bool:
        """Puts the cursor on a lane; False, and no change, if it is hidden."""
        keys = [each.key for each in self.visible()]
        if key in keys:
            self.lane = keys.index(key)
        return key in keys

    def open_launch(self, number: int, *, remember: bool = True) -> None:
        if remember:
            self.remember()
        fresh = State.of(self.trace, number)
        self.turn_to(fresh.seen)
        self.cta, self.window, self.cursor = fresh.cta, fresh.window, fresh.cursor
        self.lane, self.event, self.span, self.span_from, self.lit = 0, None, None, None, frozenset()
        self.hits = None
        self.visible()
        self.unfold_cta()

    def unfold_cta(self) -> None:
        """Shows the lanes of the open CTA."""
        self.folded.difference_update(self.seen.lanes.around(self.cta))

    @property
    def rows(self) -> Rows:
        return Rows(frozenset(self.folded), frozenset(self.met), tuple(self.pinned))

    @rows.setter
    def rows(self, rows: Rows) -> None:
        self.folded, self.met, self.pinned = set(rows.folded), set(rows.met), list(rows.pinned)
        self._visible = None

    def turn_to(self, seen: Seen) -> None:
        """Looks at another launch, whose lanes stand as they did when one of its kernel was last looked at."""
        before, after = self.launch.kernel, seen.launch.kernel
        if before != after:
            self.rows_of[before] = self.rows
            self.rows = self.rows_of.pop(after, Rows())
        self.seen, self._visible, self.together, self.worst = seen, None, (), None

    def open_cta(self, cta: int, *, remember: bool = True) -> None:
        """Unfolds a CTA, with its head under the cursor and its time on screen."""
        if remember:
            self.remember()
        self.cta = cta
        self.window = self.cta_window()
        self.cursor, self.event = self.window.begin, None
        self.visible()
        self.unfold_cta()
        keys = [each.key for each in self.visible()]
        self.lane = keys.index(f"cta {cta}") if f"cta {cta}" in keys else 0

    def go_to(self, event: int, *, remember: bool = True) -> None:
        """Selects an event, with its CTA open, its lane under the cursor and its time on screen.

        Args:
            event: Its row.
            remember: Whether what is on screen now is a place to go back to.
        """
        if remember:
            self.remember()
        launch = self.launch
        cta = launch.tracks[int(launch.events["track"][event])].cta
        if cta != self.cta and self.seen.lanes.mates(cta, self.cta):
            self.cta = cta  # of the same time: what is on screen stays
        elif cta != self.cta:
            self.open_cta(cta, remember=False)
        lane = self.seen.lanes.lane_of(event)
        if lane is not None:
            self.visible()
            self.folded.discard(lane.parent)
            self.unfold_cta()
            self.put_on(lane.key)
        self.event = event
        begin, end = (int(launch.events[name][event]) for name in ("begin", "end"))
        self.cursor = begin
        if end - begin > self.window.cycles:
            length = (end - begin) * 5 // 4
            self.window = Window(begin - length // 10, begin - length // 10 + length).within(self.seen.whole)
        elif begin < self.window.begin or end > self.window.end:
            self.window = self.window.centred((begin + end) // 2, self.seen.whole)
