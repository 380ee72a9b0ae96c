"""What lies over the timeline for a moment: the list of keys and the list of marks."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from tlxviz.tui.keys import ACTIONS, Keymap, keys_text
from tlxviz.tui.state import State
from tlxviz.tui.words import time_text


class HelpScreen(ModalScreen[None]):
    """All keys in groups.

    Args:
        keymap: The keys of each action.
    """

    CSS = """
    HelpScreen { align: center middle; }
    #help { width: 100%; max-width: 100; height: 100%; max-height: 72; border: round $primary; padding: 0 1;
            background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,enter", "dismiss", "close"),
        ("j", "scroll(1)", "down"),
        ("k", "scroll(-1)", "up"),
        ("space", "scroll(10)", "page down"),
    ]

    def __init__(self, keymap: Keymap) -> None:
        super().__init__()
        self.keymap = keymap

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = "Keys"
            box.border_subtitle = "↑ ↓ scroll, Esc closes"
            yield Static(_help(self.keymap))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def _help(keymap: Keymap) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(ratio=1, max_width=18)
    table.add_column(ratio=4)
    group = ""
    for each in ACTIONS:
        if each.group != group:
            if group:
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
    return table


class MarksScreen(ModalScreen[int | None]):
    """The marks of the launch; gives back the cycle to go to."""

    CSS = """
    MarksScreen { align: center middle; }
    #marks { width: 100%; max-width: 60; height: auto; max-height: 80%; border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,M", "dismiss", "close"),
        ("delete,backspace,d,m", "remove", "take the mark away"),
        ("j", "move(1)", "down"),
        ("k", "move(-1)", "up"),
    ]

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def compose(self) -> ComposeResult:
        marks = OptionList(id="marks")
        marks.border_title = "Marks"
        marks.border_subtitle = "Enter goes there, d takes away"
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

    def action_move(self, by: int) -> None:
        listed = self.query_one(OptionList)
        if by > 0:
            listed.action_cursor_down()
        else:
            listed.action_cursor_up()

    def action_remove(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self.state.marks):
            del self.state.marks[at]
            self._fill()
        if not self.state.marks:
            self.dismiss(None)
