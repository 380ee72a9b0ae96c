"""The program: timeline, panels and keys."""

from __future__ import annotations

import gc

from textual.app import App, ComposeResult
from textual.containers import Container
from textual.widgets import Static, TabbedContent, TabPane

from tlxviz.trace.model import Trace
from tlxviz.tui.lanes import waits
from tlxviz.tui.panels import Panel, panels
from tlxviz.tui.state import State
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.window import Window
from tlxviz.tui.words import event_name, time_text

_WIDE = 160
"""Columns from which panels stand beside the timeline rather than below."""


def settle() -> None:
    """Takes what there is by now out of garbage collection, which else goes through it amid a key: 50 ms."""
    gc.freeze()


class TimelineApp(App[None]):
    """`tlxviz view`.

    Args:
        trace: What to show; at least one launch.
        title: Where it is from.
    """

    CSS = """
    #head { height: 1; background: $panel; }
    #foot { height: 1; background: $panel; }
    #body { layout: vertical; height: 1fr; }
    #drawer { height: 9; }
    .wide #body { layout: horizontal; }
    .wide #drawer { height: 1fr; width: 38%; }
    .hidden { display: none; }
    """
    BINDINGS = [
        ("q", "quit", "quit"),
        ("w,plus,equals_sign", "zoom(0.5)", "zoom in"),
        ("s,minus", "zoom(2.0)", "zoom out"),
        ("a,left", "pan(-0.1)", "left"),
        ("d,right", "pan(0.1)", "right"),
        ("A,shift+left", "pan(-0.5)", "half a page left"),
        ("D,shift+right", "pan(0.5)", "half a page right"),
        ("up,k", "lane(-1)", "lane up"),
        ("down,j", "lane(1)", "lane down"),
        ("full_stop", "step(1)", "next slice"),
        ("comma", "step(-1)", "previous slice"),
        ("x", "wait(1)", "next wait"),
        ("X", "wait(-1)", "previous wait"),
        ("f", "fit", "fit the selection"),
        ("0", "whole", "the whole CTA"),
        ("space", "fold", "fold"),
        ("u", "units", "cycles or ns"),
        ("tab", "drawer", "panels"),
        ("escape", "clear", "clear"),
    ]

    def __init__(self, trace: Trace, title: str = "") -> None:
        super().__init__()
        self.title = title
        self.state = State.of(trace)
        self.state.listeners.append(self._follow)

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        with Container(id="body"):
            yield Timeline(self.state)
            with TabbedContent(id="drawer"):
                for number, make in enumerate(panels(), 1):
                    made = make(self.state)
                    with TabPane(f"{number} {made.title}", id=f"tab-{made.title.lower()}"):
                        yield made
        yield Static(id="foot")

    def on_mount(self) -> None:
        self.query_one(Timeline).focus()
        self.call_after_refresh(self._follow)

    def on_ready(self) -> None:
        if not self.is_headless:
            settle()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "wide")
        self.call_after_refresh(self._follow)

    def on_tabbed_content_tab_activated(self) -> None:
        self._follow()

    # ---- what has changed

    def _follow(self) -> None:
        if not self.is_running:
            return
        state, launch = self.state, self.state.launch
        self.query_one("#head", Static).update(
            f"{launch.kernel}  launch {state.seen.number}  CTA {state.cta}  "
            f"{time_text(state.window.cycles, launch.clock_mhz, state.units)} on screen"
        )
        said = event_name(launch, state.event) if state.event is not None else ""
        self.query_one("#foot", Static).update(
            f"at {time_text(state.cursor, launch.clock_mhz, state.units)}  {said}   ? help  q quit"
        )
        self.query_one(Timeline).follow()
        active = self.query_one(TabbedContent).active_pane
        if active is not None:
            for each in active.query(Panel):
                each.follow()

    # ---- actions

    def action_zoom(self, factor: float) -> None:
        state = self.state
        about = state.cursor if state.window.begin <= state.cursor < state.window.end else state.window.begin
        state.window = state.window.zoomed(factor, about, state.seen.whole)
        state.changed()

    def action_pan(self, share: float) -> None:
        """Moves the cursor by a share of the window's time, and the window with it."""
        state = self.state
        by = round(state.window.cycles * share) or (1 if share > 0 else -1)
        state.window = state.window.moved(by, state.seen.whole)
        whole = state.seen.whole
        state.cursor = max(whole.begin, min(state.cursor + by, whole.end - 1))
        state.changed()

    def action_lane(self, by: int) -> None:
        state = self.state
        state.lane = max(0, min(state.lane + by, len(state.visible()) - 1))
        state.changed()

    def action_step(self, direction: int) -> None:
        if not self.state.step(direction):
            self.bell()
        self.state.changed()

    def action_wait(self, direction: int) -> None:
        if not self.state.step(direction, waits(self.state.launch)):
            self.bell()
        self.state.changed()

    def action_fit(self) -> None:
        state = self.state
        if state.span is not None:
            state.window = state.span.within(state.seen.whole)
        elif state.event is not None:
            begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
            room = max(8, (end - begin) // 4)
            state.window = Window(begin - room, end + room).within(state.seen.whole)
        state.changed()

    def action_whole(self) -> None:
        self.state.window = self.state.cta_window()
        self.state.changed()

    def action_fold(self) -> None:
        self.state.fold()
        self.state.changed()

    def action_units(self) -> None:
        self.state.units = "ns" if self.state.units == "cycles" else "cycles"
        self.state.changed()

    def action_drawer(self) -> None:
        self.query_one("#drawer").toggle_class("hidden")
        self.state.changed()

    def action_clear(self) -> None:
        self.state.event = self.state.span = self.state.span_from = None
        self.state.lit = frozenset()
        self.state.changed()
