"""`run -i`: the timeline of a script that runs, and what becomes of it when it ends, is stopped or hangs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis.synthetic_traces import PERIOD, hung, pipeline
from textual.pilot import Pilot
from textual.widgets import Log, TabbedContent, TabPane

from tlxviz.commands import main
from tlxviz.commands.live import ForkedRun, Watch
from tlxviz.trace import LaunchTrace, Trace, load_trace, save_trace
from tlxviz.tui.ask import Ask
from tlxviz.tui.keys import ACTIONS, Mode, Scope, default_keymap
from tlxviz.tui.live import LiveApp, plain
from tlxviz.tui.overlays import HelpScreen
from tlxviz.tui.panels import panels
from tlxviz.tui.reload import nothing_yet, replace_trace
from tlxviz.tui.search import find
from tlxviz.tui.state import State
from tlxviz.tui.store import Store
from tlxviz.tui.travel import hit

pytestmark = pytest.mark.usefixtures("folders_of_its_own")


class Script:
    """A recording that does what the test says."""

    def __init__(self, folder: Path) -> None:
        self.trace = folder / "live.tlxtrace"
        self.status: int | None = None
        self.text = ""
        self.stops = 0

    def record(self, *launches: LaunchTrace) -> None:
        save_trace(Trace(list(launches)), self.trace, force=True)

    def poll(self) -> int | None:
        return self.status

    def stop(self) -> None:
        self.stops += 1

    def printed(self) -> str:
        text, self.text = self.text, ""
        return text

    def doing(self) -> str:
        return "pipeline, 3 of 64"


def with_app(
    script: Script,
    task: Callable[[LiveApp, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    **options: Any,
) -> LiveApp:
    app = LiveApp(script, "script.py", **options)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await task(app, pilot)

    asyncio.run(run())
    return app


async def seen(app: LiveApp, pilot: Pilot[None]) -> None:
    """What the script has done until now is on screen."""
    app.tick()
    await app.workers.wait_for_complete()
    await pilot.pause()
    app.tick()
    await pilot.pause()


def screen(app: LiveApp) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def grown(iterations: int) -> LaunchTrace:
    return replace(pipeline(iterations), complete=False)


# ---- the timeline while it runs


def test_the_newest_time_is_followed_until_somebody_moves(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        assert "script.py runs: pipeline, 3 of 64" in screen(app)[0]
        script.record(grown(300))
        await seen(app, pilot)
        state = app.state
        assert state.launch.kernel == "pipeline"
        assert (state.window.end, state.window.cycles) == (300 * PERIOD + 30, 1 << 14)

        script.record(grown(500))
        await seen(app, pilot)
        assert state.window.end == 500 * PERIOD + 30

        await pilot.press("s", "a")
        before = state.window
        script.record(grown(600))
        await seen(app, pilot)
        assert state.window == before
        assert len(state.launch.events) == 9 * 600

        await pilot.press("end")
        assert state.window.end == 600 * PERIOD + 30
        script.record(grown(700))
        await seen(app, pilot)
        assert state.window.end == 700 * PERIOD + 30

    with_app(script, task)


def test_a_new_launch_comes_on_screen_while_the_newest_time_is_followed(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        script.record(pipeline(4))
        await seen(app, pilot)
        script.record(pipeline(4), replace(pipeline(2), kernel="second"))
        await seen(app, pilot)
        assert (app.state.seen.number, app.state.launch.kernel) == (1, "second")

    with_app(script, task)


def test_what_the_script_prints_is_shown(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        script.text = "step 1\nstep \x1b[31m2\x1b[0m\n"
        await seen(app, pilot)
        assert app.query_one(TabbedContent).active == "tab-output"
        assert list(app.query_one("#output", Log).lines)[:2] == ["step 1", "step 2"]
        assert any("step 2" in line for line in screen(app))

    with_app(script, task)


def test_text_without_what_moves_a_cursor() -> None:
    assert plain("10%\r20%\r\n\x1b[1mdone\x1b[0m\x07\n") == "10%\n20%\ndone\n"


@pytest.mark.parametrize("size", [(20, 6), (220, 60)])
def test_keys_before_anything_was_recorded(tmp_path: Path, size: tuple[int, int]) -> None:
    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        await pilot.press("w", "d", "down", "full_stop", "x", "f", "0", "space", "end", "O", "escape")
        assert all(len(line) == size[0] for line in screen(app))

    with_app(Script(tmp_path), task, size)


def test_a_selected_event_stays_selected_where_rows_have_moved() -> None:
    state = State.of(Trace([grown(5)]))
    event = int(np.flatnonzero((state.launch.events["site"] == 3) & (state.launch.events["inner"] == 4))[0])
    state.event = event
    more = grown(6)
    first = more.events.take(np.roll(np.arange(len(more.events)), 7))
    replace_trace(state, Trace([replace(more, events=first)]), newest=False)

    assert state.event == event + 7
    replace_trace(state, Trace([replace(pipeline(5), kernel="another")]), newest=False)
    assert state.event is None


def test_a_search_finds_what_is_there_now() -> None:
    state = State.of(Trace([grown(6)]))
    state.hits = find(state.launch, "mma")
    state.lit = frozenset({1})
    before = len(state.hits)
    more = grown(8)
    replace_trace(
        state, Trace([replace(more, events=more.events.take(np.arange(len(more.events))[::-1]))]), newest=False
    )
    assert state.hits is not None
    assert len(state.hits) > before
    assert sorted(state.hits.events) == sorted(find(state.launch, "mma").events)
    assert state.lit == {1}

    replace_trace(state, Trace([replace(grown(2), kernel="another")]), newest=False)
    for _ in range(before):  # as `n` does, also where there are fewer events
        hit(state, 1)
    assert state.event is not None
    assert state.event in find(state.launch, "mma").events
    assert state.lit == frozenset()


def test_the_row_of_the_cursor_is_kept() -> None:
    state = State.of(nothing_yet("script.py"))
    replace_trace(state, Trace([grown(5)]), newest=True)
    state.lane = [lane.label for lane in state.visible()].index("mma")
    replace_trace(state, Trace([grown(6)]), newest=True)

    row = state.current()
    assert row is not None
    assert row.label == "mma"


# ---- its end


def test_ctrl_c_stops_the_script_and_the_timeline_stays(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        script.record(grown(3))
        await seen(app, pilot)
        await pilot.press("ctrl+c")
        assert script.stops == 1
        assert "stopping script.py" in screen(app)[0]
        script.record(replace(grown(4)))
        script.status = 130
        await seen(app, pilot)
        assert app.status == 130
        assert len(app.state.launch.events) == 9 * 4
        assert "script.py has ended with exit status 130" in screen(app)[0]
        await pilot.press("down", "full_stop", "ctrl+c")
        assert app.state.event is not None
        assert script.stops == 1

    with_app(script, task)


def test_q_stops_the_script_and_leaves_when_it_has_ended(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        await pilot.press("q")
        assert script.stops == 1
        assert app.is_running
        await pilot.press("q")
        assert script.stops == 2
        script.status = 130
        app.tick()
        await pilot.pause()
        assert not app.is_running

    with_app(script, task)


def test_a_hang_is_opened_at_the_first_warp_group_that_waits(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        tabs = app.query_one(TabbedContent)
        if not tabs.query("#tab-hang"):
            await tabs.add_pane(TabPane("Hang", id="tab-hang"))
        script.record(pipeline(2), hung())
        script.status = 1
        await seen(app, pilot)
        await pilot.pause()
        state = app.state
        assert (state.seen.number, tabs.active) == (1, "tab-hang")
        assert state.event is not None
        event, launch = state.event, state.launch
        track = launch.tracks[int(launch.events["track"][event])]
        assert track.name == "mma"
        begins = launch.events["begin"][launch.events["track"] == launch.events["track"][event]]
        assert launch.events["begin"][event] == begins.max()
        row = state.current()
        assert row is not None
        assert row.label == "mma"

    with_app(script, task)


# ---- keys, and what is kept


def test_keys_of_ones_own_are_said(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        script.record(grown(300))
        await seen(app, pilot)
        await pilot.press("a")
        script.record(grown(301))
        await seen(app, pilot)
        assert "f9: stop   F: follow the newest time" in screen(app)[0]
        await pilot.press("F", "ctrl+c")
        assert app.state.window.end == 301 * PERIOD + 30
        assert script.stops == 0
        assert app.state.said == "q quits"
        await pilot.press("f9")
        assert script.stops == 1

    with_app(script, task, (100, 24), keymap=default_keymap() | {"stop": ("f9",), "newest": ("F",)})


def test_help_while_it_runs_and_the_output_behind_it(tmp_path: Path) -> None:
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        script.text = "step 1\n"
        script.record(pipeline(4))
        script.status = 3
        await seen(app, pilot)
        assert isinstance(app.screen, HelpScreen)
        assert app.status == 3
        await pilot.press("escape")
        await pilot.pause()
        assert any("step 1" in line for line in screen(app))
        assert "exit status 3" in screen(app)[0]

    with_app(script, task)


def test_the_script_that_runs_again_has_the_lanes_of_its_kernels(tmp_path: Path) -> None:
    other = replace(grown(4), kernel="other")
    store = tmp_path / "states" / "script.json"

    async def leave(app: LiveApp, pilot: Pilot[None]) -> None:
        app.recording.record(grown(5))  # type: ignore[attr-defined]
        await seen(app, pilot)
        state = app.state
        state.put_on("cta 0/barriers")
        await pilot.press("space", "u", "t", "4")
        app.recording.record(grown(5), other)  # type: ignore[attr-defined]
        await pilot.press("end")
        await seen(app, pilot)
        await pilot.press("end")
        assert state.launch.kernel == "other"
        state.put_on("cta 0/mma")
        await pilot.press("p")

    async def come_back(app: LiveApp, pilot: Pilot[None]) -> None:
        state = app.state
        assert (state.units, state.theme) == ("ns", "light")
        assert app.query_one(TabbedContent).active == app.query(TabPane)[3].id
        app.recording.record(grown(5))  # type: ignore[attr-defined]
        await seen(app, pilot)
        assert "cta 0/barriers" not in state.folded
        assert state.pinned == []
        app.recording.record(grown(5), other)  # type: ignore[attr-defined]
        await seen(app, pilot)
        assert "cta 0/barriers" in state.folded
        assert state.pinned == ["cta 0/mma"]
        state.open_launch(0)
        assert (state.pinned, "cta 0/barriers" in state.folded) == ([], False)

    for number, task in enumerate((leave, come_back)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with_app(Script(folder), task, (100, 40), store=Store(store))


def test_the_panel_that_a_hang_opened_is_not_kept(tmp_path: Path) -> None:
    script, store = Script(tmp_path), Store(tmp_path / "script.json")

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        await pilot.press("4", "P")
        script.record(hung())
        script.status = 1
        await seen(app, pilot)
        await pilot.pause()
        assert app.query_one(TabbedContent).active == "tab-hang"

    with_app(script, task, store=store)
    kept = json.loads(store.path.read_text())
    assert (kept["panel"], kept["shown"]) == (f"tab-{panels()[3].title.lower()}", False)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 2, "panel": "?", "shown": 1, "rows": 3}'])
def test_a_damaged_state_of_a_script_is_ignored(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path / "script.json")
    store.path.write_text(text)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        assert (app.state.units, app.query_one(TabbedContent).active) == ("cycles", "tab-output")

    with_app(Script(tmp_path), task, store=store)


def test_a_killed_run_leaves_the_timeline(tmp_path: Path) -> None:
    """Its last trace is not written to its end, and its output ends in the middle of a character."""
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        script.record(grown(5))
        await seen(app, pilot)
        script.trace.write_bytes(script.trace.read_bytes()[:200])
        script.status = 137
        await seen(app, pilot)
        await seen(app, pilot)
        assert app.status == 137
        assert len(app.state.launch.events) == 45
        await pilot.press("z", "q")
        assert not app.is_running

    with_app(script, task)


@pytest.mark.parametrize("size", [(20, 6), (1, 1), (220, 60)])
def test_every_action_in_the_middle_of_a_run(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = Script(tmp_path)

    async def task(app: LiveApp, pilot: Pilot[None]) -> None:
        for number, each in enumerate(ACTIONS):
            if each.scope is Scope.TIMELINE and Mode.LIVE in each.modes and each.name != "quit":
                await app.action_do(each.name)
                if number % 9 == 0:
                    script.record(grown(1 + number), replace(pipeline(2), kernel="second"))
                    await seen(app, pilot)
                if len(app.screen_stack) > 1 or app.query_one(Ask).has_class("open"):
                    await pilot.press("escape")
        await pilot.pause()
        assert all(len(line) == size[0] for line in screen(app))

    with_app(script, task, size)


# ---- the script's side


def test_without_i_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def progress(kernel: str, done: int, total: int) -> None:
        raise AssertionError

    watch = Watch(None)
    before = threading.active_count()
    assert watch.told(progress) is progress
    watch.start(lambda: pytest.fail("asked"))
    assert threading.active_count() == before
    watch.close(Trace())


def test_traces_are_written_while_there_is_more_to_see(tmp_path: Path) -> None:
    sizes = iter([2, 3])
    asked = threading.Event()

    def so_far() -> Trace:
        size = next(sizes, None)
        if size is None:
            asked.set()
            size = 3
        return Trace([grown(size)])

    watch = Watch(tmp_path)
    watch.told(lambda kernel, done, total: None)("pipeline", 3, 64)
    watch.start(so_far)
    assert asked.wait(30)
    assert len(load_trace(tmp_path / "live.tlxtrace").launches[0].events) == 27
    assert ForkedRun(0, tmp_path).doing() == "pipeline, 3 of 64"
    watch.close(Trace([pipeline(4)]))
    assert len(load_trace(tmp_path / "live.tlxtrace").launches[0].events) == 36
    assert ForkedRun(0, tmp_path).doing() == ""


def test_a_fault_while_watching_is_none_of_the_run(tmp_path: Path) -> None:
    asked = threading.Event()

    def so_far() -> Trace:
        asked.set()
        raise IndexError

    watch = Watch(tmp_path)
    watch.start(so_far)
    assert asked.wait(30)
    watch.close(Trace([pipeline(2)]))
    assert load_trace(tmp_path / "live.tlxtrace").launches[0].complete


def test_a_script_is_told_to_end_harder_only_when_it_had_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, sent = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "waitpid", lambda pid, options: (0, 0))
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    run = ForkedRun(4321, tmp_path)
    for passed in (0.0, 0.5, 1.0, 3.0, 1.0, 3.0, 3.0):
        now[0] += passed
        run.stop()

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL]
    assert sent == [(4321, number) for number in numbers]


def test_without_a_terminal_it_says_so_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.py").write_text("raise SystemExit(77)\n")
    monkeypatch.chdir(tmp_path)

    assert main(["run", "-i", "--device", "sim:h200", "script.py"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("tlxviz: error: -i shows a timeline in the terminal, and stdout")
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]
