from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import launch
from hypothesis import given
from hypothesis import strategies as st
from tui.ring_scene import LOAD, event, ring

from tlxviz.trace import Events, Trace, Track, TrackKind
from tlxviz.tui.derived import buffer_slots
from tlxviz.tui.lane import Lane
from tlxviz.tui.lanes import Lanes
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.slices import Counter, Slices, counter, cut, levels, overlap
from tlxviz.tui.state import State


def lane(lanes: Lanes, key: str) -> Lane:
    found = lanes.find(key)
    assert found is not None, key
    return found


def said(slices: Slices) -> list[tuple[int, int, str]]:
    columns = zip(slices.begin.tolist(), slices.end.tolist(), slices.look.tolist(), strict=True)
    return [(begin, end, Look(look).name) for begin, end, look in columns]


class TestLanesOfACta:
    def test_agents_then_engines_then_what_is_worked_out(self) -> None:
        lanes = Lanes(ring()).of(0).lanes
        assert [(each.label, each.depth) for each in lanes] == [
            ("CTA 0", 0),
            ("load", 1),
            ("mma", 1),
            ("TMA loads", 1),
            ("tensor core", 1),
            ("copies ≤1", 1),
            ("bytes ≤4K", 1),
            ("barriers", 1),
            ("buffers", 1),
        ]

    def test_a_warp_group_is_busy_between_its_events(self) -> None:
        slices = lane(Lanes(ring(2)), "cta 0/load").slices
        assert said(slices) == [
            (0, 10, "WAIT"),
            (10, 14, "ISSUE"),
            (14, 20, "ISSUE"),
            (100, 110, "WAIT"),
            (110, 114, "ISSUE"),
            (114, 120, "ISSUE"),
        ]
        [found] = slices.coverage(np.array([0, 200])).T.tolist()
        assert {Look(row).name: cycles for row, cycles in enumerate(found) if cycles} == {
            "WAIT": 20,
            "ISSUE": 20,
            "BUSY": 160,
        }

    def test_what_a_warp_group_does_to_tensor_memory_is_no_arithmetic(self) -> None:
        slices = lane(Lanes(tiles(2, 1)), "cta 0/epilogue").slices
        assert said(slices) == [(0, 310, "WAIT"), (310, 370, "TENSOR"), (370, 374, "ISSUE")]
        assert APPEARANCES[Look.TENSOR].word == "TMEM access"
        assert APPEARANCES[Look.TENSOR].glyph not in {
            each.glyph for look, each in APPEARANCES.items() if look is not Look.TENSOR
        }

    def test_a_request_for_a_tile_is_on_a_lane_of_its_own(self) -> None:
        lanes = Lanes(tiles(2, 2, asks=True))
        assert said(lane(lanes, "cta 0/CLC").slices) == [(10, 210, "ASKED"), (410, 610, "ASKED")]
        assert said(lane(lanes, "cta 0/scheduler").slices)[:3] == [
            (0, 10, "ISSUE"),
            (10, 215, "WAIT"),
            (215, 235, "ISSUE"),
        ]

    def test_slots_of_tensor_memory_are_lanes(self) -> None:
        trace = tiles(1, 2)
        [(name, slot)] = buffer_slots(trace, np.arange(len(trace.events)), 0, (0, 800))
        # filled by three products, full until the epilogue's wait is over, read until its arrival, and free
        first = [(5, 305, "FILL"), (305, 310, "FULL"), (310, 374, "READ")]
        assert name == "acc[0]"
        assert said(slot) == [*first, (379, 679, "FILL"), (679, 684, "FULL"), (684, 744, "READ")]

    def test_a_cta_shows_its_tensor_core(self) -> None:
        head = lane(Lanes(ring(2)), "cta 0")
        assert said(head.slices) == [(96, 146, "MMA"), (196, 246, "MMA")]
        assert head.slices.coverage(np.array([0, 100, 200]))[Look.ALIVE].tolist() == [96, 50]

    def test_loads_and_stores_are_lanes_of_their_own(self) -> None:
        trace = ring(2)
        trace.sites[0] = trace.sites[0].__class__("tma_store", 0, "", 1, "c", "", 1)
        trace.events.columns["track"][np.flatnonzero(trace.events["site"] == 0)] = 2
        lanes = Lanes(trace)
        assert said(lane(lanes, "cta 0/TMA stores").slices) == [(0, 10, "STORE"), (100, 110, "STORE")]
        assert said(lane(lanes, "cta 0/TMA loads").slices) == [(20, 90, "LOAD"), (120, 190, "LOAD")]
        store = int(np.flatnonzero(trace.events["site"] == 0)[0])
        found = lanes.lane_of(store)
        assert found is not None
        assert found.label == "TMA stores"

    def test_the_lane_of_an_event(self) -> None:
        trace = ring(ctas=2)
        found = Lanes(trace).lane_of(event(trace, 6, LOAD, 1))
        assert found is not None
        assert found.key == "cta 1/TMA loads"


