"""One iteration of a loop as a graph: what each warp group and engine does for it, and what makes it so long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from tlxviz.analysis.chains import Stretch, stretches
from tlxviz.analysis.cta_view import CtaView
from tlxviz.analysis.links import Activity

_MOST_HOPS = 5
"""Events without duration that the chain may pass between two others."""


class LinkKind(StrEnum):
    RELEASE = "release"
    """An arrival lets a wait go on."""
    DATA = "data"
    """A copy or a product that has ended does."""
    ISSUE = "issue"
    """A warp group hands work to an engine."""
    BEHIND = "behind"
    """An engine takes work only once other work is over."""


@dataclass(frozen=True, slots=True)
class Step:
    """An event."""

    row: int
    """Of `CtaView.launch`."""
    begin: int
    """SM cycle."""
    end: int
    """SM cycle."""
    path: int
    """SM cycles of it that are on the critical chain."""
    gap: int
    """SM cycles of arithmetic between the event before it on its track and this one; 0 on an engine's."""
    gap_path: int
    """Those of them that are on the critical chain."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some events of a track, in order of time: of one iteration, where a warp group's are."""

    track: int
    number: int
    """Which iteration of the warp group, counted in order of time; -1 for an engine, or outside of its loop."""
    steps: tuple[Step, ...]
    tail: int = 0
    """SM cycles of arithmetic from the last step to the next iteration, where the passage is all of one."""
    tail_path: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    source: int
    """Row of an event; it need not be one of the graph's steps."""
    target: int
    kind: LinkKind
    held: bool
    """Whether the target waited for it."""
    cycles: int
    """If it is held: SM cycles that it waited. Else, by how many the source was early."""
    path: bool
    """Whether the critical chain goes along it."""


@dataclass(frozen=True, slots=True)
class ChainShare:
    """What one track has of the critical chain at one line, of one kind."""

    track: int
    activity: Activity
    line: int
    """0 for arithmetic."""
    cycles: int


@dataclass(frozen=True, slots=True)
class IterationGraph:
    track: int
    """The warp group whose iteration it is."""
    number: int
    begin: int
    """SM cycle."""
    end: int
    """SM cycle at which the next one begins; where there is none, at which its last event ends."""
    passages: tuple[Passage, ...]
    links: tuple[Link, ...]
    chain: tuple[ChainShare, ...]
    """The critical chain from the end of the iteration back to its begin, longest first."""


def iteration_graph(view: CtaView, track: int, number: int) -> IterationGraph:
    """The graph of an iteration of a warp group.

    Of others, it shows the iteration of the same counters, if arrivals, copies or products link the two; else the one
    that it waited for most, or that waited for it; failing that, the one under way when it began. Events of other
    iterations are there if the chain leads through them.
    """
    made = view.made
    first, after = view.span(track, number)
    begin, end = int(made.begin[first]), view.ends(track, number)
    chain = list(stretches(made, after - 1, begin)) if after > first else []
    tail = end - int(made.end[after - 1])
    rows = _shown(view, track, number)
    shown = set(rows)
    on_path: dict[tuple[int, bool], int] = {}
    for each in chain:
        key = each.row, _between(view, each)
        on_path[key] = on_path.get(key, 0) + each.end - each.begin
    extra = [row for row, between in on_path if row not in shown and not between]
    passages = _passages(view, [*rows, *dict.fromkeys(extra)], on_path)
    passages = tuple(
        Passage(each.track, each.number, each.steps, max(0, tail), max(0, tail))
        if (each.track, each.number) == (track, number)
        else each
        for each in passages
    )
    ways = _ways(view, [after - 1, *(each.row for each in chain)])
    links = [link for step in _steps(passages) for link in _links(view, step.row, ways)]
    return IterationGraph(
        track, number, begin, end, passages, tuple(links), _shares(view, track, chain, end - begin, tail)
    )


def _ways(view: CtaView, rows: list[int]) -> set[tuple[int, int]]:
    """Events of the chain, each with the one that it comes from; those that took no time as well."""
    made = view.made
    found: set[tuple[int, int]] = set()
    for later, earlier in pairwise(rows):
        ways = [(later,)]
        for _ in range(_MOST_HOPS):
            there = next((way for way in ways if way[-1] == earlier), None)
            if there is not None:
                found |= set(pairwise(there))
                break
            ways = [
                (*way, int(step)) for way in ways for step in (made.cause[way[-1]], made.before[way[-1]]) if step >= 0
            ]
    return found


def _between(view: CtaView, stretch: Stretch) -> bool:
    """Whether it is the arithmetic in front of its event."""
    return bool(view.made.on_group[stretch.row]) and stretch.activity is Activity.ARITHMETIC


def _shown(view: CtaView, track: int, number: int) -> list[int]:
    """Rows of the iteration, of those of others that belong to it, and of what these gave to engines."""
    own = list(range(*view.span(track, number)))
    rows = list(own)
    for other in view.loops:
        partner = _partner(view, own, other, int(view.loops[track].begin[number])) if other != track else -1
        if partner >= 0:
            rows += range(*view.span(other, partner))
    return rows + _works(view, rows)


