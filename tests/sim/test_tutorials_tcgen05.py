"""The Blackwell tutorials of the installed TLX that multiply by tcgen05 run on a simulated B200, and match torch."""

from __future__ import annotations

from typing import Any

import pytest
import tutorial_runner
from kernel_runner import b200, fbtriton_only

from tlxviz.analysis.account import Account
from tlxviz.analysis.causes import Cause
from tlxviz.sim.recorder import SimulatedRecorder

pytest.importorskip("triton.language.extra.tlx")
pytestmark = fbtriton_only("its tutorials for Blackwell are others")

GEMM = {
    "BLOCK_SIZE_M": 256,
    "BLOCK_SIZE_N": 256,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "NUM_SMEM_BUFFERS": 3,
    "NUM_TMEM_BUFFERS": 1,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": 4,
    "NUM_CTAS": 1,
    "SPLIT_K": 1,
    "INTERLEAVE_EPILOGUE": 0,
    "USE_WARP_BARRIER": False,
}
PAIR = {**GEMM, "NUM_CTAS": 2, "ctas_per_cga": [2, 1, 1]}
ATTENTION = {"BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2}
PERSISTENT = {
    **ATTENTION,
    "NUM_BUFFERS_Q": 1,
    "NUM_MMA_SLICES": 2,
    "GROUP_SIZE_N": 1,
    "RESCALE_OPT": True,
    "USE_WHERE": False,
    "USE_WARP_BARRIER": False,
}
MX = {
    **ATTENTION,
    "NUM_BUFFERS_Q": 1,
    "NUM_BUFFERS_KV": 4,
    "NUM_Q_SCALE_TMEM_BUFFERS": 1,
    "NUM_KV_SCALE_TMEM_BUFFERS": 2,
    "GROUP_SIZE_N": 1,
    "RESCALE_OPT": True,
    "UNROLL_KV": True,
}


def run(name: str, case: str, options: dict[str, Any], *, values: bool = True) -> SimulatedRecorder:
    return tutorial_runner.run(name, case, options, values=values, device=b200())


WHOLE, RAGGED = [512, 512, 256], [328, 520, 264]
SMALL = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "NUM_MMA_GROUPS": 1, "NUM_TMEM_BUFFERS": 3, "EPILOGUE_SUBTILE": 1}


@pytest.mark.parametrize(
    ("sizes", "changed"),
    [
        (WHOLE, {}),
        (RAGGED, {}),
        pytest.param(WHOLE, {"USE_WARP_BARRIER": True}, marks=pytest.mark.slow),
        pytest.param(WHOLE, {"INTERLEAVE_EPILOGUE": 1}, marks=pytest.mark.slow),
        pytest.param(RAGGED, {"NUM_MMA_GROUPS": 1, "BLOCK_SIZE_M": 128, "NUM_TMEM_BUFFERS": 2}, marks=pytest.mark.slow),
        (RAGGED, SMALL),
        (WHOLE, {"SPLIT_K": 2}),
    ],
    ids=["two-groups", "ragged", "warp-barrier", "interleaved", "one-group", "64-rows", "split-k"],
)
def test_gemm_ws(sizes: list[int], changed: dict[str, Any]):
    run("blackwell_gemm_ws", "gemm", {"sizes": sizes, **GEMM, **changed})


@pytest.mark.parametrize("columns", ["a", pytest.param("b", marks=pytest.mark.slow)])
def test_gemm_ws_of_transposed_operands(columns: str):
    run("blackwell_gemm_ws", "gemm", {"sizes": [256, 512, 128], "columns": columns, **GEMM})


@pytest.mark.parametrize(("sizes", "columns"), [(WHOLE, ""), (RAGGED, "ab")], ids=["rows", "columns"])
def test_gemm_ws_in_pairs_of_ctas(sizes: list[int], columns: str):
    recorder = run("blackwell_gemm_ws", "gemm", {"sizes": sizes, "columns": columns, **PAIR})
    assert {track.cta for track in recorder.trace.launches[0].tracks} == {0, 1}


