"""A lane as a line of cells: what prevails in each column and how much of it, as glyphs with names written on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import answer_text, meaning
from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.slices import Counter, Int64, Slices
from tlxviz.tui.window import Window

_RANK = np.array([{Look.WAIT: -1, Look.AWAY: len(Look)}.get(look, int(look)) for look in Look])
"""Of two that take as long, the first is shown: waiting is what the timeline is there to show."""
_HEIGHTS = np.array(list("▁▂▃▄▅▆▇█"))
_GLYPHS = np.array([APPEARANCES[look].glyph for look in Look])
_WORK = (Look.LOAD, Look.STORE, Look.MMA, Look.NAMED)
"""Of an engine: shown wherever there is some, since what it competes with is nothing."""
_IS_WORK = np.array([look in _WORK for look in Look])
_WORDS = tuple(APPEARANCES[look].word.split()[0] for look in Look)
# members of an enum take Python 3.11 a microsecond each, of which a picture has ten thousand
_AWAY, _BUSY, _WAIT, _LOAD, _ALIVE = (int(look) for look in (Look.AWAY, Look.BUSY, Look.WAIT, Look.LOAD, Look.ALIVE))
_READ = 4096
"""Slices on screen up to which a lane is searched for those that have room for a name, or take no time."""
FEWEST_FOR_LABEL = 4
"""Columns that a slice has at least, if something is to be written on it."""
_MOST = 0.9
_LEAST = 0.6
"""Of a column's time: what prevails with less is drawn dim, with more than `_MOST` bold."""
MOMENT = "│"
"""A slice that takes no time."""
MOMENTS = "┃"
"""Several."""
BOUNDARY = "▏"
"""Between two slices that look the same."""


class Paint(IntFlag):
    """How a cell is coloured: the `Look` in the lowest bits, and these."""

    DIM = 1 << 5
    BOLD = 1 << 6
    LABEL = 1 << 7
    """Something is written on it."""
    SELECTED = 1 << 8
    LIT = 1 << 9
    SPAN = 1 << 10
    """In the selected range."""
    CURSOR = 1 << 11
    CAUSE = 1 << 12
    """Part of the arrow from what released the selected event."""
    EFFECT = 1 << 13
    """Part of an arrow to what it releases."""
    DATA = 1 << 14
    """Part of an arrow along which data go."""


_DIM, _BOLD, _LABEL, _LIT = (int(flag) for flag in (Paint.DIM, Paint.BOLD, Paint.LABEL, Paint.LIT))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    look: NDArray[np.int8]
    """The `Look` that prevails in each column. On an engine's lane, work prevails over none, however short."""
    share: NDArray[np.float64]
    """Of the column's time that it takes; of a counter, its mean there as a share of the most there ever is."""
    begun: Int64
    """How many slices begin in the column."""

    @property
    def dense(self) -> NDArray[np.bool_]:
        """Whether the column stands for several slices."""
        return self.begun > 1


def cells(slices: Slices, window: Window, columns: int) -> Cells:
    """What prevails in each column. A slice that takes less than a column counts as much as it takes."""
    edges = window.edges(columns)
    widths = np.diff(edges)
    begun = np.diff(np.searchsorted(slices.begin, edges)) if len(slices) else np.zeros(columns, np.int64)
    if isinstance(slices, Counter):
        means = slices.means(edges) / max(1, slices.most)
        look, share = np.where(means > 0, _LOAD, _AWAY).astype(np.int8), means
    else:
        looks, found = slices.portions(edges)
        if len(looks) > 1:
            order = np.argsort(_RANK[looks])
            looks, found = looks[order], found[order]
        widths = widths * max(1, slices.lanes)
        away = np.maximum(widths - found.sum(axis=0), 0)
        found = np.vstack((found, away))
        ranked, work = found, np.flatnonzero(_IS_WORK[looks])
        if len(work):
            # an engine's work prevails over nothing, however short it is
            ranked = found.copy()
            weaker = [place for place, look in enumerate(looks.tolist()) if look == _ALIVE]
            ranked[[*weaker, -1]] *= ~found[work].any(axis=0)
        best = np.argmax(ranked, axis=0)
        look = np.append(looks, np.int8(_AWAY))[best]
        share = found[best, np.arange(columns)] / np.maximum(widths, 1)
    empty = widths == 0
    if empty.any():  # fewer cycles than columns: an empty one shows the cycle of the next
        at = np.where(empty, columns - 1, np.arange(columns))
        at = np.minimum.accumulate(at[::-1])[::-1]
        look, share = look[at], share[at]
    return Cells(look, share, begun)


