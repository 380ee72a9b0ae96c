"""The kernels of the simulator's own tests that hang, or do what hardware leaves undefined: which rule they break."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tlxviz._triton import toolchain
from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity

pytest.importorskip("triton.language.extra.tlx")
if toolchain().distribution != "fbtriton":
    pytest.skip("triton-utlx reaches no other CTA of a cluster", allow_module_level=True)

from simulator_tests import cluster_runner, clusters, hangs, kernel_runner

PAIR = cluster_runner.PAIR


def number() -> torch.Tensor:
    return torch.zeros(4, dtype=torch.int32)


def tile() -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(torch.zeros(64, 512).half(), [64, 512], [512, 1], [64, 64])


def out() -> torch.Tensor:
    return torch.zeros(64, 64).half()


def found(function: Any, *args: Any, grid: tuple[int, ...] = (1,), **options: Any) -> list[Finding]:
    launch = kernel_runner.compile_kernel(function, grid, *args, **options)
    return list(Checker(kernel_runner.h200(), schedules=1).check(launch).findings)


def errors(findings: list[Finding]) -> list[str]:
    return sorted({each.rule for each in findings if each.severity is Severity.ERROR})


HANGS = [
    (hangs.missing_arrive, (tile, out, 4), {"S": 2}, "arrive-count", "empty[0] forever: it has 1 of 2 arrivals"),
    (hangs.wrong_count, (number,), {}, "arrive-count", "it has 1 of 3 arrivals"),
    (hangs.constant_phase, (number, 4), {}, "parity", "asks for is always the same: 0000"),
    (hangs.wrong_bytes, (tile, out), {"SIZE": 10000}, "expect-bytes", "1,808 bytes"),
    (hangs.wrong_bytes, (tile, out), {"SIZE": 4096}, "expect-bytes", "4,096 bytes more than expected"),
    (hangs.unannounced, (tile, out), {}, "expect-bytes", "8,192 bytes have arrived that nothing announced"),
    (hangs.other_order, (number, 2), {}, "circular-wait", "wait for each other"),
    (hangs.unequal_trips, (number, 0), {}, "trip-count", "has ended"),
    (hangs.unequal_trips, (number, 3), {}, "trip-count", "has ended"),
    (hangs.named_count, (number,), {}, "named-barrier", "it has 160 of 256 threads"),
    (hangs.shallow_ring, (number,), {"S": 3}, "circular-wait", "wait for each other"),
]


@pytest.mark.parametrize(
    ("function", "args", "options", "rule", "words"), HANGS, ids=[f"{each[0].__name__}-{each[3]}" for each in HANGS]
)
def test_a_hang_names_its_rule(function: Any, args: tuple[Any, ...], options: dict[str, Any], rule: str, words: str):
    made = [each() if callable(each) else each for each in args]
    findings = found(function, *made, FIX=False, **options)
    assert any(words in f"{each.message} {' '.join(each.why)}" for each in findings if each.rule == rule), findings
    assert errors(found(function, *made, FIX=True, **options)) == []


def test_a_wait_for_memory_that_nobody_writes():
    (finding,) = found(hangs.spinning, number(), number())
    assert finding.rule == "circular-wait"
    assert finding.message == (
        "compute waits for memory that nobody writes any more forever: nobody writes what it reads any more"
    )


def test_a_cta_among_many():
    findings = found(hangs.one_cta_in_five, torch.zeros(200, dtype=torch.int32), grid=(200,), FIX=False)
    (finding,) = findings
    assert finding.rule == "arrive-count"
    assert finding.message.endswith("it has 0 of 1 arrivals, and waits for those of compute; compute has ended")


# ---------------------------------------------------------------------- clusters


@pytest.mark.parametrize(
    ("function", "options", "rule", "words"),
    [
        (clusters.trips, {"FIX": False}, "trip-count", "compute of CTA 1 is past them"),
        (clusters.thirds, {"FIX": False}, "cluster", "it has 2 of 3 arrivals"),
        (clusters.meeting_tasks, {"INSIDE": False}, "cluster", "it has the warps of 8 of 16"),
    ],
    ids=["trips", "thirds", "meeting"],
)
def test_hangs_of_clusters(function: Any, options: dict[str, Any], rule: str, words: str):
    args = (4,) if function is clusters.trips else ()
    findings = found(function, number(), *args, grid=(2,), **options, **PAIR)
    assert any(words in each.message for each in findings if each.rule == rule), findings


def test_a_multicast_that_one_cta_leaves_out():
    half = cluster_runner.descriptor(torch.zeros(64, 64).half(), 32)
    (finding,) = found(clusters.missing_half, half, number(), grid=(2,), FIX=False, **PAIR)
    assert finding.rule == "cluster"
    assert "4,096 bytes are still expected, which compute of CTA 1 would copy" in finding.message


# ---------------------------------------------------------------------- what hardware leaves undefined


def refused(function: Any, *args: Any, **options: Any) -> Finding:
    findings = found(function, *args, **options)
    return next(each for each in findings if each.severity is Severity.ERROR)


def test_refusals_have_their_rule_and_place():
    cases = [
        (refused(hangs.too_many_arrivals, number(), COUNT=2), "arrive-count", "done", "barrier_arrive(done"),
        (refused(hangs.disagreeing, number()), "named-barrier", "3", "named_barrier_wait(3, 384"),
        (refused(hangs.crowded, number(), THREADS=192), "named-barrier", "9", "named_barrier_wait(9"),
        (refused(hangs.wrong_slot, number(), 2), "out-of-bounds", "done", "barrier_arrive(done"),
    ]
    functions = [hangs.too_many_arrivals, hangs.disagreeing, hangs.crowded, hangs.wrong_slot]
    for (finding, rule, variable, text), function in zip(cases, functions, strict=True):
        assert finding.rule == rule
        lines = {place.location.line for place in finding.places if place.variable == variable}
        assert hangs.line_of(function, text) in lines or hangs.line_of(function, text, last=True) in lines


def test_refusals_of_clusters():
    ended = refused(clusters.last_arrival, number(), 2, grid=(2,), **PAIR)
    assert (ended.rule, ended.places[0].variable, ended.places[0].role) == ("cluster", "ack", "compute")
    # nothing tells that the author wrote these barriers, so that it is a warning
    (early,) = found(clusters.early_store, torch.zeros(128, dtype=torch.int32), 100, grid=(2,), **PAIR)
    assert (early.rule, early.places[0].variable) == ("barrier-lifetime", "bars")
    rank = refused(clusters.nobody, number(), RANK=2, grid=(2,), **PAIR)
    assert rank.rule == "cluster"
    assert "there is no CTA of rank 2" in rank.message
