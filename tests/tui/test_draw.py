from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from analysis.synthetic_traces import launch
from hypothesis import given
from hypothesis import strategies as st
from tui.ring_scene import EMPTY, FULL, LOAD, event, look, ring

from tlxviz.devices import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.trace import LaunchTrace, SiteRow, Trace, Track, TrackKind
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.draw import MOMENT, Drawing, Paint, cells, columns_taken
from tlxviz.tui.lanes import Lanes
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.ruler import ticks
from tlxviz.tui.state import State
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.window import Window

ROOT = Path(__file__).resolve().parents[2]


def lines(trace: LaunchTrace, size: tuple[int, int], then: object = None) -> list[str]:
    return [line.rstrip() for line in asyncio.run(look(trace, size, then))]  # type: ignore[arg-type]


class TestText:
    def test_at_80_columns(self) -> None:
        assert lines(ring(ctas=2), (80, 24))[:12] == [
            "         cycles 0     50    100    150   200    250   300   350    400   450",
            "                ▼─────┬─────┬──────┬─────┬──────┬─────┬─────┬──────┬─────┬─────┤",
            "▾CTA 0         ▶╎╌╌╌╌╌╌╌╌╌╌╌MMA████╌╌╌╌╌╌MMA████╌╌╌╌╌╌MMA███▃╌╌╌╌╌MMA████▁╌╌╌╌╌╌",
            "  load          ×▒▒██████████×▒███████████×▒██████████××▒██████████",
            "  mma           ██full[0]×××▒██full[1]×××▒██full[0]×××███full[1]×××█████████████",
            "  TMA loads     ╎ load a[0]▓   load a[1]▃   load a[0]▂   a[1]▓▓▓▓▓",
            "  tensor core   ╎           MMA████      MMA████      MMA███▃     MMA████▁",
            "  copies ≤1     ╎ ▃████████▅   ▅████████▃   ▆████████▂   █████████",
            "  bytes ≤4K     ╎ ▃████████▅   ▅████████▃   ▆████████▂   █████████",
            " ▸barriers      ╎          │  │         │  │         │            │",
            " ▸buffers       ··▒▒▒▒▒▒▒▒▒··█▒▒▒▒▒▒▒▒▒▒·██▒▒▒▒▒▒▒▒▒▒·██▒▒▒▒▒▒▒▒▒▒·██···········",
            "▸CTA 1          ╎╌╌╌╌╌╌╌╌╌╌╌MMA████╌╌╌╌╌╌MMA████╌╌╌╌╌╌MMA███▃╌╌╌╌╌MMA████▁╌╌╌╌╌╌",
        ]

    def test_at_120_columns_of_five_cycles(self) -> None:
        found = lines(ring(), (120, 40))
        ticked = "".join(f"{time:<10}" for time in range(0, 500, 50))
        assert found[0] == f"             cycles {ticked}".rstrip()
        # 10 cycles of waiting, 10 of issuing, 80 of work
        assert found[3] == "  load              " + ("××▒▒" + "█" * 16) * 4
        # the last column of each MMA has one cycle of five
        assert found[6].replace("╎", " ") == ("  tensor core" + " " * 26 + ("MMA███████▂" + " " * 9) * 4).rstrip()

    def test_at_220_columns(self) -> None:
        found = lines(ring(), (220, 60))
        assert found[3] == "  load              " + ("××××▒▒▒▒" + "█" * 32) * 4
        assert found[4].count("wait full[0]××××××××××××××××××▒▒████▒▒██") == 2

    def test_in_20_columns_every_line_fits(self) -> None:
        found = lines(ring(), (20, 10))
        assert found[0] == "cycle0     200   400"
        assert max(map(len, found)) <= 20

    @pytest.mark.parametrize("size", [(1, 1), (5, 3), (6, 40), (300, 2)])
    def test_in_any_size(self, size: tuple[int, int]) -> None:
        assert all(len(line) <= size[0] for line in lines(ring(), size))

    @pytest.mark.parametrize("ctas", [0, 1])
    def test_without_events(self, ctas: int) -> None:
        assert lines(ring(0, ctas), (80, 24))[2].startswith("▾CTA 0" if ctas else "")

    def test_time_in_ns_has_round_ticks_of_its_own(self) -> None:
        trace = ring()
        trace.clock_mhz = 2000.0

        async def ns(app: TimelineApp, pilot: object) -> None:
            app.state.units = "ns"
            app.state.changed()

        found = lines(trace, (120, 40), ns)
        assert found[0].split() == ["ns", *(str(time) for time in range(0, 250, 20))]
        assert found[1].index("┬", 21) == 20 + 8  # 20 ns are 40 cycles of 5 a column