@dataclass(frozen=True, slots=True)
class Shown:
    """A slice in the columns that it takes."""

    place: int
    """In the lane."""
    first: int
    """Column."""
    last: int
    """The column behind it; at least `first` + 1."""


def shown(slices: Slices, window: Window, columns: int, fewest: int) -> list[Shown]:
    """The slices on screen that are at least `fewest` columns wide."""
    part = slices.within(window.begin, window.end)
    begin = np.maximum(slices.begin[part], window.begin)
    end = np.minimum(slices.end[part], window.end)
    some = np.flatnonzero((end - begin) * columns >= (fewest - 1) * window.cycles)
    first, last = columns_taken(begin[some], end[some], window, columns)
    wide = np.flatnonzero(last - first >= fewest)
    taken = zip((some[wide] + part.start).tolist(), first[wide].tolist(), last[wide].tolist(), strict=True)
    return [Shown(*each) for each in taken]


def columns_taken(begin: Int64, end: Int64, window: Window, columns: int) -> tuple[Int64, Int64]:
    """The first column of each stretch of time, and the one behind its last; at least one column, and none outside."""
    first = window.columns_of(begin, columns)
    last = window.columns_of(end, columns) if window.cycles <= columns else window.columns_of(end - 1, columns) + 1
    first = np.minimum(np.maximum(first, 0), columns - 1)
    return first, np.minimum(np.maximum(last, first + 1), columns)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A line of cells."""

    glyphs: NDArray[np.str_]
    paint: Int64
    """A `Look` and flags of `Paint` for each."""


def nothing(columns: int) -> Row:
    """A line of blanks."""
    return Row(np.full(columns, _GLYPHS[Look.AWAY]), np.full(columns, int(Look.AWAY), np.int64))


class Drawing:
    """Draws lanes of one launch."""

    def __init__(self, launch: LaunchTrace) -> None:
        self._launch = launch
        self._names: dict[tuple[TrackKind, int, int], tuple[str, ...]] = {}

    def row(self, lane: Lane, window: Window, columns: int, lit: frozenset[int]) -> Row:
        """The cells of a lane, and the names of slices that have room for them."""
        slices = lane.slices
        made = cells(slices, window, columns)
        glyphs, paint = _GLYPHS[made.look], made.look.astype(np.int64)
        work = _IS_WORK[made.look]
        if isinstance(slices, Counter):
            level = np.flatnonzero(made.look != _AWAY)
        else:
            level = np.flatnonzero(
                (made.share < 1) & (work & (made.dense | (made.share < 0.5)) | (made.look == _BUSY) & made.dense)
            )
        eighths = np.ceil(made.share[level] * 8).astype(np.int64)
        glyphs[level] = _HEIGHTS[np.minimum(np.maximum(eighths - 1, 0), 7)]
        # what takes no time, and stands for several, is seen where there is nothing else
        alone = np.flatnonzero((made.look == _AWAY) & (made.begun > 0))
        if len(alone):
            places = np.searchsorted(slices.begin, window.edges(columns)[alone])
            glyphs[alone], paint[alone] = np.where(made.begun[alone] > 1, MOMENTS, MOMENT), slices.look[places]
        shaded = made.dense & ~work & (made.look != _AWAY)
        paint[shaded & (made.share < _LEAST)] |= _DIM
        paint[(made.look == _WAIT) & (made.share >= _MOST)] |= _BOLD
        if not isinstance(slices, Counter):
            part = slices.within(window.begin, window.end)
            if 0 < part.stop - part.start <= _READ and len(self._launch.events):
                self._moments(slices, window, columns, made, (glyphs, paint))
                self._labels(slices, window, columns, (glyphs, paint))
            if lit:
                paint[self._lit(slices, window, columns, lit)] |= _LIT
        return Row(glyphs, paint)

    def _moments(
        self, slices: Slices, window: Window, columns: int, made: Cells, row: tuple[NDArray[np.str_], Int64]
    ) -> None:
        """Marks what takes no time, where columns do not stand for several slices."""
        part = slices.within(window.begin, window.end)
        places = np.flatnonzero(slices.end[part] == slices.begin[part]) + part.start
        if not len(places):
            return
        event = slices.event[places]
        begin, end = (self._launch.events[name] for name in ("begin", "end"))
        # what overlapping work has no room for takes time all the same
        places = places[(event < 0) | (begin[event] == end[event])]
        at = np.minimum(np.maximum(window.columns_of(slices.begin[places], columns), 0), columns - 1)
        free = ~made.dense[at] | (made.look[at] == _AWAY)
        glyphs, paint = row
        glyphs[at[free]], paint[at[free]] = MOMENT, slices.look[places[free]] | _BOLD

    def _labels(self, slices: Slices, window: Window, columns: int, row: tuple[NDArray[np.str_], Int64]) -> None:
        glyphs, paint = row
        found = shown(slices, window, columns, FEWEST_FOR_LABEL)
        if not found:
            return
        places = np.array([each.place for each in found])
        before = np.maximum(places - 1, 0)
        goes_on = (places > 0) & (slices.look[before] == slices.look[places])
        goes_on &= (slices.end[before] == slices.begin[places]) & (slices.begin[places] >= window.begin)
        events: list[int] = slices.event[places].tolist()
        looks: list[int] = slices.look[places].tolist()
        for each, meets, event, look in zip(found, goes_on.tolist(), events, looks, strict=True):
            first = each.first
            if meets:
                glyphs[first], paint[first] = BOUNDARY, look | _LABEL
                first += 1
            for name in self.names(event) if event >= 0 else (_WORDS[look],):
                if len(name) < each.last - first:
                    glyphs[first : first + len(name)] = list(name)
                    paint[first : first + len(name)] = look | _LABEL
                    break

    def names(self, event: int) -> tuple[str, ...]:
        """What a slice may be called, from the longest to the shortest: `wait a_full[2]`, `a_full[2]`."""
        events = self._launch.events
        kind = self._launch.tracks[int(events["track"][event])].kind
        key = kind, int(events["site"][event]), int(events["slot"][event])
        if key not in self._names:
            self._names[key] = self._worked_out(*key)
        return self._names[key]

    def _worked_out(self, kind: TrackKind, number: int, slot: int) -> tuple[str, ...]:
        if not 0 <= number < len(self._launch.sites):
            return ("event",)
        site = self._launch.sites[number]
        known = meaning(site.kind, kind)
        label = known.label if known else site.kind
        if kind is TrackKind.RANGE:
            return (site.variable or label,)
        if kind is TrackKind.LAUNCH_CONTROL:
            return (answer_text(slot), f"CTA {slot}" if slot >= 0 else "none")
        where = f"{site.variable}[{slot}]" if site.variable and slot >= 0 else site.variable
        short = label if site.kind == "mma" else where
        names = (f"{label} {where}", short, label if not where else "", site.variable) if where else (label,)
        if site.kind in ("mma", "mma_wait"):
            names = (*names, "MMA")
        return tuple(dict.fromkeys(each for each in names if each))

    def _lit(self, slices: Slices, window: Window, columns: int, lit: frozenset[int]) -> NDArray[np.bool_]:
        """The columns in which events of some sites are."""
        part = slices.within(window.begin, window.end)
        event = slices.event[part]
        places = np.flatnonzero(event >= 0)
        places = places[np.isin(self._launch.events["site"][event[places]], list(lit))] + part.start
        first, last = columns_taken(slices.begin[places], slices.end[places], window, columns)
        change = np.bincount(first, minlength=columns + 1) - np.bincount(last, minlength=columns + 1)
        return np.cumsum(change)[:columns] > 0
