"""What lies over the timeline for a moment: the list of keys, the list of marks, and the palette."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tlxviz.tui.keys import ACTIONS, Keymap, Mode, Scope, bindings, keys_text, with_keys
from tlxviz.tui.legend import MOUSE, ROWS
from tlxviz.tui.panels.lists import Options
from tlxviz.tui.settings import keys_file
from tlxviz.tui.state import State
from tlxviz.tui.words import time_text


class Palette(CommandPalette):
    """Textual's palette, also where there is no room for its list."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # of pages without a line
            super()._action_command_list(action)


Focused = tuple[str, list[tuple[str, str]]]
"""What has the focus, and its keys: of each, the key and what it does."""


def focused_keys(screen: Screen[Any]) -> Focused | None:
    """The keys of the panel or list that has the focus, as they are just then; None while the timeline has it."""
    found: dict[str, list[str]] = {}
    for key, each in screen.active_bindings.items():
        if each.binding.id in _NAMED and isinstance(each.node, Widget) and not isinstance(each.node, Screen):
            found.setdefault(each.binding.id, []).append(key)
    if screen.focused is None or not found:
        return None
    around = [each for each in screen.focused.ancestors_with_self if not isinstance(each, Screen | App)]
    titles = [title for each in around if (title := str(getattr(each, "title", "") or ""))]
    rows = [(keys_text(keys), _NAMED[name].does) for name in _NAMED if (keys := found.get(name))]
    return (titles[0] if titles else "List"), rows


_NAMED = {each.name: each for each in ACTIONS if each.scope is not Scope.TIMELINE}


class _Box(VerticalScroll, inherit_bindings=False):
    """Its keys are the screen's."""


class HelpScreen(ModalScreen[None]):
    """All keys in groups.

    Args:
        keymap: The keys of each action.
        mode: What the program shows: there are no keys of others.
        focused: What had the focus before, if it has keys of its own. They come first.
    """

    CSS = """
    HelpScreen { align: center middle; }
    #help { width: 100%; max-width: 100; height: 100%; max-height: 84; border: round $primary; padding: 0 1;
            background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {
            "close": "dismiss",
            "choose": "dismiss",
            "list_down": "scroll(1)",
            "list_up": "scroll(-1)",
            "list_page_down": "page(1)",
            "list_page_up": "page(-1)",
            "list_first": "end_of(0)",
            "list_last": "end_of(1)",
            "help": "dismiss",
        }
    )

    def __init__(self, keymap: Keymap, mode: Mode = Mode.VIEW, focused: Focused | None = None) -> None:
        super().__init__()
        self.keymap, self.mode, self.focused_keys = keymap, mode, focused

    def compose(self) -> ComposeResult:
        with _Box(id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = with_keys("<list_up> <list_down> scroll, <close> closes", self.keymap)
            yield Static(_help(self.keymap, self.mode, self.focused_keys))

    def on_mount(self) -> None:
        self.query_one(_Box).focus()

    def action_scroll(self, lines: int) -> None:
        self.query_one(_Box).scroll_relative(y=lines, animate=False)

    def action_page(self, direction: int) -> None:
        box = self.query_one(_Box)
        box.scroll_relative(y=direction * max(1, box.size.height - 1), animate=False)

    def action_end_of(self, place: int) -> None:
        box = self.query_one(_Box)
        if place:
            box.scroll_end(animate=False)
        else:
            box.scroll_home(animate=False)


def _help(keymap: Keymap, mode: Mode, focused: Focused | None) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(ratio=1, max_width=18)
    table.add_column(ratio=4)
    if focused is not None:
        table.add_row(Text(focused[0], style="bold underline"), Text("while it has the focus", style="dim"))
        for keys, does in focused[1]:
            table.add_row(Text(keys, style="bold"), does)
    group = ""
    for each in ACTIONS:
        if mode not in each.modes:
            continue
        if each.group != group:
            if group or focused is not None:
                table.add_row("")
            group = each.group
            table.add_row(Text(group, style="bold underline"))
        table.add_row(Text(keys_text(keymap[each.name]), style="bold"), each.does)
    table.add_row("")
    table.add_row(Text("Search", style="bold underline"))
    for words, means in (
        ("wait a_full[2]", "waits for slot 2 of a_full; words are looked for in names, kinds, roles and lines"),
        ("role:mma >1000", "what takes a warp group called mma more than 1000 cycles; >2us as well"),
        ("line:104 i:3", "line 104 in iteration 3; also slot: phase: cta: outer: kind: var:"),
    ):
        table.add_row(words, means)
    for title, rows in (("Rows and signs", ROWS), ("Mouse", MOUSE)):
        table.add_row("")
        table.add_row(Text(title, style="bold underline"))
        for sign, means in rows:
            table.add_row(Text(sign), Text(means))
    table.add_row("")
    table.add_row(Text("Other keys", style="bold underline"))
    table.add_row(
        Text("[keys]"), Text(f"{keys_file()} gives actions other keys, by the names that docs/view.md lists:")
    )
    table.add_row(Text('zoom_in = "b"'), "one line for each action")
    return table


class MarksScreen(ModalScreen[int | None]):
    """The marks of the launch; gives back the cycle to go to."""

    CSS = """
    MarksScreen { align: center middle; }
    #marks { width: 100%; max-width: 60; height: auto; max-height: 80%; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings({"close": "dismiss", "remove_mark": "remove", "marks": "dismiss"})

    def __init__(self, state: State, keymap: Keymap) -> None:
        super().__init__()
        self.state, self.keymap = state, keymap

    def compose(self) -> ComposeResult:
        marks = Options(id="marks")
        marks.border_title = "Marks"
        marks.border_subtitle = with_keys("<choose> goes there, <remove_mark> takes away", self.keymap)
        yield marks

    def on_mount(self) -> None:
        self._fill()
        self.query_one(OptionList).focus()

    def _fill(self) -> None:
        listed, state = self.query_one(OptionList), self.state
        at = listed.highlighted or 0
        listed.clear_options()
        for number, cycle in enumerate(state.marks, 1):
            ago = cycle - state.cursor
            away = time_text(abs(ago), state.launch.clock_mhz, state.units)
            where = "the cursor" if not ago else f"{away} {'after' if ago > 0 else 'before'} the cursor"
            listed.add_option(f"{number}  {time_text(cycle, state.launch.clock_mhz, state.units)}  {where}")
        if state.marks:
            listed.highlighted = min(at, len(state.marks) - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self.state.marks[event.option_index])

    def action_remove(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self.state.marks):
            del self.state.marks[at]
            self._fill()
        if not self.state.marks:
            self.dismiss(None)
