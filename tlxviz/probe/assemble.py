"""From what a launch left in memory to its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program, Site
from tlxviz.probe.clocks import CommonClock, common_clock
from tlxviz.probe.correction import Correction, Stretch
from tlxviz.probe.engines import Table, settle
from tlxviz.probe.plan import Plan
from tlxviz.probe.points import Point
from tlxviz.probe.ptx import tag_of
from tlxviz.probe.streams import Difference, decode, written
from tlxviz.probe.timeline import Passed, Placed, Times, place_events
from tlxviz.sim.placement import Placement
from tlxviz.sim.ranges import RangesAmiss, close_ranges, runs_with_ranges
from tlxviz.sim.record import TrackNumbers, engine_tracks, events_of_cluster
from tlxviz.sim.replay import CtaReplay, Replayed
from tlxviz.sim.rows import (
    BARRIER,
    BEGIN,
    CODE,
    COLUMNS,
    END,
    HOME,
    INNER,
    OUTER,
    PHASE,
    RELEASED_BY,
    RELEASED_RANK,
    ROUND,
    RUN,
    SLOT,
)
from tlxviz.trace.build import empty_events
from tlxviz.trace.model import Events, Track, TrackKind


class RecordMismatch(TlxvizError):
    """A kernel did not do what its replay says."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one launch of one build recorded."""

    number: int
    headers: NDArray[np.void]
    rings: Mapping[tuple[int, int], NDArray[np.uint32]]
    """By CTA and warp."""

    @property
    def longest(self) -> int:
        """SM cycles of the longest CTA."""
        return int((self.headers["end_clock"] - self.headers["start_clock"]).max())


@dataclass(eq=False, slots=True)
class Assembled:
    """What is known of a launch."""

    tracks: list[Track]
    events: Events
    clock: CommonClock
    records: int = 0
    missing: int = 0
    """Points passed for which there was no room."""
    shifted: int = 0
    """Most cycles by which a time was moved to keep a warp group's events in order."""
    slow_down: float = 0.0
    """How much longer the recorded CTAs took than without probes: a median, 0.1 for a tenth."""
    amiss: RangesAmiss = field(default_factory=RangesAmiss)


