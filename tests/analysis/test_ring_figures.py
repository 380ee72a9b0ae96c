from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analysis.synthetic_traces import launch, pipeline
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.ring_fills import NEVER, Fills
from tlxviz.analysis.rings import Occupancy, Ring, occupancy, rings
from tlxviz.analysis.steady import steady_states
from tlxviz.trace import AgentRow, Events, LaunchTrace, SiteRow, Track, TrackKind

FILE = "/somewhere/ring.py"


def ringed(
    depth: int, fills: int = 12, *, copy: int = 80, work: int = 40, buffers: int = 1, barriers: bool = True
) -> LaunchTrace:
    """A producer, a consumer and a ring of `depth` slots, simulated.

    The producer waits for `empty` (over 5 cycles after the slot is free), expects for 2, and issues a copy in 3, which
    then takes `copy` cycles. The consumer waits for `full` (over 5 cycles after the data is there), and arrives at
    `empty` for 4, `work` cycles later.

    Args:
        buffers: Copies for each fill, to as many buffers, each in flight 10 cycles longer than the one before.
        barriers: Whether the producer waits at all.
    """
    sites = [
        SiteRow("wait", 0, FILE, 1, "empty", ""),
        SiteRow("expect", 0, FILE, 2, "full", "", 64 * buffers),
        SiteRow("wait", 1, FILE, 4, "full", ""),
        SiteRow("arrive", 1, FILE, 5, "empty", ""),
        *(SiteRow("tma_load", 0, FILE, 3, name, "", 64) for name in ("a", "b")[:buffers]),
    ]
    rows: list[tuple[int, ...]] = []
    arrivals: list[int] = []
    producer = consumer = 0
    for i in range(fills):
        slot, phase = i % depth, i // depth
        if barriers:
            by = arrivals[i - depth] if i >= depth else -1
            free = rows[by][3] if by >= 0 else 0
            over = max(producer, free) + 5
            rows.append((0, 0, producer, over, i, i, slot, phase + 1 & 1, 0, by))
            producer = over
        rows.append((0, 1, producer, producer + 2, i, i, slot, phase, 64 * buffers, -1))
        producer += 2
        for number in range(buffers):
            rows.append((0, 4 + number, producer, producer + 3, i, i, slot, phase, 64, -1))
            producer += 3
            landed = producer + copy + 10 * number
            rows.append((2, 4 + number, producer, landed, i, i, slot, phase, 64, len(rows) - 1))
        over = max(consumer, landed) + 5
        rows.append((1, 2, consumer, over, i, i, slot, phase & 1, 0, len(rows) - 1))
        arrivals.append(len(rows))
        rows.append((1, 3, over + work, over + work + 4, i, i, slot, phase, 0, -1))
        consumer = over + work + 4
    tracks = [
        Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, begin=0, end=producer),
        Track(TrackKind.WARP_GROUP, "mma", 0, 0, 1, begin=0, end=consumer),
        Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=consumer),
    ]
    return launch(tracks, sites, rows, [AgentRow("load", "load", 0, 4), AgentRow("mma", "mma", 1, 4)])


def rings_of(trace: LaunchTrace, **options: Any) -> tuple[Ring, ...]:
    return rings(trace, occupation(trace), **options)


def life(fills: Fills, index: int) -> tuple[int, ...]:
    columns = (fills.asked, fills.acquired, fills.issued, fills.landed, fills.wanted, fills.read, fills.released)
    return tuple(int(column[index]) for column in columns)


def at(steps: Occupancy, cycle: int) -> tuple[int, int, int]:
    row = int(np.searchsorted(steps.time, cycle, side="right")) - 1
    return int(steps.filling[row]), int(steps.unread[row]), int(steps.reading[row])


def test_a_ring_is_found_with_its_barriers() -> None:
    (ring,) = rings_of(ringed(3))
    assert (ring.cta, ring.buffer, ring.full, ring.empty) == (0, "a", "full", "empty")
    assert (ring.slots, ring.depth, ring.bytes) == ((0, 1, 2), 3, 64)
    assert (ring.producers, ring.consumers) == (("load",), ("mma",))
    assert ring.fills.slot.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert ring.fills.number.tolist() == [0, 1, 2, 3] * 3


def test_the_lives_of_a_single_slot() -> None:
    (ring,) = rings_of(ringed(1, fills=3))
    # asked, acquired, issued, landed, wanted, read, released
    assert life(ring.fills, 0) == (0, 5, 7, 90, 0, 95, 139)
    assert life(ring.fills, 1) == (10, 144, 146, 229, 139, 234, 278)
    # Nobody waits for the last one: its release is the last arrival.
    assert life(ring.fills, 2) == (149, 283, 285, 368, 278, 373, 417)


