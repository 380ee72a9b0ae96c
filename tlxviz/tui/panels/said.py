"""Text of a panel that changes with what is looked at."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static


class Said(Static):
    """Takes as many lines as its text needs. The screen is laid out anew only when these are more or fewer."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._said: object = None

    def say(self, text: str | Text) -> None:
        said = Text(text) if isinstance(text, str) else text
        key = said.plain, tuple(said.spans), said.style
        if key == self._said:
            return
        self._said = key
        self.update(said, layout=False)
        width, height = self.size
        if not width or self.visual.get_height(self.styles.get_rules(), width) != height:
            self.refresh(layout=True)
