"""What a user does with the timeline, key by key."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.synthetic_traces import PERIOD, launch, pipeline
from app_pilot import pressed, selected, typed, walk
from rich.text import Text
from textual.pilot import Pilot

from tlxviz.trace import SiteRow, Trace, Track, TrackKind
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.ask import Ask
from tlxviz.tui.export import screen_text
from tlxviz.tui.keys import ACTIONS, Mode, Scope, with_changes
from tlxviz.tui.overlays import HelpScreen, MarksScreen
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.settings import put_theme
from tlxviz.tui.state import State
from tlxviz.tui.store import Store
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.window import Window

# ---- time


def test_the_whole_cta_at_first() -> None:
    state = pressed()
    assert state.window == Window(0, 1230)  # 12 iterations of 100, and the last copy's 30
    assert state.cursor == 0


def test_zoom_keeps_the_cursor_where_it_is() -> None:
    state = pressed("right", "w")
    assert state.cursor == 123
    assert state.window.cycles == 615
    assert state.window.column(123, 100) == Window(0, 1230).column(123, 100)


def test_zooming_out_ends_at_the_launch() -> None:
    assert pressed("w", "w", "s", "s", "s").window == Window(0, 1230)


@pytest.mark.parametrize(
    ("text", "cycle"),
    [("1,100", 1100), ("600", 600), ("0.5us", 500), ("300ns", 300), ("50%", 615), ("+40", 40), ("99999", 1229)],
)
def test_go_to_a_time(text: str, cycle: int) -> None:  # 1000 MHz: a cycle is 1 ns
    assert pressed("g", *typed(text)).cursor == cycle


def test_a_number_alone_is_in_the_units_on_screen() -> None:
    trace = Trace([pipeline(clock_mhz=2000.0)])
    assert pressed("g", *typed("200"), made=trace).cursor == 200
    assert pressed("u", "g", *typed("200"), made=trace).cursor == 400


def test_go_to_an_iteration_of_the_warp_group_under_the_cursor() -> None:
    assert selected(pressed("g", *typed("i:7"))) == ("load", 700, 44)
    assert selected(pressed("down", "down", "g", *typed("i:7"))) == ("mma", 700, 43)


@pytest.mark.parametrize("text", ["nowhere", "i:99", "12 parsecs"])
def test_there_is_no_such_place(text: str) -> None:
    state = pressed("right", "g", *typed(text))
    assert state.cursor == 123
    assert state.said


def test_back_to_where_one_was() -> None:
    state = pressed("w", "w", "g", *typed("900"), "z", "backspace", "backspace")
    assert (state.cursor, state.event) == (0, None)
    assert state.window.cycles == 308
    assert "nowhere to go back" in pressed("backspace").said


# ---- events


def test_step_by_step() -> None:
    assert selected(pressed("down", ".")) == ("load", 40, 41)  # from cycle 0, at which a wait begins
    assert selected(pressed("down", ".", ".", ",")) == ("load", 40, 41)


def test_waits_of_a_lane() -> None:
    assert selected(pressed("down", "x", "x")) == ("load", 200, 44)
    assert selected(pressed("down", "x", "x", "X")) == ("load", 100, 44)
    assert "no earlier wait" in pressed("down", "X", "X").said


def test_the_longest_wait_and_the_next_longest() -> None:
    state = pressed("z")
    assert selected(state) == ("mma", 40, 46)  # 50 cycles, the first of twelve
    assert state.said == "the longest wait of the launch"
    assert selected(pressed("z", "z")) == ("mma", 140, 46)
    assert selected(pressed("z", "z", "Z")) == ("mma", 40, 46)


def test_along_the_flow() -> None:
    # The first wait for an MMA was released by that MMA on the tensor core, which the issue released.
    assert selected(pressed("z", "[")) == ("tensor core", 35, 45)
    assert selected(pressed("z", "[", "]")) == ("mma", 40, 46)
    assert "nothing released it" in pressed("z", "[", "[").said
    assert "no event is selected" in pressed("[").said


def test_several_that_were_released_together() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, f"group.{n}", 0, 0, n, begin=0, end=100) for n in range(3)]
    sites = [SiteRow("arrive", 0, "k.py", 1, "full", ""), SiteRow("wait", 1, "k.py", 2, "full", "")]
    rows = [
        (0, 0, 0, 10, -1, -1, 0, 0, 0, -1),
        (1, 1, 0, 12, -1, -1, 0, 0, 0, 0),
        (2, 1, 5, 12, -1, -1, 0, 0, 0, 0),
    ]
    trace = Trace([launch(tracks, sites, rows)])
    start = ("g", *typed("0"), "down", ".", ",", "/", *typed("arrive"))
    assert selected(pressed(*start, "]", made=trace)) == ("group.1", 0, 2)
    assert selected(pressed(*start, "]", "}", made=trace)) == ("group.2", 5, 2)
    assert selected(pressed(*start, "]", "}", "}", made=trace)) == ("group.1", 0, 2)
    assert pressed(*start, "]", "{", made=trace).said == "2 of 2 that were released together"


def test_iterations_and_the_same_line() -> None:
    assert selected(pressed("down", "i", "i")) == ("load", 200, 44)
    assert selected(pressed("down", "i", "i", "I")) == ("load", 100, 44)
    assert pressed("down", "i").said == "iteration 1"
    assert "no earlier" in pressed("down", "I").said
    assert selected(pressed("down", ".", "e", "e")) == ("load", 240, 41)
    assert selected(pressed("down", ".", "e", "E")) == ("load", 40, 41)
    assert "last of 12" in pressed("down", ".", *["e"] * 12).said


# ---- search


def test_search_goes_from_hit_to_hit() -> None:
    state = pressed("/", *typed("wait full[1]"))
    assert selected(state) == ("mma", 100, 43)
    assert state.said == "hit 1 of 6: wait full[1]"
    assert selected(pressed("/", *typed("wait full[1]"), "n", "n", "N")) == ("mma", 300, 43)
    assert selected(pressed("/", *typed("wait full[1]"), "N")) == ("mma", 1100, 43)  # around the end


def test_a_search_that_finds_nothing_or_cannot_be_understood() -> None:
    assert pressed("/", *typed("nobody")).said == "no hits: nobody"
    assert "line:x wants a number" in pressed("/", *typed("line:x")).said
    assert "nothing has been searched for" in pressed("n").said


def test_hits_are_counted_while_one_types() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        assert screen_text(app).startswith("24 hits\n")
        await pilot.press("escape")
        await pilot.pause()
        assert not app.query_one(Ask).has_class("open")
        assert app.query_one(Timeline).has_focus
        assert "it.tlxtrace" not in screen_text(app)
        assert screen_text(app).startswith("pipeline")

    walk(TimelineApp(Trace([pipeline()])), "/", *"wait l:", *["backspace"] * 3, *" >39", then=then)


def test_what_was_asked_before_is_a_key_away() -> None:
    assert selected(pressed("/", *typed("line:42"), "/", "up", "enter"))[2] == 42  # type: ignore[index]


# ---- ranges and marks


def test_a_range_by_keyboard() -> None:
    state = pressed("right", "v", "right", "right", "v")
    assert state.span == Window(123, 369)
    assert pressed("right", "right", "v", "left", "v").span == Window(123, 246)
    assert pressed("right", "v", "right", "right", "v", "f").window == Window(123, 369)
    assert pressed("right", "v", "right", "v", "escape").span is None


def test_the_range_of_an_event() -> None:
    assert pressed("z", "r").span == Window(40, 90)
    assert "no event" in pressed("r").said


def test_marks() -> None:
    state = pressed("right", "m", "right", "m", "g", *typed("200"), ";")
    assert state.marks == [123, 246]
    assert state.cursor == 246
    assert pressed("right", "m", "right", "m", ";").cursor == 123  # around
    assert pressed("right", "m", "m").marks == []


def test_the_list_of_marks() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        assert isinstance(app.screen, MarksScreen)
        assert "123 cycles" in screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.cursor == 123
        await pilot.press("M", "d", "d")
        await pilot.pause()
        assert app.state.marks == []
        assert not isinstance(app.screen, MarksScreen)

    walk(TimelineApp(Trace([pipeline()])), "right", "m", "right", "m", "M", then=then)
    assert "no mark" in pressed("M").said


def test_marks_belong_to_a_launch() -> None:
    state = State.of(Trace([pipeline(), pipeline()]))
    state.marks.append(7)
    state.open_launch(1)
    assert state.marks == []
    assert state.back()
    assert state.marks == [7]


# ---- lanes


def test_a_pinned_lane_is_on_top_and_stays_under_the_cursor() -> None:
    state = pressed("down", "down", "p")
    assert [lane.label for lane in state.visible()][:2] == ["mma", "CTA 0"]
    lane = state.current()
    assert lane is not None
    assert lane.label == "mma"
    assert pressed("down", "down", "p", "p").pinned == []


def test_a_folded_cta_is_one_lane() -> None:
    assert [lane.label for lane in pressed("down", "space").visible()] == ["CTA 0"]
    assert len(pressed("down", "space", "space").visible()) == len(pressed().visible())


# ---- help, palette, panels


def test_help_lists_all_keys_and_scrolls() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        assert isinstance(app.screen, HelpScreen)
        seen = screen_text(app)
        for _ in range(8):
            await pilot.press("pagedown")
            await pilot.pause()
            seen += screen_text(app)
        for each in ACTIONS:
            assert (each.does[:20] in seen) == (Mode.VIEW in each.modes)
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, HelpScreen)

    walk(TimelineApp(Trace([pipeline()])), "?", then=then)


@pytest.mark.parametrize("size", [(20, 5), (5, 3), (1, 1)])
def test_a_page_of_a_palette_without_room(size: tuple[int, int]) -> None:
    for page in ("pagedown", "pageup"):
        state = walk(TimelineApp(Trace([pipeline()])), "ctrl+p", "down", page, page, "escape", "w", size=size)
        assert state.window.cycles < state.seen.whole.cycles  # the palette is gone, and keys do what they do


def test_the_palette_knows_every_action() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        titles = [each.title for each in app.get_system_commands(app.screen)]
        for each in ACTIONS:
            if each.name != "palette" and each.scope is Scope.TIMELINE and Mode.VIEW in each.modes:
                assert any(title.startswith(each.name.replace("_", " ")) for title in titles)
        await pilot.press("ctrl+p", *"worst wait")
        for _ in range(100):
            await pilot.pause(0.02)
            if "longest wait" in screen_text(app):
                break
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert selected(app.state) == ("mma", 40, 46)

    walk(TimelineApp(Trace([pipeline()])), then=then)


def test_into_a_panel_and_back() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        for there, back in (("enter", "escape"), ("tab", "tab")):
            await pilot.press(there)
            assert not app.query_one(Timeline).has_focus
            await pilot.press(back)
            assert app.query_one(Timeline).has_focus
        await pilot.press("z", "enter", "escape")
        assert app.state.event is not None  # Esc came out of the panel, and did no more
        await pilot.press("escape")
        assert app.state.event is None
        await pilot.press("P")
        assert not app.query_one("#drawer").display
        await pilot.press("1")
        assert app.query_one("#drawer").display

    walk(TimelineApp(Trace([pipeline()])), then=then)


def test_themes_go_around() -> None:
    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        for theme, dark, plain in (("light", False, False), ("mono", True, True), ("dark", True, False)):
            await pilot.press("t")
            await pilot.pause()
            assert (app.state.theme, app.current_theme.dark) == (theme, dark)
            assert app.query_one(Timeline).monochrome == plain
            colours = {
                colour.triplet
                for strip in app.screen._compositor.render_strips()
                for segment in strip
                if segment.style and (colour := segment.style.color) and colour.triplet
            }
            coloured = any(max(triplet) - min(triplet) > 8 for triplet in colours)
            assert coloured != plain

    walk(TimelineApp(Trace([pipeline()])), then=then)


# ---- keys of one's own


def test_other_keys() -> None:
    keymap = {each.name: () for each in ACTIONS} | {"worst_wait": ("f5",), "help": ("h",)}
    app = TimelineApp(Trace([pipeline()]), keymap=keymap)
    assert selected(walk(app, "z")) is None
    app = TimelineApp(Trace([pipeline()]), keymap=keymap)
    assert selected(walk(app, "f5")) == ("mma", 40, 46)


def test_other_keys_in_panels_lists_and_help() -> None:
    changes = {"list_down": ("ctrl+n",), "list_up": ("down", "k"), "ttgir": ("f6",), "close": ("f7",)}
    app = TimelineApp(Trace([pipeline()]), keymap=with_changes(changes | {"ask_close": ("f8",)}))

    async def then(app: TimelineApp, pilot: Pilot[None]) -> None:
        await pilot.press("o")
        await pilot.pause()
        listing = app.query_one("#source-lines", Listing)
        assert listing.has_focus
        assert "f6: TTGIR" in screen_text(app)
        listing.show(9, lambda number: Text(str(number)))
        await pilot.press("ctrl+n", "ctrl+n", "down", "j")
        assert listing.cursor == 1  # j is nobody's in a list
        await pilot.press("question_mark")
        await pilot.pause()
        lines = [line.strip("│ ").split() for line in screen_text(app).splitlines()]
        assert lines[1][0] == "Source"
        assert ["Ctrl+n", "next", "line"] in lines
        assert ["↓", "k", "line", "before"] in lines
        assert any(line[:1] == ["f6"] for line in lines)
        await pilot.press("escape")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("f7")
        assert not isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "slash")
        assert app.query_one(Ask).has_class("open")
        await pilot.press("f8")
        assert not app.query_one(Ask).has_class("open")

    walk(app, then=then, size=(100, 60))


def test_hints_have_the_keys_that_there_are() -> None:
    app = TimelineApp(Trace([pipeline()]), keymap=with_changes({"mark": ("f5",), "next": ("f6",)}))
    assert walk(app, "M").said == "there is no mark: f5 sets one"
    app = TimelineApp(Trace([pipeline()]), keymap=with_changes({"next": ("f6",)}))
    assert "f6 and , go from one" in walk(app, "r").said


def test_without_colour_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert pressed("z", "t", "t", "question_mark", "escape", "slash", "escape").event is not None


def test_a_session_without_colour_leaves_the_theme_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, store = Trace([pipeline()]), Store(tmp_path / "it.json")
    assert walk(TimelineApp(trace, store=store), "t").theme == "light"
    monkeypatch.setenv("NO_COLOR", "1")
    for keys, shown, kept in (("z", "mono", "light"), ("t", "dark", "dark")):
        state = store.read(trace)
        put_theme(state)
        assert state.theme == "mono"
        assert walk(TimelineApp(trace, state=state, store=store), keys).theme == shown
        assert store.read(trace).theme == kept
    state = store.read(trace)
    put_theme(state, "light")
    assert state.theme == "light"


# ---- the screen as a file


def test_the_screen_as_text_and_as_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state = pressed("z", "y", "y", "Y")
    assert state.said == "written: it.svg"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.1.txt", "it.svg", "it.txt"]
    text = (tmp_path / "it.txt").read_text()
    assert text.startswith("pipeline  ")
    assert "wait 50 cycles" in text
    assert len(text.splitlines()) == 24
    assert "it.tlxtrace" in (tmp_path / "it.svg").read_text()


def test_a_folder_that_takes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert "cannot write" in pressed("y").said


def test_a_period_of_the_synthetic_trace() -> None:
    assert PERIOD == 100  # which the figures above are made of
