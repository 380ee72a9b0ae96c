"""Inline assembly that is a comment: it makes a place in a kernel visible, and does nothing else.

A probe is what tlxviz puts into a finished kernel to see when a warp group gets there. It is no site, so that a kernel
has the same sites with probes and without. The bounds of a range are what the author writes (`tlxviz.language`): they
are sites.
"""

from __future__ import annotations

import re

from tlxviz.ir.operation import Operation

ASSEMBLY = "tt.elementwise_inline_asm"
CONSTRAINTS = "=r,~{memory}"
# // tlxviz probe 3 $0
_PROBE = re.compile(r"// tlxviz probe (\d+) \$0")
# // tlxviz begin softmax $0
_BOUND = re.compile(r"// tlxviz (begin|end) (.+) \$0")
# what a comment in PTX, a string in LLVM's templates and one in TTGIR can all hold
_NAME = re.compile(r"[ -~]+")
_FORBIDDEN = '"$\\{|}'
_LONGEST = 100


def probe_assembly(number: int) -> str:
    """The assembly of the marker with that number."""
    return f"// tlxviz probe {number} $0"


def probe_marker(number: int, name: str = "") -> str:
    """The marker as a line of TTGIR. Nobody uses its result, called `name`; `%tlxviz_probeN` if none is given."""
    return (
        f'{name or f"%tlxviz_probe{number}"} = {ASSEMBLY} "{probe_assembly(number)}" '
        '{constraints = "=r,~{memory}", packed_element = 1 : i32, pure = false} -> i32'
    )


def probe_number(op: Operation) -> int | None:
    """The number of the marker that an operation is; None for any other operation."""
    if op.name != ASSEMBLY:
        return None
    found = _PROBE.fullmatch(str(op.attributes.get("asm_string", "")))
    return int(found[1]) if found else None


def range_assembly(bound: str, name: str) -> str:
    """The assembly of a range's `begin` or `end`."""
    return f"// tlxviz {bound} {name} $0"


def range_bound(op: Operation) -> tuple[str, str] | None:
    """`begin` or `end`, and the name of the range that an operation bounds; None for any other operation."""
    if op.name != ASSEMBLY:
        return None
    found = _BOUND.fullmatch(str(op.attributes.get("asm_string", "")))
    return (found[1], found[2]) if found else None


def fault_of_name(name: object) -> str:
    """Why a range cannot be called so; empty if it can."""
    if not isinstance(name, str):
        return f"the name of a range is a text that is known when the kernel is compiled, not {name!r}"
    if not _NAME.fullmatch(name) or name != name.strip() or any(each in name for each in _FORBIDDEN):
        return (
            f"a range cannot be called {name!r}: a name is a text of printable ASCII characters on one line without "
            "quotes, $, backslash, braces and |, that neither begins nor ends with a space"
        )
    if len(name) > _LONGEST:
        return f"the name of a range has at most {_LONGEST} characters, not {len(name)}"
    return ""


def is_marker(op: Operation) -> bool:
    """Whether an operation makes a place visible, and does nothing else."""
    return probe_number(op) is not None or range_bound(op) is not None


def is_marker_line(line: str) -> bool:
    """Whether a line of TTGIR is a marker."""
    return _PROBE.search(line) is not None
