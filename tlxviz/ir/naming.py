"""Names of barriers and buffers that TTGIR lost: the compiler keeps none for `full, empty = alloc(), alloc()`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from textwrap import dedent

from tlxviz.ir.program import BarrierArray, Buffer, Program


def name_from_source(program: Program, source: str, file: str, first_line: int) -> None:
    """Gives what has no name yet the name of the variable that the kernel's source assigns it to.

    Args:
        program: Is changed.
        source: The kernel's own source.
        file: Where it stands.
        first_line: The line of `file` on which `source` begins.
    """
    nameless: list[BarrierArray | Buffer] = [
        each for each in [*program.barriers, *program.buffers] if each.name.startswith("%")
    ]
    if not nameless or not source:
        return
    places = {(line + first_line - 1, column): name for line, column, name in _assigned(source)}
    taken = {each.name for each in [*program.barriers, *program.buffers, *program.descriptors]}
    renamed: dict[str, str] = {}
    for each in nameless:
        place = each.operation.location
        name = places.get((place.line, place.column))
        if name is not None and name not in taken and os.path.basename(place.file) == os.path.basename(file):
            renamed[each.name] = each.name = name
            taken.add(name)
    for site in program.sites:
        site.variable = renamed.get(site.variable, site.variable)


def _assigned(source: str) -> Iterator[tuple[int, int, str]]:
    """Line, column (both from 1) and variable of each value of an assignment of several values to as many variables."""
    text = dedent(source)
    shift = len(source.split("\n", 1)[0]) - len(text.split("\n", 1)[0])
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
            continue
        for target in node.targets:
            if isinstance(target, ast.Tuple) and len(target.elts) == len(node.value.elts):
                for variable, value in zip(target.elts, node.value.elts, strict=True):
                    if isinstance(variable, ast.Name):
                        yield value.lineno, value.col_offset + 1 + shift, variable.id
