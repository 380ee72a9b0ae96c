"""What a warp group knows, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tlxviz.check.order import Knowledge, Order, Standing, counted_in, earliest
from tlxviz.ir.operation import Operation
from tlxviz.sim.engine import AgentRun, Barrier, Cta, EventLoop

OP = Operation("ttng.arrive_barrier")
AT = (0, -1, -1)


@pytest.mark.parametrize(
    ("known", "parity", "completed"),
    [
        (
            0,
            1,
            0,
        ),  # nothing is complete, and the phase before the first one counts as of parity 1: a producer's first wait
        (0, 0, 1),
        (1, 0, 1),  # what is known already lets it go on
        (1, 1, 2),
        (2, 1, 2),
        (2, 0, 3),
    ],
)
def test_a_wait_goes_on_with_the_first_phase_that_fits(known: int, parity: int, completed: int) -> None:
    assert earliest(known, parity) == completed


def barrier(count: int) -> Barrier:
    made = Barrier(EventLoop(), 0, 0)
    made.init(count)
    return made


def test_the_arrival_that_completes_a_phase_counts_for_it() -> None:
    full = barrier(2)
    full.pending -= 1
    assert counted_in(full) == 0
    full.pending -= 1
    full.settle(5, -1)
    assert full.completed == 1
    assert counted_in(full) == 0
    full.pending -= 1
    assert counted_in(full) == 1


class Kernel:
    """Two warp groups of a CTA, and what orders them."""

    def __init__(self) -> None:
        self.order = Order()
        cta = cast(Cta, SimpleNamespace(index=0, agents=[]))
        self.runs = [AgentRun(cta, number) for number in range(2)]
        self.first, self.second = (self.order.standing(run) for run in self.runs)

    def knows(self, who: Standing, other: Standing, epoch: int) -> bool:
        return who.knowledge.clock.get(other.component, 0) >= epoch


def test_a_wait_teaches_what_was_done_before_the_arrival_and_nothing_after() -> None:
    kernel = Kernel()
    meeting = kernel.order.meeting("full")
    before = kernel.first.epoch
    kernel.order.release(kernel.first, meeting, 0, OP, AT)
    after = kernel.first.epoch
    kernel.order.acquire(kernel.second, meeting, 1, 1, OP, AT)
    assert kernel.knows(kernel.second, kernel.first, before)
    assert not kernel.knows(kernel.second, kernel.first, after)


def test_a_wait_that_an_older_phase_lets_go_on_teaches_the_older_phase_only() -> None:
    """Both phases are complete when the wait comes, and in another run the second one need not be."""
    kernel = Kernel()
    meeting = kernel.order.meeting("full")
    kernel.order.release(kernel.first, meeting, 0, OP, AT)
    second = kernel.first.epoch
    kernel.order.release(kernel.first, meeting, 1, OP, AT)
    kernel.order.acquire(kernel.second, meeting, earliest(0, 0), 2, OP, AT)
    assert not kernel.knows(kernel.second, kernel.first, second)
    kernel.order.acquire(kernel.second, meeting, earliest(1, 1), 2, OP, AT)
    assert kernel.knows(kernel.second, kernel.first, second)


def test_phases_that_are_known_to_be_complete_are_learnt_from_others() -> None:
    kernel = Kernel()
    full, done = kernel.order.meeting("full"), kernel.order.meeting("done")
    kernel.order.release(kernel.first, full, 0, OP, AT)
    kernel.order.acquire(kernel.second, full, 1, 1, OP, AT)
    kernel.order.release(kernel.second, done, 0, OP, AT)
    kernel.order.acquire(kernel.first, done, 1, 1, OP, AT)
    assert kernel.first.knowledge.clock[full.component] == 1


def test_a_fence_is_of_its_own_warp_group_and_covers_what_it_knows() -> None:
    kernel = Kernel()
    meeting = kernel.order.meeting("full")
    written = kernel.first.epoch
    kernel.order.release(kernel.first, meeting, 0, OP, AT)
    kernel.order.acquire(kernel.second, meeting, 1, 1, OP, AT)
    kernel.order.fence(kernel.runs[1])
    known: Knowledge = kernel.second.knowledge
    assert known.covered[kernel.first.component] >= written
    assert kernel.first.component not in known.fenced


def test_what_follows_a_fence_is_not_fenced() -> None:
    kernel = Kernel()
    written: Any = kernel.first.epoch
    kernel.order.fence(kernel.runs[0])
    assert kernel.first.knowledge.fenced[kernel.first.component] == written
    assert kernel.first.epoch == written + 1


def test_the_default_task_knows_what_the_others_have_done_once_it_has_waited_for_them() -> None:
    kernel = Kernel()
    kernel.runs[0].cta.agents[:] = kernel.runs
    done = kernel.second.epoch
    kernel.order.join(kernel.runs[0])
    assert kernel.knows(kernel.first, kernel.second, done)
