"""Ranges that the kernel's author named: from rows of their bounds to rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tlxviz.ir.program import Program, SiteKind
from tlxviz.sim.rows import BEGIN, CODE, END, RUN


@dataclass(slots=True)
class RangesAmiss:
    """Bounds without a counterpart."""

    ends: int = 0
    begins: int = 0

    def statistics(self) -> dict[str, int]:
        """What a trace says of them."""
        named = {"range_ends_without_begin": self.ends, "range_begins_without_end": self.begins}
        return {name: count for name, count in named.items() if count}


def bounds_of_ranges(program: Program) -> list[int]:
    """The numbers of the sites that are bounds of ranges."""
    return [site.index for site in program.sites if site.kind in (SiteKind.RANGE_BEGIN, SiteKind.RANGE_END)]


def runs_with_ranges(program: Program, table: NDArray[np.int64]) -> set[int]:
    """Those of a CTA's runs of warp groups that begin ranges."""
    begins = [site.index for site in program.sites if site.kind is SiteKind.RANGE_BEGIN]
    return set(np.unique(table[np.isin(table[:, CODE], begins), RUN]).tolist()) if begins else set()


def close_ranges(
    program: Program, table: NDArray[np.int64], stops: Sequence[int], amiss: RangesAmiss | None = None
) -> None:
    """Turns the row in which a range begins into one that lasts until it ends, in place.

    An end ends the range of its name that began last in its run, whatever began after that. The rows of ends get END
    -1: they are no events.

    Args:
        program: The kernel.
        table: The rows of a CTA.
        stops: By run, where ranges end that never do.
        amiss: Counts the bounds without a counterpart.
    """
    open_: dict[tuple[int, str], list[int]] = {}
    for row in np.flatnonzero(np.isin(table[:, CODE], bounds_of_ranges(program))).tolist():
        site, run = program.sites[int(table[row, CODE])], int(table[row, RUN])
        begun = open_.setdefault((run, site.variable), [])
        if site.kind is SiteKind.RANGE_BEGIN:
            begun.append(row)
            continue
        if begun:
            table[begun.pop(), END] = table[row, BEGIN]
        elif amiss is not None:
            amiss.ends += 1
        table[row, END] = -1
    for (run, _), rows in open_.items():
        for row in rows:
            table[row, END] = max(int(table[row, BEGIN]), stops[run])
            if amiss is not None:
                amiss.begins += 1
