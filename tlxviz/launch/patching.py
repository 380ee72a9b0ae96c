"""Changes to other people's modules that are all taken back, in reverse order, when the scope ends."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

_ABSENT = object()


class Scope(ExitStack):
    """An undo stack. Used as a context manager, it restores everything also after an error.

    Every step is undone even when undoing another one fails.
    """

    def set_attr(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute; one that `owner` only inherited, or did not have, is deleted again."""
        previous = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        if previous is _ABSENT:
            self.callback(delattr, owner, name)
        else:
            self.callback(setattr, owner, name, previous)

    def set_item(self, owner: dict[str, Any], name: str, value: Any) -> None:
        """Set an item of a dictionary; one that was not there is removed again."""
        previous = owner.get(name, _ABSENT)
        owner[name] = value
        if previous is _ABSENT:
            self.callback(owner.pop, name, None)
        else:
            self.callback(owner.__setitem__, name, previous)

    def set_list(self, target: list[Any], values: list[Any]) -> None:
        """Replace the contents of a list; what else is done to the list meanwhile is undone, too."""
        previous = list(target)
        target[:] = values
        self.callback(target.__setitem__, slice(None), previous)
