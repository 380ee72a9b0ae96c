"""The program: timeline, panels and keys."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult, SystemCommand
from textual.color import Color
from textual.containers import Container
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen
from textual.widgets import Static, TabbedContent, TabPane

from tlxviz.trace.model import Trace
from tlxviz.tui import flowing, lines, moving, travel
from tlxviz.tui.ask import Ask
from tlxviz.tui.export import save_screen
from tlxviz.tui.keys import ACTIONS, Keymap, default_keymap, key_text, keys_text
from tlxviz.tui.overlays import HelpScreen, MarksScreen
from tlxviz.tui.panels import Panel, panels
from tlxviz.tui.panels.source import SourcePanel
from tlxviz.tui.places import PlaceError, go
from tlxviz.tui.search import SearchError, find
from tlxviz.tui.state import State
from tlxviz.tui.store import THEMES, Store
from tlxviz.tui.timeline import Timeline

_WIDE = 160
"""Columns from which panels stand beside the timeline rather than below."""
_NARROW, _LOW = 40, 12
"""With fewer columns or lines there is room for the timeline, or for the panel, alone."""
_KEEP_SECONDS = 10

_OF_STATE: dict[str, Callable[[State], str]] = {
    "zoom_in": lambda state: moving.zoom(state, 0.5),
    "zoom_out": lambda state: moving.zoom(state, 2.0),
    "left": lambda state: moving.pan(state, -0.1),
    "right": lambda state: moving.pan(state, 0.1),
    "page_left": lambda state: moving.pan(state, -0.5),
    "page_right": lambda state: moving.pan(state, 0.5),
    "fit": moving.fit,
    "whole": moving.whole,
    "back": moving.back,
    "up": lambda state: moving.lane(state, -1),
    "down": lambda state: moving.lane(state, 1),
    "fold": moving.fold,
    "pin": moving.pin,
    "next": lambda state: moving.step(state, 1),
    "previous": lambda state: moving.step(state, -1),
    "next_wait": lambda state: travel.wait(state, 1),
    "previous_wait": lambda state: travel.wait(state, -1),
    "worst_wait": lambda state: travel.worst_wait(state, 1),
    "less_bad_wait": lambda state: travel.worst_wait(state, -1),
    "next_same": lambda state: travel.same_site(state, 1),
    "previous_same": lambda state: travel.same_site(state, -1),
    "next_iteration": lambda state: travel.iteration(state, 1),
    "previous_iteration": lambda state: travel.iteration(state, -1),
    "released_by": travel.to_releaser,
    "releases": travel.to_released,
    "previous_released": lambda state: travel.among_released(state, -1),
    "next_released": lambda state: travel.among_released(state, 1),
    "data_from": flowing.to_source,
    "data_to": flowing.to_target,
    "next_hit": lambda state: travel.hit(state, 1),
    "previous_hit": lambda state: travel.hit(state, -1),
    "range": moving.span,
    "range_of_event": moving.span_of_event,
    "mark": moving.mark,
    "next_mark": moving.next_mark,
    "units": moving.units,
}
"""Actions that need nothing but the state."""


class _Main(Screen[None], inherit_bindings=False):
    """The screen, without Textual's Tab."""


