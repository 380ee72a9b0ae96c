"""Reads source locations: what stands in `loc(...)`, through the aliases at the end of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.text import Cursor

# #loc12
_ALIAS = re.compile(r"#\w+")
# :154:40   and, of a range, the  to :155:2  or  to 155:2  after it
_PLACE = re.compile(r":(\d+):(\d+)(?:\s+to\s+:?(?:\d+)?:?\d+)?")
# the three forms that Triton prints nearly always:
# loc("kernel.py":12:4)   loc("acc"(#loc3))   loc(callsite(#loc1 at #loc2))
_USUAL = re.compile(r'loc\((?:"([^"\\]*)"(?::(\d+):(\d+)|\((#\w+)\))|callsite\((#\w+) at (#\w+)\))\)')
_MAX_DEPTH = 100


class Locations:
    """The locations of one module."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self._known: dict[str, Location] = {}
        self._depth = 0

    def read(self, text: str) -> Location:
        """The location that is all of `text`, which stands between the brackets of `loc(...)`."""
        found = self._known.get(text)
        if found is None:
            cursor = Cursor(text)
            found = self.read_at(cursor)
            cursor.expect_end()
            self._known[text] = found
        return found

    def alias(self, name: str) -> Location:
        """The location of `#loc12`."""
        known = self._known
        found = known.get(name)
        if found is not None:
            return found
        text = self._aliases.get(name)
        if text is None or not text.startswith("loc(") or not text.endswith(")"):
            raise Mismatch(f"undefined location `{name}`", 0, name)
        if self._depth > _MAX_DEPTH:
            raise Mismatch(f"the location `{name}` holds itself", 0, name)
        self._depth += 1
        try:
            found = known[name] = self._usual(text) or self.read(text[4:-1])
        finally:
            self._depth -= 1
        return found

    def read_at(self, cursor: Cursor) -> Location:
        """Read one location at the cursor."""
        alias = cursor.match(_ALIAS)
        if alias:
            return self.alias(alias[0])
        start = cursor.position
        if cursor.peek() == '"':
            return self._named(cursor)
        word = cursor.word()
        match word:
            case "unknown":
                return UNKNOWN
            case "callsite":
                cursor.expect("(")
                callee = self.read_at(cursor)
                cursor.expect("at ")
                caller = self.read_at(cursor)
                cursor.expect(")")
                return _called(callee, caller)
            case "fused":
                return self._fused(cursor)
            case _:
                cursor.position = start
                raise cursor.fail("a location")

    def _usual(self, text: str) -> Location | None:
        """The location where its form is a usual one: much faster than a cursor, and most lines have a new one."""
        match = _USUAL.fullmatch(text)
        if not match:
            return None
        name, line, column, inner, callee, caller = match.groups()
        if line is not None:
            return Location(name, int(line), int(column))
        if inner is not None:
            place = self.alias(inner)
            return Location(place.file, place.line, place.column, name, place.caller)
        return _called(self.alias(callee), self.alias(caller))

    def _named(self, cursor: Cursor) -> Location:
        text = cursor.string()
        if text is None:
            raise cursor.fail("the end of the string")
        place = cursor.match(_PLACE)
        if place:
            return Location(text, int(place[1]), int(place[2]))
        if not cursor.accept("("):
            return Location(name=text)
        inner = self.read_at(cursor)
        cursor.expect(")")
        return replace(inner, name=text)

    def _fused(self, cursor: Cursor) -> Location:
        """A fused location counts as the first of its parts that is known."""
        if cursor.peek() == "<":
            cursor.balanced()
        cursor.expect("[")
        best = UNKNOWN
        while not cursor.accept("]"):
            part = self.read_at(cursor)
            best = part if not best.file else best
            if not cursor.accept(",") and cursor.peek() != "]":
                raise cursor.fail("`,` or `]`")
        return best


def _called(callee: Location, caller: Location) -> Location:
    """`callee` with `caller` at the end of its own chain of callers."""
    outer = caller if callee.caller is None else _called(callee.caller, caller)
    return Location(callee.file, callee.line, callee.column, callee.name, outer)
