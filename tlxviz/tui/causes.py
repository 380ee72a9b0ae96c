"""The causes of the difference of two traces, to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tlxviz.analysis.difference import Difference
from tlxviz.analysis.difference_causes import CauseDifference, PathCause, PathPart
from tlxviz.reporters.diff_words import CAUSES, headline, signed, site_words, verdict
from tlxviz.reporters.layout import place
from tlxviz.tui.panels.lists import Options

_PARTS = 2
_TENTH = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the causes."""

    cause: CauseDifference
    part: PathPart | None
    """Where; None for the line of the cause itself."""

    @property
    def target(self) -> PathPart | None:
        """What to show: of a cause, the place that differs most."""
        return self.part if self.part is not None else next(iter(self.cause.parts), None)


class Causes(Widget):
    """The causes of the difference, as `tlxviz diff` lists them; each can be gone to."""

    DEFAULT_CSS = """
    Causes { layout: vertical; }
    Causes #verdict { height: auto; max-height: 4; }
    Causes OptionList, Causes OptionList:focus { height: 1fr; border: none; padding: 0; }
    """

    class Chosen(Message):
        def __init__(self, part: PathPart | None) -> None:
            super().__init__()
            self.part = part

    title = "Causes"

    def __init__(self) -> None:
        super().__init__(id="causes")
        self.found: Difference | None = None
        self.entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield Static("Comparing ...", id="verdict")
        yield Options(id="entries")

    def show(self, found: Difference) -> None:
        self.found = found
        self.entries = entries(found)
        said = [verdict(found), *headline(found)]
        self.query_one("#verdict", Static).update(Text(" ".join(said) if self.size.height > 10 else said[0]))
        self._fill()

    def failed(self, reason: str) -> None:
        self.query_one("#verdict", Static).update(Text(f"The two cannot be compared: {reason}"))

    def on_resize(self) -> None:
        if self.found is not None:
            self._fill()

    def _fill(self) -> None:
        listed = self.query_one("#entries", OptionList)
        at = listed.highlighted
        listed.clear_options()
        listed.add_options([Option(entry_text(each, max(12, self.size.width - 4))) for each in self.entries])
        listed.highlighted = at if at is not None else (0 if self.entries else None)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Chosen(self.entries[message.option_index].target))


def entries(found: Difference) -> list[Entry]:
    """Causes, the largest differences first, and under each the places that make most of it."""
    made: list[Entry] = []
    for cause in found.causes:
        made.append(Entry(cause, None))
        if cause.cause != PathCause.TENSOR_CORE and _TENTH * abs(cause.difference) >= abs(found.cycles or 1):
            parts = [each for each in cause.parts[:_PARTS] if each.agent and each.difference]
            made += [Entry(cause, part) for part in parts if _TENTH * abs(part.difference) >= abs(cause.difference)]
    return made


def entry_text(entry: Entry, width: int) -> Text:
    """One line of so many columns."""
    if entry.part is None:
        cause = entry.cause
        label = CAUSES[cause.cause].format(role=cause.role)
        change = signed(cause.difference)
        numbers = f"{cause.a:>10,}{cause.b:>10,}{change:>10}" if width >= 56 else f" {change:>9}"
        style = "red" if cause.difference > 0 else "green" if cause.difference < 0 else ""
        room = max(1, width - len(numbers))
        return Text.assemble(f"{label[:room]:<{room}}", (numbers, style))
    part = entry.part
    where = place(part.file, part.line_a or part.line_b or 0) if part.kind else ""
    words = [part.agent, site_words(part.kind, part.variable) if part.kind else "between events", where]
    number = f" {signed(part.difference)}"
    room = max(1, width - len(number) - 2)
    return Text(f"  {'  '.join(word for word in words if word)[:room]:<{room}}{number}", "dim")