class TestArrows:
    def test_what_released_a_wait_before_it_began(self) -> None:
        async def select(app: TimelineApp, pilot: object) -> None:
            app.state.go_to(event(app.state.launch, 0, EMPTY, 2))
            app.state.changed()

        found = lines(ring(), (120, 40), select)
        # from the end of the arrival, cycle 114, to the wait that begins at 200
        assert found[4].index("╯") == found[3].index("╭") == 20 + 113 // 5
        assert found[3].index("▶", 20) == 20 + 200 // 5 - 1

    def test_a_copy_its_issuer_and_the_wait_that_it_ends(self) -> None:
        async def select(app: TimelineApp, pilot: object) -> None:
            app.state.go_to(event(app.state.launch, 2, LOAD, 1))
            app.state.changed()

        found = lines(ring(), (120, 40), select)
        issued, landed = 20 + 119 // 5, 20 + 189 // 5
        assert (found[3][issued], found[4][issued], found[5][issued]) == ("╮", "│", "▼")
        assert (found[5][landed], found[4][landed]) == ("╯", "▲")

    def test_nothing_is_drawn_to_lanes_that_nobody_sees(self) -> None:
        async def select(app: TimelineApp, pilot: object) -> None:
            app.state.go_to(event(app.state.launch, 2, LOAD, 1))
            app.state.folded.add("cta 0")
            app.state.changed()

        assert not any(glyph in "".join(lines(ring(), (120, 40), select)) for glyph in "╮╯▲")


class TestRulerAndSelection:
    def test_marks_range_and_pinned_lanes(self) -> None:
        async def select(app: TimelineApp, pilot: object) -> None:
            state = app.state
            state.marks.append(120)
            state.span = Window(300, 350)
            state.pinned.append("cta 0/tensor core")
            state.changed()

        found = lines(ring(), (120, 40), select)
        assert (found[1][20 + 24], found[1][20 + 60 : 20 + 70]) == ("A", "[════════]")
        assert found[2].startswith("  tensor core")
        assert set(found[3]) == {"┄"}
        assert found[4].startswith("▾CTA 0")

    def test_ends_say_whether_there_is_more(self) -> None:
        async def zoom(app: TimelineApp, pilot: object) -> None:
            app.state.window = Window(100, 200)
            app.state.changed()

        assert lines(ring(), (120, 40), zoom)[1].strip()[0::99] == "◀▶"

    @given(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 300), st.sampled_from(["cycles", "ns", "us"]))
    def test_ticks_are_on_the_ruler_and_do_not_overlap(self, begin: int, cycles: int, columns: int, unit: str) -> None:
        found = ticks(Window(begin, begin + cycles), columns, 1755.0, unit)
        for tick, after in pairwise(found):
            assert 0 <= tick.column < columns
            assert tick.column + len(tick.word) < after.column

    def test_light_falls_on_the_events_of_a_site(self) -> None:
        trace = ring()
        lanes = Lanes(trace)
        lane = lanes.find("cta 0/mma")
        assert lane is not None
        paint = Drawing(trace).row(lane, Window(0, 500), 100, frozenset({FULL})).paint
        # from 20 to 95 of each hundred, five cycles a column
        assert np.flatnonzero(paint & Paint.LIT).tolist() == [i * 20 + c for i in range(4) for c in range(4, 19)]


class TestDenseColumns:
    def row(self, columns: int, rows: list[tuple[int, ...]]) -> tuple[str, list[int]]:
        tracks = [Track(TrackKind.WARP_GROUP, "load", 0, 0, 0, begin=0, end=1000)]
        sites = [SiteRow("wait", 0, "", 1, "full", ""), SiteRow("arrive", 0, "", 2, "empty", "")]
        trace = launch(tracks, sites, rows)
        lane = Lanes(trace).find("cta 0/load")
        assert lane is not None
        made = Drawing(trace).row(lane, Window(0, 1000), columns, frozenset())
        return "".join(made.glyphs.tolist()), made.paint.tolist()

    def test_what_prevails_and_how_much_of_it(self) -> None:
        # of each ten cycles, four are waits in the first half, and six in the second
        rows = [(0, 0, at, at + (4 if at < 500 else 6), 0, 0, 0, 0, 0, -1) for at in range(0, 1000, 10)]
        glyphs, paint = self.row(10, rows)
        assert glyphs == "▅▅▅▅▅×××××"
        assert not paint[9] & Paint.DIM
        assert paint[9] & 31 == Look.WAIT

    def test_a_wait_that_barely_prevails_is_dim_and_one_that_is_all_bold(self) -> None:
        rows = [(0, 0, at, at + 5, 0, 0, 0, 0, 0, -1) for at in range(0, 500, 10)] + [
            (0, 0, 500, 1000, 0, 0, 0, 0, 0, -1)
        ]
        _, paint = self.row(10, rows)
        assert [bool(each & Paint.DIM) for each in paint] == [True] * 5 + [False] * 5
        # the name of the long wait is written on its first columns
        assert [bool(each & Paint.BOLD) for each in paint] == [False] * 9 + [True]

    def test_an_event_without_time_is_seen(self) -> None:
        glyphs, paint = self.row(10, [(0, 1, 250, 250, 0, 0, 0, 0, 0, -1)])
        assert glyphs == "██" + MOMENT + "███████"
        assert paint[2] & 31 == Look.ISSUE

    def test_more_columns_than_cycles(self) -> None:
        trace = ring()
        lane = Lanes(trace).find("cta 0/load")
        assert lane is not None
        # cycles 8 and 9 are of the wait, 10 to 13 of the expect, 14 and 15 of the issue
        found = cells(lane.slices, Window(8, 16), 24).look.tolist()
        assert found == [Look.WAIT] * 6 + [Look.ISSUE] * 18


