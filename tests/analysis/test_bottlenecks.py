"""Kernels with one known bottleneck: that is what is found."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from analysis import bottleneck_kernels as kernels
from sim.kernel_runner import fbtriton_only

from tlxviz.analysis.attribution import Cause, GroupAttribution, attribution
from tlxviz.analysis.dependencies import Activity, Dependencies, dependencies
from tlxviz.analysis.groups import warp_groups
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.path import CriticalPath, critical_path
from tlxviz.analysis.phases import Phase
from tlxviz.analysis.slack import barrier_slacks, slacks
from tlxviz.trace import LaunchTrace


class Found:
    def __init__(self, launch: LaunchTrace) -> None:
        self.launch = launch
        occupied = occupation(launch)
        self.made: Dependencies = dependencies(launch, occupied)
        groups = attribution(launch, warp_groups(launch), occupied, self.made)
        self.groups: dict[str, GroupAttribution] = {each.name: each for each in groups}
        path = critical_path(launch, occupied, self.made)
        assert path is not None
        self.path: CriticalPath = path

    def first(self, name: str) -> Cause:
        return next(iter(self.groups[name].shares))

    def share(self, name: str, *causes: Cause) -> float:
        return sum(self.groups[name].shares.get(cause, 0.0) for cause in causes)

    def on_path(self, *activities: Activity) -> float:
        """Share of the time within CTAs."""
        inside = sum(self.path.activities.values())
        return sum(self.path.activities.get(each, 0) for each in activities) / inside


@cache
def found(kernel: Callable[[], LaunchTrace]) -> Found:
    return Found(kernel())


ALL = [
    kernels.copy_latency,
    kernels.copy_bandwidth,
    kernels.arithmetic,
    kernels.taking_turns,
    kernels.epilogue_blocks,
    kernels.tensor_core,
    kernels.lopsided_grid,
    kernels.without_ping_pong,
    kernels.with_ping_pong,
]


@pytest.mark.parametrize("kernel", ALL, ids=[each.__name__ for each in ALL])
def test_what_always_holds(kernel: Callable[[], LaunchTrace]) -> None:
    here = found(kernel)
    for group in here.groups.values():
        assert sum(group.shares.values()) == pytest.approx(1)
        assert sum(item.cycles for item in group.items) == group.cycles
        assert Cause.OTHER not in group.shares
    path = here.path
    assert path.start + path.between + path.rest + sum(path.activities.values()) == path.cycles == here.launch.cycles
    assert Activity.UNKNOWN not in path.activities
    slack = slacks(here.launch, here.made)
    assert slack.min() >= 0
    for step in path.stretches:
        last_cta = here.launch.tracks[step.track].cta == path.ctas[-1]
        if step.row >= 0 and step.activity != Activity.ARITHMETIC and step.end == here.made.end[step.row] and last_cta:
            assert slack[step.row] == 0
    assert all(each.least >= 0 for each in barrier_slacks(here.launch, here.made, slack))
    # engines' events never wait for what ends after them
    caused = np.flatnonzero(here.made.cause >= 0)
    assert (here.made.since[caused] <= here.made.end[here.made.cause[caused]]).all()


def test_copy_latency() -> None:
    here = found(kernels.copy_latency)
    assert here.first("epilogue") == Cause.COPY_LATENCY
    assert here.share("epilogue", Cause.COPY_LATENCY) > 0.4
    assert here.share("epilogue", Cause.COPY_BANDWIDTH) == 0
    assert here.first("load") == Cause.RING_FULL
    assert max(here.path.activities, key=lambda each: here.path.activities[each]) == Activity.COPY_LATENCY


def test_copy_bandwidth() -> None:
    here = found(kernels.copy_bandwidth)
    assert here.first("epilogue") == Cause.COPY_BANDWIDTH
    assert here.share("epilogue", Cause.COPY_BANDWIDTH) > 4 * here.share("epilogue", Cause.COPY_LATENCY)
    assert here.on_path(Activity.COPY_BANDWIDTH) > 0.8


def test_arithmetic() -> None:
    here = found(kernels.arithmetic)
    assert here.share("epilogue", Cause.ARITHMETIC) > 0.9
    assert here.share("load", Cause.RING_FULL) > 0.9
    assert here.groups["load"].items[0].culprit == "epilogue"
    assert here.groups["load"].items[0].doing == Activity.ARITHMETIC
    assert here.on_path(Activity.ARITHMETIC) > 0.9


def test_taking_turns() -> None:
    here = found(kernels.taking_turns)
    for one, other in (("epilogue.0", "epilogue.1"), ("epilogue.1", "epilogue.0")):
        assert here.share(one, Cause.PARTNER) == pytest.approx(0.5, abs=0.05)
        assert {item.culprit for item in here.groups[one].items if item.cause == Cause.PARTNER} == {other}
    # the path is both in turn, as long as their arithmetic together
    assert here.on_path(Activity.ARITHMETIC) > 0.95
    sides = {share.agent: share.share for share in here.path.shares if share.activity == Activity.ARITHMETIC}
    assert sides["epilogue.0"] == pytest.approx(sides["epilogue.1"], rel=0.05)


def test_an_epilogue_that_blocks_the_next_tile() -> None:
    here = found(kernels.epilogue_blocks)
    assert here.first("mma") == Cause.EPILOGUE
    assert here.share("mma", Cause.EPILOGUE) > 0.5
    longest = here.groups["mma"].items[0]
    assert (longest.phase, longest.kind, longest.cause) == (Phase.EPILOGUE, "tma_store_wait", Cause.COPY_LATENCY)
    assert here.first("load") == Cause.RING_FULL
    assert here.path.shares[0].kind == "tma_store"


def test_tensor_core() -> None:
    here = found(kernels.tensor_core)
    for name in ("mma.0", "mma.1"):
        assert here.first(name) == Cause.TENSOR_CORE
        assert here.share(name, Cause.TENSOR_CORE, Cause.TENSOR_CORE_OTHER) > 0.45
    assert here.on_path(Activity.PRODUCT) > 0.9


@fbtriton_only("it waits for all products in the loop, so that slots come back late")
def test_a_producer_that_runs_ahead_has_slack() -> None:
    here = found(kernels.tensor_core)
    every = barrier_slacks(here.launch, here.made, slacks(here.launch, here.made))
    assert {each.barrier for each in every} == {"a_full", "a_empty", "b_full", "b_empty"}
    assert min(each.median for each in every) > 500


def test_lopsided_grid() -> None:
    """The second CTA of the SM begins when the first has ended, and the run takes twice as long as one."""
    here = found(kernels.lopsided_grid)
    assert here.path.ctas == (0, kernels.SMS)
    ends = [max(each.end for each in here.launch.tracks if each.cta == cta) for cta in here.path.ctas]
    assert here.path.rest == here.launch.cycles - ends[1]
    assert 0 < here.path.between < 1000
    assert ends[1] == pytest.approx(2 * ends[0], rel=0.1)


def test_ping_pong() -> None:
    """Only with it does a consumer stand at a named barrier, and then little."""
    without, with_it = found(kernels.without_ping_pong), found(kernels.with_ping_pong)
    for name in ("softmax.0", "softmax.1"):
        assert all(item.kind != "named_wait" for item in without.groups[name].items)
        held = sum(item.share for item in with_it.groups[name].items if item.cause == Cause.PARTNER)
        assert 0 < held < 0.1


@fbtriton_only("it waits for all products in the loop, so that softmax and products of a warp group do not overlap")
@pytest.mark.parametrize("kernel", [kernels.without_ping_pong, kernels.with_ping_pong])
def test_attention_is_limited_by_the_tensor_core(kernel: Callable[[], LaunchTrace]) -> None:
    assert found(kernel).on_path(Activity.PRODUCT) > 0.7
