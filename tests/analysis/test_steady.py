from __future__ import annotations

from itertools import pairwise

import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from hypothesis import given
from hypothesis import strategies as st

from tlxviz.analysis.iterations import loop_iterations
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.steady import BUSY, SteadyState, steady_states
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind

FILE = "/somewhere/loop.py"
SITES = [
    SiteRow("wait", 0, FILE, 10, "full", "ttng.wait_barrier"),
    SiteRow("arrive", 0, FILE, 11, "empty", "ttng.arrive_barrier"),
    SiteRow("mma_wait", 0, FILE, 20, "", "ttng.warp_group_dot_wait"),
    SiteRow("fence", 0, FILE, 30, "", "ttng.fence"),
]
LEAD, GAP, TAIL = 50, 30, 70


def looped(
    runs: list[list[int]], *, persistent: bool = False, waits: dict[int, int] | None = None, stores: int = 0
) -> LaunchTrace:
    """A warp group whose iterations take so long: a wait of 20 cycles, 4 of work, an arrival of 6, work for the rest.

    It does LEAD cycles of work before the loop and TAIL behind it. After each run it waits GAP cycles outside of the
    loop, in the loop over tiles if it is persistent, and a loop of `stores` iterations of 10 cycles follows.

    Args:
        waits: Cycles of a wait that is not 20, by the number of the iteration.
    """
    at, number = LEAD, 0
    rows: list[tuple[int, ...]] = []
    for tile, run in enumerate(runs):
        for inner, length in enumerate(run):
            outer = tile if persistent else inner
            wait = (waits or {}).get(number, 20)
            rows.append((0, 0, at, at + wait, outer, inner, 0, 0, 0, -1))
            rows.append((0, 1, at + wait + 4, at + wait + 10, outer, inner, 0, 0, 0, -1))
            at, number = at + length, number + 1
        where = tile if persistent else -1
        rows.append((0, 2, at, at + GAP, where, where, -1, -1, 0, -1))
        at += GAP
        for inner in range(stores):
            rows.append((0, 3, at, at + 8, tile if persistent else inner, inner, -1, -1, 0, -1))
            at += 10
    track = Track(TrackKind.WARP_GROUP, "work", 0, 0, 0, warps=4, begin=0, end=at + TAIL)
    return launch([track], SITES, rows, [AgentRow("work", "mma", 0, 4)])


def steady_of(trace: LaunchTrace, **options: int) -> SteadyState:
    state = steady_states(trace, occupation(trace), **options)["work"]
    assert state is not None
    return state


def test_prologue_steady_part_and_epilogue_of_a_loop() -> None:
    state = steady_of(looped([[40, 60, *[100] * 8, 160]]))
    assert (state.agent, state.cta) == ("work", 0)
    assert (state.prologue, state.begin, state.end, state.epilogue) == (150, 150, 950, 160 + GAP + TAIL)
    assert (state.iterations, state.runs, state.between) == (8, 1, 0)
    assert (state.busy, state.issue, state.wait) == (74, 6, 20)
    figures = state.intervals
    assert (figures.mean, figures.median, figures.p95, figures.min, figures.max) == (100, 100, 100, 100, 100)
    assert figures.jitter == 0
    assert state.odd == ()


def test_an_iteration_that_differs_is_within_the_steady_part_and_is_explained() -> None:
    state = steady_of(looped([[*[100] * 6, 170, *[100] * 6]], waits={6: 80}))
    assert (state.prologue, state.iterations, state.odd_count) == (LEAD, 12, 1)
    (odd,) = state.odd
    assert (odd.outer, odd.inner, odd.begin, odd.cycles, odd.excess) == (6, 6, LEAD + 600, 170, 70)
    wait, work = odd.reasons
    assert (wait.kind, wait.variable, wait.file, wait.line, wait.cycles) == ("wait", "full", FILE, 10, 60)
    assert (work.kind, work.variable, work.line, work.cycles) == (BUSY, "", 11, 10)


def test_a_short_iteration_is_explained_by_what_it_lacks() -> None:
    (odd,) = steady_of(looped([[*[100] * 6, 65, *[100] * 6]], waits={6: 0})).odd
    assert odd.excess == -35
    assert [(reason.kind, reason.cycles) for reason in odd.reasons] == [("wait", -20), (BUSY, -15)]


def test_the_worst_of_the_odd_iterations_are_listed_first() -> None:
    state = steady_of(looped([[*[100] * 6, 130, *[100] * 6, 190, *[100] * 6, 140, *[100] * 6]]), worst=2)
    assert state.odd_count == 3
    assert [odd.cycles for odd in state.odd] == [190, 140]