@dataclass(frozen=True, slots=True)
class Assembler:
    """Puts the records of a launch together.

    Args:
        program: The kernel.
        points: Where it was probed.
        plan: What was recorded.
        device: The GPU.
        replayed: What the recorded CTAs do.
        placement: How CTAs form clusters.
        lengths: SM cycles that each CTA takes where nothing is recorded, by number; None to leave times as measured.
    """

    program: Program
    points: Sequence[Point]
    plan: Plan
    device: Device
    replayed: Replayed
    placement: Placement
    lengths: NDArray[np.int64] | None

    def assemble(self, parts: Sequence[Part], *, ended: bool = True) -> Assembled:
        """The events of the replayed CTAs; so far as they have been recorded, if the launch has not `ended`.

        Raises:
            RecordMismatch: the records are not those of the replay.
        """
        clock = common_clock(parts[0].headers)
        made = Assembled([], empty_events(), clock)
        measured = {cta.cta: self._measured(cta, parts, clock, made, ended=ended) for cta in self.replayed.ctas}
        made.slow_down = self._slow_down(parts)
        pieces = [
            self._cluster(ctas, [measured[cta.cta] for cta in ctas], parts[0], clock, made) for ctas in self._clusters()
        ]
        pieces = [piece for piece in pieces if len(piece)]
        if pieces:
            made.events = pieces[0] if len(pieces) == 1 else Events.concat(pieces).in_order()
        return made

    def _clusters(self) -> list[list[CtaReplay]]:
        """CTAs of one cluster together; a CTA of rank 0 begins one."""
        found: dict[int, list[CtaReplay]] = {}
        for cta in self.replayed.ctas:
            found.setdefault(self.placement.cluster_of(cta.cta), []).append(cta)
        return [sorted(ctas, key=lambda each: each.rank) for ctas in found.values()]

    # ---- times

    def _measured(
        self, cta: CtaReplay, parts: Sequence[Part], clock: CommonClock, made: Assembled, *, ended: bool
    ) -> list[Passed]:
        """When each run of a warp group passed its points, in cycles since the launch began."""
        by_part = [self._part(cta, part, made, ended=ended) for part in parts]
        sm = int(parts[0].headers["sm"][cta.cta])
        if len(parts) == 1:
            correct = self._correction(parts[0], clock, sm)
            return [_corrected(run, clock, sm, correct) for run in by_part[0]]
        begin = int(clock.cycle(sm, parts[0].headers["start_clock"][cta.cta]))
        scaled = [
            [self._scaled(run, part.headers[cta.cta], cta.cta, begin) for run in own]
            for own, part in zip(by_part, parts, strict=True)
        ]
        return [_merged([own[run] for own in scaled]) for run in range(len(cta.agents))]

    def _part(self, cta: CtaReplay, part: Part, made: Assembled, *, ended: bool) -> list[Passed]:
        """The same on the clock of the SM, for the points that the part recorded."""
        active = np.zeros(len(self.points), bool)
        active[list(self.plan.active(self.program, self.points, part.number))] = True
        nothing = np.empty(0, np.int64)
        found = [Passed(nothing, nothing) for _ in cta.agents]
        start = int(part.headers["start_clock"][cta.cta])
        for warp in sorted(self.plan.warps(self.program)):
            runs = [number for number, agent in enumerate(cta.agents) if warp in agent.warps_of_cta]
            if not runs:
                continue
            kept = [np.flatnonzero(active[cta.agents[number].marks]) for number in runs]
            expected = [cta.agents[number].marks[places] for number, places in zip(runs, kept, strict=True)]
            joined = np.concatenate(expected)
            ring = part.rings[cta.cta, warp]
            if not ended:
                joined = joined[: written(ring)]
            stream = decode(ring, joined, start)
            if stream.difference is not None:
                raise self._mismatch(cta, stream.difference, runs, joined, np.cumsum([len(each) for each in expected]))
            made.records += len(stream.times)
            made.missing += stream.missing
            first = 0
            for number, places in zip(runs, kept, strict=True):
                if cta.agents[number].warps_of_cta[0] == warp:
                    own = stream.times[first : first + len(places)]
                    found[number] = self._with_header(
                        cta.agents[number].marks,
                        Passed(places[: len(own)], own),
                        part.headers[cta.cta],
                        whole=len(own) == len(places),
                    )
                first += len(places)
        return found

    def _with_header(self, marks: NDArray[np.int32], run: Passed, header: np.void, *, whole: bool) -> Passed:
        """With the points at which the CTA itself starts and, where nothing is missing before, ends."""
        opening = np.array([point.opening for point in self.points], bool)
        closing = np.array([point.closing for point in self.points], bool)
        begin, end = int(header["start_clock"]), int(header["end_clock"])
        opened = np.flatnonzero(opening[marks])
        closed = np.flatnonzero(closing[marks]) if whole and end else opened[:0]
        return Passed(
            np.concatenate([opened, run.places, closed]),
            np.concatenate([np.full(len(opened), begin), run.cycles, np.full(len(closed), end)]),
        )

    def _mismatch(
        self, cta: CtaReplay, difference: Difference, runs: Sequence[int], joined: NDArray[np.int32], ends: Times
    ) -> RecordMismatch:
        run = runs[min(int(np.searchsorted(ends, difference.position, side="right")), len(runs) - 1)]
        name = self.program.agents[cta.agents[run].agent].name
        expected = self._said(self.points[difference.expected])
        others = [point for point in self.points if tag_of(point.number) == difference.tag]
        found = self._said(others[0]) if others else "something else"
        return RecordMismatch(
            f"kernel {self.program.name}, {name} of CTA {cta.cta}: record {difference.position} of {len(joined)} was "
            f"made at {found}, and its replay expects {expected}. What it did depends on something that a replay "
            "cannot know, such as which CTA comes first, or it went 2^24 cycles without passing a point"
        )

    def _said(self, point: Point) -> str:
        def site(number: int) -> Site:
            return self.program.sites[number]

        near = site(point.begins[0]) if point.begins else site(point.ends[-1]) if point.ends else None
        if near is None:
            return "the start or end of a warp group"
        edge = "the begin" if point.begins else "the end"
        return f"{edge} of {near.operation.name} {near.variable} at {near.location}".replace("  ", " ")

    def _correction(self, part: Part, clock: CommonClock, sm: int) -> Correction | None:
        """For the SM, from all CTAs that recorded on it."""
        if self.lengths is None:
            return None
        headers = part.headers
        stretches = [
            Stretch(
                int(clock.cycle(sm, headers["start_clock"][cta.cta])),
                int(clock.cycle(sm, headers["end_clock"][cta.cta])),
                int(self.lengths[cta.cta]),
            )
            for cta in self.replayed.ctas
            if headers["sm"][cta.cta] == sm
        ]
        return Correction(stretches)

    def _scaled(self, run: Passed, header: np.void, cta: int, begin: int) -> Passed:
        """As if the CTA had begun at cycle `begin` and had its length without probes."""
        start, end = int(header["start_clock"]), int(header["end_clock"])
        factor = 1.0 if self.lengths is None else int(self.lengths[cta]) / max(1, end - start)
        return Passed(run.places, begin + np.rint((run.cycles - start) * factor).astype(np.int64))

    def _slow_down(self, parts: Sequence[Part]) -> float:
        if self.lengths is None:
            return 0.0
        ratios = [
            (int(part.headers["end_clock"][cta.cta]) - int(part.headers["start_clock"][cta.cta]))
            / max(1, int(self.lengths[cta.cta]))
            for part in parts
            for cta in self.replayed.ctas
        ]
        return float(np.median(ratios)) - 1 if ratios else 0.0

    # ---- events

    def _cluster(
        self,
        ctas: Sequence[CtaReplay],
        measured: Sequence[list[Passed]],
        part: Part,
        clock: CommonClock,
        made: Assembled,
    ) -> Events:
        sites = len(self.program.sites)
        tables = [cta.rows.copy() for cta in ctas]
        placed: list[list[Placed]] = []
        for cta, table, runs in zip(ctas, tables, measured, strict=True):
            own = [
                place_events(cta.rows, number, agent, self.points, runs[number], sites)
                for number, agent in enumerate(cta.agents)
            ]
            for each in own:
                table[each.rows, BEGIN], table[each.rows, END] = each.begin, each.end
                made.shifted = max(made.shifted, each.shifted)
            placed.append(own)
        settle(self.program, self.device, tables, [cta.rows for cta in ctas])
        tables = _seen(tables, placed, sites)
        numbers: list[TrackNumbers] = []
        for cta, table, own in zip(ctas, tables, placed, strict=True):
            numbers.append(self._tracks(cta, table, own, int(part.headers["sm"][cta.cta]), made))
        for table, own in zip(tables, numbers, strict=True):
            close_ranges(self.program, table, own.stops, made.amiss)
        return events_of_cluster(self.program, tables, numbers) if any(map(len, tables)) else empty_events()

    def _tracks(
        self, cta: CtaReplay, table: NDArray[np.int64], placed: Sequence[Placed], sm: int, made: Assembled
    ) -> TrackNumbers:
        runs: list[int] = []
        ranges: list[int] = []
        named = runs_with_ranges(self.program, table)
        lasts = np.array([each.stop for each in placed], np.int64)
        own = table[table[:, CODE] < len(self.program.sites)]
        np.maximum.at(lasts, own[:, RUN], own[:, END])
        stops = [int(last) for last in lasts]
        for number, (run, each) in enumerate(zip(cta.agents, placed, strict=True)):
            agent = self.program.agents[run.agent]
            place = (cta.cta, sm, agent.index, agent.warps, each.start, stops[number])
            runs.append(len(made.tracks))
            made.tracks.append(Track(TrackKind.WARP_GROUP, agent.name, *place))
            ranges.append(len(made.tracks) if number in named else -1)
            if number in named:
                made.tracks.append(Track(TrackKind.RANGE, f"{agent.name} ranges", *place))
        begin, end = min(each.start for each in placed), max(stops)
        engines = engine_tracks(self.program, table, made.tracks, cta.cta, sm, begin, end)
        return TrackNumbers(runs, engines, ranges, stops, cta.cta)


