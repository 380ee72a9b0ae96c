"""Rules about tensor memory."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.analysis.rings import Ring
from tlxviz.ir.tensor_slots import columns_of
from tlxviz.ir.types import MemDescType
from tlxviz.trace.model import LaunchTrace

_STALLED = 0.1
"""Share of the time in which every accumulator is being read, from which that is worth a word."""
_BUSY = 0.85
_COLUMNS = 512
_COLUMN_BYTES = 512
"""Of a column of all 128 lanes."""


@rule("accumulators-full")
def accumulators_full(account: Account) -> Iterator[Finding]:
    """All accumulators in tensor memory hold results that are still read, and the tensor core has nowhere to go on."""
    busy = account.utilisation.tensor_core
    if busy is not None and busy >= _BUSY:
        return
    multiplying = {group.name for group in account.multiplying()}
    for ring in account.rings:
        if not _of_accumulators(ring, multiplying) or ring.stalled_share < _STALLED:
            continue
        columns, taken = ring.bytes // _COLUMN_BYTES, _columns_taken(account)
        which = f"each of the {ring.depth} accumulators" if ring.depth > 1 else "the only accumulator"
        who, readers = " and ".join(ring.producers), " and ".join(ring.consumers)
        if taken is not None and columns and taken + columns <= _COLUMNS:
            advice = (
                f"one more accumulator, for which tensor memory has room ({taken} of {_COLUMNS} columns are taken): "
                "products of the next tile then run while the results of this one are read"
            )
        else:
            advice = (
                "give an accumulator back in parts, as soon as each is in registers, and store afterwards; or smaller "
                "tiles, of which more fit into tensor memory"
            )
        file, line = _wait_for(account.launch, ring)
        yield Finding(
            "accumulators-full",
            Severity.PROBLEM,
            ring.stalled_share,
            f"{who} cannot multiply {ring.stalled_share:.0%} of the time: {which} ({ring.buffer}) holds results that "
            f"{readers} did not read to the end yet",
            advice,
            ", ".join(ring.producers),
            file,
            line,
            {"stalled": ring.stalled_share, "accumulators": ring.depth}
            | ({"columns_taken": taken} if taken is not None else {}),
        )


def _of_accumulators(ring: Ring, multiplying: set[str]) -> bool:
    """Whether only products fill it, others read it, and it is filled more than once."""
    if ring.memory != "tensor" or not ring.producers or len(ring.fills.slot) <= ring.depth:
        return False
    return set(ring.producers) <= multiplying and not multiplying & set(ring.consumers)


def _columns_taken(account: Account) -> int | None:
    """Columns of tensor memory that the kernel's allocations have; None where nothing tells."""
    if account.program is None:
        size = account.launch.metadata.get("tmem_size")
        return size if isinstance(size, int) else None
    types = [each.operation.results[0].type for each in account.program.buffers]
    return sum(columns_of(each) for each in types if isinstance(each, MemDescType) and each.space == "tensor_memory")


def _wait_for(launch: LaunchTrace, ring: Ring) -> tuple[str, int]:
    """Where the producer waits for a slot; an empty name and 0 where that is not known."""
    for site in launch.sites:
        if site.kind == "wait" and site.variable == ring.empty and ring.empty:
            return site.file, site.line
    return "", 0
