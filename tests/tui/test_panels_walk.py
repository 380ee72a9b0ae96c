"""What a user does with the panels: find the worst stall, follow it to its root, see the line."""

from __future__ import annotations

import pytest
from analysis.synthetic_traces import Scene, hung, launch, pipeline
from panel_pilot import Walk, walk

from tlxviz.trace import LaunchTrace, SiteRow, Trace, Track, TrackKind
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.window import Window


def _row(made: LaunchTrace, site: int, inner: int, track: int) -> int:
    events = made.events
    """The one event of a site on a track in an iteration."""
    found = [
        row
        for row in range(len(events))
        if (events["site"][row], events["inner"][row], events["track"][row]) == (site, inner, track)
    ]
    assert len(found) == 1
    return found[0]


def test_from_the_worst_stall_to_its_root_and_its_line() -> None:
    scene = Scene()
    load, mma = scene.group("load", 0, 1000), scene.group("mma", 0, 1000)
    issue = scene.event(load, "tma_load", 100, 110, variable="a", line=2)
    copy = scene.copy(load, 110, 600, by=issue, variable="a", line=2)
    wait = scene.event(mma, "wait", 50, 610, variable="full", by=copy, line=4)
    short = scene.event(mma, "wait", 700, 720, variable="full", line=5)
    made = scene.launch(source="def kernel():\n    load(a)\n\n    wait(full)\n    wait(full)\n", source_file="scene.py")

    async def steps(user: Walk) -> None:
        await user.open("stalls")
        assert user.options("stalls-list")[-2:] == [
            "mma  wait full  56.0% of its time, 560 cycles  line 4",
            "mma  wait full  2.0% of its time, 20 cycles  line 5",
        ]
        await user.press("end", "up", "enter")
        assert user.app.state.event == scene.row(wait)
        assert user.said("stalls-text").startswith("1 wait, mean 560, worst 560 cycles")

        await user.open("event")
        assert user.options("event-chain") == [
            "waited for",
            "mma  wait full[0]  10 cycles  hand-off",
            "TMA  load a[0]  490 cycles  copy latency",
            "load  issue load a[0]  10 cycles  issuing",
            "load  before issue load a[0]  100 cycles  arithmetic",
        ]
        await user.press("enter")  # the first step that is another event
        assert user.app.state.event == scene.row(copy)
        assert user.options("event-chain")[-2:] == ["released 1", "mma  wait full[0]  560 cycles"]
        await user.press("enter")
        assert user.app.state.event == scene.row(issue)

        await user.open("source")
        assert any(line.lstrip("│ ").startswith("▶    2") and "load(a)" in line for line in user.screen())
        await user.press("down", "down", "enter")
        assert user.app.state.event == scene.row(wait)
        assert {made.sites[site].line for site in user.app.state.lit} == {4}
        await user.press("down", "enter")
        assert user.app.state.event == scene.row(short)

    walk(made, steps)


def test_facts_of_an_event() -> None:
    made = pipeline(4)

    async def steps(user: Walk) -> None:
        await user.select(_row(made, 1, 3, 0))
        assert user.said("event-text").splitlines() == [
            "expect full[1]  load, CTA 0, SM 0",
            "340 to 344: 4 cycles = 4 ns",
            "iteration 3 of outer 0, slot 1, phase 1, 4 KiB",
            "pipeline.py:41  def pipeline(a, b):",
            "ttng.barrier_expect",
        ]

    walk(made, steps)


def test_long_chains_say_how_much_more_there_is() -> None:
    scene = Scene()
    group = scene.group("mma", 0, 100 * 60)
    last = [scene.event(group, "arrive", 100 * at, 100 * at + 10, variable="full") for at in range(60)][-1]

    async def steps(user: Walk) -> None:
        await user.select(scene.row(last))
        shown = user.options("event-chain")
        # 60 arrivals with 59 stretches of arithmetic between them; 50 are shown below the heading
        assert len(shown) == 52
        assert shown[-1] == "… and 69 more steps"

    walk(scene.launch(), steps)


def test_a_range_adds_up() -> None:
    async def steps(user: Walk) -> None:
        user.app.state.span = Window(100, 300)
        user.app.state.changed()
        await user.settle()
        # a TMA engine's lane may be told apart by loads and stores
        assert [line.replace("TMA loads  ", "TMA  ") for line in user.said("event-text").splitlines()] == [
            "range 100 to 300: 200 cycles = 200 ns",
            "load  busy 100 (50%), waiting 80 (40%), issuing 20 (10%)",
            "  waits: wait empty 100%",
            "mma  waiting 160 (80%), issuing 28 (14%), busy 12 (6%)",
            "  waits: MMA wait 62%, wait full 38%",
            "TMA  load 160 (80%)",
            "tensor core  MMA 100 (50%)",
        ]

    walk(pipeline(4), steps)


def test_barriers_and_their_worst_wait() -> None:
    made = pipeline(4)

    async def steps(user: Walk) -> None:
        await user.open("barriers")
        rows = [line.split() for line in user.screen() if line.split()[:1] in (["full"], ["empty"])]
        slack = [row[5:7] for row in rows]
        assert [row[:5] + row[7:] for row in rows] == [
            ["empty", "2", "1", "40", "40", "mma", "4", "load", "4"],
            ["full", "2", "1", "30", "30", "load", "4,", "TMA", "4", "mma", "4"],
        ]
        assert all(least.isdecimal() and critical.endswith("%") for least, critical in slack)
        await user.press("down", "enter")
        assert user.app.state.event == _row(made, 3, 0, 1)

    walk(made, steps)


