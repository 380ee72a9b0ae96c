"""The source with the time of its lines, and the TTGIR that it became."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.synthetic_traces import launch, pipeline
from panel_pilot import Walk, walk

from tlxviz.analysis.account import Account
from tlxviz.ir import load_program
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.panels.source import line_shares

TTGIR = (Path(__file__).parents[1] / "ir" / "data" / "hopper.ttgir").read_text()


def _of_ttgir() -> LaunchTrace:
    """Each site of a real kernel once, one after the other."""
    program = load_program(TTGIR)
    sites = [
        SiteRow(str(site.kind), site.agent.index, site.location.file, site.location.line, site.variable, "")
        for site in program.sites
    ]
    agents = [AgentRow(each.name, str(each.role), each.task, each.warps) for each in program.agents]
    end = 10 * len(sites)
    tracks = [Track(TrackKind.WARP_GROUP, each.name, 0, 0, at, 4, 0, end) for at, each in enumerate(agents)]
    rows = [(site.agent, at, 10 * at, 10 * at + 5, 0, 0, 0, 0, 0, -1) for at, site in enumerate(sites)]
    return launch(tracks, sites, rows, agents, cycles=end, ttgir=TTGIR)


def test_shares_of_lines() -> None:
    shares = line_shares(Account(pipeline(12)))
    # of 200 cycles that two warp groups have in an iteration, and of the 120 that they wait
    assert {line: (round(each.time, 4), round(each.waiting, 4)) for line, each in shares.items()} == {
        41: (0.02, 0.0),
        42: (0.03, 0.0),
        43: (0.15, 0.25),
        44: (0.20, 0.3333),
        45: (0.05, 0.0),
        46: (0.25, 0.4167),
        47: (0.02, 0.0),
    }


def test_lines_say_their_shares() -> None:
    async def steps(user: Walk) -> None:
        await user.open("source")
        lines = user.app.query_one("#source-lines", Listing)
        shown = [lines.render_line(y).text.rstrip() for y in range(5)]
        # share of time, share of waiting
        assert shown[0].split() == ["40", "@triton.jit"]
        assert shown[1].split() == ["41", "▁", "2%", "def", "pipeline(a,", "b):"]
        assert shown[4].split()[:5] == ["44", "▂", "20%", "▃", "33%"]

    walk(pipeline(12), steps, (120, 40))


def test_a_click_on_a_line_goes_to_its_next_event() -> None:
    made = pipeline(3)

    async def steps(user: Walk) -> None:
        await user.open("source")
        await user.pilot.click("#source-lines", offset=(30, 3))
        await user.settle()
        state = user.app.state
        assert state.event is not None
        assert made.sites[int(made.events["site"][state.event])].line == 43
        assert state.lit == {3}

    walk(made, steps)


@pytest.mark.parametrize("size", [(80, 24), (160, 40), (220, 60)])
def test_the_operation_of_an_event_is_marked_in_the_ttgir(size: tuple[int, int]) -> None:
    made = _of_ttgir()
    program = load_program(TTGIR)
    last = len(program.sites) - 1

    async def steps(user: Walk) -> None:
        await user.select(last)
        await user.open("source")
        await user.press("t")
        line = program.sites[last].operation.line
        ttgir = user.app.query_one("#source-ttgir", Listing)
        marked = [text for text in user.screen() if f"▶{line:>5} " in text]
        assert len(marked) == 1
        assert program.sites[last].operation.name in marked[0]
        assert ttgir.has_focus
        # and back: the line of another operation leads to its event
        ttgir.put(program.sites[3].operation.line - 1)
        await user.press("enter")
        assert user.app.state.event == 3
        await user.press("t")
        assert not ttgir.display

    walk(made, steps, size)


def test_long_lines_are_read_by_moving_them_aside() -> None:
    async def steps(user: Walk) -> None:
        await user.open("source")
        await user.press("t")
        lines = user.app.query_one("#source-ttgir", Listing)
        lines.focus()
        whole = lines.render_line(0).text
        await user.press("right", "right")
        assert lines.render_line(0).text[: len(whole) - 16] == whole[16:]
        await user.press(*["right"] * 60)  # as far as the longest line on screen reaches, and no further
        ends = [lines.render_line(y).text.rstrip() for y in range(lines.size.height)]
        assert max(map(len, ends)) == lines.size.width
        await user.press(*["left"] * 70)
        assert lines.render_line(0).text == whole

    walk(_of_ttgir(), steps, (80, 24))
