"""What recorded rows say, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tlxviz.sim.clusters import ORIGIN
from tlxviz.sim.engine import DETAILS, ENGINES, ROW, Row

COLUMNS = (*ROW, "run", "released_rank", *DETAILS)
"""Columns of a table of one CTA's rows, in the order in which they were recorded.

Those of `engine.ROW`, but `code` is without the run: the site, plus the number of sites for each engine that comes
before the one whose event it is. `released_by` is a row of the table of CTA `released_rank` of the cluster (0 without
clusters), both -1 where there is no cause. `run` is the position of the executing run among those of the CTA's warp
groups; of an engine's event, of the run that issued it, or 0 if that is another CTA's.

Only replays and kernels with clusters know the others, which are -1 otherwise, and for operations on no mbarrier:
`barrier`, the position in `program.barriers`, found where the operation was executed; `home`, the rank of the CTA whose
barrier it is, or whose shared memory is written by a store or copy into another CTA; and
`round`, the number of the barrier's phase, from 0: the one that is waited for (-1 if the wait is over before the first
has completed), or that the operation contributes to. `round` is `phase` for operations on other barriers.
"""
CODE, BEGIN, END, OUTER, INNER, SLOT, PHASE, RELEASED_BY, RUN, RELEASED_RANK, BARRIER, HOME, ROUND = range(len(COLUMNS))


def table_of(rows: Sequence[Row], sites: int, rank: int = 0) -> NDArray[np.int64]:
    """The rows of a CTA as a table with `COLUMNS`.

    Args:
        rows: What was recorded, with `engine.DETAILS` or without.
        sites: The number of the program's sites.
        rank: Of the CTA in its cluster.
    """
    table = np.full((len(rows), len(COLUMNS)), -1, np.int64)
    if not rows:
        return table
    width = len(rows[0])
    # a third faster than np.array(rows), and a simulation of a second has a million rows
    flat = np.fromiter(chain.from_iterable(rows), np.int64, count=len(rows) * width).reshape(-1, width)
    table[:, : len(ROW)] = flat[:, : len(ROW)]
    table[:, BARRIER:] = flat[:, len(ROW) :] if width > len(ROW) else -1
    table[:, RUN], table[:, CODE] = np.divmod(flat[:, CODE], max(1, ENGINES * sites))
    cause = flat[:, RELEASED_BY]
    foreign = cause >> ORIGIN  # the rank plus one; -1 where there is no cause
    table[:, RELEASED_RANK] = np.where(foreign < 0, -1, np.where(foreign == 0, rank, foreign - 1))
    table[:, RELEASED_BY] = np.where(foreign < 0, -1, cause & (1 << ORIGIN) - 1)
    return table