def test_a_persistent_loop_is_steady_from_tile_to_tile() -> None:
    tiles = [[60, *[100] * 5, 100], [60, *[100] * 5, 100], [60, *[100] * 5, 100]]
    state = steady_of(looped(tiles, persistent=True))
    # 18 intervals are known; the first tile's short one is left in front.
    assert (state.prologue, state.begin) == (LEAD + 60, LEAD + 60)
    assert (state.iterations, state.runs) == (17, 3)
    # Between two tiles: the last iteration, whose end is not known, and the wait behind the loop.
    assert state.between == 2 * (100 + GAP)
    assert state.end == LEAD + 3 * 660 + 2 * GAP - 100
    assert state.epilogue == 100 + GAP + TAIL
    assert [(odd.outer, odd.inner, odd.cycles) for odd in state.odd] == [(1, 0, 60), (2, 0, 60)]


def test_intervals_that_alternate_are_jitter_and_not_odd() -> None:
    state = steady_of(looped([[50, 150] * 8 + [50]]))
    assert state.iterations == 16
    assert state.intervals.median == 100
    assert state.intervals.jitter == pytest.approx(100 / 1.349)
    assert state.odd == ()


def test_a_few_slow_ones_show_in_the_percentile() -> None:
    figures = steady_of(looped([[*[100] * 10, *[110] * 10, 100]])).intervals
    assert (figures.mean, figures.median, figures.p95, figures.min, figures.max) == (105, 105, 110, 100, 110)


@pytest.mark.parametrize("persistent", [False, True])
def test_of_two_loops_the_longer_counts(persistent: bool) -> None:
    trace = looped([[100] * 9, [100] * 9], persistent=persistent, stores=12)
    loop = loop_iterations(trace, occupation(trace), 0)
    assert len(loop) == 18
    state = steady_of(trace)
    assert (state.iterations, state.runs, state.between) == (16, 2, 100 + GAP + 12 * 10)


def test_a_warp_group_without_a_loop_has_no_steady_state() -> None:
    trace = looped([[]])
    assert steady_states(trace, occupation(trace)) == {"work": None}


def test_three_iterations_are_too_few() -> None:
    trace = looped([[100] * 3])
    assert steady_states(trace, occupation(trace)) == {"work": None}


def test_the_cta_that_took_longest_is_taken_unless_one_is_named() -> None:
    trace = pipeline()
    trace.tracks.append(Track(TrackKind.WARP_GROUP, "mma", 7, 1, 1, begin=0, end=2000))
    occupied = occupation(trace)
    assert steady_states(trace, occupied) == {"mma": None}
    named = steady_states(trace, occupied, cta=0)
    assert [state and state.intervals.median for state in named.values()] == [100, 100]
    assert steady_states(trace, occupied, cta=3) == {}


def test_nothing_traced() -> None:
    trace = launch()
    assert steady_states(trace, occupation(trace)) == {}


def test_a_hung_launch_is_cut_where_its_events_end() -> None:
    trace = hung()
    assert set(steady_states(trace, occupation(trace)).values()) == {None}


LENGTHS = st.lists(st.lists(st.integers(31, 400), max_size=12), min_size=1, max_size=4)


@given(LENGTHS, st.booleans(), st.integers(0, 4))
def test_the_parts_make_up_the_warp_groups_time(runs: list[list[int]], persistent: bool, stores: int) -> None:
    trace = looped(runs, persistent=persistent, stores=stores)
    state = steady_states(trace, occupation(trace))["work"]
    if state is None:
        return
    assert min(state.prologue, state.epilogue, state.between) >= 0
    assert state.prologue + (state.end - state.begin) + state.epilogue == trace.tracks[0].end
    assert state.iterations * state.intervals.mean + state.between == pytest.approx(state.end - state.begin)
    assert state.busy + state.issue + state.wait == pytest.approx(state.intervals.mean)
    for odd in state.odd:
        assert all(reason.cycles * odd.excess > 0 for reason in odd.reasons)


@given(LENGTHS)
def test_iterations_follow_each_other_within_a_run(runs: list[list[int]]) -> None:
    trace = looped(runs, persistent=True)
    loop = loop_iterations(trace, occupation(trace), 0)
    for before, after in pairwise(range(len(loop))):
        if loop.run[before] == loop.run[after]:
            assert loop.end[before] == loop.begin[after]
            assert loop.inner[before] + 1 == loop.inner[after]
        else:
            assert (loop.end[before], loop.inner[after]) == (-1, 0)
