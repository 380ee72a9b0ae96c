"""Names that only the kernel's source has."""

from __future__ import annotations

import pytest

from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program

BAR = (
    "!ttg.memdesc<1xi64, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, "
    "#ttg.shared_memory, mutable>"
)
SOURCE = """\
    @triton.jit
    def kernel(y):
        full, empty = alloc(1), alloc(1)
        done = alloc(1)
"""
FIRST_LINE = 11


def program() -> Program:
    return load_program(f"""module {{
  tt.func public @kernel() {{
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %0 = ttg.local_alloc : () -> {BAR} loc("/a/kernel.py":13:23)
    %1 = ttg.local_alloc : () -> {BAR} loc("/a/kernel.py":13:33)
    %done = ttg.local_alloc : () -> {BAR} loc("/a/kernel.py":14:16)
    ttng.init_barrier %0, 1 : {BAR}
    ttng.init_barrier %1, 1 : {BAR}
    ttng.init_barrier %done, 1 : {BAR}
    ttng.arrive_barrier %1, 1 : {BAR}
    ttng.arrive_barrier %done, 1 : {BAR}
    tt.return
  }}
}}""")


def test_several_values_in_one_assignment():
    found = program()
    assert [array.name for array in found.barriers] == ["%0", "%1", "done"]
    name_from_source(found, SOURCE, "/elsewhere/kernel.py", FIRST_LINE)
    assert [array.name for array in found.barriers] == ["full", "empty", "done"]
    assert [site.variable for site in found.sites] == ["empty", "done"]


@pytest.mark.parametrize(
    ("source", "file", "line"),
    [
        (SOURCE, "/a/other.py", FIRST_LINE),
        (SOURCE, "/a/kernel.py", FIRST_LINE + 1),
        (SOURCE.replace("full", "done"), "/a/kernel.py", FIRST_LINE),
        ("    full, empty = (", "/a/kernel.py", 13),
        ("", "/a/kernel.py", FIRST_LINE),
    ],
    ids=["file", "line", "taken", "broken", "none"],
)
def test_what_does_not_fit_gives_no_names(source: str, file: str, line: int):
    found = program()
    name_from_source(found, source, file, line)
    assert found.barriers[0].name == "%0"