def test_gemm_ws_walks_over_many_tiles():
    small = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "NUM_MMA_GROUPS": 1, "NUM_TMEM_BUFFERS": 2}
    recorder = run("blackwell_gemm_ws", "gemm", {"sizes": [2048, 2560, 64], **GEMM, **small})
    assert recorder.trace.launches[0].grid == (148, 1, 1)


@pytest.mark.parametrize(
    "sizes", [pytest.param([256, 256, 256], marks=pytest.mark.slow), [512, 256, 128]], ids=["square", "tall"]
)
def test_gemm_pipelined(sizes: list[int]):
    run("blackwell_gemm_pipelined", "products", {"sizes": sizes, "call": "matmul"})


def test_gemm_2cta():
    """Its clusters have eight CTAs: four pairs."""
    recorder = run("blackwell_gemm_2cta", "products", {"sizes": [512, 256, 256], "call": "matmul"})
    assert {track.cta for track in recorder.trace.launches[0].tracks} == set(range(8))


def test_gemm_clc():
    options = {key: GEMM[key] for key in ("BLOCK_SIZE_K", "GROUP_SIZE_M", "NUM_SMEM_BUFFERS", "USE_WARP_BARRIER")}
    options |= {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "NUM_TMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": True}
    run("blackwell_gemm_clc", "gemm", {"sizes": [512, 512, 256], **options})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("blackwell_fa_ws", ATTENTION),
        pytest.param("blackwell_fa_ws_pipelined", {**ATTENTION, "causal": False}, marks=pytest.mark.slow),
        ("blackwell_fa_ws_pipelined", {**ATTENTION, "causal": True}),
        pytest.param(
            "blackwell_fa_ws_persistent", {**ATTENTION, "NUM_BUFFERS_Q": 1, "causal": False}, marks=pytest.mark.slow
        ),
        ("blackwell_fa_ws_persistent", {**ATTENTION, "NUM_BUFFERS_Q": 1, "causal": True}),
        pytest.param("blackwell_fa_ws_pipelined_persistent", {**PERSISTENT, "causal": False}, marks=pytest.mark.slow),
        pytest.param(
            "blackwell_fa_ws_pipelined_persistent",
            {**PERSISTENT, "causal": True, "RESCALE_OPT": False},
            marks=pytest.mark.slow,
        ),
        ("blackwell_fa_ws_pipelined_persistent", {**PERSISTENT, "causal": True, "USE_WARP_BARRIER": True}),
        ("blackwell_fa_clc", {**PERSISTENT, "causal": True}),
    ],
    ids=lambda each: each if isinstance(each, str) else "causal" if each.get("causal") else "full",
)
def test_attention(name: str, options: dict[str, Any]):
    run(name, "attention", {"sizes": [1, 2, 512, 128], **options})


@pytest.mark.parametrize(
    ("name", "causal"),
    [
        ("fused_attention_ws_device_tma", False),
        pytest.param("fused_attention_ws_device_tma_dp", False, marks=pytest.mark.slow),
        ("fused_attention_ws_device_tma_dp", True),
    ],
)
def test_attention_that_the_compiler_divides(name: str, causal: bool):
    """Its aliases of tensor memory are slices of three-dimensional buffers, and slots packed otherwise than these."""
    more = () if name.endswith("dp") else (False, 0, False)
    options = {"sizes": [1, 2, 256, 128], "causal": causal, "variant": "ws_persistent", "more": more}
    run(name, "divided_attention", options)


@pytest.mark.parametrize(
    ("causal", "configuration"),
    [(False, 0), pytest.param(True, 1, marks=pytest.mark.slow), (True, 2)],
    ids=["64-rows", "warp-barrier", "pairs"],
)
def test_gradients_of_attention(causal: bool, configuration: int):
    options = {"sizes": [1, 1, 256, 128], "causal": causal, "configuration": configuration}
    recorder = run("blackwell_fa_ws_pipelined_persistent", "configured_backward", options)
    assert "_attn_bwd_ws" in [launch.kernel for launch in recorder.trace.launches]


