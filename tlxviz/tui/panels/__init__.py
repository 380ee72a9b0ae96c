"""The panels beside the timeline: one module each, known by `panel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from textual.widget import Widget

from tlxviz.tui.state import State


class Panel(Widget):
    """A tab beside the timeline.

    Args:
        state: What is looked at. A panel that wants to go somewhere changes it, and calls its `changed`.
    """

    title = ""
    order = 0
    """Place among the tabs, from 1 on; also the key that opens it."""

    def __init__(self, state: State) -> None:
        super().__init__(id=f"panel-{self.title.lower()}")
        self.state = state

    def follow(self) -> None:
        """The state has changed: show what it says now. Called only while the panel is on screen."""


_Kind = TypeVar("_Kind", bound=type[Panel])
_panels: list[type[Panel]] = []


def panel(kind: _Kind) -> _Kind:
    """Makes a class known as a panel."""
    _panels.append(kind)
    return kind


def panels() -> list[Callable[[State], Panel]]:
    """All panels in order."""
    from tlxviz.tui.panels import event  # noqa: F401  # pyright: ignore[reportUnusedImport]

    return sorted(_panels, key=lambda kind: kind.order)
