"""What an H200 recorded becomes a trace: kept streams (`data`), replayed and put together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from probe_samples import Recorded, recorded, times_one_by_one

from tlxviz.ir.program import SiteKind
from tlxviz.probe.assemble import Assembled, Part, RecordMismatch
from tlxviz.probe.clocks import common_clock
from tlxviz.sim.rows import CODE
from tlxviz.trace.model import TrackKind

NAMES = ["gemm", "gemm_in_parts", "calls", "hand_off", "ping_pong", "ranges"]
SINGLE = [name for name in NAMES if name != "gemm_in_parts"]
WAITING = (SiteKind.WAIT, SiteKind.NAMED_WAIT, SiteKind.MMA_WAIT, SiteKind.TMA_STORE_WAIT)


def events(made: Assembled, found: Recorded) -> list[tuple[str, SiteKind, str, int, int]]:
    """Track, kind, variable, begin and end of all events, by their begin."""
    told = [
        (made.tracks[track].name, found.program.sites[site].kind, found.program.sites[site].variable, begin, end)
        for track, site, begin, end in zip(
            *(made.events[name].tolist() for name in ("track", "site", "begin", "end")), strict=True
        )
    ]
    return sorted(told, key=lambda each: each[3:])


def start_of(found: Recorded, part: int = 0) -> int:
    """When CTA 0 began, on the common clock."""
    headers = found.streams.parts[part].headers
    return int(common_clock(headers).cycle(int(headers["sm"][0]), headers["start_clock"][:1])[0])


def recorded_marks(found: Recorded, number: int) -> list[int]:
    """Those of a run, without the points that the header tells."""
    return [mark for mark in found.cta.agents[number].marks.tolist() if not found.points[mark].in_header]


def changed(found: Recorded, ring: NDArray[np.uint32], warp: int = 0) -> list[Part]:
    part = found.streams.parts[0]
    return [replace(part, rings={**part.rings, (0, warp): ring})]


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_what_the_replay_expects(name: str) -> None:
    """Read one by one, by a loop that shares nothing with `decode`; ends lie before the CTA's."""
    found = recorded(name)
    for part in found.streams.parts:
        active = found.plan.active(found.program, found.points, part.number)
        header = part.headers[0]
        for warp in sorted(found.plan.warps(found.program)):
            expected = [
                mark
                for agent in found.cta.agents
                if agent.first_thread // 32 <= warp < agent.first_thread // 32 + agent.warps
                for mark in agent.marks.tolist()
                if mark in active
            ]
            times = times_one_by_one(part.rings[0, warp], expected, int(header["start_clock"]))
            assert len(times) == len(expected)
            assert all(int(header["start_clock"]) < time < int(header["end_clock"]) for time in times)
            # nothing behind them, but for the last word, where functions leave the address at which they end
            assert np.count_nonzero(part.rings[0, warp][len(expected) :]) == (name == "calls")


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_has_the_events_of_the_replay(name: str) -> None:
    found = recorded(name)
    made = found.assembled()
    engines = (TrackKind.WARP_GROUP, TrackKind.TMA, TrackKind.TENSOR_CORE)
    replayed = Counter((engines[row[CODE] // found.sites], row[CODE] % found.sites) for row in found.cta.rows.tolist())
    told = Counter(
        (made.tracks[track].kind, site)
        for track, site in zip(made.events["track"].tolist(), made.events["site"].tolist(), strict=True)
    )
    assert made.missing == 0
    if name == "ranges":  # begin and end of a range are one event, on a track of its own
        assert sum(told.values()) * 2 == sum(replayed.values())
    else:
        assert told == replayed


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_events_of_a_warp_group_are_in_order_and_within_its_time(name: str, correction: bool) -> None:
    found = recorded(name)
    made = found.assembled(correction=correction)
    begin, end, track = (made.events[column] for column in ("begin", "end", "track"))
    assert (end >= begin).all()
    assert (np.diff(end) >= 0).all()
    for number, each in enumerate(made.tracks):
        own = np.flatnonzero(track == number)
        if each.kind is TrackKind.WARP_GROUP:
            own = own[np.argsort(begin[own], kind="stable")]
            assert (begin[own][1:] >= end[own][:-1]).all(), each.name
        if each.kind in (TrackKind.WARP_GROUP, TrackKind.RANGE) and len(own):
            assert each.begin <= begin[own].min()
            assert end[own].max() <= each.end


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_released_by_what_came_later(name: str) -> None:
    """An arrival was seen to end before whoever waited for it went on: the records themselves say so."""
    made = recorded(name).assembled()
    cause = made.events["released_by"]
    rows = np.flatnonzero(cause >= 0)
    assert (made.events["end"][cause[rows]] <= made.events["end"][rows]).all()
    assert len(rows) or name == "ranges"


@pytest.mark.parametrize("name", SINGLE)
def test_a_cta_has_the_length_that_it_has_without_probes(name: str) -> None:
    """What lies between its start and the last point shrinks by the same factor: rounding is a cycle."""
    found = recorded(name)
    header, length = found.streams.parts[0].headers[0], int(found.streams.lengths[0])
    factor = length / int(header["end_clock"] - header["start_clock"])
    start = start_of(found)
    measured, corrected = found.assembled(correction=False), found.assembled()
    for before, after in zip(measured.tracks, corrected.tracks, strict=True):
        assert after.begin - start == pytest.approx((before.begin - start) * factor, abs=1)
        assert after.end - start == pytest.approx((before.end - start) * factor, abs=1)
    last = max(track.end for track in corrected.tracks)
    assert last - start == pytest.approx(length, abs=1)
    assert corrected.slow_down == pytest.approx(1 / factor - 1)


def test_first_events_of_the_load_group() -> None:
    """On the SM's own clock, from the start of the CTA, which is that of its warp group: its first records."""
    found = recorded("gemm")
    made = found.assembled(correction=False)
    [load] = [track for track in made.tracks if track.name == "load"]
    told = [
        (str(kind), variable, begin - load.begin, end - load.begin)
        for track, kind, variable, begin, end in events(made, found)
        if track == "load"
    ]
    assert told[:5] == [
        ("wait", "a_empty", 1812, 1896),
        ("expect", "a_full", 1896, 2006),
        ("tma_load", "a_tiles", 2006, 2079),
        ("wait", "b_empty", 2079, 2137),
        ("expect", "b_full", 2137, 2162),
    ]
    assert (made.records, len(found.points)) == (420, 66)


def test_a_hand_off_by_hand() -> None:
    """The records of warps 0 and 4 since the start of the CTA, and the model's 44 cycles from arrival to wake-up."""
    found = recorded("hand_off")
    start = int(found.streams.parts[0].headers["start_clock"][0])
    rings = found.streams.parts[0].rings
    first = [time - start for time in times_one_by_one(rings[0, 0], recorded_marks(found, 0), start)]
    second = [time - start for time in times_one_by_one(rings[0, 4], recorded_marks(found, 1), start)]
    told = [
        (str(kind), variable, begin, end)
        for _, kind, variable, begin, end in events(found.assembled(correction=False), found)
    ]
    wait = next(each for each in told if each[:2] == ("wait", "first_full"))
    arrival = next(each for each in told if each[:2] == ("arrive", "first_full"))
    assert wait[2:] == (first[0], first[1])
    assert arrival[3] == second[1]
    assert arrival[3] < wait[3]


def test_turns_are_taken_one_after_the_other() -> None:
    """Between two replicas that take turns, one waits while the other works: its wait ends with the other's arrival."""
    found = recorded("ping_pong")
    made = found.assembled()
    kinds = [found.program.sites[site].kind for site in made.events["site"]]
    waits = [row for row, kind in enumerate(kinds) if kind is SiteKind.NAMED_WAIT]
    assert len(waits) == 9
    begin, end, cause = (made.events[name] for name in ("begin", "end", "released_by"))
    long = [row for row in waits if end[row] - begin[row] > 100]
    assert len(long) == 8  # all but the first, for which the other had arrived
    assert all(end[row] == end[cause[row]] for row in long)


def test_ranges_have_a_begin_and_an_end() -> None:
    found = recorded("ranges")
    made = found.assembled()
    assert (made.amiss.begins, made.amiss.ends) == (0, 0)
    told = [(variable, begin, end) for _, _, variable, begin, end in events(made, found)]
    assert [variable for variable, _, _ in told] == ["sum"] + ["row"] * 5
    whole, *rows = told
    assert all(whole[1] < begin < end < whole[2] for _, begin, end in rows)
    assert all(before[2] <= after[1] for before, after in pairwise(rows))


# ---------------------------------------------------------------------- parts


def waits_of(made: Assembled, found: Recorded, group: str) -> dict[int, int]:
    """Cycles that a warp group waited, by site."""
    total: Counter[int] = Counter()
    for track, site, begin, end in zip(
        *(made.events[name].tolist() for name in ("track", "site", "begin", "end")), strict=True
    ):
        if made.tracks[track].name == group and found.program.sites[site].kind in WAITING:
            total[site] += end - begin
    return total


def test_a_trace_from_parts_has_the_same_events() -> None:
    whole, parts = recorded("gemm").assembled(), recorded("gemm_in_parts").assembled()
    for made in (whole, parts):
        assert len(made.events) == 452

    def places(made: Assembled) -> list[tuple[str, int, int, int]]:
        columns = (made.events[name].tolist() for name in ("track", "site", "outer", "inner"))
        return sorted((made.tracks[track].name, *rest) for track, *rest in zip(*columns, strict=True))

    assert places(whole) == places(parts)


def test_a_trace_from_parts_is_as_long_as_the_parts() -> None:
    """Warp groups end where they do without probes; in the parts they began up to 755 cycles apart."""
    found = recorded("gemm_in_parts")
    made = found.assembled()
    last = max(track.end for track in made.tracks)
    length = int(found.streams.lengths[0])
    assert last - start_of(found) == pytest.approx(length, abs=1)


@pytest.mark.parametrize("group", ["mma.0", "mma.1"])
def test_waits_in_parts_are_those_of_the_whole(group: str) -> None:
    """By site, within 2 % of the CTA's length: points of different parts are aligned to `shifted` cycles, 420 here.

    This holds for the groups whose waits are few. Which of three barriers the producer stands at, when all of its slots
    are full, is another one in each part, since timestamps delay the one consumer or the other.
    """
    whole, parts = recorded("gemm"), recorded("gemm_in_parts")
    one, many = waits_of(whole.assembled(), whole, group), waits_of(parts.assembled(), parts, group)
    assert one.keys() == many.keys()
    for site in one:
        assert many[site] == pytest.approx(one[site], abs=0.02 * int(whole.streams.lengths[0]))
    assert sum(many.values()) == pytest.approx(sum(one.values()), rel=0.2)


# ---------------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(("warp", "group"), [(0, "load"), (4, "mma.0"), (8, "mma.1")])
def test_a_record_of_another_place_is_named(warp: int, group: str) -> None:
    found = recorded("gemm")
    ring = found.streams.parts[0].rings[0, warp].copy()
    place = 40
    number = next(number for number, agent in enumerate(found.cta.agents) if agent.first_thread // 32 == warp)
    expected = recorded_marks(found, number)[place]
    ring[place] = (int(ring[place]) & 0xFFFFFF) | 0x3000000  # neither nothing nor the point's number, most likely
    with pytest.raises(RecordMismatch) as caught:
        found.assembled(changed(found, ring, warp))
    message = str(caught.value)
    assert message.startswith(f"kernel hopper_gemm_ws, {group} of CTA 0: record {place} of ")
    point = found.points[expected]
    site = found.program.sites[point.begins[0] if point.begins else point.ends[-1]]
    assert f"its replay expects {'the begin' if point.begins else 'the end'} of {site.operation.name}" in message
    assert f"kernels/hopper_gemm_ws.py:{site.location.line}" in message


def test_a_record_of_a_known_place_is_named_too() -> None:
    found = recorded("gemm")
    marks = recorded_marks(found, 0)
    ring = found.streams.parts[0].rings[0, 0].copy()
    place = marks.index(4)
    start = int(found.streams.parts[0].headers["start_clock"][0])
    now = times_one_by_one(ring, marks, start)[place]
    ring[place] = (now + ((7 + 1) << 24)) % (1 << 32)
    with pytest.raises(RecordMismatch) as caught:
        found.assembled(changed(found, ring))
    made_at, expected = (found.program.sites[found.points[point].begins[0]] for point in (7, 4))
    assert (
        f"record {place} of 160 was made at the begin of ttng.wait_barrier a_empty at {made_at.location}, and its "
        f"replay expects the begin of ttng.wait_barrier b_empty at {expected.location}." in str(caught.value)
    )


def test_a_ring_that_was_full() -> None:
    found = recorded("gemm")
    whole = found.assembled(correction=False)
    room = 100
    ring = found.streams.parts[0].rings[0, 0][: room + 32]
    made = found.assembled(changed(found, ring), correction=False)
    assert (made.missing, made.records) == (160 - room, 420 - (160 - room))
    load = [each for each in events(made, found) if each[0] == "load"]
    kept = [each for each in events(whole, found) if each[0] == "load"][: len(load)]
    # the last begins what nobody has seen to end
    assert load[:-1] == kept[:-1]
    assert load[-1][:4] == kept[-1][:4]
    others = [each for each in events(made, found) if each[0].startswith("mma")]
    assert others == [each for each in events(whole, found) if each[0].startswith("mma")]