@pytest.mark.parametrize("causal", [pytest.param(False, marks=pytest.mark.slow), True])
def test_attention_in_mxfp8(causal: bool):
    name = "blackwell_fa_ws_pipelined_persistent_mxfp8"
    run(name, "mx_attention", {"sizes": [1, 1, 256, 128], **MX, "causal": causal})


@pytest.mark.parametrize("causal", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_gradients_of_attention_in_mxfp8(causal: bool):
    name = "blackwell_fa_ws_pipelined_persistent_mxfp8"
    recorder = run(name, "mx_attention_backward", {"sizes": [1, 1, 256, 128], "causal": causal})
    assert len(recorder.trace.launches) > 1


@pytest.mark.parametrize(
    ("variant", "configuration"),
    [("tlx_single_q", 0), pytest.param("tlx_single_q", 2, marks=pytest.mark.slow), ("tlx_pipeline", 0)],
)
def test_cross_attention(variant: str, configuration: int):
    sizes = {"targets": [70, 150, 3], "history": [200, 64, 300], "heads": 2, "dim": 128}
    options = {**sizes, "variant": variant, "configuration": configuration}
    run("blackwell-cross-attention", "cross_attention", options)


def test_grouped_gemm():
    run("blackwell-grouped-gemm_test", "grouped", {"sizes": [[256, 256], [128, 128], [200, 256]]})


@pytest.mark.parametrize(
    "call",
    [
        "matmul_2cta",
        pytest.param("matmul_2cta_ws", marks=pytest.mark.slow),
        pytest.param("matmul_2cta_host_tma", marks=pytest.mark.slow),
        "matmul_2cta_host_tma_ws",
    ],
)
def test_addmm_2cta(call: str):
    """Plain Triton, which divides operands and roles itself."""
    run("blackwell-triton-addmm-2cta_test", "products", {"sizes": [256, 256, 128], "call": call})


@pytest.mark.parametrize(
    ("name", "case", "options"),
    [
        ("blackwell_gemm_ws", "gemm", {"sizes": [256, 512, 256], **GEMM}),
        ("blackwell_gemm_ws", "gemm", {"sizes": [248, 512, 256], **PAIR}),
        pytest.param(
            "blackwell_gemm_pipelined", "products", {"sizes": [256, 256, 256], "call": "matmul"}, marks=pytest.mark.slow
        ),
        pytest.param("blackwell_fa_ws", "attention", {"sizes": [1, 1, 512, 128], **ATTENTION}, marks=pytest.mark.slow),
        ("blackwell_fa_ws_pipelined", "attention", {"sizes": [1, 1, 512, 128], **ATTENTION, "causal": True}),
    ],
)
def test_times_are_the_same_without_values(name: str, case: str, options: dict[str, Any]):
    with_values = run(name, case, dict(options)).trace.launches[0]
    without = run(name, case, dict(options), values=False).trace.launches[0]
    assert with_values.cycles == without.cycles
    for column in ("begin", "end", "slot", "phase", "released_by"):
        assert (with_values.events[column] == without.events[column]).all()


def test_waits_for_products_are_put_down_to_the_tensor_core():
    """The epilogue waits for a warp group that waits for its products, the producer for slots that they read."""
    recorder = run("blackwell_gemm_ws", "gemm", {"sizes": [256, 256, 2048], **GEMM})
    groups = {each.name: each for each in Account(recorder.trace.launches[0]).attribution}
    for name, variable, share in (("epilogue", "tmem_full_bars", 0.6), ("load", "A_smem_empty_bars", 0.4)):
        shares = groups[name].shares
        assert shares[Cause.TENSOR_CORE_OTHER] == max(shares.values()) > share
        items = [each for each in groups[name].items if each.cause is Cause.TENSOR_CORE_OTHER]
        assert {(each.variable, each.culprit) for each in items} == {(variable, "mma")}