def with_open_waits(cta: CtaReplay) -> CtaReplay:
    """The CTA with a row for each wait at which its replay stands, as if it had ended at once."""
    rows: list[list[int]] = []
    for number, agent in enumerate(cta.agents):
        wait = agent.blocked
        if agent.done or wait is None or wait.site < 0:
            continue
        row = [-1] * len(COLUMNS)
        for column, value in (
            (CODE, wait.site),
            (BEGIN, wait.since),
            (END, wait.since),
            (OUTER, wait.outer),
            (INNER, wait.inner),
            (SLOT, wait.slot),
            (PHASE, wait.phase),
            (RUN, number),
            (BARRIER, wait.barrier),
            (HOME, wait.home),
            (ROUND, wait.round),
        ):
            row[column] = value
        rows.append(row)
    return replace(cta, rows=np.concatenate([cta.rows, np.array(rows, np.int64)])) if rows else cta


def _seen(tables: Sequence[Table], placed: Sequence[Sequence[Placed]], sites: int) -> list[Table]:
    """The rows of a cluster's CTAs without those that nobody has seen; what stands for the last time ends there."""
    now = max((each.stop for runs in placed for each in runs), default=0)
    kept: list[NDArray[np.bool_]] = []
    for table, runs in zip(tables, placed, strict=True):
        keep = np.ones(len(table), bool)
        for each in runs:
            keep[each.rows[each.known + each.standing :]] = False
            if each.standing:
                table[each.rows[each.known], END] = max(now, int(table[each.rows[each.known], BEGIN]))
        kept.append(keep)
    if all(bool(keep.all()) for keep in kept):
        return list(tables)
    for keep, table in zip(kept, tables, strict=True):
        engine = np.flatnonzero((table[:, CODE] >= sites) & (table[:, RELEASED_BY] >= 0))
        for row in engine:
            keep[row] &= kept[int(table[row, RELEASED_RANK])][int(table[row, RELEASED_BY])]
    places = [np.where(keep, np.cumsum(keep) - 1, -1) for keep in kept]
    made: list[Table] = []
    for keep, table in zip(kept, tables, strict=True):
        own = table[keep]
        for row in np.flatnonzero(own[:, RELEASED_BY] >= 0):
            place = int(places[int(own[row, RELEASED_RANK])][int(own[row, RELEASED_BY])])
            own[row, RELEASED_BY] = place
            if place < 0:
                own[row, RELEASED_RANK] = -1
        made.append(own)
    return made


def _corrected(run: Passed, clock: CommonClock, sm: int, correct: Correction | None) -> Passed:
    cycles = clock.cycle(sm, run.cycles)
    return Passed(run.places, cycles if correct is None else correct(cycles))


def _merged(parts: Sequence[Passed]) -> Passed:
    """The times of one run from several parts, which have some points in common: at these they are made to agree."""
    common = parts[0].places
    for part in parts[1:]:
        common = np.intersect1d(common, part.places)
    if len(common):
        anchors = [
            np.maximum.accumulate(part.cycles[np.searchsorted(part.places, common)].astype(float)) for part in parts
        ]
        mean = np.mean(anchors, axis=0)
        parts = [
            Passed(part.places, np.rint(_between_anchors(part.cycles, own, mean)).astype(np.int64))
            for part, own in zip(parts, anchors, strict=True)
        ]
    places = np.concatenate([part.places for part in parts])
    return Passed(places, np.concatenate([part.cycles for part in parts]))


def _between_anchors(
    values: NDArray[np.int64], own: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    inside = np.interp(values, own, mean)
    inside = np.where(values < own[0], values - own[0] + mean[0], inside)
    return np.where(values > own[-1], values - own[-1] + mean[-1], inside)
