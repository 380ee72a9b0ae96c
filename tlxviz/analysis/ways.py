"""Ways along edges from one thing to another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

Key = TypeVar("Key")


def shortest_way(start: Key, goals: Collection[Key], following: Mapping[Key, Iterable[Key]]) -> list[Key]:
    """The shortest way of at least one edge from `start` to one of `goals`, both ends included; empty if there is none.

    Of ways of one length the first, in the order in which `following` gives them.
    """
    ways, seen = [[start]], set[Key]()
    while ways:
        longer: list[list[Key]] = []
        for way in ways:
            for key in following.get(way[-1], ()):
                if key in goals:
                    return [*way, key]
                if key not in seen:
                    seen.add(key)
                    longer.append([*way, key])
        ways = longer
    return []
