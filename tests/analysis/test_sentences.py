"""Small kernels that are held by one thing each, and the sentence and finding that say so."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxviz.analysis.account import Account
from tlxviz.analysis.attribution import Cause
from tlxviz.analysis.findings import Severity, findings
from tlxviz.analysis.verdict import Bound, verdict
from tlxviz.devices import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "kernels"
STREAM = "import streaming_kernel as k; k.streamed(132, 64, stages={}, work={}, rows={})"
GEMM = """
import torch, {0}
a, b = (torch.zeros(size, dtype=torch.float16, device="cuda") for size in ({1}, {2}))
{0}.matmul(a, b, stages={3})
"""
ATTENTION = """
import importlib, torch
module = importlib.import_module("triton.language.extra.tlx.tutorials.{}")
q, k, v = (torch.zeros(1, 4, 2048, 128, dtype=torch.float16, device="cuda") for _ in range(3))
module.attention(q, k, v, 0.5)
"""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Account]:
    folder = tmp_path_factory.mktemp("bottlenecks")

    @cache
    def run(text: str) -> Account:
        script = folder / f"script{abs(hash(text))}.py"
        script.write_text(f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(KERNELS)!r}]\n{text}\n", encoding="utf-8")
        before = list(sys.path)
        recorder = SimulatedRecorder(load_device("h200"), Recording(), values=False)
        try:
            run_script(script, [], load_device("h200"), recorder.execute, first_config=True)
        finally:
            sys.path[:] = before
        [launch] = recorder.trace.launches
        return Account(launch)

    return run


def told(account: Account) -> tuple[Bound, str]:
    made = verdict(account)
    assert made is not None
    return made.bound, made.sentence


def first(account: Account) -> str:
    """The finding that matters most."""
    return findings(account)[0].id


def test_copy_latency_of_a_ring_of_one_slot(account: Callable[[str], Account]) -> None:
    made = account(STREAM.format(1, 0, 64))
    bound, sentence = told(made)
    assert bound is Bound.COPY_LATENCY
    assert sentence.startswith("The latency of copies holds it: ")
    assert "issued by load" in sentence
    finding = findings(made)[0]
    assert finding.id == "ring-too-short"
    assert finding.text.startswith("the ring of slots needs ")
    assert finding.evidence["allocated_slots"] == 1
    assert finding.evidence["needed_slots"] > 2


def test_copy_bandwidth_of_tiles_that_nobody_works_on(account: Callable[[str], Account]) -> None:
    made = account(STREAM.format(4, -1, 128))
    bound, sentence = told(made)
    assert bound is Bound.COPY_BANDWIDTH
    assert sentence.startswith("The bandwidth of copies holds it: ")
    assert first(made) == "copy-bandwidth"


def test_a_consumer_that_computes_long(account: Callable[[str], Account]) -> None:
    made = account(STREAM.format(4, 16, 64))
    bound, sentence = told(made)
    assert bound is Bound.ARITHMETIC
    assert sentence.startswith("A warp group's own work holds it: 9")
    assert sentence.endswith("most of it by epilogue.")
    assert first(made) == "arithmetic"
    [load] = [group for group in made.attribution if group.name == "load"]
    assert next(iter(load.shares)) is Cause.RING_FULL


def test_the_tensor_core_of_a_large_product(account: Callable[[str], Account]) -> None:
    made = account(GEMM.format("hopper_gemm_ws", (4096, 4096), (4096, 4096), 4))
    bound, sentence = told(made)
    assert bound is Bound.TENSOR_CORE
    assert sentence.startswith("The tensor core holds it: 9")
    assert not any(each.severity is Severity.PROBLEM for each in findings(made))


@pytest.mark.slow
@pytest.mark.parametrize(("tutorial", "lacks"), [("hopper_fa_ws", True), ("hopper_fa_ws_pipelined_pingpong", False)])
def test_attention_with_and_without_ping_pong(account: Callable[[str], Account], tutorial: str, lacks: bool) -> None:
    made = account(ATTENTION.format(tutorial))
    assert ("no-ping-pong" in {each.id for each in findings(made)}) == lacks


def test_an_epilogue_that_blocks_the_next_tile(account: Callable[[str], Account]) -> None:
    """Persistent, and few steps of K for each tile: consumers store while the tensor core waits."""
    made = account(GEMM.format("hopper_gemm_ws", (4096, 256), (256, 4096), 4))
    finding = findings(made)[0]
    assert (finding.id, finding.severity) == ("epilogue", Severity.PROBLEM)
    assert finding.cost > 0.25
    assert finding.agent.startswith("mma.")


def test_a_grid_of_little_more_than_a_wave(account: Callable[[str], Account]) -> None:
    """15 x 20 tiles for 264 places."""
    made = account(GEMM.format("plain_gemm", (1920, 512), (512, 2560), 3))
    finding = findings(made)[0]
    assert finding.id == "lopsided-grid"
    assert finding.text == "300 CTAs take 2 waves of 264: 43% of the room stays empty"
