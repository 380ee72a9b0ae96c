"""Which SSA names are visible where."""

from __future__ import annotations

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.operation import Value


class Scope:
    """Values by name. A region sees those around it unless it is isolated, and takes its own along when it ends."""

    __slots__ = ("_frames", "_names", "values")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self._names: list[str] = []
        self._frames: list[tuple[list[str], dict[str, Value] | None]] = []

    def enter(self, *, isolated: bool = False) -> None:
        """Begin a region; an isolated one sees nothing but its own arguments."""
        self._frames.append((self._names, self.values if isolated else None))
        self._names = []
        if isolated:
            self.values = {}

    def leave(self) -> None:
        """End the innermost region."""
        names, outside = self._frames.pop()
        if outside is None:
            for name in self._names:
                del self.values[name]
        else:
            self.values = outside
        self._names = names

    def define(self, value: Value) -> None:
        if value.name in self.values:
            raise Mismatch(f"`{value.name}` is defined twice", -1)
        self.values[value.name] = value
        self._names.append(value.name)

    def find(self, name: str) -> Value:
        """The value called `name`; a `Mismatch` with the name if there is none."""
        found = self.values.get(name)
        if found is None:
            raise Undefined(name)
        return found


class Undefined(Mismatch):
    """A value that is used and not defined."""

    def __init__(self, name: str) -> None:
        super().__init__(f"undefined value `{name}`", -1)
        self.name = name
