"""The panels beside the timeline: one module each, known by `panel`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast
from weakref import WeakKeyDictionary

from textual.events import Resize
from textual.message import Message
from textual.widget import Widget

from tlxviz.analysis.account import Account
from tlxviz.tui.keys import Keymap, default_keymap, with_keys
from tlxviz.tui.panels.facts import Facts, Failure, facts_of, worked_out
from tlxviz.tui.state import State

if TYPE_CHECKING:
    from textual.app import App

_Fact = TypeVar("_Fact")
WORKING = "working…"


class Panel(Widget):
    """A tab beside the timeline.

    Args:
        state: What is looked at. A panel that wants to go somewhere changes it, and calls its `changed`.
    """

    class LineWanted(Message):
        """Somebody wants to see a line of the kernel's file."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

    title = ""
    tab = ""
    """What the tab says, if the title is too long: all tabs are to be seen in 80 columns."""
    order = 0
    """Place among the tabs, from 1 on; also the key that opens it."""

    def __init__(self, state: State) -> None:
        super().__init__(id=f"panel-{self.title.lower()}")
        self.state = state
        self._asked: WeakKeyDictionary[Facts, set[str]] = WeakKeyDictionary()

    def follow(self) -> None:
        """The state has changed: show what it says now. Called only while the panel is on screen."""
        if self.is_mounted:
            self.show_state()

    def show_state(self) -> None:
        """What `follow` does once the panel's own widgets are there."""

    def on_resize(self, event: Resize) -> None:
        if event.size.width:
            self.follow()

    def take_focus(self) -> None:
        """Puts the focus on what can be chosen in the panel."""
        for each in self.query("*"):
            if each.focusable:
                each.focus()
                return

    def jump(self, event: int | None) -> None:
        """Selects an event; rings the bell if there is none."""
        if event is None:
            self.ring()
            return
        self.state.go_to(event)
        self.state.changed()

    def ring(self) -> None:
        """There is nowhere to go."""
        cast("App[None]", self.app).bell()  # pyright: ignore[reportUnknownMemberType]

    def keyed(self, text: str) -> str:
        """A text with keys in the place of names of actions: `<mark> sets one`."""
        keymap: Keymap | None = getattr(cast("App[None]", self.app), "keymap", None)  # pyright: ignore[reportUnknownMemberType]
        return with_keys(text, keymap or default_keymap())

    @property
    def dark(self) -> bool:
        """Whether the theme is."""
        return cast("App[None]", self.app).current_theme.dark  # pyright: ignore[reportUnknownMemberType]

    def known(self, name: str, work: Callable[[Account], _Fact], apart: bool = False) -> _Fact | Failure | None:
        """A fact about the launch.

        Args:
            name: Of the fact; the same in all panels.
            work: Finds it out, in a thread, when it is first asked for; gives anything but None.
            apart: It takes long, and what it stands on is known: other facts are not to wait for it.

        Returns:
            None as long as it is being worked out. When it is known, `follow` is called.
        """
        facts = facts_of(self.state)
        found = facts.get(name)
        if found is not None:
            return found  # pyright: ignore[reportReturnType]
        asked = self._asked.setdefault(facts, set())
        if name not in asked:
            asked.add(name)
            self.run_worker(self._find(facts, name, work, apart), exit_on_error=False)
        return None

    async def _find(self, facts: Facts, name: str, work: Callable[[Account], object], apart: bool) -> None:
        await worked_out(facts, name, work, apart)
        self.follow()


_Kind = TypeVar("_Kind", bound=type[Panel])
_panels: list[type[Panel]] = []


def panel(kind: _Kind) -> _Kind:
    """Makes a class known as a panel."""
    _panels.append(kind)
    return kind


def panels() -> list[type[Panel]]:
    """All panels in order."""
    from tlxviz.tui.panels import (  # noqa: F401
        barriers,  # pyright: ignore[reportUnusedImport]
        event,  # pyright: ignore[reportUnusedImport]
        hang,  # pyright: ignore[reportUnusedImport]
        iterations,  # pyright: ignore[reportUnusedImport]
        launches,  # pyright: ignore[reportUnusedImport]
        source,  # pyright: ignore[reportUnusedImport]
        stalls,  # pyright: ignore[reportUnusedImport]
        utilisation,  # pyright: ignore[reportUnusedImport]
    )

    return sorted(_panels, key=lambda kind: kind.order)
