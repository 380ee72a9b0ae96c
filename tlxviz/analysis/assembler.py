"""What ptxas reported about a kernel: registers, barriers, spills, and what it could not do as asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REMARK = re.compile(r"^ptxas (?:info|warning)\s*:\s*(?:\((C\d+)\) )?(.*)$")
_SERIALIZED = re.compile(r"wgmma\.mma_async instructions are serialized due to (.*?)\s+(?:in|for) the function")
_PLACE = re.compile(r" in around line \d+")
"""Of the PTX, which is not in a trace."""
_LOSS = "Potential Performance Loss: "


@dataclass(frozen=True, slots=True)
class Spills:
    """Bytes a thread, over all warp groups of the kernel: ptxas does not say whose they are."""

    frame: int
    """Of local memory that a thread has."""
    stores: int | None
    """In the code, each instruction counted once however often it runs; None where only the frame is known."""
    loads: int | None
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A line of the report that says that something was not done as asked."""

    id: str
    """`wgmma-serialized`, `setmaxnreg-ignored`, or `ptxas` for others."""
    reason: str
    """In ptxas's own words."""
    line: str
    """The whole line; the first, where ptxas says so of several places."""
    count: int = 1
    """How many lines say so."""


@dataclass(frozen=True, slots=True)
class Report:
    registers: int | None
    """Of a thread at launch."""
    barriers: int | None
    """Named barriers, `bar.sync` of Triton's own among them."""
    spills: Spills | None
    """None where nothing is said, or nothing is spilled."""
    remarks: tuple[Remark, ...]


def read_report(lines: Iterable[str]) -> Report:
    """What the lines that `ptxas -v` printed say; lines of other kinds are passed over."""
    registers = barriers = spills = None
    remarks: dict[tuple[str, str], Remark] = {}
    for line in lines:
        if used := _USED.search(line):
            registers = int(used[1])
            barriers = int(used[2]) if used[2] else None
        elif found := _FRAME.search(line):
            frame, stores, loads = map(int, found.groups())
            spills = Spills(frame, stores, loads) if frame or stores or loads else None
        elif remark := _remark(line):
            key = remark.id, _PLACE.sub("", remark.reason)
            first = remarks.get(key)
            remarks[key] = remark if first is None else replace(first, count=first.count + 1)
    return Report(registers, barriers, spills, tuple(remarks.values()))


def _remark(line: str) -> Remark | None:
    found = _REMARK.match(line)
    if found is None:
        return None
    code, text = found.groups()
    if serialized := _SERIALIZED.search(text):
        return Remark("wgmma-serialized", serialized[1], line)
    if "'setmaxnreg' ignored" in text:
        return Remark("setmaxnreg-ignored", text.removeprefix(_LOSS).rstrip("."), line)
    if code or text.startswith(_LOSS) or line.startswith("ptxas warning"):
        return Remark("ptxas", text.removeprefix(_LOSS).rstrip("."), line)
    return None