def test_a_single_slot_is_filled_and_read_by_turns() -> None:
    (ring,) = rings_of(ringed(1))
    # A round is 139 cycles: 85 of filling, 5 unread, 44 read, 5 free.
    assert (ring.begin, ring.end) == (0, 11 * 139)
    assert ring.filling == pytest.approx(85 / 139)
    assert ring.unread == pytest.approx(5 / 139)
    assert ring.reading == pytest.approx(44 / 139)
    assert ring.nothing_unread == pytest.approx(134 / 139)
    assert ring.empty_share == pytest.approx(90 / 139)
    assert ring.full_share == pytest.approx(134 / 139)


def test_a_single_slot_is_too_few() -> None:
    (ring,) = rings_of(ringed(1))
    # The copy is there 90 cycles after the release; it is held for 5 + 40 + 4; the consumer would like one every 49.
    assert (ring.fill_cycles, ring.hold_cycles, ring.pace_cycles, ring.tensor_cycles) == (90, 49, 49, 0)
    assert ring.needed == 3  # 1 + 90 / 49 = 2.84


def test_three_slots() -> None:
    trace = ringed(3)
    # From its fourth iteration on the consumer never waits: the producer follows it, 49 cycles a slot.
    steady = steady_states(trace, occupation(trace))
    assert steady["mma"] is not None
    window = {"mma": replace(steady["mma"], begin=335, end=335 + 5 * 49)}
    (ring,) = rings_of(trace, steady=window)
    assert life(ring.fills, 1) == (30, 144, 146, 229, 237, 242, 286)
    assert (ring.fill_cycles, ring.hold_cycles, ring.pace_cycles, ring.needed) == (90, 49, 49, 3)
    assert ring.filling == pytest.approx(85 / 49)
    assert ring.unread == pytest.approx(13 / 49)
    assert ring.reading == pytest.approx(44 / 49)
    # Unread from 13 cycles before the wait is over until then; free for the 5 of the hand-off.
    assert ring.nothing_unread == pytest.approx(36 / 49)
    assert ring.empty_share == 0
    assert ring.full_share == pytest.approx(44 / 49)


def test_occupancy_over_time() -> None:
    (ring,) = rings_of(ringed(3))
    steps = ring.occupancy
    assert [at(steps, cycle) for cycle in (5, 15, 25, 90, 95, 100, 110)] == [
        (1, 0, 0),
        (2, 0, 0),
        (3, 0, 0),
        (2, 1, 0),
        (2, 0, 1),
        (1, 1, 1),
        (0, 2, 1),
    ]
    assert at(steps, 139) == (0, 2, 0)
    assert at(steps, 144) == (1, 1, 1)
    assert at(steps, 10**6) == (0, 0, 0)


def test_a_deeper_ring_is_not_called_for_where_the_consumer_is_slow() -> None:
    (ring,) = rings_of(ringed(2, work=400))
    # Held for 409 of 409, and filled within 90.
    assert (ring.hold_cycles, ring.pace_cycles, ring.needed) == (409, 409, 2)
    assert ring.empty_share == pytest.approx(0, abs=0.05)


def test_no_more_slots_than_fills_are_called_for() -> None:
    (ring,) = rings_of(ringed(1, fills=6, copy=2000))
    assert ring.needed == 6


def test_two_buffers_on_one_barrier_are_two_rings() -> None:
    first, second = rings_of(ringed(2, buffers=2))
    assert [(ring.buffer, ring.full, ring.empty) for ring in (first, second)] == [
        ("a", "full", "empty"),
        ("b", "full", "empty"),
    ]
    assert first.fills.acquired.tolist() == second.fills.acquired.tolist()
    assert (second.fills.landed - first.fills.landed).tolist() == [13] * 12
    # The wait is over when both are there.
    assert first.fills.read.tolist() == second.fills.read.tolist()


def test_several_copies_into_one_slot_are_one_fill() -> None:
    trace = ringed(2, buffers=2)
    trace.sites[5] = replace(trace.sites[5], variable="a")
    (ring,) = rings_of(trace)
    assert (len(ring.fills.slot), ring.bytes) == (12, 128)
    assert life(ring.fills, 0)[:4] == (0, 5, 7, 13 + 80 + 10)


def test_a_slot_that_is_never_released_stays_occupied() -> None:
    trace = ringed(2)
    events = trace.events
    last = events["begin"] == events["begin"][events["site"] == 3].max()
    (ring,) = rings_of(replace(trace, events=events.select(~last)))
    assert ring.fills.released.tolist()[-1] == NEVER
    assert at(ring.occupancy, 10**6) == (0, 0, 1)