class TestWorkThatOverlaps:
    def scene(self) -> Lanes:
        tracks = [Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=100)]
        rows = [
            (0, 0, 0, 50, 0, 0, 0, 0, 10, -1),
            (0, 0, 20, 60, 0, 0, 1, 0, 20, -1),
            (0, 0, 55, 90, 0, 0, 0, 1, 40, -1),
        ]
        return Lanes(launch(tracks, ring().sites[LOAD : LOAD + 1], rows))

    def test_it_is_cut_in_the_lane_and_whole_in_the_lanes_within(self) -> None:
        loads = lane(self.scene(), "cta 0/TMA loads")
        assert said(loads.slices) == [(0, 50, "LOAD"), (50, 60, "LOAD"), (60, 90, "LOAD")]
        assert [(each.label, said(each.slices)) for each in loads.own] == [
            ("at once 1", [(0, 50, "LOAD"), (55, 90, "LOAD")]),
            ("at once 2", [(20, 60, "LOAD")]),
        ]

    def test_counters(self) -> None:
        lanes = self.scene()
        copies, moved = (lane(lanes, f"cta 0/{name}").slices for name in ("copies", "bytes"))
        assert isinstance(copies, Counter)
        assert isinstance(moved, Counter)
        assert (copies.begin.tolist(), copies.end.tolist()) == ([0, 20, 50, 55, 60], [20, 50, 55, 60, 90])
        assert copies.value.tolist() == [1, 2, 1, 2, 1]
        assert moved.value.tolist() == [10, 30, 20, 60, 40]
        # (20 * 1 + 30 * 2 + 5 * 1 + 5 * 2 + 30 * 1) / 100
        assert copies.means(np.array([0, 100])).tolist() == [1.25]

    def test_a_number_that_changes_twice_in_a_cycle_has_its_last_value(self) -> None:
        found = counter(np.array([0, 10]), np.array([10, 20]), np.array([1, 1]), Look.LOAD)
        assert (found.begin.tolist(), found.end.tolist(), found.value.tolist()) == ([0, 10], [10, 20], [1, 1])


class TestBarriers:
    def test_a_phase_ends_when_what_released_its_wait_did(self) -> None:
        own = {each.label: said(each.slices) for each in lane(Lanes(ring()), "cta 0/barriers").own}
        assert own["full[0]"] == [(0, 90, "EVEN"), (90, 290, "ODD"), (290, 500, "EVEN")]
        assert own["full[1]"] == [(0, 190, "EVEN"), (190, 390, "ODD"), (390, 500, "EVEN")]

    def test_the_last_phase_that_nobody_waited_for_is_left_open(self) -> None:
        own = {each.label: said(each.slices) for each in lane(Lanes(ring()), "cta 0/barriers").own}
        assert own["empty[0]"] == [(0, 114, "EVEN"), (114, 500, "ODD")]

    def test_a_phase_without_a_known_releaser_ends_with_its_last_arrival(self) -> None:
        trace = ring(6)
        waits = np.flatnonzero((trace.events["site"] == 0) & (trace.events["inner"] == 2))
        trace.events.columns["released_by"][waits] = -1
        own = {each.label: said(each.slices) for each in lane(Lanes(trace), "cta 0/barriers").own}
        assert own["empty[0]"] == [(0, 114, "EVEN"), (114, 314, "ODD"), (314, 700, "EVEN")]

    def test_a_phase_that_a_product_completes_ends_with_it_and_not_with_the_commit(self) -> None:
        own = {each.label: said(each.slices) for each in lane(Lanes(tiles(2, 4)), "cta 0/barriers").own}
        # products of tile 0 are complete at 305, of tile 1 at 605, and so on; commits end at 37, 74, 411 and 711
        assert [each[:2] for each in own["acc_full[0]"]] == [(0, 305), (305, 905), (905, 1314)]
        assert [each[2] for each in own["acc_full[0]"]] == ["EVEN", "ODD", "EVEN"]
        assert [each[:2] for each in own["acc_full[1]"]] == [(0, 605), (605, 1205), (1205, 1314)]

    def test_several_waits_for_one_product_are_for_one_phase(self) -> None:
        trace = tiles(1, 3)
        events = trace.events
        waits = np.flatnonzero(events["site"] == 3)
        again = Events({name: np.append(column, column[waits]) for name, column in events.columns.items()})
        own = {
            each.label: said(each.slices)
            for each in lane(Lanes(replace(trace, events=again.in_order())), "cta 0/barriers").own
        }
        assert [each[1:] for each in own["acc_full[0]"]][:3] == [(305, "EVEN"), (679, "ODD"), (1053, "EVEN")]

    def test_their_own_lane_has_all_flips(self) -> None:
        slices = lane(Lanes(ring()), "cta 0/barriers").slices
        assert slices.begin.tolist() == slices.end.tolist() == [90, 114, 190, 214, 290, 390]


