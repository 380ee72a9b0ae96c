"""What generated code calls to take over CTAs that have not started."""

from __future__ import annotations

from heapq import heappush
from typing import Any

import torch

from tlxviz.sim.engine import AgentRun, Barrier
from tlxviz.sim.errors import LaunchControlError
from tlxviz.sim.runtime.remote import remote_barrier, remote_view, store_remotely
from tlxviz.sim.shared import SharedView

RESPONSE_BYTES = 16
NUMBERS = 4
"""What a response is held as: the place of a CTA in the grid, and whether there is one."""
_NONE = (-1, -1, -1, 0)


def request_cluster(
    agent: AgentRun, cycle: int, latency: int, site: int, barrier: Barrier, response: SharedView, row: int
) -> int:
    """Asks for the next cluster that has not started. Every CTA of the own cluster gets the answer.

    Args:
        agent: The warp group that asks.
        cycle: When it does.
        latency: Cycles until the answer is there.
        site: Number of the operation.
        barrier: The mbarrier that is told of the answer's bytes; in other CTAs the one at the same place.
        response: Where the answer goes; likewise.
        row: The row of the answer; -1 where nothing is recorded.

    Returns:
        The number of the first CTA of that cluster; -1 if none is left.

    Raises:
        LaunchControlError: the warp group has seen an answer that none is left.
    """
    if agent.refused:
        raise LaunchControlError(
            "asks for another CTA after an answer that none is left, which is undefined: leave the loop when the tile "
            "is -1"
        )
    cta = agent.cta
    loop = cta.sm.loop
    first = cta.sm.unstarted.take_over(cta.index)
    answer = torch.tensor(_NONE if first is None else (*first[1], 1), dtype=torch.int32)
    number = -1 if first is None else first[0]
    if cta.cluster is None:
        arrival: tuple[Any, ...] = (barrier, response, answer, row)
        heappush(loop.heap, (cycle + latency, next(loop.sequence), _arrive, arrival))
        return number
    for peer in cta.cluster.ctas:
        cause = row if row < 0 or peer is cta else row + cta.origin
        there = remote_view(cta, response, peer.rank)
        told = remote_barrier(cta, barrier, peer.rank)
        written = (there, answer, site, cta, told, RESPONSE_BYTES, cause)
        heappush(loop.heap, (cycle + latency, next(loop.sequence), store_remotely, written))
    return number


def answered(agent: AgentRun, response: SharedView) -> tuple[int, int, int]:
    """The place in the grid of the first CTA of the cluster that was taken over; -1 three times if none was."""
    x, y, z, given = response.filled.tolist()
    if given:
        return x, y, z
    agent.refused = True
    return -1, -1, -1


def _arrive(cycle: int, arrival: tuple[Barrier, SharedView, torch.Tensor, int]) -> None:
    barrier, response, answer, cause = arrival
    response.store(answer)
    barrier.land(cycle, RESPONSE_BYTES, cause)
