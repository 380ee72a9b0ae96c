"""What is otherwise here than Textual and Python have it."""

from __future__ import annotations

import gc

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.screen import Screen


class Main(Screen[None], inherit_bindings=False):
    """The screen, without Textual's Tab."""


class Styled(LineFilter):
    """Gives a style to text that has none, which Textual's own filters take for granted."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [each if each.style else Segment(each.text, Style.null(), each.control) for each in segments]


def settle() -> None:
    """Takes what there is by now out of garbage collection, which else goes through it amid a key: 50 ms.

    What lines that are kept add to it takes 30 ms, so that all of it is gone through a hundred times less often.
    """
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 1000)
