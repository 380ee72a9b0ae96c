"""Colours of cells."""

from __future__ import annotations

from rich.style import Style

from tlxviz.tui.draw import Paint
from tlxviz.tui.looks import APPEARANCES, Look

_LOOK = 31
"""The bits of a cell's paint that hold its `Look`."""


class Palette:
    """Styles by paint, for one theme; each is made once."""

    def __init__(self, *, dark: bool, monochrome: bool) -> None:
        self._dark = dark
        self._monochrome = monochrome
        self._made: dict[int, Style] = {}

    def __getitem__(self, paint: int) -> Style:
        if paint not in self._made:
            made = self._plain(paint) if self._monochrome else self._coloured(paint)
            self._made[paint] = made
        return self._made[paint]

    def _coloured(self, paint: int) -> Style:
        look, dark = Look(paint & _LOOK), self._dark
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
        flags = paint & (Paint.BOLD | Paint.SELECTED | Paint.LIT | Paint.CAUSE | Paint.EFFECT | Paint.DATA)
        bold = bool(flags & (Paint.BOLD | Paint.LIT | Paint.CAUSE | Paint.EFFECT | Paint.DATA)) or None
        return style + Style(bold=bold, reverse=bool(paint & Paint.SELECTED) or None)

    def _plain(self, paint: int) -> Style:
        return Style(
            dim=bool(paint & Paint.DIM) or None,
            bold=bool(paint & (Paint.BOLD | Paint.LIT | Paint.CURSOR | Paint.CAUSE | Paint.EFFECT | Paint.DATA))
            or None,
            reverse=bool(paint & (Paint.LABEL | Paint.SELECTED)) or None,
            underline=bool(paint & (Paint.SPAN | Paint.LIT)) or None,
        )