class TestBuffers:
    def test_slots_are_filled_full_read_and_free(self) -> None:
        buffers = lane(Lanes(ring()), "cta 0/buffers")
        own = {each.label: said(each.slices) for each in buffers.own}
        assert own == {
            "a[0]": [
                (10, 90, "FILL"),
                (90, 95, "FULL"),
                (95, 114, "READ"),
                (210, 290, "FILL"),
                (290, 295, "FULL"),
                (295, 314, "READ"),
            ],
            "a[1]": [
                (110, 190, "FILL"),
                (190, 195, "FULL"),
                (195, 214, "READ"),
                (310, 390, "FILL"),
                (390, 395, "FULL"),
                (395, 414, "READ"),
            ],
        }
        found = buffers.slices.coverage(np.array([0, 100, 200]))
        assert found[Look.FILL].tolist() == [80, 80]
        assert found[Look.FREE].tolist() == [110, 96]
        assert found.sum(axis=0).tolist() == [200, 200]


class TestVisible:
    def labels(self, state: State) -> list[str]:
        return [each.label for each in state.visible()]

    def test_all_ctas_are_listed_and_the_first_is_open(self) -> None:
        state = State.of(Trace([ring(ctas=3)]))
        assert self.labels(state) == [
            *("CTA 0", "load", "mma", "TMA loads", "tensor core", "copies ≤1", "bytes ≤4K", "barriers", "buffers"),
            *("CTA 1", "CTA 2"),
        ]

    def test_folded_lanes_are_not_made(self) -> None:
        state = State.of(Trace([ring(ctas=3000)]))
        assert len(state.visible()) == 3008
        assert not [head for head in state.seen.lanes.heads.values() if head.cta and "own" in vars(head)]

    def test_fold_and_unfold(self) -> None:
        state = State.of(Trace([ring(ctas=2)]))
        state.lane = self.labels(state).index("barriers")
        state.fold()
        assert self.labels(state)[7:14] == [
            "barriers",
            "full[0]",
            "full[1]",
            "empty[0]",
            "empty[1]",
            "buffers",
            "CTA 1",
        ]
        state.lane = 1
        state.fold()
        assert self.labels(state) == ["CTA 0", "CTA 1"]
        assert state.lane == 0

    def test_going_to_an_event_of_another_cta_unfolds_it(self) -> None:
        trace = ring(ctas=3)
        state = State.of(Trace([trace]))
        state.go_to(event(trace, 10, LOAD, 2))
        assert state.cta == 2
        current = state.current()
        assert current is not None
        assert current.key == "cta 2/TMA loads"

    def test_pinned_lanes_come_first_whichever_cta_they_are_of(self) -> None:
        state = State.of(Trace([ring(ctas=2)]))
        state.pinned = ["cta 1/mma", "cta 0/tensor core"]
        keys = [each.key for each in state.visible()]
        assert keys[:3] == ["cta 1/mma", "cta 0/tensor core", "cta 0"]
        assert keys.count("cta 0/tensor core") == 1


stretches = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=30)


def by_begin(drawn: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = sorted((begin, begin + cycles) for begin, cycles in drawn)
    begin, end = (np.array([row[place] for row in rows], np.int64) for place in range(2))
    return begin, end


class TestAnyWork:
    @given(stretches)
    def test_levels_do_not_overlap_and_are_no_more_than_needed(self, drawn: list[tuple[int, int]]) -> None:
        begin, end = by_begin(drawn)
        found = levels(begin, end)
        for level in np.unique(found).tolist():
            own = found == level
            assert (begin[own][1:] >= end[own][:-1]).all()
        assert overlap(begin, end) == int(found.max(initial=-1)) + 1

    @given(stretches, st.integers(-5, 70), st.integers(1, 80), st.integers(1, 90))
    def test_columns_add_up_to_the_time_of_slices_in_the_window(
        self, drawn: list[tuple[int, int]], first: int, cycles: int, columns: int
    ) -> None:
        from tlxviz.tui.window import Window

        begin, end = by_begin(drawn)
        looks = np.array([Look.WAIT + number % 3 for number in range(len(begin))], np.int8)
        slices = cut(begin, end, looks, np.arange(len(begin)))
        slices.between, slices.life = Look.BUSY, (10, 50)
        window = Window(first, first + cycles)
        found = slices.coverage(window.edges(columns)).sum(axis=1)
        for look in (Look.WAIT, Look.ISSUE, Look.LOAD):
            inside = np.minimum(slices.end, window.end) - np.maximum(slices.begin, window.begin)
            assert found[look] == np.maximum(inside, 0)[looks == look].sum()

    @given(stretches)
    def test_what_is_cut_covers_what_was(self, drawn: list[tuple[int, int]]) -> None:
        begin, end = by_begin(drawn)
        slices = cut(begin, end, np.zeros(len(begin), np.int8), np.arange(len(begin)))
        cycles = {
            cycle for first, last in zip(begin.tolist(), end.tolist(), strict=True) for cycle in range(first, last)
        }
        assert (slices.end - slices.begin).sum() == len(cycles)
        assert (slices.begin[1:] >= slices.end[:-1]).all()


@pytest.mark.parametrize("ctas", [0, 1])
def test_a_launch_without_events(ctas: int) -> None:
    trace = ring(0, ctas)
    state = State.of(Trace([trace]))
    assert len(state.visible()) == (7 if ctas else 0)
    assert [len(each.slices) for each in state.visible()] == [0] * len(state.visible())
