"""What the selected event works on, where its data are from, and the ways along them, in a kernel that is simulated."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from panel_pilot import Walk, walk

from tlxviz.analysis.account import Account
from tlxviz.analysis.flow import data_flow
from tlxviz.devices import load_device
from tlxviz.ir import load_program
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.trace import LaunchTrace
from tlxviz.tui.arrows import arrows, pieces
from tlxviz.tui.draw import Paint
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.window import Window

pytest.importorskip("triton.language.extra.tlx")

GEMM = Path(__file__).resolve().parents[2] / "kernels" / "hopper_gemm_ws.py"


@cache
def gemm() -> LaunchTrace:
    device = load_device("h200")
    recorder = SimulatedRecorder(device, values=False)
    run_script(GEMM, ["--m", "128", "--n", "256", "--k", "512"], device, recorder.execute)
    return recorder.trace.launches[0]


def row(track: str, kind: str, variable: str, inner: int) -> int:
    """The first event of a track in an iteration."""
    made = gemm()
    events = made.events
    for each in range(len(events)):
        site = made.sites[events["site"][each]]
        if (made.tracks[events["track"][each]].name, site.kind, site.variable) == (track, kind, variable) and events[
            "inner"
        ][each] == inner:
            return each
    raise LookupError


PRODUCT = "tensor core", "mma", "b_tiles", 6


def test_an_mma_says_what_it_works_on_and_who_filled_it() -> None:
    async def steps(user: Walk) -> None:
        await user.select(row(*PRODUCT))
        listed = user.options("event-chain")
        assert [line.split("  ")[:3] for line in listed[1:4]] == [
            ["A", "a_tiles[2] of 8", "64x64 f16 in shared memory"],
            ["B", "b_tiles[2] of 4", "64x256 f16 in shared memory"],
            ["accumulator", "acc", "64x256 f32 in registers"],
        ]
        assert listed[1].endswith("a_tiles = tlx.local_alloc((HALF_M, BLOCK_K), tl.float16, CONSUMERS * STAGES)")
        assert [line.split("  ")[:2] for line in listed[4:7]] == [
            ["filled by 2"],
            ["TMA", "load a_tiles[2]"],
            ["TMA", "load b_tiles[2]"],
        ]
        # the first of them is under the cursor
        user.app.query_one("#event-chain").focus()
        await user.press("enter")
        assert user.app.state.event == row("TMA", "tma_load", "a_tiles", 6)
        listed = user.options("event-chain")
        assert listed[listed.index("slot freed by") + 1].startswith("mma.0  arrive a_empty[2]")
        assert listed[listed.index("read by") + 1].startswith("tensor core  MMA b_tiles[2]")

    walk(gemm(), steps)


def test_an_operand_leads_to_the_line_that_makes_it() -> None:
    async def steps(user: Walk) -> None:
        await user.select(row(*PRODUCT))
        chain = user.app.query_one("#event-chain")
        chain.focus()
        await user.press("home", "down", "enter")  # B
        lines = user.app.query_one("#source-lines", Listing)
        source = gemm().source.splitlines()
        assert lines.has_focus
        assert source[lines.cursor].strip().startswith("b_tiles = tlx.local_alloc")

    walk(gemm(), steps)


def test_a_store_says_who_writes_what_it_reads() -> None:
    async def steps(user: Walk) -> None:
        await user.select(_store())
        written = [line for line in user.options("event-chain") if line.startswith("  written by")]
        # the first staging buffer of mma.0, stored to in strips 0 and 2
        source = gemm().source.splitlines()
        first = gemm().source_line
        places = [first + n for n, line in enumerate(source) if "store_strip(c_desc, staging0" in line]
        assert [line.split("  ")[1:3] for line in written] == [["written by mma.0", f"line {n}"] for n in places]

    walk(gemm(), steps)


def _store() -> int:
    """The first store out of slot 0."""
    made = gemm()
    for each in range(len(made.events)):
        track, site = made.tracks[made.events["track"][each]], made.sites[made.events["site"][each]]
        if (track.name, site.kind, int(made.events["slot"][each])) == ("TMA", "tma_store", 0):
            return each
    raise LookupError


def test_keys_follow_data() -> None:
    async def steps(user: Walk) -> None:
        state = user.app.state
        await user.select(row(*PRODUCT))
        a, b = row("TMA", "tma_load", "a_tiles", 6), row("TMA", "tma_load", "b_tiles", 6)
        await user.press("less_than_sign")
        assert (state.event, state.said) == (a, "1 of 2: { and } change")
        await user.press("}")
        assert (state.event, state.said) == (b, "2 of 2: load b_tiles[2]")
        await user.press("less_than_sign")
        freed = state.event
        assert freed is not None
        site = gemm().sites[gemm().events["site"][freed]]
        assert (site.kind, site.variable, gemm().events["inner"][freed]) == ("arrive", "b_empty", 3)
        await user.press("greater_than_sign")
        assert state.event == b
        await user.press("greater_than_sign")
        assert gemm().sites[gemm().events["site"][state.event]].kind == "mma"
        assert state.said == "1 of 2: { and } change"  # both warp groups read B
        await user.press("greater_than_sign")
        assert state.said.startswith("nothing reads what it fills")

    walk(gemm(), steps)


def test_arrows_of_data_are_dashed_and_releases_solid() -> None:
    made = gemm()
    flow = data_flow(made, load_program(made.ttgir))
    product, a, b = row(*PRODUCT), row("TMA", "tma_load", "a_tiles", 6), row("TMA", "tma_load", "b_tiles", 6)
    found = arrows(made, product, flow)
    assert [(each.source, each.dashed) for each in found if each.target == product] == [
        (a, True),
        (b, True),
        (int(made.events["released_by"][product]), False),
    ]
    # what frees a slot is a release
    freed = [each for each in arrows(made, a, flow) if each.target == a]
    assert [(each.dashed, each.paint) for each in freed] == [(False, Paint.CAUSE), (False, Paint.CAUSE)]
    # TMA on line 1, two lanes below it the tensor core
    data = [each for each in found if each.source == a]
    drawn = pieces(data, {a: 1, product: 3}, Window(0, int(made.events["end"][-1])), 400)
    assert [glyph for _, glyph, _ in drawn[2]] == ["┆"]
    assert {glyph for _, glyph, _ in drawn[3]} <= {"╰", "╌", "▷", "▽"}
    assert {paint for line in drawn.values() for _, _, paint in line} == {Paint.DATA}


def test_no_program_no_data() -> None:
    made = replace(gemm(), ttgir="")
    found = arrows(made, row(*PRODUCT), Account(made).flow)
    assert found
    assert not any(each.dashed for each in found)
