"""Reads the lines that open regions: functions, loops, conditions, partitions, and block labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.locations import Locations
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.reader import Reader
from tlxviz.ir.scope import Scope
from tlxviz.ir.text import VALUE, Cursor
from tlxviz.ir.types import ScalarType, Type

_VALUE = re.compile(VALUE)
# @matmul_kernel
_SYMBOL = re.compile(r'@([\w.$\-]+|"[^"]*")')
# %bars: !ttg.memdesc<2xi64, #shared1, #smem, mutable> loc(unknown),
# most arguments of partitions look so, and this is much faster than reading their types again
_USUAL_ARGUMENT = re.compile(r"(%[\w.$\-]+): ([^%{()]+) loc\((unknown|#loc\d*)\)\s*([,)])")
# ^bb0
_LABEL = re.compile(r"\^(\w+)")
# 4
_INTEGER = re.compile(r"\d+")
_I32 = ScalarType("i32")


@dataclass(slots=True)
class Argument:
    """An argument as a heading declares it."""

    name: str
    type: Type
    location: Location = UNKNOWN
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Head:
    """What a line that opens a region says."""

    operation: Operation
    arguments: list[Argument] = field(default_factory=list[Argument])
    """Arguments of the region's first block."""
    results: tuple[Type, ...] | None = None
    """Types of the operation's results; None where the line that closes it prints them."""


