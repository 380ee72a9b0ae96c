"""Two traces one above the other: linked, aligned, with the difference between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import PERIOD, hung, launch, pipeline
from textual.pilot import Pilot
from textual.widgets import OptionList

from tlxviz.trace import AgentRow, Events, LaunchTrace, SiteRow, Trace, Track, TrackKind, empty_events
from tlxviz.tui.ask import Ask
from tlxviz.tui.causes import Causes
from tlxviz.tui.compare import CompareApp
from tlxviz.tui.keys import ACTIONS, Mode, Scope, default_keymap
from tlxviz.tui.linked import A, B, Link
from tlxviz.tui.linked_store import LinkStore
from tlxviz.tui.overlays import HelpScreen, MarksScreen
from tlxviz.tui.store import Store
from tlxviz.tui.timeline import Timeline

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
        app = CompareApp(link(a, b), ("one.tlxtrace", "two.tlxtrace"))
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


def of_two_ctas() -> LaunchTrace:
    """CTA 0, and the same 2000 cycles later as CTA 132."""
    other = pipeline()
    count, by = len(other.tracks), 2000
    tracks = [*other.tracks, *(replace(each, cta=132, begin=by, end=by + each.end) for each in other.tracks)]
    again = {name: other.events[name] for name in other.events.columns}
    again |= {"track": again["track"] + count, "begin": again["begin"] + by, "end": again["end"] + by}
    events = Events.concat([other.events, Events(again)]).in_order()
    return replace(other, tracks=tracks, events=events)


def test_another_cta_that_is_unfolded_is_compared_from_then_on() -> None:
    made = link(pipeline(), of_two_ctas())
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
    assert made.alignment.cycles == (0, 2000)
    assert made.lead == A  # which has the focus


def test_an_event_of_another_cta_brings_that_cta_to_be_compared() -> None:
    made = link(pipeline(), of_two_ctas())
    b = made.sides[B]
    event = next(
        row for row in range(len(b.launch.events)) if b.launch.tracks[b.launch.events["track"][row]].cta == 132
    )
    b.go_to(event)
    b.changed()

    assert made.alignment.cycles == (0, 2000)
    assert (made.lead, b.cursor - made.sides[A].cursor) == (B, 2000)
    assert b.window.begin <= b.cursor < b.window.end


def test_a_row_is_pinned_in_both_also_where_one_lacks_it() -> None:
    made = link(pipeline(), plain())
    a, b = made.sides
    a.lane = labels(made, A).index("mma")
    made.follow(A)
    made.pin()
    assert (labels(made, A)[0], labels(made, B)[0]) == ("mma", "no mma")
    assert (a.lane, b.lane) == (0, 0)
    made.pin()
    assert (labels(made, A)[0], labels(made, B)[0]) == ("CTA 0", "CTA 0")
    assert (a.pinned, b.pinned) == ([], [])


def test_a_click_on_a_row_folds_it_in_both() -> None:
    made = link(pipeline(), late())
    made.sides[B].lane = 0
    made.sides[B].fold()
    made.sides[B].changed()
    assert labels(made, A) == labels(made, B) == ["CTA 0"]


def test_the_whole_is_shown_by_the_one_that_leads() -> None:
    made = link(pipeline(4), late(40))
    made.follow(B)
    made.sides[B].window = made.sides[B].window.zoomed(0.1, 500, made.sides[B].seen.whole)
    made.whole()
    assert made.lead == B
    assert (made.sides[A].window.end, made.sides[B].window.end) == (4030, 4030 + LATE)


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
def test_every_action_on_every_pair_and_size(
    size: tuple[int, int], other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = replace(pipeline(), tracks=[], events=empty_events(), cycles=0)
    one = launch(
        [Track(TrackKind.WARP_GROUP, "main", 0, 0, 0, end=9)],
        [SiteRow("wait", 0, "k.py", 1, "full", "ttng.wait_barrier")],
        [(0, 0, 2, 2, -1, -1, 0, 0, 0, -1)],
        [AgentRow("main", "", 0, 4)],
        cycles=9,
    )
    second = {"plain": plain(), "empty": empty, "hung": hung(), "one event": one}[other]

    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        for key in ("tab", "enter", "down", "enter", "tab", "end", "escape"):
            await pilot.press(key)
        for each in ACTIONS:
            if each.scope is Scope.TIMELINE and Mode.COMPARE in each.modes and each.name != "quit":
                await app.action_do(each.name)
                if len(app.screen_stack) > 1 or app.query_one(Ask).has_class("open"):
                    await pilot.press("escape")
        await pilot.pause()
        drawn = screen(app)
        assert len(drawn) == size[1]
        assert all(len(line) == size[0] for line in drawn)

    monkeypatch.chdir(tmp_path)
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


# ---- the same keys as with one trace


def test_a_search_finds_in_both_and_goes_on_in_the_one_with_the_focus() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        a, b = app.link.sides
        await pilot.press("slash", *"wait full[1]")
        await pilot.pause()
        assert screen(app)[0].startswith("6 and 2 hits")
        await pilot.press("enter", "n")
        assert a.event is not None
        assert (a.cursor, a.said) == (300, "hit 2 of 6: wait full[1]")
        assert (b.cursor, b.event) == (300 + LATE, None)
        await pilot.press("tab", "N")
        assert b.event is not None
        assert (app.link.lead, b.cursor, b.said) == (B, LATE + PERIOD, "hit 1 of 2: wait full[1]")
        assert b.said in screen(app)[-1]
        await pilot.press("escape")
        assert (a.hits, b.hits, b.event) == (None, None, None)

    with_app(pipeline(), late(4), task, (100, 30))


def test_marks_are_of_the_trace_with_the_focus() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        a, b = app.link.sides
        await pilot.press("g", *"500", "enter", "m", "tab", "g", *"40", "enter")
        assert (a.marks, b.marks) == ([500], [])
        await pilot.press("M")
        assert b.said == "there is no mark: m sets one"
        await pilot.press("tab", "tab", "g", *"700", "enter", "M")
        assert isinstance(app.screen, MarksScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert (a.cursor, b.cursor) == (500, 500 + LATE)

    with_app(pipeline(), late(), task, (100, 30))


def test_a_range_that_is_begun_is_one_of_both() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        await pilot.press("g", *"500", "enter", "v", "tab", "g", *"+60", "enter", "v")
        a, b = app.link.sides
        assert a.span is not None
        assert b.span is not None
        assert (a.span.begin, a.span.end, b.span.begin) == (500, 560, 500 + LATE)

    with_app(pipeline(), late(), task, (100, 30))


def test_help_has_the_keys_that_there_are_with_two_traces() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        said = "\n".join(screen(app))
        assert "line both up at the iteration" in said
        assert "what the script prints" not in said
        await pilot.press("question_mark", "enter", "question_mark")
        await pilot.pause()
        assert any(line.split()[:2] == ["│", "Causes"] and "while it has the focus" in line for line in screen(app))

    with_app(pipeline(), late(), task, (100, 90))


def test_keys_of_ones_own_and_the_palette() -> None:
    keymap = default_keymap() | {"align": ("f5",), "quit": ()}

    async def run() -> None:
        app = CompareApp(Link(Trace([pipeline()]), Trace([late(period=130)])), keymap=keymap)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press("down", "down", "g", *"520", "enter", "l")
            assert app.link.alignment.said == "steady state of mma"
            await pilot.press("f5")
            assert app.link.alignment.said == "iteration 5 of mma"
            await pilot.press("q")
            assert app.is_running
            names = [each.title.partition(":")[0] for each in app.get_system_commands(app.screen)]
            assert {"align", "panel", "search", "theme"} <= {*names}
            assert not {"source", "stop"} & {*names}

    asyncio.run(run())


def test_themes_and_units_are_those_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        await pilot.press("t", "t", "u")
        await pilot.pause()
        assert [(each.theme, each.units) for each in app.link.sides] == [("mono", "ns")] * 2
        assert [each.monochrome for each in app.query(Timeline)] == [True, True]
        assert screen(app)[0].startswith(" A ")

    with_app(pipeline(), late(), task, (100, 30))


# ---- kept


def kept_link(store: Store, *keys: str) -> Link:
    traces = Trace([pipeline(), pipeline(3)]), Trace([late(period=130), late(4)])

    async def run() -> Link:
        kept = LinkStore(store)
        app = CompareApp(kept.read(*traces), store=kept)
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
        return app.link

    return asyncio.run(run())


def test_a_pair_is_there_again_as_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "states" / "pair.json"
    before = kept_link(
        Store(path), "down", "down", "p", "g", *"520", "enter", "l", "m", "w", "w", "u", "t", "tab", "x", "m"
    )
    after = kept_link(Store(path))

    assert (after.lead, after.alignment) == (B, before.alignment)
    assert before.alignment.said == "iteration 5 of mma"
    for one, other in zip(before.sides, after.sides, strict=True):
        for name in ("window", "cursor", "event", "pinned", "folded", "marks", "units", "theme", "cta", "lane"):
            assert getattr(one, name) == getattr(other, name), name
    assert after.sides[A].marks == [500]
    assert len(after.sides[B].marks) == 1

    traces = Trace([pipeline(), pipeline(3)]), Trace([late(period=130), late(4)])
    second = LinkStore(Store(path)).read(*traces, 1)
    assert [each.seen.number for each in second.sides] == [1, 1]
    assert second.sides[A].units == "ns"
    assert second.sides[A].marks == []
    assert second.alignment.cycles == (0, LATE)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:90],
        lambda text: text.replace('"lead": 1', '"lead": 2'),
        lambda text: text.replace('"aligned": [', '"aligned": [1, '),
        lambda text: text.replace('"sides": [', '"sides": [{}, '),
        lambda text: text.replace('"launch": 0', '"launch": 9'),
    ],
)
def test_a_pair_that_is_damaged_is_begun_anew(change: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    kept_link(Store(path), "tab", "w", "w", "u")
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))
    made = kept_link(Store(path))
    assert (made.lead, made.sides[A].units, made.alignment.said) == (A, "cycles", "steady state of mma")


def test_a_pair_has_a_file_of_its_own(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(name)
    a, b = tmp_path / "a", tmp_path / "b"
    stores = [Store.of(tmp_path, a), Store.of(tmp_path, b), Store.of(tmp_path, a, b), Store.of(tmp_path, b, a)]
    assert len({each.path for each in stores if each is not None}) == 4
    assert Store.of(tmp_path, a, tmp_path / "missing") is None


def test_at_20_columns_there_is_room_for_the_timelines_or_the_causes() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        assert not any("takes" in line for line in screen(app))
        assert sum("mma" in line for line in screen(app)) >= 2
        await pilot.press("enter")
        await pilot.pause()
        assert any("takes" in line for line in screen(app))
        assert not app.query_one(Timeline).display or not app.query_one("#both").display
        await pilot.press("escape")
        await pilot.pause()
        assert app.query_one("#both").display
        await pilot.press("P", "P", "tab", "tab")
        await pilot.pause()
        assert app.link.lead == A
        assert app.focused is app.query_one("#half-a Timeline")

    with_app(pipeline(), late(12, 130), task, (20, 16))


def test_lists_with_no_room_for_a_line() -> None:
    async def task(app: CompareApp, pilot: Pilot[None]) -> None:
        await pilot.press("m", "M")
        for size in ((5, 8), (1, 1), (20, 3), (1, 60)):
            await pilot.resize_terminal(*size)
            await pilot.press("pagedown", "pageup", "end", "home")
        await pilot.press("escape", "enter")
        for size in ((5, 8), (1, 1), (20, 3), (1, 60)):
            await pilot.resize_terminal(*size)
            await pilot.press("pagedown", "pageup", "end", "home")
        assert app.query_one("#entries").has_focus

    with_app(pipeline(), late(12, 130), task, (100, 30))
