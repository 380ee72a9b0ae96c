"""Two traces one above the other: linked, aligned, with the difference between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from analysis.synthetic_traces import PERIOD, hung, launch, pipeline
from textual.pilot import Pilot
from textual.widgets import OptionList

from tlxviz.trace import AgentRow, Events, LaunchTrace, SiteRow, Trace, Track, TrackKind, empty_events
from tlxviz.tui.compare import Causes, CompareApp, compare_app
from tlxviz.tui.linked import A, B, Link

LATE = 370
"""SM cycles by which `late` begins later."""


def late(iterations: int = 12, period: int = PERIOD, **fields: Any) -> LaunchTrace:
    """`pipeline`, begun `LATE` cycles later, with `period` cycles from one iteration to the next."""
    made = pipeline(iterations, **fields)
    inner = made.events["inner"].astype("int64")
    by = LATE + inner * (period - PERIOD)
    columns = dict(made.events.columns) | {name: made.events[name] + by for name in ("begin", "end")}
    last = LATE + iterations * period
    tracks = [replace(track, begin=LATE, end=last) for track in made.tracks]
    return replace(made, events=type(made.events)(columns), tracks=tracks, cycles=made.cycles + last)


def plain(iterations: int = 8) -> LaunchTrace:
    """One warp group that does everything, `2 * PERIOD` cycles an iteration."""
    sites = [
        SiteRow("async_copy_wait", 0, "/somewhere/plain.py", 7, "", "ttg.async_wait"),
        SiteRow("mma", 0, "/somewhere/plain.py", 8, "", "ttng.warp_group_dot"),
    ]
    rows: list[tuple[int, ...]] = []
    for i in range(iterations):
        at = 2 * PERIOD * i
        rows.append((0, 0, at, at + 80, i, i, -1, -1, 0, -1))
        rows.append((0, 1, at + 80, at + 90, i, i, -1, -1, 0, -1))
    tracks = [Track(TrackKind.WARP_GROUP, "compute", 0, 0, 0, warps=8, begin=0, end=2 * PERIOD * iterations)]
    agents = [AgentRow("compute", "compute", 0, 8)]
    return launch(tracks, sites, rows, agents, kernel="plain", cycles=2 * PERIOD * iterations)


def link(a: LaunchTrace, b: LaunchTrace) -> Link:
    return Link(Trace([a]), Trace([b]))


def labels(made: Link, side: int) -> list[str]:
    return [lane.label for lane in made.sides[side].visible()]


def with_app(
    a: LaunchTrace, b: LaunchTrace, task: Callable[[CompareApp, Pilot[None]], Awaitable[None]], size: tuple[int, int]
) -> None:
    async def run() -> None:
        app = compare_app(Trace([a]), Trace([b]), ("one.tlxtrace", "two.tlxtrace"))
        async with app.run_test(size=size) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            await task(app, pilot)

    asyncio.run(run())


def screen(app: CompareApp) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


# ---- linked


def test_both_show_the_same_time_of_their_steady_states() -> None:
    made = link(pipeline(), late())
    a, b = made.sides

    assert made.alignment.cycles == (0, LATE)
    assert made.alignment.said == "steady state of mma"
    assert (b.window.begin - a.window.begin, b.window.cycles) == (LATE, a.window.cycles)

    a.window = a.window.zoomed(0.25, 400, a.seen.whole)
    a.cursor = 430
    a.lane = 2
    a.changed()
    assert (b.window.begin - a.window.begin, b.window.cycles) == (LATE, a.window.cycles)
    assert (b.cursor, b.lane) == (430 + LATE, 2)

    b.window = b.window.moved(70, b.seen.whole)
    b.changed()
    assert made.lead == B
    assert b.window.begin - a.window.begin == LATE


def test_what_is_longer_can_be_looked_at_to_its_end_whichever_leads() -> None:
    made = link(pipeline(4), late(40))

    assert made.sides[A].seen.whole.end == 40 * PERIOD + 30
    assert made.sides[B].seen.whole.begin == made.alignment.cycles[B] - made.alignment.cycles[A]


def test_roles_of_both_stand_in_the_same_rows() -> None:
    made = link(pipeline(), plain())

    assert labels(made, A)[:4] == ["CTA 0", "no compute", "load", "mma"]
    assert labels(made, B)[:4] == ["CTA 0", "compute", "no load", "no mma"]
    for one, other in zip(labels(made, A), labels(made, B), strict=True):
        assert one == other or one.startswith("no ") or other.startswith("no ")


def test_a_role_under_another_name_stands_where_its_counterpart_does() -> None:
    other = pipeline()
    other = replace(
        other,
        agents=[AgentRow("producer", "load", 1, 4), other.agents[1]],
        tracks=[replace(track, name="producer") if track.name == "load" else track for track in other.tracks],
    )
    made = link(pipeline(), other)

    assert made.names == {"producer": "load", "mma": "mma"}
    assert labels(made, A).index("load") == labels(made, B).index("producer")


def test_a_row_is_folded_in_both() -> None:
    other = pipeline()
    tracks = [replace(track, cta=5) for track in other.tracks]
    made = link(pipeline(), replace(other, tracks=tracks))
    made.sides[A].lane = 1
    made.follow(A)
    made.fold()
    assert labels(made, A)[0] == "CTA 0"
    assert labels(made, B)[0] == "CTA 5"
    assert not {"load", "mma"} & {*labels(made, A), *labels(made, B)}

    made.fold()
    assert "load" in labels(made, A)
    assert labels(made, A)[1:] == labels(made, B)[1:]


def test_another_cta_that_is_unfolded_is_compared_from_then_on() -> None:
    other = pipeline()
    count, by = len(other.tracks), 2000
    tracks = [*other.tracks, *(replace(each, cta=132, begin=by, end=by + each.end) for each in other.tracks)]
    again = {name: other.events[name] for name in other.events.columns}
    again |= {"track": again["track"] + count, "begin": again["begin"] + by, "end": again["end"] + by}
    events = Events.concat([other.events, Events(again)]).in_order()
    made = link(pipeline(), replace(other, tracks=tracks, events=events))
    assert labels(made, B)[-1] == "CTA 132"
    assert labels(made, A)[-1] == "no CTA 132"
    assert made.alignment.cycles == (0, 0)

    made.lead = A
    made.sides[A].lane = len(labels(made, A)) - 1
    made.follow(A)
    made.fold()
    assert made.sides[B].cta == 132
    assert labels(made, B)[labels(made, A).index("mma")] == "mma"
    assert made.sides[B].visible()[labels(made, A).index("mma")].cta == 132
    assert made.alignment.cycles == (0, by)


# ---- aligned


def test_an_iteration_under_the_cursor_is_put_above_the_same_one() -> None:
    made = link(pipeline(), late(period=130))
    a = made.sides[A]
    a.lane = labels(made, A).index("mma")
    a.cursor = 5 * PERIOD + 42
    a.changed()

    assert made.align_here() is None
    assert made.alignment.cycles == (5 * PERIOD, LATE + 5 * 130)
    assert made.alignment.said == "iteration 5 of mma"
    assert (a.cursor, made.sides[B].cursor) == (5 * PERIOD, LATE + 5 * 130)


def test_an_iteration_that_the_other_lacks_is_put_above_its_last_and_that_is_said() -> None:
    made = link(pipeline(12), late(4))
    a = made.sides[A]
    a.lane = labels(made, A).index("load")
    a.cursor = 9 * PERIOD
    a.changed()

    assert made.align_here() == "B has no iteration 9: its last, 3, is taken"
    assert made.alignment.cycles == (9 * PERIOD, LATE + 3 * PERIOD)


def test_different_roles_are_aligned_at_their_main_loops() -> None:
    made = link(pipeline(), plain())
    b = made.sides[B]
    made.lead = B
    b.lane = labels(made, B).index("compute")
    b.cursor = 3 * 2 * PERIOD + 5
    b.changed()

    assert made.align_here() is None
    assert made.alignment.cycles == (3 * PERIOD, 6 * PERIOD)
    assert made.alignment.said == "iteration 3 of mma/compute"


def test_without_a_loop_nothing_is_aligned() -> None:
    nothing = launch([Track(TrackKind.WARP_GROUP, "main", 0, 0, 0, end=50)], agents=[AgentRow("main", "", 0, 4)])

    assert link(pipeline(), nothing).align_here() == "B has no loop in this CTA to align at"


# ---- the difference


def test_the_line_between_says_iteration_and_waiting() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        app.link.sides[A].lane = labels(app.link, A).index("mma")
        app.link.sides[A].changed()
        await pilot.pause()
        [line] = [line for line in screen(app) if "iteration" in line and "->" in line]
        # mma waits 30 + 50 of 100 cycles; of 130, whose other 30 are its own
        assert "mma iteration 100 -> 130 (+30, +30.0%)" in line
        assert "waits 80% -> 62% (-18 points)" in line

    with_app(pipeline(12), late(12, 130), task, (140, 40))


def test_a_cause_leads_to_its_place_in_both() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        causes = app.query_one(Causes)
        assert causes.found is not None
        parts = [entry for entry in causes.entries if entry.part is not None]
        assert parts
        number = causes.entries.index(parts[0])
        listed = app.query_one("#entries", OptionList)
        await pilot.press("tab", "tab")
        assert app.focused is listed
        listed.highlighted = number
        await pilot.press("enter")
        await pilot.pause()
        for side in app.link.sides:
            assert side.window.begin <= side.cursor < side.window.end
            assert side.current() is not None
        by = app.link.alignment.cycles[B] - app.link.alignment.cycles[A]
        assert app.link.sides[B].cursor - app.link.sides[A].cursor == by

        waves = next(number for number, entry in enumerate(causes.entries) if entry.cause.cause == "rest")
        listed.highlighted = waves
        await pilot.press("enter")
        await pilot.pause()
        assert "that is in no CTA of the two that are open" in screen(app)[-1]

    with_app(pipeline(12), late(12, 130), task, (120, 40))


@pytest.mark.parametrize(
    ("size", "other"),
    [
        ((20, 8), "plain"),
        ((80, 24), "empty"),
        ((120, 40), "hung"),
        ((220, 60), "one event"),
        ((20, 3), "hung"),
    ],
)
def test_every_key_on_every_pair_and_size(size: tuple[int, int], other: str) -> None:
    empty = replace(pipeline(), tracks=[], events=empty_events(), cycles=0)
    one = launch(
        [Track(TrackKind.WARP_GROUP, "main", 0, 0, 0, end=9)],
        [SiteRow("wait", 0, "k.py", 1, "full", "ttng.wait_barrier")],
        [(0, 0, 2, 2, -1, -1, 0, 0, 0, -1)],
        [AgentRow("main", "", 0, 4)],
        cycles=9,
    )
    second = {"plain": plain(), "empty": empty, "hung": hung(), "one event": one}[other]
    keys = "w s d A down . , x f 0 = S space space u c c tab . = tab enter tab escape f"
    named = {".": "full_stop", ",": "comma", "=": "equals_sign"}

    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        for key in keys.split():
            await pilot.press(named.get(key, key))
        await pilot.pause()
        drawn = screen(app)
        assert len(drawn) == size[1]
        assert all(len(line) == size[0] for line in drawn)

    with_app(pipeline(), second, task, size)
    with_app(second, pipeline(), task, size)


def test_the_picture_of_two_pipelines() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        drawn = screen(app)
        assert drawn[0].startswith(" A  one.tlxtrace: pipeline  CTA 0  launch 1,250 cycles")
        [second] = [number for number, line in enumerate(drawn) if line.startswith(" B ")]
        loads = [number for number, line in enumerate(drawn) if line.startswith("  load")]
        assert len(loads) == 2
        assert loads[0] < second < loads[1]
        assert drawn[loads[0]].rstrip() == drawn[loads[1]].rstrip()

    with_app(pipeline(), late(), task, (80, 24))


def test_waiting_is_of_the_time_on_screen() -> None:
    made = link(pipeline(), pipeline())
    a = made.sides[A]
    a.lane = labels(made, A).index("load")
    a.window = type(a.window)(0, 2 * PERIOD)
    a.changed()

    assert made.waiting(A) == made.waiting(B) == 0.4


def test_a_role_that_the_other_lacks_is_held_against_its_main_loop() -> None:
    made = link(pipeline(), plain())
    a = made.sides[A]
    a.lane = labels(made, A).index("load")
    a.window = type(a.window)(0, 4 * PERIOD)
    a.changed()

    assert (made.waiting(A), made.waiting(B)) == (0.4, 0.4)
    a.lane = 0
    a.changed()
    assert (made.waiting(A), made.waiting(B)) == (None, None)
