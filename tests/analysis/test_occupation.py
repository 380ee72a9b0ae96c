from __future__ import annotations

import numpy as np
from analysis.synthetic_traces import launch
from hypothesis import given
from hypothesis import strategies as st

from tlxviz.analysis.occupation import occupation
from tlxviz.trace import SiteRow, Track, TrackKind

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 20)), max_size=30)


def occupied_trace(events: list[tuple[int, int, int]]):
    tracks = [Track(TrackKind.TMA, f"track {number}", 0, 0, -1, begin=5, end=50) for number in range(3)]
    rows = [(track, 0, begin, begin + length, -1, -1, -1, -1, 0, -1) for track, begin, length in events]
    return launch(tracks, [SiteRow("tma_load", 0, "", 0, "", "")], rows)


@given(EVENTS)
def test_each_occupied_cycle_belongs_to_exactly_one_event(events: list[tuple[int, int, int]]) -> None:
    occupied = occupation(occupied_trace(events))
    for track in range(3):
        union = {
            cycle for row, begin, length in events if row == track for cycle in range(begin, begin + length)
        } & set(range(5, 50))
        part = occupied.of_track(track)
        given_out = [
            cycle
            for begin, cycles in zip(occupied.begin[part].tolist(), occupied.cycles[part].tolist(), strict=True)
            for cycle in range(begin, begin + cycles)
        ]
        assert len(given_out) == len(set(given_out))
        assert set(given_out) == union


@given(EVENTS, st.integers(1, 12))
def test_coverage_counts_occupied_cycles_between_edges(events: list[tuple[int, int, int]], columns: int) -> None:
    occupied = occupation(occupied_trace(events))
    edges = np.linspace(0, 60, columns + 1)
    for track in range(3):
        covered = occupied.coverage(track, edges)
        assert covered.min() >= -1e-9
        assert (covered <= np.diff(edges) + 1e-9).all()
        assert np.isclose(covered.sum(), occupied.cycles[occupied.of_track(track)].sum())


def test_coverage_of_some_events() -> None:
    occupied = occupation(occupied_trace([(0, 10, 10), (1, 10, 10), (1, 20, 10), (1, 40, 5)]))
    even = np.array([1, 0, 1])  # of the second track's
    assert occupied.coverage(1, np.array([0.0, 15.0, 30.0, 42.0, 60.0]), even).tolist() == [5, 5, 2, 3]
