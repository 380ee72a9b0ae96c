"""Kernels with one known bottleneck, and the sentence and findings that name it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from analysis import bottleneck_kernels as kernels

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import Finding, Severity, findings
from tlxviz.analysis.verdict import Bound, Verdict, verdict
from tlxviz.trace import LaunchTrace


@cache
def told(kernel: Callable[[], LaunchTrace]) -> tuple[Verdict, tuple[Finding, ...]]:
    account = Account(kernel())
    sentence = verdict(account)
    assert sentence is not None
    return sentence, findings(account)


def ids(kernel: Callable[[], LaunchTrace]) -> set[str]:
    return {each.id for each in told(kernel)[1]}


def test_copy_latency_of_a_ring_of_one_slot() -> None:
    sentence, found = told(kernels.copy_latency)
    assert sentence.bound is Bound.COPY_LATENCY
    assert sentence.sentence.startswith("The latency of copies holds it: ")
    assert "most of it issued by load (line " in sentence.sentence
    first = found[0]
    assert (first.id, first.severity, first.agent) == ("ring-too-short", Severity.PROBLEM, "epilogue")
    assert first.evidence["allocated_slots"] == 1
    assert first.text.startswith("the ring of slots needs 3 slots and has 1: epilogue waits ")
    assert "slots (" in first.advice


def test_copy_bandwidth() -> None:
    """All the SMs read what is in DRAM: no ring is deep enough for that."""
    sentence, found = told(kernels.copy_bandwidth)
    assert sentence.bound is Bound.MEMORY
    assert sentence.sentence.startswith("Memory holds it: 4.")
    assert "of what DRAM gives" in sentence.sentence
    assert found[0].id == "copy-bandwidth"
    assert "ring-too-short" not in ids(kernels.copy_bandwidth)


def test_a_consumer_that_computes_long() -> None:
    sentence, found = told(kernels.arithmetic)
    assert sentence.bound is Bound.ARITHMETIC
    assert sentence.sentence == (
        "A warp group's own work holds it: 98% of the critical path is arithmetic and loads without TMA, most of it by "
        "epilogue."
    )
    assert found[0].id == "arithmetic"
    assert "consumer-late" in ids(kernels.arithmetic)


def test_the_tensor_core_of_a_large_product() -> None:
    sentence, found = told(kernels.tensor_core)
    assert sentence.bound is Bound.TENSOR_CORE
    assert sentence.share > 0.9
    assert {each.id for each in found} == {"tensor-core-busy", "consumer-late"}
    assert {each.severity for each in found} == {Severity.NOTE}


def test_warp_groups_that_take_turns() -> None:
    [partner] = [each for each in told(kernels.taking_turns)[1] if each.id == "partner"]
    assert partner.cost == pytest.approx(0.5, abs=0.05)
    assert partner.text.startswith("epilogue.1 stands 50% of its time at a named barrier until epilogue.0 come")


def test_an_epilogue_that_blocks_the_next_tile() -> None:
    first = told(kernels.epilogue_blocks)[1][0]
    assert (first.id, first.severity, first.agent) == ("epilogue", Severity.PROBLEM, "mma")
    assert first.text == "mma spends 54% of its time behind its main loop, most of it waiting for copies"


def test_a_grid_of_little_more_than_a_wave() -> None:
    first = told(kernels.lopsided_grid)[1][0]
    assert first.id == "lopsided-grid"
    assert first.text == "145 CTAs take 2 waves of 132: 45% of the room stays empty"


def test_products_and_arithmetic_of_one_warp_group_follow_each_other() -> None:
    """Attention by one group of consumers, whose tensor core idles during the softmax."""
    found = {each.id: each for each in told(kernels.without_ping_pong)[1]}
    assert "no-ping-pong" not in found  # two of them overlap by themselves
    alone = {each.id: each for each in told(kernels.one_consumer)[1]}
    assert alone["no-ping-pong"].severity is Severity.PROBLEM
    assert alone["no-ping-pong"].evidence["tensor_core_busy"] < 0.6
