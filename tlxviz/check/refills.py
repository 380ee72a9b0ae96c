"""Reads of a slot that find nothing new in it, although the same operation does in other iterations of its loop.

Everything may be in order then, and the data are stale all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from tlxviz.check.memory import Access
from tlxviz.ir.operation import Operation

_LOOPS = frozenset({"scf.for", "scf.while"})


@dataclass(slots=True)
class _Reads:
    """What an operation has read of one buffer in a run of its loop."""

    fill: int
    times: int = 1
    once: bool = False
    """Whether there was a fill that it has read once, and then the next."""
    again: Access | None = None
    """The first read that found the fill of the one before."""


class Refills:
    """Follows reads of what engines have filled.

    Args:
        stale: Told of a read that found nothing new, once the same operation has found new fills too.
    """

    def __init__(self, stale: Callable[[Access], None]) -> None:
        self._stale = stale
        self._reads: dict[Hashable, _Reads] = {}
        self._depths: dict[Operation, int] = {}

    def read(self, access: Access, fill: int) -> None:
        """An access reads what the write of that number has filled."""
        _, outer, inner = access.at
        if inner < 0 or access.view is None:
            return
        # the loops around may take any number of turns with what was filled outside of them
        run = outer if self._depth(access.op) > 1 else -1
        key = access.op, access.who.component, access.view.buffer, run
        found = self._reads.get(key)
        if found is None:
            self._reads[key] = _Reads(fill)
            return
        if fill == found.fill:
            found.times += 1
            found.again = found.again or access
        else:
            found.once |= found.times == 1
            found.fill, found.times = fill, 1
        if found.once and found.again is not None:
            self._stale(found.again)

    def _depth(self, op: Operation) -> int:
        """Loops around an operation."""
        depth = self._depths.get(op)
        if depth is None:
            depth, block = 0, op.block
            while block is not None and block.region is not None:
                parent = block.region.parent
                depth += parent is not None and parent.name in _LOOPS
                block = parent.block if parent is not None else None
            self._depths[op] = depth
        return depth
