"""Lists to choose from."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import ClassVar

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import DataTable, OptionList
from textual.widgets.option_list import Option

from tlxviz.tui.keys import bindings

_CONSOLE = Console()
"""Knows names of styles."""


def printed(width: int, write: Callable[[Console], None]) -> Text:
    """What a reporter writes to a console of so many columns."""
    console = Console(
        file=io.StringIO(), width=max(20, width), force_terminal=True, color_system="truecolor", highlight=False
    )
    with console.capture() as written:
        write(console)
    return Text.from_ansi(written.get().rstrip("\n"))


class Options(OptionList, inherit_bindings=False):
    """Textual's list, with the keys of the table."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {
            "list_down": "cursor_down",
            "list_up": "cursor_up",
            "list_page_down": "page_down",
            "list_page_up": "page_up",
            "list_first": "first",
            "list_last": "last",
            "list_left": "scroll_left",
            "list_right": "scroll_right",
            "choose": "select",
        }
    )
    DEFAULT_CSS = "Options { text-wrap: nowrap; text-overflow: ellipsis; }"  # wrapping fails where there is no room

    def action_page_down(self) -> None:
        with suppress(KeyError):  # Textual's, where there is no room for a line
            super().action_page_down()

    def action_page_up(self) -> None:
        with suppress(KeyError):
            super().action_page_up()


class Table(DataTable[str], inherit_bindings=False):
    """Textual's table, whose rows can be chosen, with the keys of the table of actions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {
            "list_down": "cursor_down",
            "list_up": "cursor_up",
            "list_page_down": "page_down",
            "list_page_up": "page_up",
            "list_first": "scroll_top",
            "list_last": "scroll_bottom",
            "list_left": "cursor_left",
            "list_right": "cursor_right",
            "choose": "select_cursor",
        }
    )

    def __init__(self, id: str) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=True)
        self._filled = False

    def fill(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Replaces all of it; the row under the cursor stays, or the last where there are fewer."""
        here = self.cursor_row
        self.clear(columns=True)
        self.add_columns(*columns)
        for row in rows:
            self.add_row(*row)
        if self.row_count:
            self.move_cursor(row=min(here, self.row_count - 1))
        self._filled = True

    def on_idle(self) -> None:
        """Draws a table that was filled once more when its columns have their widths.

        Textual finds the widths out after this, and draws the table anew only where its size is another than before.
        """
        if self._filled:
            self._filled = False
            self.call_later(self._draw_filled)

    def _draw_filled(self) -> None:
        self._clear_caches()
        self.refresh()


class Choices(Options):
    """Options, each of which may stand for something."""

    DEFAULT_CSS = """
    Choices, Choices:focus {
        border: none; padding: 0; height: 1fr; background: transparent;
    }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._payloads: list[object] = []
        self._shown: object = None

    def show(self, rows: Sequence[tuple[Text | str, object]], first: int | None = None) -> None:
        """Replaces all options.

        Args:
            rows: What each says, and what it stands for: None for one that cannot be chosen.
            first: The one that is highlighted; None for the one that was, if the options still say the same, else the
                first that can be chosen.
        """
        texts = [Text(text) if isinstance(text, str) else text for text, _ in rows]
        shown = [(text.plain, text.spans, payload) for text, (_, payload) in zip(texts, rows, strict=True)]
        if shown == self._shown and first is None:
            return
        here, self._shown = self.highlighted, shown
        same = len(self._payloads) == len(rows)
        self._payloads = [payload for _, payload in rows]
        self.set_options(
            Option(text, disabled=payload is None) for text, payload in zip(texts, self._payloads, strict=True)
        )
        can = [place for place, payload in enumerate(self._payloads) if payload is not None]
        keep = here if same and here in can else next(iter(can), None)
        self.highlighted = first if first is not None and first in can else keep

    @property
    def chosen(self) -> object | None:
        """What the highlighted option stands for."""
        here = self.highlighted
        return self._payloads[here] if here is not None and here < len(self._payloads) else None

    def payload(self, index: int) -> object | None:
        return self._payloads[index] if index < len(self._payloads) else None


_ASIDE = 8
"""Columns that a key moves long lines to the side."""


class Listing(ScrollView, can_focus=True, inherit_bindings=False):
    """Many lines, each made when it comes on screen; one of them is under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(
        {
            "list_down": "cursor_down",
            "list_up": "cursor_up",
            "list_page_down": "page(1)",
            "list_page_up": "page(-1)",
            "list_first": "first",
            "list_last": "last",
            "list_left": f"aside(-{_ASIDE})",
            "list_right": f"aside({_ASIDE})",
            "choose": "choose",
        }
    )
    DEFAULT_CSS = """
    Listing { height: 1fr; width: 1fr; overflow-x: hidden; }
    Listing:focus { background-tint: $foreground 4%; }
    """

    class Chosen(Message):
        """Enter or a click on a line."""

        def __init__(self, listing: Listing, line: int) -> None:
            super().__init__()
            self.listing = listing
            self.line = line

        @property
        def control(self) -> Listing:
            return self.listing

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._count = 0
        self._line: Callable[[int], Text] = lambda _: Text()
        self.cursor = 0
        self._aside = 0
        """Columns of the lines that are off the screen to the left."""

    @property
    def count(self) -> int:
        return self._count

    def show(self, count: int, line: Callable[[int], Text]) -> None:
        """Replaces all lines.

        Args:
            line: Makes one, by number from 0 on.
        """
        self._count, self._line = count, line
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size = Size(0, count)
        self.refresh()

    def put(self, line: int) -> None:
        """The cursor on a line, which comes on screen."""
        self.cursor = max(0, min(line, self._count - 1))
        height = self.size.height
        if height and not self.scroll_offset.y <= self.cursor < self.scroll_offset.y + height:
            self.scroll_to(y=max(0, self.cursor - height // 2), animate=False, force=True, immediate=True)
        self.refresh()

    def on_resize(self) -> None:
        self.put(self.cursor)  # also the first time that there is room at all

    def render_line(self, y: int) -> Strip:
        number, width = y + self.scroll_offset.y, self.size.width
        if not 0 <= number < self._count:
            return Strip.blank(width, self.rich_style)
        segments = list(self._line(number).render(_CONSOLE, end=""))
        strip = Strip(segments).crop(self._aside).adjust_cell_length(width).apply_style(self.rich_style)
        if number == self.cursor and self.has_focus:
            strip = Strip([Segment(text, (style or Style()) + Style(reverse=True)) for text, style, _ in strip], width)
        return strip

    def action_cursor_down(self) -> None:
        self.put(self.cursor + 1)

    def action_cursor_up(self) -> None:
        self.put(self.cursor - 1)

    def action_page(self, direction: int) -> None:
        self.put(self.cursor + direction * max(1, self.size.height - 1))

    def action_first(self) -> None:
        self.put(0)

    def action_last(self) -> None:
        self.put(self._count - 1)

    def action_aside(self, columns: int) -> None:
        """Moves the lines to the side, no further than the longest on screen reaches."""
        first = self.scroll_offset.y
        on_screen = range(first, min(first + self.size.height, self._count))
        longest = max((self._line(number).cell_len for number in on_screen), default=0)
        self._aside = max(0, min(self._aside + columns, longest - self.size.width))
        self.refresh()

    def action_choose(self) -> None:
        if self._count:
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        if line < self._count:
            self.put(line)
            self.action_choose()