def test_a_buffer_that_is_filled_without_asking_is_no_ring() -> None:
    assert rings_of(ringed(12, barriers=False)) == ()


def with_slots_of_empty(trace: LaunchTrace, slots: Callable[[NDArray[Any]], NDArray[Any]]) -> LaunchTrace:
    """The same with other slots of `empty`, of those that the buffer has."""
    events = trace.events
    mine = np.isin(events["site"], [0, 3])
    slot = np.where(mine, slots(events["slot"]), events["slot"]).astype(events["slot"].dtype)
    return replace(trace, events=Events({**events.columns, "slot": slot}))


@pytest.mark.parametrize("fills", [12, 3])
def test_slots_that_are_given_back_as_others_of_a_common_barrier(fills: int) -> None:
    """As B in kernels that give it back with the last of several parts of A, whose slots `empty` has before."""
    trace = ringed(2, fills)
    (ring,), (usual,) = rings_of(with_slots_of_empty(trace, lambda slot: slot + 2)), rings_of(trace)
    assert (ring.full, ring.empty, ring.slots) == ("full", "empty", (0, 1))
    for name in Fills.__slots__:
        assert getattr(ring.fills, name).tolist() == getattr(usual.fills, name).tolist(), name


def test_a_wait_that_is_the_same_for_all_slots_is_for_something_else() -> None:
    assert rings_of(with_slots_of_empty(ringed(3), lambda slot: np.full_like(slot, 3))) == ()


def test_a_wait_that_nobody_ended_may_be_for_something_else() -> None:
    assert rings_of(with_slots_of_empty(ringed(3, fills=3), lambda slot: slot + 3)) == ()


def test_barriers_without_names_are_no_ring() -> None:
    trace = ringed(2)
    trace.sites[:] = [replace(site, variable="") if site.variable == "empty" else site for site in trace.sites]
    assert rings_of(trace) == ()


def test_the_ring_of_another_cta() -> None:
    assert rings_of(ringed(2), cta=5) == ()
    assert rings_of(launch()) == ()


def test_the_tensor_core_bounds_the_pace() -> None:
    trace = ringed(1)
    trace.sites.append(SiteRow("mma", 1, FILE, 6, "", ""))
    trace.tracks.append(Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1, begin=0, end=2000))
    events = trace.events
    busy = events.select(events["site"] == 3)
    # An MMA of 60 cycles from each arrival on: more than the consumer's 49.
    busy.columns["end"] = busy["begin"] + 60
    busy.columns["track"][:], busy.columns["site"][:] = 3, 5
    (ring,) = rings_of(replace(trace, events=type(events).concat([events, busy])))
    assert ring.tensor_cycles == 60
    assert ring.needed == 3  # 1 + 90 / 60 = 2.5


@given(
    st.integers(1, 5), st.integers(1, 20), st.integers(0, 300), st.integers(0, 300), st.integers(1, 2), st.booleans()
)
def test_slots_have_one_state_at_a_time(
    depth: int, fills: int, copy: int, work: int, buffers: int, cut_short: bool
) -> None:
    trace = ringed(depth, fills, copy=copy, work=work, buffers=buffers)
    if cut_short:
        events = trace.events
        trace = replace(trace, events=events.select(np.arange(len(events)) < len(events) * 2 // 3))
    for ring in rings_of(trace):
        steps = ring.occupancy
        for counts in (steps.filling, steps.unread, steps.reading):
            assert counts.min() >= 0
        held = steps.filling + steps.unread + steps.reading
        assert held.max() <= ring.depth
        assert 0 <= ring.filling + ring.unread + ring.reading <= ring.depth + 1e-9
        for share in (ring.nothing_unread, ring.empty_share, ring.full_share):
            assert -1e-9 <= share <= 1 + 1e-9
        assert ring.empty_share <= ring.nothing_unread + 1e-9
        assert ring.needed is None or 1 <= ring.needed <= len(ring.fills.slot)
        lives = ring.fills
        for before, after in (("acquired", "issued"), ("issued", "landed"), ("landed", "read"), ("read", "released")):
            known = getattr(lives, after) != NEVER
            assert (getattr(lives, before)[known] <= getattr(lives, after)[known]).all()
        assert occupancy(lives).time.tolist() == steps.time.tolist()


def test_waits_that_name_another_slots_copy_are_not_taken_for_its_reads() -> None:
    # In `pipeline` a wait is released by the copy of the iteration before, which fills the other slot.
    assert rings_of(pipeline()) == ()
