"""What a trace says about a kernel's machine code: where its warps meet and wait, and where registers are spilled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from tlxviz.launch.kernels.listing import Instruction, Listing, read_ptx, read_sass
from tlxviz.launch.kernels.pieces import Placed, pieces

_SYNCHRONIZATION = (
    "bar.sync",
    "barrier.sync",
    "bar.arrive",
    "barrier.arrive",
    "bar.warp.sync",
    "barrier.cluster.arrive",
    "barrier.cluster.wait",
    "mbarrier.try_wait",
    "mbarrier.test_wait",
    "mbarrier.arrive.expect_tx",
    "mbarrier.expect_tx",
    "mbarrier.arrive",
    "cp.async.mbarrier.arrive",
    "cp.async.bulk.wait_group",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "wgmma.wait_group",
    "fence.proxy.async",
    "fence",
)
"""Beginnings of the names of the PTX instructions that are kept; the first that fits is the name."""
_MEETINGS = {"bar.sync", "barrier.sync", "BAR"}
_NUMBERED = re.compile(r"(0x[0-9a-f]+|\d+)(?:, (0x[0-9a-f]+|\d+))?")
_BYTES = {"64": 8, "128": 16, "U8": 1, "S8": 1, "U16": 2, "S16": 2}


def of_ptx(ptx: str) -> list[dict[str, Any]]:
    """The pieces of a kernel in which warps synchronize, as `code.ptx` in docs/trace.md has them."""
    return _described(read_ptx(ptx), _in_ptx, _in_ptx)


def of_sass(listing: str, kernel: str) -> list[dict[str, Any]]:
    """The pieces of a kernel that use local memory, as `code.sass` in docs/trace.md has them."""
    return _described(
        read_sass(listing, kernel), lambda name: _in_sass(name, "STL", "LDL"), lambda name: _in_sass(name, "BAR")
    )


def _in_ptx(name: str) -> str:
    return next((known for known in _SYNCHRONIZATION if name.startswith(known)), "")


def _in_sass(name: str, *wanted: str) -> str:
    first = name.partition(".")[0]
    return first if first in wanted else ""


def _described(listing: Listing, kept: Callable[[str], str], met: Callable[[str], str]) -> list[dict[str, Any]]:
    """Args: the names of what is kept, and of what is looked at for meetings; empty for other instructions."""
    found: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces(listing)):
        operations = _operations([each for each in piece if kept(each.instruction.name)], kept)
        if not operations:
            continue
        meetings = {_numbers(each.instruction) for each in piece if met(each.instruction.name) in _MEETINGS}
        found.append(
            {
                "entry": number == 0,
                "meetings": [[number, threads] for number, threads in sorted(meetings) if number != _UNKNOWN],
                "lines": sorted({each.instruction.line for each in piece} - {0}),
                "operations": operations,
            }
        )
    return found


_UNKNOWN = -1


def _numbers(instruction: Instruction) -> tuple[int, int]:
    """Number of a named barrier, -1 if the code does not fix it; threads that meet there, 0 if that are all."""
    found = _NUMBERED.fullmatch(instruction.operands)
    return (int(found[1], 0), int(found[2] or "0", 0)) if found else (_UNKNOWN, 0)


def _operations(kept: list[Placed], name_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Equal instructions are one entry, in the order of the code."""
    counts: Counter[tuple[Any, ...]] = Counter()
    sizes: Counter[tuple[Any, ...]] = Counter()
    for each in kept:
        name = name_of(each.instruction.name)
        numbers = _numbers(each.instruction) if name.startswith("bar") else (_UNKNOWN, 0)
        key = name, *numbers, each.instruction.line, each.loops, each.innermost
        counts[key] += 1
        sizes[key] += _bytes(each.instruction.name) if name in ("STL", "LDL") else 0
    names = "name", "number", "threads", "line", "loops", "innermost"
    return [dict(zip(names, key, strict=True)) | {"count": counts[key], "bytes": sizes[key]} for key in counts]


def _bytes(name: str) -> int:
    """Of a load or store: its modifiers say so where it is no word of 4."""
    return next((_BYTES[part] for part in name.split(".") if part in _BYTES), 4)
