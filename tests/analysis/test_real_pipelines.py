"""Steady state and rings of kernels that are simulated here, values off."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.rings import rings
from tlxviz.analysis.steady import steady_states
from tlxviz.devices import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.trace import LaunchTrace

pytest.importorskip("triton.language.extra.tlx")

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = "triton.language.extra.tlx.tutorials.hopper_fa_ws_pipelined_pingpong"
ATTENTION = f"""\
import torch
from {TUTORIAL} import attention

q, k, v = (torch.empty((1, 2, 2048, 128), device="cuda", dtype=torch.float16) for _ in range(3))
attention(q, k, v, 0.5)
"""


def simulated(script: Path, *arguments: object) -> LaunchTrace:
    device = load_device("h200")
    recorder = SimulatedRecorder(device, values=False)
    run_script(script, [str(argument) for argument in arguments], device, recorder.execute)
    return recorder.trace.launches[0]


def gemm(stages: int, size: int = 2048) -> LaunchTrace:
    sizes = ("--m", size, "--n", size, "--k", 2048)
    return simulated(ROOT / "kernels" / "hopper_gemm_ws.py", *sizes, "--stages", stages)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_gemm_needs_three_stages(stages: int) -> None:
    trace = gemm(stages)
    found = rings(trace, occupation(trace))
    a0, a1 = tuple(range(stages)), tuple(range(stages, 2 * stages))
    assert [(ring.buffer, ring.full, ring.empty, ring.slots, ring.consumers) for ring in found] == [
        ("a_tiles", "a_full", "a_empty", a0, ("mma.0",)),
        ("a_tiles", "a_full", "a_empty", a1, ("mma.1",)),
        ("b_tiles", "b_full", "b_empty", a0, ("mma.0", "mma.1")),
    ]
    assert {ring.producers for ring in found} == {("load",)}
    assert [ring.bytes for ring in found] == [8192, 8192, 32768]
    assert {ring.needed for ring in found} == {3}
    starved = found[2].nothing_unread
    assert starved < 0.05 if stages == 4 else starved > 0.5


def test_the_loops_of_a_gemm_go_as_fast_as_the_tensor_cores() -> None:
    trace = gemm(4)
    states = steady_states(trace, occupation(trace))
    assert list(states) == ["load", "mma.0", "mma.1"]
    for state in states.values():
        assert state is not None
        # Two consumers' MMAs of 64 x 256 x 64 take 512 cycles each.
        assert state.intervals.median == 1024
        assert 27 <= state.iterations <= 31
        assert state.runs == 1
    assert states["load"] is not None
    # It fills four slots before the first is read.
    assert states["load"].prologue > 4 * 411


def test_a_persistent_gemm_is_steady_over_all_tiles() -> None:
    trace = gemm(4, size=4096)
    for state in steady_states(trace, occupation(trace)).values():
        assert state is not None
        assert (state.runs, state.intervals.median) == (4, 1024)
        assert state.prologue < 6000
        assert state.between > 0
    assert [ring.needed for ring in rings(trace, occupation(trace))] == [3, 4, 4]


@pytest.mark.skipif(find_spec(TUTORIAL) is None, reason="this TLX has its tutorials elsewhere")
def test_attention_has_a_ring_for_k_and_one_for_v(tmp_path: Path) -> None:
    script = tmp_path / "attention.py"
    script.write_text(ATTENTION, encoding="utf-8")
    trace = simulated(script)
    occupied = occupation(trace)
    states = steady_states(trace, occupied)
    medians = {name: state and state.intervals.median for name, state in states.items()}
    assert medians == {"load": 2456, "softmax.0": 2456, "softmax.1": 2456}
    # Nobody gives Q back, so it is no ring.
    assert [(ring.buffer, ring.full, ring.empty, ring.depth) for ring in rings(trace, occupied)] == [
        ("k_tiles", "k_fulls", "k_empties", 2),
        ("v_tiles", "v_fulls", "v_empties", 2),
    ]
    for ring in rings(trace, occupied):
        assert ring.consumers == ("softmax.0", "softmax.1")
        assert (ring.needed, ring.empty_share) == (2, 0)
