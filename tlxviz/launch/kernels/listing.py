"""PTX and SASS as lists of instructions, each with the kernel's source line and where control flow goes from it.

A line is that of the outermost call that the instruction was inlined through, so of the kernel itself; 0 where the
listing names none, and in functions that are not inlined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PTX_FUNCTION = re.compile(r"\.(entry|func)\b")
_PTX_PLACE = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?")
_PTX_LABEL = re.compile(r"(\$L\w+):")
_PTX_INSTRUCTION = re.compile(r"(@!?%\w+\s+)?([a-z]\w*(?:\.[\w:]+)*)\s*(.*?)\s*;")
_PTX_TARGET = re.compile(r"\$L_{0,2}\w+")
_ASSEMBLY, _ASSEMBLY_END = " begin inline asm", " end inline asm"
_SASS_FUNCTION = re.compile(r"\.text\.([\w$.]+):")
_SASS_PLACE = re.compile(r'//## File "[^"]*", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_SASS_LABEL = re.compile(r"(\.L\w+):")
_SASS_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_SASS_TARGET = re.compile(r"\.L_\w+")
_MOST_CALLS = 32


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    """With its modifiers: `mbarrier.arrive.shared::cta.b64`, `STL.64`."""
    operands: str
    line: int
    targets: tuple[str, ...]
    """Labels to which it can jump."""
    goes_on: bool
    """Whether the instruction behind it can be the next."""
    guarded: bool = False
    """Whether a predicate decides if it is executed."""


@dataclass(frozen=True, slots=True)
class Label:
    name: str


Listing = list[Instruction | Label]


def read_ptx(text: str) -> Listing:
    """The instructions of all functions of a PTX module."""
    found: Listing = []
    line, own, depth = 0, False, 0
    callers: dict[str, str] = {}
    branches: list[str] | None = None
    tables: dict[str, list[str]] = {}
    assembly = False
    for written in text.splitlines():
        stripped, _, comment = written.partition("//")
        stripped = stripped.strip()
        if not stripped:
            assembly = comment == _ASSEMBLY or (assembly and comment != _ASSEMBLY_END)
            continue
        if branches is not None:  # the targets of a jump table, over several lines
            branches += _PTX_TARGET.findall(stripped)
            branches = None if stripped.endswith(";") else branches
        elif ".branchtargets" in stripped:
            name, _, rest = stripped.partition(":")
            branches = tables.setdefault(name, [])
            branches += _PTX_TARGET.findall(rest)
            branches = None if stripped.endswith(";") else branches
        elif place := _PTX_PLACE.match(stripped):
            if assembly:
                continue  # LLVM counts lines of the assembly on top of the line where it stands
            if place[2]:
                callers[place[1]] = place[2]
            line = _outermost(place[1], place[2], callers) if own else 0
        elif label := _PTX_LABEL.match(stripped):
            found.append(Label(label[1]))
        elif depth == 0 and (function := _PTX_FUNCTION.search(stripped)):
            own, line = function[1] == "entry", 0
        elif instruction := _PTX_INSTRUCTION.match(stripped):
            found.append(_ptx_instruction(instruction, line))
        depth += stripped.count("{") - stripped.count("}")
    return [_through(tables, each) if isinstance(each, Instruction) else each for each in found]


def _outermost(place: str, caller: str | None, callers: dict[str, str]) -> int:
    """The line of the outermost place.

    A place names but one caller, whose own is in an earlier `.loc`: the last of them counts, if there are several.
    """
    for _ in range(_MOST_CALLS):
        if caller is None:
            break
        place, caller = caller, callers.get(caller)
    return int(place.split()[1])


def _ptx_instruction(found: re.Match[str], line: int) -> Instruction:
    guard, name, operands = found.groups()
    kind = name.split(".")[0]
    # Labels within inline assembly are no `$L`: loops that wait for a barrier are taken for one instruction.
    jumps = kind in ("bra", "brx")
    targets = tuple(_PTX_TARGET.findall(operands)) if jumps else ()
    ends = kind in ("ret", "exit", "trap") or bool(targets)
    return Instruction(name, operands, line, targets, bool(guard) or not ends, bool(guard))


def _through(tables: dict[str, list[str]], jump: Instruction) -> Instruction:
    """A jump through a table, with the table's targets."""
    if not jump.name.startswith("brx"):
        return jump
    targets = tuple(target for name in jump.targets for target in tables.get(name, ()))
    return Instruction(jump.name, jump.operands, jump.line, targets, jump.goes_on, jump.guarded)


def read_sass(text: str, kernel: str) -> Listing:
    """The instructions that `nvdisasm -c -gi` printed; those of other functions than `kernel` have no line."""
    found: Listing = []
    line, own = 0, False
    for written in text.splitlines():
        stripped = written.strip()
        if place := _SASS_PLACE.match(stripped):  # a chain of calls stands in several lines, the outermost last
            line = int(place[2] or place[1]) if own else 0
        elif function := _SASS_FUNCTION.match(stripped):
            own, line = function[1] == kernel, 0
            found.append(Label(function[0]))
        elif label := _SASS_LABEL.match(stripped):
            found.append(Label(label[1]))
        elif instruction := _SASS_INSTRUCTION.match(stripped):
            found.append(_sass_instruction(instruction, line))
    return found


def _sass_instruction(found: re.Match[str], line: int) -> Instruction:
    guard, name, operands = found.groups()
    targets = tuple(_SASS_TARGET.findall(operands))
    kind = name.split(".")[0]
    # `BRA P1, L` and `BRA.DIV UR4, L` go on, too
    always = kind in ("EXIT", "RET", "BRX", "JMX", "KILL") or (name in ("BRA", "JMP") and operands.startswith("`"))
    return Instruction(name, operands, line, targets, bool(guard) or not always, bool(guard))


def instructions(listing: Listing) -> Iterator[Instruction]:
    for each in listing:
        if isinstance(each, Instruction):
            yield each
