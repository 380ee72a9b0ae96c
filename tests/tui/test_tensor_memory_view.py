"""A kernel for Blackwell in the timeline: reads of tensor memory, products that end waits, answers of the scheduler."""

from __future__ import annotations

from analysis.blackwell_traces import tiles
from panel_pilot import Walk, walk

from tlxviz.trace import LaunchTrace

TRACE = tiles(2, 4, asks=True)


def row(trace: LaunchTrace, track: str, kind: str, tile: int) -> int:
    events = trace.events
    for each in range(len(events)):
        found = trace.tracks[events["track"][each]].name, trace.sites[events["site"][each]].kind, events["outer"][each]
        if found == (track, kind, tile):
            return each
    raise LookupError


def named(one: Walk) -> tuple[str, str, int]:
    """Track, kind and begin of the selected event."""
    event, trace = one.app.state.event, TRACE
    assert event is not None
    track, site = int(trace.events["track"][event]), int(trace.events["site"][event])
    return trace.tracks[track].name, trace.sites[site].kind, int(trace.events["begin"][event])


def test_from_a_wait_for_a_sum_to_the_product_that_ends_it_and_back() -> None:
    async def steps(one: Walk) -> None:
        await one.select(row(TRACE, "epilogue", "wait", 1))
        await one.press("left_square_bracket")
        # of three products from 305 on, the last
        assert named(one) == ("tensor core", "mma", 505)
        await one.press("left_square_bracket")
        assert named(one) == ("mma", "mma", 62)
        assert any("issue MMA acc[1]" in line for line in one.screen())

    walk(TRACE, steps)


def test_a_read_of_tensor_memory_says_so() -> None:
    async def steps(one: Walk) -> None:
        await one.select(row(TRACE, "epilogue", "tmem_load", 0))
        screen = one.screen()
        assert any(line.startswith("read TMEM acc[0]  epilogue, CTA 0") for line in screen)
        epilogue = next(line for line in screen if line.lstrip(" ▶").startswith("epilogue  "))
        assert "▚" in epilogue
        await one.press("question_mark", "end")
        help_ = one.screen()
        assert any("▚ TMEM access" in line for line in help_)

    walk(TRACE, steps, size=(120, 80))


def test_an_answer_of_the_block_scheduler_is_found_and_leads_to_who_waits_for_it() -> None:
    async def steps(one: Walk) -> None:
        await one.select(row(TRACE, "CLC", "clc", 1))
        assert any("answer: CTA 296" in line for line in one.screen())
        await one.press("right_square_bracket")
        assert named(one) == ("scheduler", "wait", 410)
        await one.select(row(TRACE, "CLC", "clc", 3))
        assert any("answer: none is left" in line for line in one.screen())

    walk(TRACE, steps)


def test_slots_of_tensor_memory_unfold() -> None:
    async def steps(one: Walk) -> None:
        one.app.state.put_on("cta 0/buffers")
        await one.press("space")
        lanes = [line for line in one.screen() if line.strip().startswith("acc[")]
        assert [line.split()[0] for line in lanes] == ["acc[0]", "acc[1]"]
        assert all("filling" in line and "read" in line for line in lanes)

    walk(TRACE, steps)