def test_iterations_are_overlaid_and_the_odd_one_is_marked() -> None:
    scene = Scene()
    group = scene.group("mma", 0, 800)
    at, rows = 0, []
    for inner in range(7):
        length = 160 if inner == 4 else 100
        rows.append(scene.event(group, "wait", at, at + length - 60, variable="full", outer=inner, inner=inner))
        at += length
    made = scene.launch()

    async def steps(user: Walk) -> None:
        await user.open("iterations")
        lines = user.app.query_one("#iterations-lines", Listing)
        shown = [lines.render_line(y).text for y in range(7)]
        assert [line[1:20].split() for line in shown] == [
            ["0", "100"],
            ["1", "100"],
            ["2", "100"],
            ["3", "100"],
            ["4", "160", "!"],
            ["5", "100"],
            ["6", "?"],
        ]
        # 100 columns for 160 cycles: 40 cycles of waiting, then 60 of work
        waits, works = (APPEARANCES[look].glyph for look in (Look.WAIT, Look.BUSY))
        drawn = shown[1][20:].rstrip()
        assert drawn == waits * 25 + works * len(drawn[25:])
        assert 61 <= len(drawn) <= 64
        await user.press("down", "down", "down", "down", "enter")
        assert user.app.state.event == scene.row(rows[4])

    walk(made, steps)


def test_launches_and_ctas_open() -> None:
    scene = Scene()
    for cta in (0, 3):
        group = scene.group("mma", 0, 200, cta=cta, sm=cta)
        scene.event(group, "wait", 0, 50 if cta else 100, variable="full")
    trace = Trace([pipeline(3), scene.launch()])

    async def steps(user: Walk) -> None:
        await user.open("launches")
        await user.press("down", "enter")
        assert user.app.state.launch is trace.launches[1]
        rows = [line.split() for line in user.screen() if " CTA " in line]
        assert ["▶", "CTA", "0", "0", "200", "50%", "1"] in rows
        assert ["CTA", "3", "3", "200", "25%", "1"] in rows
        await user.press("end", "enter")
        await user.press("down", "down", "down", "down", "enter")
        assert user.app.state.cta == 3

    walk(trace, steps)


def test_a_hang_names_who_has_ended_and_leads_to_the_waiter() -> None:
    made = hung()

    async def steps(user: Walk) -> None:
        await user.open("hang")
        assert user.said("hang-head").splitlines() == [
            "HANG at cycle 5,000 in CTA 0: 1 warp group waits forever",
            "mma waits on full[1] for load, which has ended.",
        ]
        waiter, ended = user.options("hang-list")
        assert (
            waiter.splitlines()[0] == "mma waits on full[1], phase 1, since cycle 300, iteration 3 of outer iteration 0"
        )
        assert "1 of 1 arrivals pending, 4,096 bytes missing, 1 phase completed so far" in waiter
        assert ended == "ended: load"
        await user.press("enter")
        assert user.app.state.event == _row(made, 6, 2, 1)

    walk(made, steps)


def test_utilisation_as_bars() -> None:
    async def steps(user: Walk) -> None:
        await user.open("utilisation")
        said = user.said("utilisation-text").splitlines()
        # 600 and 125 of 1250 cycles
        assert any(line.startswith("tensor core (SM)              48.0% ███") for line in said)
        assert any(line.startswith("TMA loads (SM)                10.0% ███") for line in said)
        assert said[-1] == "moved by the traced SM: TMA loads 48 KiB, stores 2 KiB"

    walk(pipeline(), steps)


TABS = ("event", "source", "barriers", "stalls", "iterations", "launches", "utilisation", "hang")
ONE = launch(
    [Track(TrackKind.WARP_GROUP, "mma", 0, 0, -1, 4, 0, 10)],
    [SiteRow("wait", -1, "", 0, "", "")],
    [(0, -1, 2, 5, -1, -1, -1, -1, 0, -1)],
)
STRANGE = {
    "empty": launch(),
    "one event without a site": ONE,
    "neither source nor TTGIR": pipeline(3, source="", source_file=""),
    "TTGIR that cannot be read": pipeline(3, ttgir="module {"),
    "cut short": pipeline(3, complete=False),
    "hung": hung(),
}


@pytest.mark.parametrize("name", STRANGE)
def test_panels_bear_any_launch_on_a_narrow_screen(name: str) -> None:
    async def steps(user: Walk) -> None:
        for tab in TABS:
            await user.open(tab)
            await user.press("down", "enter", *("t" if tab == "source" else ""))
            assert not any("Error" in line for line in user.screen())

    walk(STRANGE[name], steps, (20, 12))


def test_panels_say_what_is_not_there() -> None:
    async def steps(user: Walk) -> None:
        said = {}
        for tab, id in (("source", "source-head"), ("barriers", "barriers-head"), ("iterations", "iterations-head")):
            await user.open(tab)
            said[tab] = user.said(id)
        await user.open("hang")
        assert said == {
            "source": "The trace has no source.",
            "barriers": "The kernel has no barriers.",
            "iterations": "No warp group is traced.",
        }
        assert user.said("hang-head") == "The launch ended: nothing hangs."

    walk(launch(), steps)


def test_a_narrow_screen_says_below_who_arrives_and_waits() -> None:
    async def steps(user: Walk) -> None:
        await user.open("barriers")
        assert user.said("barriers-roles") == "empty: arrivals mma 4; waits load 4"
        await user.press("down")
        assert user.said("barriers-roles") == "full: arrivals load 4, TMA 4; waits mma 4"
        rows = [line.split() for line in user.screen() if line.split()[:1] in (["full"], ["empty"])]
        assert [len(row) for row in rows] == [7, 7]  # all of them in 80 columns

    walk(pipeline(4), steps, (80, 24))