class TestWindow:
    @given(st.integers(1, 400), st.integers(1, 300), st.integers(0, 399))
    def test_a_cycle_is_in_its_column(self, cycles: int, columns: int, since: int) -> None:
        window = Window(7, 7 + cycles)
        cycle = 7 + since % cycles
        column = window.column(cycle, columns)
        assert 0 <= column < columns
        assert window.columns_of(np.array([cycle]), columns).tolist() == [column]
        if cycles > columns:
            edges = window.edges(columns).tolist()
            assert edges[column] <= cycle < edges[column + 1]
        else:
            assert window.cycle(column, columns) == cycle

    @given(st.integers(1, 400), st.integers(1, 300), st.integers(0, 399), st.integers(1, 50))
    def test_a_slice_has_a_column(self, cycles: int, columns: int, begin: int, length: int) -> None:
        window = Window(0, cycles)
        begin %= cycles
        first, last = columns_taken(np.array([begin]), np.array([min(begin + length, cycles)]), window, columns)
        assert 0 <= first[0] < last[0] <= columns


@pytest.fixture(scope="module")
def trace() -> LaunchTrace:
    device = load_device("h200")
    recorder = SimulatedRecorder(device, values=False)
    script = ROOT / "kernels" / "hopper_gemm_ws.py"
    run_script(script, ["--m", "512", "--n", "512", "--k", "1024"], device, recorder.execute)
    return recorder.trace.launches[0]


class TestASimulatedKernel:
    @pytest.mark.parametrize("size", [(80, 24), (120, 40), (220, 60)])
    def test_its_lanes(self, trace: LaunchTrace, size: tuple[int, int]) -> None:
        found = lines(trace, size)
        assert found[2].startswith("▾CTA 0")
        text = {line.split()[0].strip("▸▾"): line for line in found[2:] if line}
        for group in ("load", "mma.0", "mma.1"):
            assert "×" in text[group]
            assert "█" in text[group] or "▒" in text[group]
        assert "▓" in text["TMA"] or "▒" in text["TMA"]

    def test_a_column_shows_what_took_most_of_it(self, trace: LaunchTrace) -> None:
        state = State.of(Trace([trace]))
        window, columns = state.window, 100
        edges = window.edges(columns).tolist()
        for name in ("load", "mma.0", "mma.1"):
            lane = state.seen.lanes.find(f"cta 0/{name}")
            assert lane is not None
            made = cells(lane.slices, window, columns)
            track = trace.tracks[lane.track]
            rows = np.flatnonzero(trace.events["track"] == lane.track)
            waiting = np.isin(rows, rows[[trace.sites[s].kind.endswith("wait") for s in trace.events["site"][rows]]])
            for column in range(columns):
                begin, end = edges[column], edges[column + 1]
                took = np.minimum(trace.events["end"][rows], end) - np.maximum(trace.events["begin"][rows], begin)
                wait, issue = (int(np.maximum(took[each], 0).sum()) for each in (waiting, ~waiting))
                alive = max(0, min(end, track.end) - max(begin, track.begin))
                cycles = {Look.WAIT: wait, Look.ISSUE: issue, Look.BUSY: alive - wait - issue}
                cycles[Look.AWAY] = end - begin - alive
                assert cycles[Look(int(made.look[column]))] == max(cycles.values())

    def test_resizing_again_and_again(self, trace: LaunchTrace) -> None:
        async def storm() -> None:
            app = TimelineApp(Trace([trace]))
            async with app.run_test(size=(120, 40)) as pilot:
                for width, height in [(20, 8), (220, 60), (1, 1), (80, 24), (33, 5), (160, 50), (100, 30)]:
                    await pilot.resize_terminal(width, height)
                    await pilot.press("j", "w")
                await pilot.pause()
                timeline = app.query_one(Timeline)
                assert all(
                    timeline.render_line(y).cell_length == timeline.size.width for y in range(timeline.size.height)
                )

        asyncio.run(storm())


def test_looks_are_distinct_without_colour_where_they_meet() -> None:
    groups = [
        (Look.AWAY, Look.BUSY, Look.WAIT, Look.ISSUE),
        (Look.AWAY, Look.LOAD, Look.STORE, Look.MMA, Look.ALIVE),
        (Look.EVEN, Look.ODD),
        (Look.FILL, Look.FULL, Look.READ, Look.FREE),
    ]
    for group in groups:
        assert len({APPEARANCES[each].glyph for each in group}) == len(group)
