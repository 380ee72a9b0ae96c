"""Colours of cells."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style
from textual.color import TRANSPARENT, Color
from textual.filter import LineFilter

from tlxviz.tui.draw import Paint
from tlxviz.tui.looks import APPEARANCES, Look

_LOOK = 31
"""The bits of a cell's paint that hold its `Look`."""
_ARROWS = Paint.CAUSE | Paint.EFFECT | Paint.DATA


@dataclass(frozen=True, slots=True)
class Theme:
    """What all colours depend on."""

    dark: bool = True
    monochrome: bool = False
    filters: tuple[LineFilter, ...] = ()
    """What Textual does to all colours on screen, as for terminals that have none."""
    background: Color = TRANSPARENT
    """The widget's, for the filters."""
    base: Style = field(default_factory=Style.null)
    """The widget's own colours, on which all others are put."""


class Palette(dict[int, Style]):
    """Styles by paint, for one theme; each is made, and goes through Textual's filters, once."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._plain: dict[tuple[bool, bool, bool], Style] = {}

    def __missing__(self, paint: int) -> Style:
        made = self[paint] = self._filtered(_plain(paint) if self.theme.monochrome else _coloured(paint, self.theme))
        return made

    def plain(self, *, bold: bool = False, dim: bool = False, reverse: bool = False) -> Style:
        """The style of what has no colour."""
        key = bold, dim, reverse
        if key not in self._plain:
            self._plain[key] = self._filtered(Style(bold=bold or None, dim=dim or None, reverse=reverse or None))
        return self._plain[key]

    def _filtered(self, style: Style) -> Style:
        segments = [Segment(" ", self.theme.base + style)]
        for each in self.theme.filters:
            segments = each.apply(segments, self.theme.background)
        return segments[0].style or Style.null()


def _coloured(paint: int, theme: Theme) -> Style:
    look, dark = Look(paint & _LOOK), theme.dark
    appearance = APPEARANCES[look]
    colour = (appearance.dark if dark else appearance.light) or None
    behind = None
    if look is Look.WAIT:
        behind = "#4a1512" if dark else "#f7d4d1"
    if paint & Paint.LABEL and colour:
        colour, behind = "#000000" if dark else "#ffffff", colour
    if paint & Paint.SPAN and not paint & Paint.LABEL:
        behind = "#2f3b57" if dark else "#cfdcf5"
    if paint & Paint.LIT:
        behind, colour = ("#f5e663", "#000000") if dark else ("#ffe14d", "#000000")
    if paint & Paint.CURSOR:
        colour, behind = (colour, behind) if paint & Paint.LABEL else (colour or "#d0d0d0", "#3a3a3a")
        if not dark and not paint & Paint.LABEL:
            behind = "#d9d9d9"
    if paint & Paint.CAUSE:
        colour, behind = ("#ffd75f", "#2a2410") if dark else ("#8a5a00", "#fff3cf")
    elif paint & Paint.EFFECT:
        colour, behind = ("#6fe3ff", "#0d2a31") if dark else ("#005f73", "#d4f5fb")
    elif paint & Paint.DATA:
        colour, behind = ("#8fe08a", "#13290f") if dark else ("#2b6b1f", "#def5d8")
    style = Style(color=colour, bgcolor=behind, dim=bool(paint & Paint.DIM) or None)
    bold = bool(paint & (Paint.BOLD | Paint.LIT | _ARROWS)) or None
    return style + Style(bold=bold, reverse=bool(paint & Paint.SELECTED) or None)


def _plain(paint: int) -> Style:
    return Style(
        dim=bool(paint & Paint.DIM) or None,
        bold=bool(paint & (Paint.BOLD | Paint.LIT | Paint.CURSOR | _ARROWS)) or None,
        reverse=bool(paint & (Paint.LABEL | Paint.SELECTED)) or None,
        underline=bool(paint & (Paint.SPAN | Paint.LIT)) or None,
    )
