"""Parses a TTGIR file line by line, as Triton prints it: one operation or one end of a region on each line."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from tlxviz.ir.errors import Mismatch, TtgirError
from tlxviz.ir.heads import Argument, Head, Heads
from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.locations import Locations
from tlxviz.ir.operation import Block, Module, Operation, Region, Value
from tlxviz.ir.reader import Reader
from tlxviz.ir.scope import Scope, Undefined
from tlxviz.ir.statements import HEAD, Statements, make_results, result_names
from tlxviz.ir.terminators import check_end
from tlxviz.ir.text import Cursor, closing
from tlxviz.ir.types import Type

# #loc12 = loc(...)      #shared = #ttg.swizzled_shared<{...}>
_ALIAS = re.compile(r"(#\w+)\s*=\s*(.*)")
# how the second region of an operation begins on the line that ends the first
_NEXT_REGION = {"scf.while": "do {", "scf.if": "else {"}
# partition0
_PARTITION = re.compile(r"(partition\d+)\s*")
# module   tt.func
_WORD = re.compile(r"[a-z_]\w*(?:\.\w+)*")
_Read = TypeVar("_Read")


@dataclass(slots=True)
class _Frame:
    """A region that is open."""

    operation: Operation
    region: Region | None = None
    block: Block | None = None
    result_names: list[str] = field(default_factory=list[str])
    result_types: tuple[Type, ...] | None = ()


def parse_module(text: str, source: str = "<ttgir>") -> Module:
    """Read TTGIR text.

    Args:
        text: The whole file.
        source: Where it came from, for messages.

    Raises:
        TtgirError: The text is not TTGIR, or not all of it.
    """
    # Nothing of the tree is garbage while it grows: without the collector, parsing takes a fifth less time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _Parser(text, source).parse()
    finally:
        if collecting:
            gc.enable()


@lru_cache(maxsize=16)
def _reader(aliases: tuple[tuple[str, str], ...]) -> Reader:
    """The reader of types and attributes; variants of a kernel share it and find all their types in its cache."""
    return Reader(dict(aliases))


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._lines = text.split("\n")
        aliases: dict[str, str] = {}
        for number, line in enumerate(self._lines, 1):
            if line.startswith("#"):
                found = _ALIAS.match(line)
                if not found:
                    raise self._error(Mismatch("expected `#alias = ...`", 0), number)
                if found[1] in aliases:
                    raise self._error(Mismatch(f"the alias `{found[1]}` is defined twice", 0), number)
                aliases[found[1]] = found[2].rstrip()
        self._reader = _reader(tuple(item for item in aliases.items() if not item[1].startswith("loc(")))
        self._locations = Locations(aliases)
        self._scope = Scope()
        self._statements = Statements(self._reader, self._scope)
        self._heads = Heads(self._reader, self._locations, self._scope)
        self._module = Module({}, {}, text, source)
        self._frames: list[_Frame] = []
        self._waiting: Operation | None = None
        """A `ttg.warp_specialize` whose next region, or end, must follow."""
        self._waiting_names: list[str] = []
        """Names of its results, whose types stand at its end."""
        self._closed = False

    def parse(self) -> Module:
        number = 1
        try:
            for number, raw in enumerate(self._lines, 1):
                line = raw.strip()
                if line and line[0] != "#" and not line.startswith("//"):
                    self._line(line, number)
            if self._frames or not (self._closed or self._module.functions):
                missing = "the file ends here, but a region is still open" if self._frames else "expected a module"
                raise Mismatch(missing, 0)
        except Mismatch as error:
            raise self._error(error, number) from None
        except RecursionError:
            raise self._error(Mismatch("brackets are nested too deeply", 0), number) from None
        return self._module

    def _error(self, error: Mismatch, number: int) -> TtgirError:
        """`error` with its place in the file."""
        line = self._lines[number - 1] if number <= len(self._lines) else ""
        indent = len(line) - len(line.lstrip())
        if isinstance(error, Undefined):
            found = re.search(re.escape(error.name) + r"(?![\w.$\-#])", line)
            offset = found.start() if found else indent
        elif error.text is None:
            offset = indent + max(0, error.offset)
        else:
            start = line.find(error.text.strip())
            offset = start + error.offset if start >= 0 else indent
        return TtgirError(error.message, source=self._source, line=number, column=offset + 1, text=line)

    # ---- lines

    def _line(self, line: str, number: int) -> None:
        if self._closed:
            raise Mismatch("expected nothing after the end of the module", 0)
        first = line[0]
        if first == "}":
            self._close(line)
        elif first == "^":
            self._label(line)
        elif line[-1] == "{":
            self._open(line, number)
        else:
            self._statement(line, number)

    def _statement(self, line: str, number: int) -> None:
        if self._waiting is not None:
            raise Mismatch("expected `default {` or `partition0(...) num_warps(...) {`", 0)
        if not self._frames or self._frames[-1].block is None:
            raise Mismatch("expected `module` or `tt.func`", 0)
        text, location = self._take_location(line)
        if "ttg.warp_specialize" in text and (head := HEAD.match(text)) and head[3] == "ttg.warp_specialize":
            operation = self._heads.warp_specialize(Cursor(text, head.end()))
            operation.line = number
            self._append(operation)
            self._waiting = operation
            self._waiting_names = result_names(head[1])
        else:
            self._append(self._statements.read(text, number, location))

    def _take_location(self, line: str) -> tuple[str, Location]:
        """The line without the `loc(...)` at its end, and the location."""
        if line[-1] != ")":
            return line, UNKNOWN
        start = line.rfind(" loc(")
        end = len(line) - 1
        if start >= 0 and line.find(")", start) == end and line.startswith("#", start + 5):
            return line[:start].rstrip(), self._locations.alias(line[start + 5 : end])
        while start >= 0:
            if closing(line, start + 4) == end:
                return line[:start].rstrip(), self._locations.read(line[start + 5 : -1])
            start = line.rfind(" loc(", 0, start)
        return line, UNKNOWN

    def _append(self, operation: Operation) -> None:
        block = self._frames[-1].block
        if block is None:
            raise Mismatch("expected a region before this operation", 0)
        operation.block = block
        block.operations.append(operation)

    # ---- regions

    def _open(self, line: str, number: int) -> None:
        text = line[:-1].rstrip()
        if self._waiting is not None:
            self._open_task(text)
            return
        word = _WORD.match(text)
        if word and word[0] == "module":
            if self._frames:
                raise Mismatch("expected an operation, not a module in a module", 0)
            self._module.attributes = self._finish(self._heads.module, Cursor(text, word.end()))
            self._frames.append(_Frame(Operation("builtin.module", attributes=self._module.attributes)))
        elif word and word[0] == "tt.func":
            self._open_function(text, word.end(), number)
        else:
            self._open_operation(text, number)

    def _finish(self, read: Callable[[Cursor], _Read], cursor: Cursor) -> _Read:
        found = read(cursor)
        cursor.expect_end()
        return found

    def _open_function(self, text: str, start: int, number: int) -> None:
        if len(self._frames) > 1 or (self._frames and self._frames[0].block is not None):
            raise Mismatch("expected an operation, not a function in a function", 0)
        head = self._finish(self._heads.function, Cursor(text, start))
        name = head.operation.attributes["sym_name"]
        if name in self._module.functions:
            raise Mismatch(f"the function `{name}` is defined twice", 0)
        self._module.functions[name] = head.operation
        head.operation.line = number
        self._begin(head, [], isolated=True)

    def _open_operation(self, text: str, number: int) -> None:
        if not self._frames or self._frames[-1].block is None:
            raise Mismatch("expected `module` or `tt.func`", 0)
        found = HEAD.match(text)
        if not found:
            raise Mismatch("expected an operation with a region", 0)
        cursor = Cursor(text, found.end())
        match found[2] or found[3]:
            case "scf.for":
                head = self._finish(self._heads.loop, cursor)
            case "scf.while":
                head = self._finish(self._heads.while_, cursor)
            case "scf.if":
                head = self._finish(self._heads.condition, cursor)
            case name if found[2]:
                operation, rest = self._statements.generic_head(name, text, found.end())
                if rest != "(":
                    raise Mismatch("expected `({`", len(text) - len(rest))
                head = Head(operation)
            case name:
                raise Mismatch(f"expected an operation whose region is known, not `{name}`", found.start(3))
        head.operation.line = number
        self._append(head.operation)
        self._begin(head, result_names(found[1]))

    def _begin(self, head: Head, names: list[str], *, isolated: bool = False) -> None:
        if head.results is not None and len(names) != len(head.results):
            raise Mismatch(f"expected {len(head.results)} results, found {len(names)}", 0)
        self._frames.append(_Frame(head.operation, result_names=names, result_types=head.results))
        self._region("", head.arguments, isolated=isolated)

    def _region(self, name: str, arguments: list[Argument], *, isolated: bool = False) -> Region:
        """Begin a region of the innermost open operation."""
        frame = self._frames[-1]
        frame.region = Region(name, parent=frame.operation)
        frame.operation.regions.append(frame.region)
        self._scope.enter(isolated=isolated)
        self._block(frame, "", arguments)
        return frame.region

    def _block(self, frame: _Frame, label: str, arguments: list[Argument]) -> None:
        block = Block(label, region=frame.region)
        values: list[Value] = []
        for index, argument in enumerate(arguments):
            value = Value(argument.name, argument.type, block, index, argument.location)
            self._scope.define(value)
            values.append(value)
        block.arguments = tuple(values)
        frame.block = block
        assert frame.region is not None
        frame.region.blocks.append(block)

    def _open_task(self, text: str) -> None:
        operation = self._waiting
        assert operation is not None
        if text == "default" and not operation.regions:
            self._frames.append(_Frame(operation))
            self._region("default", [])
        else:
            found = _PARTITION.match(text)
            expected = f"partition{len(operation.regions) - 1}" if operation.regions else "default"
            if not found or found[1] != expected:
                raise Mismatch(f"expected `{expected}`", 0)
            arguments, warps = self._finish(self._heads.partition, Cursor(text, found.end()))
            if len(arguments) != len(operation.operands):
                raise Mismatch(f"expected {len(operation.operands)} arguments, as many as ttg.warp_specialize has", 0)
            self._frames.append(_Frame(operation))
            self._region(found[1], arguments, isolated=True).attributes["num_warps"] = warps
        self._waiting = None

    def _label(self, line: str) -> None:
        if not self._frames or self._frames[-1].region is None or self._waiting is not None:
            raise Mismatch("expected a region around this block", 0)
        frame = self._frames[-1]
        label, arguments = self._heads.label(Cursor(line))
        region = frame.region
        assert region is not None
        if any(block.label == label for block in region.blocks):
            raise Mismatch(f"the block `^{label}` is defined twice", 0)
        entry = region.blocks[-1]
        if len(region.blocks) == 1 and not entry.operations and not entry.arguments and not entry.label:
            region.blocks.pop()
        self._block(frame, label, arguments)

    # ---- ends of regions

    def _close(self, line: str) -> None:
        if self._waiting is not None:
            raise Mismatch("expected a partition or `} : (...) -> ()`", 0)
        if not self._frames:
            raise Mismatch("`}` closes nothing", 0)
        frame = self._frames[-1]
        if frame.region is not None:
            check_end(frame.operation, frame.region, len(frame.result_types or ()))
            self._scope.leave()
        text, location = self._take_location(line) if line[-1] == ")" else (line, UNKNOWN)
        rest = text[1:].strip()
        name = frame.operation.name
        if name == "ttg.warp_specialize":
            self._close_task(frame, rest, location)
        elif rest == _NEXT_REGION.get(name) and len(frame.operation.regions) == 1:
            self._region("", [])
        elif rest == ", {" and frame.result_types is None:
            self._region("", [])  # another region of the generic form
        else:
            self._end(frame, rest, location)

    def _close_task(self, frame: _Frame, rest: str, location: Location) -> None:
        self._frames.pop()
        operation = frame.operation
        if not rest:
            self._waiting = operation
            return
        if not rest.startswith(":"):
            raise Mismatch("expected ` : ` and the types of ttg.warp_specialize", 1)
        signature = self._reader.signature(rest[1:].strip())
        if len(signature.inputs) != len(operation.operands):
            raise Mismatch(f"expected {len(operation.operands)} types", 1)
        results = signature.outputs or ()
        yielded = len(operation.regions[0].blocks[-1].yielded)
        if yielded != len(results):
            raise Mismatch(f"expected {len(results)} operands of the default task's ttg.warp_yield, found {yielded}", 1)
        operation.location = location
        make_results(operation, self._waiting_names, results, self._scope)

    def _end(self, frame: _Frame, rest: str, location: Location) -> None:
        operation = frame.operation
        operation.location = location
        self._frames.pop()
        if frame.region is None or operation.name == "tt.func":
            if rest:
                raise Mismatch("expected nothing after `}`", 1)
            self._closed = not self._frames and frame.region is None
            return
        if operation.name == "scf.while" and len(operation.regions) != 2:
            raise Mismatch("expected `} do {`", 0)
        types = frame.result_types
        if types is None:
            types = self._generic_end(operation, rest)
        elif rest.startswith(("attributes", "{")):
            operation.attributes.update(self._statements.dictionary(rest.removeprefix("attributes").strip(), 1))
        elif rest:
            raise Mismatch("expected attributes or nothing after `}`", 1)
        if operation.name == "scf.for":
            for argument in operation.regions[0].entry.arguments:
                argument.location = location
        make_results(operation, frame.result_names, types, self._scope)

    def _generic_end(self, operation: Operation, rest: str) -> tuple[Type, ...]:
        """`}) {...} : (A) -> B` of the generic form, after its brace."""
        if not rest.startswith(")"):
            raise Mismatch("expected `})` and the types", 1)
        rest = rest[1:].strip()
        if rest.startswith("{"):
            end = closing(rest, 0)
            if end < 0:
                raise Mismatch("expected `}`", 1)
            operation.attributes.update(self._statements.dictionary(rest[: end + 1], 1))
            rest = rest[end + 1 :].strip()
        if not rest.startswith(":"):
            raise Mismatch("expected ` : ` and the types", 2)
        signature = self._reader.signature(rest[1:].strip())
        if len(signature.inputs) != len(operation.operands) or signature.outputs is None:
            raise Mismatch(f"expected the types of {len(operation.operands)} operands, `->` and types of results", 2)
        return signature.outputs
