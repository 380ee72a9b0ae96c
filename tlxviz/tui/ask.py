"""The line at the bottom that asks where to go, or what to search for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input

from tlxviz.tui.keys import bindings


class Ask(Input):
    """Asks for one line. Hidden until `open`."""

    DEFAULT_CSS = """
    Ask { height: 1; border: none; padding: 0; display: none; background: $panel; }
    Ask:focus { border: none; }
    Ask.open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {"ask_close": "close", "ask_earlier": "earlier(1)", "ask_later": "earlier(-1)"}
    )

    @dataclass
    class Answered(Message):
        """What was asked for."""

        what: str
        text: str

    @dataclass
    class Typed(Message):
        """What is written so far."""

        what: str
        text: str

    class Closed(Message):
        """Nothing is asked any more."""

    def __init__(self) -> None:
        super().__init__(id="ask", compact=True)
        self.what = ""
        self._asked: dict[str, list[str]] = {}
        self._place = 0

    def open(self, what: str, hint: str) -> None:
        """Asks; `what` comes back with the answer."""
        self.what, self.placeholder, self._place = what, hint, 0
        self.value = ""
        self.add_class("open")
        self.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.has_class("open"):
            self.post_message(self.Typed(self.what, self.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = self.value.strip()
        self.action_close()
        if text:
            self._asked.setdefault(self.what, []).append(text)
            self.post_message(self.Answered(self.what, text))

    def on_blur(self) -> None:
        self.action_close()

    def action_close(self) -> None:
        if self.has_class("open"):
            self.remove_class("open")
            self.post_message(self.Closed())

    def action_earlier(self, by: int) -> None:
        asked = self._asked.get(self.what, [])
        self._place = max(0, min(self._place + by, len(asked)))
        self.value = asked[-self._place] if self._place else ""
        self.cursor_position = len(self.value)
