"""Bytes that are expected against the boxes of the copies that bring them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from tlxviz.check.model import Finding, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.operands import captured, slot_index
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.program import BarrierArray, Site, SiteKind
from tlxviz.ir.sites import constant_int


@dataclass(slots=True)
class _Part:
    """What one block expects and copies for one barrier."""

    expects: list[Site] = field(default_factory=list[Site])
    copies: list[Site] = field(default_factory=list[Site])
    plain: bool = True
    """Whether all of it happens together: under the same condition, and for this CTA."""


@rule
def boxes(kernel: Kernel) -> Iterator[Finding]:
    """Expectations that differ from the sum of the boxes which complete on the same barrier."""
    for array in kernel.program.barriers:
        parts = _parts(kernel, array)
        # copies without an expectation beside them may belong to any of the others
        if not parts or not all(part.expects and part.copies and part.plain for part in parts):
            continue
        for part in parts:
            expected = sum(site.bytes for site in part.expects)
            copied = sum(site.bytes * _receivers(kernel, site) for site in part.copies)
            if expected != copied:
                yield _differ(kernel, array, part, expected, copied)


def _parts(kernel: Kernel, array: BarrierArray) -> list[_Part]:
    found: dict[tuple[Block | None, object], _Part] = {}
    conditions: dict[tuple[Block | None, object], set[Value | None]] = {}
    for site in kernel.program.sites:
        if site.kind not in (SiteKind.EXPECT, SiteKind.TMA_LOAD, SiteKind.ASYNC_COPY, SiteKind.CLC):
            continue
        barrier = site.operation.operand("barrier")
        if barrier is None or kernel.program.roots.get(barrier) is not array:
            continue
        key = site.operation.block, _which(barrier)
        part = found.setdefault(key, _Part())
        (part.expects if site.kind is SiteKind.EXPECT else part.copies).append(site)
        conditions.setdefault(key, set()).add(_condition(site.operation))
        paired = "two_cta" in site.operation.attributes or "two_ctas" in site.operation.attributes
        if site.kind not in (SiteKind.EXPECT, SiteKind.TMA_LOAD) or paired or not _own(barrier):
            part.plain = False
    for key, part in found.items():
        part.plain &= len(conditions[key]) == 1 and all(map(_is_known, part.copies))
    return list(found.values())


def _which(barrier: Value) -> object:
    index = slot_index(barrier)
    return (index.base, index.offset) if index is not None else captured(barrier)


def _condition(op: Operation) -> Value | None:
    """The predicate; None for one that always holds."""
    predicate = op.operand("pred")
    if predicate is None or constant_int(captured(predicate)):
        return None
    return captured(predicate)


def _own(barrier: Value) -> bool:
    made = captured(barrier).owner
    while isinstance(made, Operation) and made.name.startswith("ttg.memdesc_"):
        made = captured(made.operands[0]).owner
    return not isinstance(made, Operation) or made.name != "ttng.map_to_remote_buffer"


def _is_known(site: Site) -> bool:
    """Whether it is known how often the copy lands in each CTA."""
    mask = site.operation.operand("multicast")
    return site.bytes > 0 and (mask is None or constant_int(captured(mask)) is not None)


def _receivers(kernel: Kernel, site: Site) -> int:
    """Of a copy that all CTAs of a cluster start for all of them, each CTA gets one from each."""
    mask = site.operation.operand("multicast")
    number = None if mask is None else constant_int(captured(mask))
    everybody = math.prod(kernel.program.cluster)
    return everybody if number is not None and number.bit_count() == everybody else 1


def _differ(kernel: Kernel, array: BarrierArray, part: _Part, expected: int, copied: int) -> Finding:
    role, name = part.expects[0].agent.name, array.name
    sums = " + ".join(f"{site.bytes:,}" for site in part.copies)
    times = max(_receivers(kernel, site) for site in part.copies)
    from_all = f", from each of {times} CTAs" if times > 1 else ""
    return kernel.finding(
        "expect-bytes",
        Severity.ERROR,
        f"{role} expects {expected:,} bytes on {name}, and the copies that complete on it bring {copied:,}",
        [
            *(kernel.place(site, f"expects {site.bytes:,} bytes on {name}") for site in part.expects),
            *(kernel.place(site, f"copies {site.bytes:,} bytes") for site in part.copies),
        ],
        (f"the boxes have {sums} bytes{from_all}: a box always counts whole, also where it reaches over its tensor",),
        f"Expect {copied:,} bytes.",
    )