def _works(view: CtaView, rows: Iterable[int]) -> list[int]:
    """Events of engines that these events of warp groups issued."""
    made = view.made
    engines = np.flatnonzero(~made.on_group & np.isin(made.before, np.array(list(rows), np.int64)))
    return engines[made.track[engines] >= 0].tolist()


def _partner(view: CtaView, own: list[int], other: int, now: int) -> int:
    """The iteration of another warp group that has most to do with these events; -1 for none."""
    made, by = view.made, view.launch.events["released_by"]
    mine = np.array([*own, *_works(view, own)], np.int64)
    causes = np.concatenate((by[mine], made.cause[mine]))
    effects = np.flatnonzero(np.isin(by, mine) | np.isin(made.cause, mine))
    ways: list[Counter[int]] = []
    for linked in (causes[causes >= 0], effects):
        doers = np.where(made.on_group[linked], linked, made.before[linked])
        doers = doers[doers >= 0]
        numbers = [view.iteration_of(row) for row in doers[made.track[doers] == other].tolist()]
        ways.append(Counter(number for number in numbers if number >= 0))
    for number in {**ways[0], **ways[1]}:
        if _alike(view, own[0], view.span(other, number)[0]):
            return number
    for votes in ways:
        if votes:
            return max(votes, key=lambda number: (votes[number], number))
    latest = int(np.searchsorted(view.loops[other].begin, now, side="right")) - 1
    return latest if latest >= 0 and view.ends(other, latest) > now else -1


def _alike(view: CtaView, first: int, second: int) -> bool:
    """Whether two events have the same counters of iterations."""
    return all(view.launch.events[name][first] == view.launch.events[name][second] for name in ("outer", "inner"))


def _passages(view: CtaView, rows: list[int], on_path: dict[tuple[int, bool], int]) -> tuple[Passage, ...]:
    made = view.made
    sorted_: dict[tuple[int, int], list[Step]] = {}
    for row in sorted(rows, key=lambda row: (int(made.begin[row]), row)):
        track, on_group = int(made.track[row]), bool(made.on_group[row])
        before = int(made.before[row]) if on_group else -1
        step = Step(
            row,
            int(made.begin[row]),
            int(made.end[row]),
            on_path.get((row, False), 0),
            int(made.begin[row] - made.end[before]) if before >= 0 else 0,
            on_path.get((row, True), 0),
        )
        sorted_.setdefault((track, view.iteration_of(row) if on_group else -1), []).append(step)
    return tuple(Passage(track, number, tuple(steps)) for (track, number), steps in sorted_.items())


def _steps(passages: Iterable[Passage]) -> Iterable[Step]:
    return (step for passage in passages for step in passage.steps)


def _links(view: CtaView, row: int, ways: set[tuple[int, int]]) -> list[Link]:
    """What an event comes from, on other tracks."""
    made = view.made
    cause, by = int(made.cause[row]), int(view.launch.events["released_by"][row])
    found: list[Link] = []
    if made.on_group[row]:
        source = cause if cause >= 0 else by
        if source < 0:
            return []
        copied = view.launch.sites[int(view.launch.events["site"][source])].kind == "async_copy"
        kind = LinkKind.RELEASE if made.on_group[source] and not copied else LinkKind.DATA
        held = int(made.since[row] - made.begin[row]) if cause >= 0 else int(made.begin[row] - made.end[source])
        return [Link(source, row, kind, cause >= 0, max(0, held), (row, source) in ways)]
    issuer = int(made.before[row])
    if issuer >= 0:
        late = max(0, int(made.begin[row] - made.end[issuer]))
        found.append(Link(issuer, row, LinkKind.ISSUE, cause < 0, late, (row, issuer) in ways))
    if cause >= 0:
        waited = max(0, int(made.since[row] - (made.end[issuer] if issuer >= 0 else made.begin[row])))
        found.append(Link(cause, row, LinkKind.BEHIND, True, waited, (row, cause) in ways))
    return found


def _shares(view: CtaView, track: int, chain: list[Stretch], cycles: int, tail: int) -> tuple[ChainShare, ...]:
    sites, site = view.launch.sites, view.launch.events["site"]
    sums: dict[tuple[int, Activity, int], int] = {(track, Activity.ARITHMETIC, 0): tail} if tail > 0 else {}
    for each in chain:
        doer = view.doer_track(each.row)
        number = int(site[each.row])
        line = 0 if _between(view, each) or number < 0 else sites[number].line
        key = doer if doer >= 0 else each.track, each.activity, line
        sums[key] = sums.get(key, 0) + each.end - each.begin
    left = cycles - sum(sums.values())
    if left > 0:  # before a copy or product that nobody is known to have issued
        key = view.doer_track(chain[-1].row) if chain else track, Activity.UNKNOWN, 0
        sums[key] = sums.get(key, 0) + left
    ranking = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return tuple(ChainShare(*key, cycles) for key, cycles in ranking)