class _Styled(LineFilter):
    """Gives a style to text that has none, which Textual's own filters take for granted."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [each if each.style else Segment(each.text, Style.null(), each.control) for each in segments]


def settle() -> None:
    """Takes what there is by now out of garbage collection, which else goes through it amid a key: 50 ms.

    What lines that are kept add to it takes 30 ms, so that all of it is gone through a hundred times less often.
    """
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 1000)


class TimelineApp(App[None]):
    """`tlxviz view`.

    Args:
        trace: What to show; at least one launch.
        title: Where it is from; also the name of files that the screen is written to.
        state: Where to begin; at the beginning of the first launch if nothing is given.
        keymap: The keys of each action, if not the default ones.
        store: Where the state is kept for the next time.
    """

    CSS = """
    #head, #foot { height: 1; background: $panel; }
    #body { layout: vertical; height: 1fr; }
    #drawer { height: 40%; min-height: 9; }
    .wide #body { layout: horizontal; }
    .wide #drawer { height: 1fr; width: 38%; }
    .tiny #drawer { display: none; }
    .tiny.opened #timeline { display: none; }
    .tiny.opened #drawer { display: block; height: 1fr; min-height: 0; }
    VerticalScroll { scrollbar-gutter: stable; }
    .hidden { display: none; }
    """

    ENABLE_COMMAND_PALETTE = False  # its key is one of the table's

    def __init__(
        self,
        trace: Trace,
        title: str = "",
        *,
        state: State | None = None,
        keymap: Keymap | None = None,
        store: Store | None = None,
    ) -> None:
        super().__init__()
        self.use_command_palette = True
        self.title = title
        self.state = state or State.of(trace)
        self.state.listeners.append(self._follow)
        self.keymap = keymap or default_keymap()
        self.store = store
        self._monochrome = Monochrome()
        self._styled = _Styled()
        self._drawn = False
        self._of_app: dict[str, Callable[[], str | Awaitable[None] | None]] = {
            "go_to": partial(self._ask, "go to", "1,234  12us  50%  i:40"),
            "search": partial(self._ask, "search", "wait a_full[2]  line:104  >1000  role:mma"),
            "marks": self._show_marks,
            "details": self._into_panel,
            "source": partial(self._open_titled, "Source"),
            "focus": self._switch_focus,
            "drawer": self._toggle_drawer,
            "theme": self._next_theme,
            "save_text": lambda: save_screen(self, self._stem(), picture=False),
            "save_picture": lambda: save_screen(self, self._stem(), picture=True),
            "help": self._show_help,
            "palette": self.action_command_palette,
            "clear": self._clear,
            "quit": self.action_quit,
        }
        for each in ACTIONS:
            for place, key in enumerate(self.keymap[each.name]):
                self.bind(key, f"do('{each.name}', {place})", description=each.does)
        self._show_theme()

    def get_default_screen(self) -> Screen[None]:
        return _Main(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = [*super().get_line_filters(), *([self._monochrome] if self.state.theme == "mono" else [])]
        return [self._styled, *filters] if filters else []

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for each in ACTIONS:
            if each.name == "panel":
                keys = [*map(key_text, self.keymap["panel"]), *(["-"] * len(self.query(Panel)))]
                for number, made in enumerate(self.query(Panel)):
                    yield SystemCommand(f"panel: {made.title}", keys[number], partial(self.action_do, "panel", number))
            elif each.name != "palette":
                title = f"{each.name.replace('_', ' ')}: {each.does}"
                yield SystemCommand(title, keys_text(self.keymap[each.name]), partial(self.action_do, each.name))

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        with Container(id="body"):
            yield Timeline(self.state)
            with TabbedContent(id="drawer"):
                for number, make in enumerate(panels(), 1):
                    made = make(self.state)
                    with TabPane(f"{number} {made.title}", id=f"tab-{made.title.lower()}"):
                        yield made
        yield Static(id="foot", markup=False)
        yield Ask()

    def on_mount(self) -> None:
        self._drawn = True
        self._fit()  # for the first picture, and not only when told of the size
        timeline = self.query_one(Timeline)
        timeline.monochrome = self.state.theme == "mono"
        timeline.focus()
        self.call_after_refresh(self._follow)
        if self.store is not None:
            self.set_interval(_KEEP_SECONDS, self._keep)

    def on_unmount(self) -> None:
        self._drawn = False
        self._keep()

    def on_ready(self) -> None:
        if not self.is_headless:
            settle()

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self._follow)

    def _fit(self) -> None:
        main = self.screen_stack[0]
        main.set_class(self.size.width >= _WIDE, "wide")
        main.set_class(self.size.width < _NARROW or self.size.height < _LOW, "tiny")

    def on_tabbed_content_tab_activated(self) -> None:
        self._follow()

    def _keep(self) -> None:
        if self.store is not None:
            self.store.write(self.state)

    # ---- what has changed

    def _follow(self) -> None:
        if not self._drawn:
            return
        main, width = self.screen_stack[0], self.size.width
        main.query_one("#head", Static).update(lines.head(self.state, width), layout=False)
        main.query_one("#foot", Static).update(lines.foot(self.state, width, self.keymap), layout=False)
        main.query_one(Timeline).follow()
        drawer = main.query_one(TabbedContent)
        if drawer.display and drawer.active_pane is not None:
            for each in drawer.active_pane.query(Panel):
                each.follow()

    # ---- actions

    async def action_do(self, name: str, place: int = 0) -> None:
        """Does what an action of the table says.

        Args:
            name: The action's name.
            place: Which of its keys was pressed.
        """
        state = self.state
        state.said = ""
        if name in _OF_STATE:
            state.said = _OF_STATE[name](state)
        else:
            done = self._open_panel(place) if name == "panel" else self._of_app[name]()
            if inspect.isawaitable(done):
                await done
            elif isinstance(done, str):
                state.said = done
        if name != "quit":
            state.changed()

    def _stem(self) -> str:
        return self.title.removesuffix(".tlxtrace") or self.state.launch.kernel

    # ---- asking

    def _ask(self, what: str, hint: str) -> None:
        self.query_one("#foot").add_class("hidden")
        self.query_one(Ask).open(what, f"{what}: {hint}")

    def on_ask_closed(self) -> None:
        self.query_one("#foot").remove_class("hidden")
        if self.focused is None or self.focused is self.query_one(Ask):
            self.query_one(Timeline).focus()
        self._follow()

    def on_ask_typed(self, message: Ask.Typed) -> None:
        """Says how much the search finds so far."""
        if message.what != "search" or not message.text.strip():
            return
        try:
            said = f"{len(find(self.state.launch, message.text)):,} hits"
        except SearchError as error:
            said = str(error)
        self.query_one("#head", Static).update(said)

    def on_ask_answered(self, message: Ask.Answered) -> None:
        state = self.state
        try:
            if message.what == "search":
                state.hits = find(state.launch, message.text)
                state.said = travel.hit(state, 1)
            else:
                state.said = go(state, message.text)
        except (SearchError, PlaceError) as error:
            state.said = str(error)
        state.changed()

    # ---- panels

    def _open_panel(self, place: int) -> str | None:
        found = list(self.query(Panel))
        if place >= len(found):
            return f"there are {len(found)} panels" if len(found) > 1 else "there is one panel"
        self._show_drawer()
        self.query_one(TabbedContent).active = f"tab-{found[place].title.lower()}"
        return None

    def _open_titled(self, title: str) -> str | None:
        for place, each in enumerate(self.query(Panel)):
            if each.title == title:
                self._open_panel(place)
                self.call_after_refresh(self._into_panel)
                return None
        return f"there is no panel {title}"

    def on_panel_line_wanted(self, message: Panel.LineWanted) -> None:
        for place, each in enumerate(self.query(Panel)):
            if isinstance(each, SourcePanel):
                self._open_panel(place)
                self.call_after_refresh(each.show_line, message.line)

    def _into_panel(self) -> None:
        self._show_drawer()
        pane = self.query_one(TabbedContent).active_pane
        for each in pane.query(Panel) if pane is not None else ():
            each.take_focus()

    def _switch_focus(self) -> None:
        if self.query_one(Timeline).has_focus:
            self._into_panel()
        else:
            self._leave_panel()

    def _leave_panel(self) -> None:
        self.screen_stack[0].remove_class("opened")
        self.query_one(Timeline).focus()

    def _show_drawer(self) -> None:
        self.query_one("#drawer").remove_class("hidden")
        self.screen_stack[0].add_class("opened")

    def _toggle_drawer(self) -> None:
        drawer = self.query_one("#drawer")
        if drawer.display:
            drawer.add_class("hidden")
            self._leave_panel()
        else:
            self._show_drawer()

    # ---- the rest

    def _clear(self) -> None:
        """Out of the panel; if that is not where the focus is, away with selection, range and search."""
        if self.query_one(Timeline).has_focus:
            moving.clear(self.state)
        else:
            self._leave_panel()

    def _next_theme(self) -> str:
        self.state.theme = THEMES[(THEMES.index(self.state.theme) + 1) % len(THEMES)]
        self._show_theme()
        self.query_one(Timeline).monochrome = self.state.theme == "mono"
        self.refresh(layout=True)
        self.screen.refresh(layout=True)
        return {"mono": "without colour"}.get(self.state.theme, self.state.theme)

    def _show_theme(self) -> None:
        self.theme = "textual-light" if self.state.theme == "light" else "textual-dark"

    def _show_help(self) -> None:
        self.push_screen(HelpScreen(self.keymap))

    def _show_marks(self) -> str | None:
        if not self.state.marks:
            return "there is no mark: m sets one"
        self.push_screen(MarksScreen(self.state), self._go_to_mark)
        return None

    def _go_to_mark(self, cycle: int | None) -> None:
        if cycle is not None:
            moving.go_to_cycle(self.state, cycle)
        self.state.changed()
