"""What all programs of the timeline have in common: keys, asking, searching, help, marks, themes and what is kept."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.filter import LineFilter, Monochrome
from textual.screen import Screen
from textual.widgets import Static

from tlxviz.tui import moving, travel
from tlxviz.tui.actions import OF_STATE
from tlxviz.tui.ask import Ask
from tlxviz.tui.export import save_screen
from tlxviz.tui.keys import (
    ACTIONS,
    Action,
    Keymap,
    Mode,
    Scope,
    default_keymap,
    key_text,
    keys_text,
    textual_keymap,
    with_keys,
)
from tlxviz.tui.overlays import HelpScreen, MarksScreen, Palette, focused_keys
from tlxviz.tui.places import PlaceError, go
from tlxviz.tui.search import SearchError, find
from tlxviz.tui.state import State
from tlxviz.tui.store import THEMES
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.toolkit import Main, Styled, settle

_WIDE = 160
"""Columns from which panels stand beside the timeline rather than below."""
_NARROW, _LOW = 40, 12
"""With fewer columns or lines there is room for the timeline, or for the panel, alone."""
_KEEP_SECONDS = 10

Done = str | Awaitable[None] | None
"""What an action gives: what there is to say, or what is to be waited for."""


class Program(App[None], inherit_bindings=False):
    """A program that shows one timeline or several.

    What extends it has `#head`, `#foot` and an `Ask` on screen, and at least one `Timeline`.

    Args:
        title: Where it is from; also the name of files that the screen is written to.
        states: What is looked at.
        keymap: The keys of each action, if not the default ones.
    """

    MODE: ClassVar[Mode] = Mode.VIEW
    ENABLE_COMMAND_PALETTE = False  # its key is one of the table's

    def __init__(self, title: str, states: Sequence[State], keymap: Keymap | None) -> None:
        super().__init__()
        self.use_command_palette = True
        self.title = title
        self.states = tuple(states)
        self.keymap = keymap or default_keymap()
        self.drawn = False
        """Whether there is a screen to draw on."""
        self._monochrome, self._styled = Monochrome(), Styled()
        self.doing: dict[str, Callable[[], Done]] = {
            "go_to": partial(self._ask, "go to", "1,234  12us  50%  i:40"),
            "search": partial(self._ask, "search", "wait a_full[2]  line:104  >1000  role:mma"),
            "marks": self._show_marks,
            "theme": self._next_theme,
            "save_text": lambda: save_screen(self, self._stem(), picture=False),
            "save_picture": lambda: save_screen(self, self._stem(), picture=True),
            "help": self._show_help,
            "palette": self.action_command_palette,
            "quit": self.action_quit,
        }
        """Actions that need more than the state, or do more here than to the state."""
        if not any("ctrl+c" in self.keymap[each.name] for each in self._actions()):
            self.bind("ctrl+c", "say_quit")
        for each in self._actions():
            for place, key in enumerate(self.keymap[each.name]):
                self.bind(key, f"do('{each.name}', {place})", description=each.does)
        self._show_theme()

    def _actions(self) -> list[Action]:
        """Those that keys do on the timeline here."""
        return [each for each in ACTIONS if each.scope is Scope.TIMELINE and self.MODE in each.modes]

    # ---- what extends it says

    @property
    def state(self) -> State:
        """What keys are for: that which has the focus."""
        return self.states[0]

    def follow(self) -> None:
        """The state has changed: draws it. Called only while there is a screen to draw on."""
        raise NotImplementedError

    def keep(self) -> None:
        """Keeps what is looked at for the next time."""

    def open_panel(self, place: int) -> str | None:
        raise NotImplementedError

    def panel_titles(self) -> list[str]:
        raise NotImplementedError

    def timeline(self) -> Timeline:
        """That which keys are for."""
        return self.main.query_one(Timeline)

    # ---- the screen

    @property
    def main(self) -> Screen[object]:
        """The screen below those that lie over it."""
        return self.screen_stack[0]

    def get_default_screen(self) -> Screen[None]:
        return Main(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        filters = [*super().get_line_filters(), *([self._monochrome] if self.state.theme == "mono" else [])]
        return [self._styled, *filters] if filters else []

    def on_mount(self) -> None:
        self.drawn = True
        self.fit()  # for the first picture, and not only when told of the size
        self.set_keymap(textual_keymap(self.keymap))
        self._show_monochrome()
        self.timeline().focus()
        self.call_after_refresh(self.redraw)
        self.set_interval(_KEEP_SECONDS, self.keep)

    def on_unmount(self) -> None:
        self.drawn = False
        self.keep()

    def on_ready(self) -> None:
        if not self.is_headless:
            settle()

    def on_resize(self) -> None:
        self.fit()
        self.call_after_refresh(self.redraw)

    def fit(self) -> None:
        """The size of the terminal is known, or another: says which way what is on screen stands."""
        self.main.set_class(self.size.width >= _WIDE, "wide")
        self.main.set_class(self.size.width < _NARROW or self.size.height < _LOW, "tiny")

    def redraw(self) -> None:
        if self.drawn and self.main.query("#foot"):  # widgets go before `on_unmount` comes
            self.follow()

    # ---- actions

    async def action_do(self, name: str, place: int = 0) -> None:
        """Does what an action of the table says.

        Args:
            name: The action's name.
            place: Which of its keys was pressed.
        """
        self.state.said = ""
        done: Done
        if name == "panel":
            done = self.open_panel(place)
        elif name in self.doing:
            done = self.doing[name]()
        else:
            done = OF_STATE[name](self.state)
        if inspect.isawaitable(done):
            await done
        elif isinstance(done, str):
            self.say(done)
        if name != "quit":
            self.state.changed()

    def say(self, text: str) -> None:
        """The answer to a key. Where it has an action's name in angle brackets, the key stands there."""
        self.state.said = with_keys(text, self.keymap)

    def action_say_quit(self) -> None:
        self.say("<quit> quits")
        self.state.changed()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for each in self._actions():
            if each.name == "panel":
                titles = self.panel_titles()
                keys = [*map(key_text, self.keymap["panel"]), *(["-"] * len(titles))]
                for number, title in enumerate(titles):
                    yield SystemCommand(f"panel: {title}", keys[number], partial(self.action_do, "panel", number))
            elif each.name != "palette":
                title = f"{each.name.replace('_', ' ')}: {each.does}"
                yield SystemCommand(title, keys_text(self.keymap[each.name]), partial(self.action_do, each.name))

    def _stem(self) -> str:
        return (self.title or self.state.launch.kernel).removesuffix(".tlxtrace")

    # ---- asking

    def _ask(self, what: str, hint: str) -> None:
        self.main.query_one("#foot").add_class("hidden")
        self.main.query_one(Ask).open(what, f"{what}: {hint}")

    def on_ask_closed(self) -> None:
        main = self.main
        main.query_one("#foot").remove_class("hidden")
        if main.focused is None or main.focused is main.query_one(Ask):
            self.timeline().focus()
        self.redraw()

    def on_ask_typed(self, message: Ask.Typed) -> None:
        """Says how much the search finds so far."""
        if message.what != "search" or not message.text.strip():
            return
        try:
            counts = [f"{len(find(each.launch, message.text)):,}" for each in self.states]
            said = f"{' and '.join(counts)} hits"
        except SearchError as error:
            said = str(error)
        self.main.query_one("#head", Static).update(said, layout=False)

    def on_ask_answered(self, message: Ask.Answered) -> None:
        state = self.state
        try:
            if message.what == "search":
                for each in self.states:
                    each.hits = find(each.launch, message.text)
                self.say(travel.hit(state, 1))
            else:
                self.say(go(state, message.text))
        except (SearchError, PlaceError) as error:
            state.said = str(error)
        state.changed()

    # ---- the rest

    def _next_theme(self) -> str:
        theme = THEMES[(THEMES.index(self.state.theme) + 1) % len(THEMES)]
        for each in self.states:
            each.theme, each.theme_kept = theme, ""
        self._show_theme()
        self._show_monochrome()
        self.refresh(layout=True)
        self.screen.refresh(layout=True)
        return {"mono": "without colour"}.get(theme, theme)

    def _show_theme(self) -> None:
        self.theme = "textual-light" if self.state.theme == "light" else "textual-dark"

    def _show_monochrome(self) -> None:
        for each in self.main.query(Timeline):
            each.monochrome = self.state.theme == "mono"

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def _show_help(self) -> None:
        self.push_screen(HelpScreen(self.keymap, self.MODE, focused_keys(self.screen)))

    def _show_marks(self) -> str | None:
        if not self.state.marks:
            return moving.NO_MARK
        self.push_screen(MarksScreen(self.state, self.keymap), self._go_to_mark)
        return None

    def _go_to_mark(self, cycle: int | None) -> None:
        if cycle is not None:
            moving.go_to_cycle(self.state, cycle)
        self.state.changed()
