"""Markers: inline assembly that is a comment, which tlxviz puts into a kernel to see when a warp group gets there.

A marker is no site, so that a kernel with markers has the same sites as without.
"""

from __future__ import annotations

import re

from tlxviz.ir.operation import Operation

ASSEMBLY = "tt.elementwise_inline_asm"
# // tlxviz probe 3 $0
_PROBE = re.compile(r"// tlxviz probe (\d+) \$0")


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


def is_marker(op: Operation) -> bool:
    """Whether an operation is there for tlxviz alone, and does nothing else."""
    return probe_number(op) is not None
