"""The first of each kind, and how many there were."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class Tally(Generic[Kept]):
    """Keeps the first thing of each key, and counts all."""

    def __init__(self) -> None:
        self._first: dict[Hashable, Kept] = {}
        self._times: dict[Hashable, int] = {}

    def count(self, key: Hashable, make: Callable[[], Kept]) -> None:
        """One more of `key`; `make` is asked for the first one only."""
        if key not in self._first:
            self._first[key] = make()
        self._times[key] = self._times.get(key, 0) + 1

    def items(self) -> Iterable[tuple[Kept, int]]:
        """The first of each key, in the order of their coming, and how many there were."""
        return [(kept, self._times[key]) for key, kept in self._first.items()]