class Heads:
    """Reads the headings of one module."""

    def __init__(self, reader: Reader, locations: Locations, scope: Scope) -> None:
        self._reader = reader
        self._locations = locations
        self._scope = scope

    def module(self, cursor: Cursor) -> dict[str, Any]:
        """`module @name attributes {...}`, after its first word."""
        attributes: dict[str, Any] = {}
        name = cursor.match(_SYMBOL)
        if name:
            attributes["sym_name"] = name[1]
        attributes.update(self._attributes(cursor))
        return attributes

    def function(self, cursor: Cursor) -> Head:
        """`tt.func public @name(%a: i32, ...) -> i32 attributes {...}`, after its first word."""
        visibility = cursor.word()
        name = cursor.match(_SYMBOL)
        if not name:
            raise cursor.fail("the name of the function")
        arguments = self.arguments(cursor)
        results: list[Type] = self._types(cursor) if cursor.accept("->") else []
        attributes = {
            "sym_name": name[1].strip('"'),
            "sym_visibility": visibility or "public",
            "result_types": results,
            "arg_attributes": [argument.attributes for argument in arguments],
            **self._attributes(cursor),
        }
        return Head(Operation("tt.func", attributes=attributes), arguments, ())

    def loop(self, cursor: Cursor) -> Head:
        """`scf.for %i = %a to %b step %c iter_args(%x = %y) -> (i32) : i32`, after its name."""
        unsigned = cursor.accept("unsigned ")
        variable = self._name(cursor)
        groups: dict[str, tuple[Value, ...]] = {}
        for part, word in (("lower", "="), ("upper", "to "), ("step", "step ")):
            cursor.expect(word)
            groups[part] = (self._operand(cursor),)
        names: list[str] = []
        types: list[Type] = []
        if cursor.accept("iter_args"):
            names, groups["init"] = self._bindings(cursor)
            cursor.expect("->")
            types = self._types(cursor)
        if len(types) != len(names):
            raise cursor.fail(f"{len(names)} types before this place")
        index: Type = self._reader.read_type(cursor) if cursor.accept(":") else _I32
        attributes: dict[str, Any] = {"unsigned": True} if unsigned else {}
        arguments = [Argument(variable, index)]
        arguments += [Argument(name, type_) for name, type_ in zip(names, types, strict=True)]
        return Head(self._operation("scf.for", groups, attributes), arguments, tuple(types))

    def while_(self, cursor: Cursor) -> Head:
        """`scf.while (%a = %b) : (i32) -> (i32)`, after its name."""
        groups: dict[str, tuple[Value, ...]] = {}
        names: list[str] = []
        if cursor.peek() == "(":
            names, groups["init"] = self._bindings(cursor)
        cursor.expect(":")
        types = self._types(cursor)
        cursor.expect("->")
        results = self._types(cursor)
        if len(types) != len(names):
            raise cursor.fail(f"{len(names)} types before this place")
        arguments = [Argument(name, type_) for name, type_ in zip(names, types, strict=True)]
        return Head(self._operation("scf.while", groups, {}), arguments, tuple(results))

    def condition(self, cursor: Cursor) -> Head:
        """`scf.if %c -> (i32)`, after its name."""
        groups = {"condition": (self._operand(cursor),)}
        results = self._types(cursor) if cursor.accept("->") else []
        return Head(self._operation("scf.if", groups, {}), [], tuple(results))

    def warp_specialize(self, cursor: Cursor) -> Operation:
        """`ttg.warp_specialize(%a, %b) attributes {...}`, after its name."""
        cursor.expect("(")
        captures: list[Value] = []
        while not cursor.accept(")"):
            if captures:
                cursor.expect(",")
            captures.append(self._operand(cursor))
        attributes = self._attributes(cursor)
        cursor.expect_end()
        return self._operation("ttg.warp_specialize", {"captures": tuple(captures)}, attributes)

    def partition(self, cursor: Cursor) -> tuple[list[Argument], int]:
        """`(%a: i32 loc(...)) num_warps(4)`, after `partition0`."""
        arguments = self.arguments(cursor)
        cursor.expect("num_warps")
        cursor.expect("(")
        found = cursor.match(_INTEGER)
        if not found:
            raise cursor.fail("the number of warps")
        cursor.expect(")")
        return arguments, int(found[0])

    def label(self, cursor: Cursor) -> tuple[str, list[Argument]]:
        """`^bb1(%a: i32 loc(...)):`, perhaps with a comment after it."""
        found = cursor.match(_LABEL)
        if not found:
            raise cursor.fail("a label")
        arguments = self.arguments(cursor) if cursor.peek() == "(" else []
        cursor.expect(":")
        if not cursor.text.startswith("//", cursor.position):
            cursor.expect_end()
        return found[1], arguments

    def arguments(self, cursor: Cursor) -> list[Argument]:
        """`(%a: i32 {...} loc(...), ...)`."""
        cursor.expect("(")
        found: list[Argument] = []
        while usual := cursor.match(_USUAL_ARGUMENT):
            name, type_, alias, end = usual.groups()
            location = UNKNOWN if alias == "unknown" else self._locations.alias(alias)
            found.append(Argument(name, self._reader.type(type_), location))
            if end == ")":
                return found
        while not cursor.accept(")"):
            if found and cursor.text[cursor.position - 2 : cursor.position].strip() != ",":
                cursor.expect(",")
            argument = Argument(self._name(cursor), ScalarType("none"))
            cursor.expect(":")
            argument.type = self._reader.read_type(cursor)
            if cursor.peek() == "{":
                argument.attributes = self._reader.dictionary("{" + cursor.balanced() + "}")
            if cursor.accept("loc("):
                argument.location = self._locations.read_at(cursor)
                cursor.expect(")")
            found.append(argument)
        return found

    def _attributes(self, cursor: Cursor) -> dict[str, Any]:
        if not cursor.accept("attributes"):
            return {}
        if cursor.peek() != "{":
            raise cursor.fail("`{` and attributes")
        return self._reader.dictionary("{" + cursor.balanced() + "}")

    def _operation(self, name: str, groups: dict[str, tuple[Value, ...]], attributes: dict[str, Any]) -> Operation:
        operands = tuple(value for group in groups.values() for value in group)
        return Operation(name, operands, (), attributes, groups=groups)

    def _types(self, cursor: Cursor) -> list[Type]:
        """`(i32, f32)` or one type."""
        if not cursor.accept("("):
            return [self._reader.read_type(cursor)]
        found: list[Type] = []
        while not cursor.accept(")"):
            if found:
                cursor.expect(",")
            found.append(self._reader.read_type(cursor))
        return found

    def _bindings(self, cursor: Cursor) -> tuple[list[str], tuple[Value, ...]]:
        """`(%a = %b, ...)`."""
        names: list[str] = []
        values: list[Value] = []
        cursor.expect("(")
        while not cursor.accept(")"):
            if names:
                cursor.expect(",")
            names.append(self._name(cursor))
            cursor.expect("=")
            values.append(self._operand(cursor))
        return names, tuple(values)

    def _name(self, cursor: Cursor) -> str:
        found = cursor.match(_VALUE)
        if not found:
            raise cursor.fail("a value `%name`")
        return found[0]

    def _operand(self, cursor: Cursor) -> Value:
        start = cursor.position
        name = self._name(cursor)
        found = self._scope.values.get(name)
        if found is None:
            raise Mismatch(f"undefined value `{name}`", start, cursor.text)
        return found
