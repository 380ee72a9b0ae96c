"""The Hopper tutorials of the installed TLX: their kernels run here and compute what torch does."""

from __future__ import annotations

from typing import Any

import pytest
import tutorial_driver
from tutorial_runner import run

from tlxviz import _triton

pytest.importorskip("triton.language.extra.tlx")

GEMM = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True,
    "NUM_CTAS": 1,
    "USE_WARP_BARRIER": False,
}
ATTENTION = {"BLOCK_M": 128, "BLOCK_N": 128, "NUM_BUFFERS": 2, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2}


def needs(tutorial: str, word: str) -> None:
    """Skip where the tutorial is an older one that does without `word`: triton-utlx ships copies of its own."""
    if word not in (tutorial_driver.folder() / f"{tutorial}.py").read_text(encoding="utf-8"):
        assert _triton.toolchain().distribution != "fbtriton"
        pytest.skip(f"this {tutorial} has no {word}")


@pytest.mark.parametrize("sizes", [[512, 512, 512], [264, 520, 328]], ids=["whole", "ragged"])
@pytest.mark.parametrize("warp_barrier", [False, True], ids=["arrive", "warp-arrive"])
@pytest.mark.parametrize("subtile", [False, True], ids=["one-store", "subtiled"])
def test_hopper_gemm_ws(sizes: list[int], warp_barrier: bool, subtile: bool):
    recorder = run(
        "hopper_gemm_ws",
        "gemm",
        {"sizes": sizes, **GEMM, "USE_WARP_BARRIER": warp_barrier, "EPILOGUE_SUBTILE": subtile},
    )
    assert [launch.kernel for launch in recorder.trace.launches] == ["matmul_kernel_tlx_ws"]


@pytest.mark.parametrize("columns", ["a", "b", "ab"])
def test_hopper_gemm_ws_of_transposed_operands(columns: str):
    needs("hopper_gemm_ws", "A_ROW_MAJOR")
    run("hopper_gemm_ws", "gemm", {"sizes": [256, 512, 320], "columns": columns, **GEMM})


@pytest.mark.slow
def test_hopper_gemm_ws_tuned_over_its_own_configurations():
    recorder = run("hopper_gemm_ws", "gemm", {"sizes": [512, 512, 512]})
    [launch] = recorder.trace.launches
    assert launch.arguments["BM"] in (128, 256)


def test_hopper_gemm_ws_walks_over_many_tiles():
    recorder = run("hopper_gemm_ws", "gemm", {"sizes": [2048, 2304, 128], **GEMM, "NUM_STAGES": 2})
    assert recorder.trace.launches[0].grid == (132, 1, 1)


PAIR = {**GEMM, "NUM_CTAS": 2, "ctas_per_cga": [2, 1, 1]}
needs_clusters = pytest.mark.skipif(
    "+fb" not in pytest.importorskip("triton").__version__,
    reason="triton-utlx does not build kernels of NUM_CTAS=2, because triton 3.8 has no mapped buffers",
)


@needs_clusters
@pytest.mark.parametrize("sizes", [[512, 512, 512], [248, 520, 328], [512, 264, 64]], ids=["whole", "ragged", "short"])
@pytest.mark.parametrize("columns", ["", "ab"], ids=["rows", "columns"])
@pytest.mark.parametrize("subtile", [False, True], ids=["one-store", "subtiled"])
def test_hopper_gemm_ws_in_pairs_of_ctas(sizes: list[int], columns: str, subtile: bool):
    recorder = run("hopper_gemm_ws", "gemm", {"sizes": sizes, "columns": columns, **PAIR, "EPILOGUE_SUBTILE": subtile})
    assert {track.cta for track in recorder.trace.launches[0].tracks} == {0, 1}


@needs_clusters
@pytest.mark.parametrize("warp_barrier", [False, True], ids=["arrive", "warp-arrive"])
def test_hopper_gemm_ws_in_pairs_walks_over_many_tiles(warp_barrier: bool):
    options = {"sizes": [2048, 2304, 128], **PAIR, "NUM_STAGES": 2, "USE_WARP_BARRIER": warp_barrier}
    recorder = run("hopper_gemm_ws", "gemm", options)
    assert recorder.trace.launches[0].grid == (132, 1, 1)


@needs_clusters
@pytest.mark.parametrize(
    ("name", "kernel", "clusters"),
    [
        ("blackwell-multi-cta-layernorm_test", "kernel_layernorm_multi_cta", 1000),
        ("blackwell_multi_cta_layernorm_ws_test", "kernel_layernorm_multi_cta_ws", 3),
    ],
    ids=["a-cluster-a-block", "persistent"],
)
@pytest.mark.parametrize(
    ("ctas", "rows", "sizes"), [(2, 1, [6, 4096]), (4, 2, [7, 3008]), (8, 2, [8, 16384])], ids=["2", "4", "8"]
)
def test_layernorm_over_several_ctas(name: str, kernel: str, clusters: int, ctas: int, rows: int, sizes: list[int]):
    """Written for Blackwell, and compiles for Hopper."""
    options = {"sizes": sizes, "rows": rows, "ctas": ctas, "kernel": kernel, "clusters": clusters}
    recorder = run(name, "layernorm", options)
    assert len({track.cta for track in recorder.trace.launches[0].tracks}) == ctas


@pytest.mark.parametrize(
    ("sizes", "kernel"),
    [([128, 256, 2048], "_skinny_tma_kernel"), ([128, 64, 16384], "_skinny_matmul_kernel")],
    ids=["tma", "pointers"],
)
def test_hopper_gemm_ws_of_few_rows(sizes: list[int], kernel: str):
    needs("hopper_gemm_ws", kernel)
    recorder = run("hopper_gemm_ws", "gemm", {"sizes": sizes})
    assert [launch.kernel for launch in recorder.trace.launches] == [kernel]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("hopper_gemm_pipelined", "matmul"),
        ("hopper-persistent-gemm-ws-cooperative", "matmul_tlx_ws_persistent"),
        ("hopper-persistent-gemm-ws-pingpong", "matmul_tlx_ws_persistent"),
    ],
)
@pytest.mark.parametrize("sizes", [[512, 512, 512], [272, 528, 336]], ids=["whole", "ragged"])
def test_other_gemms(name: str, call: str, sizes: list[int]):
    run(name, "gemm", {"sizes": sizes, "call": call})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hopper_fa_ws", {**ATTENTION, "NUM_MMA_WARPS": 4, "NUM_MMA_GROUPS": 1}),
        ("hopper_fa_ws", ATTENTION),
        ("hopper_fa_ws_pipelined", ATTENTION),
        ("hopper_fa_ws_pipelined_pingpong", ATTENTION),
        (
            "hopper_fa_ws_pipelined_pingpong_persistent",
            {key: value for key, value in ATTENTION.items() if key != "NUM_BUFFERS"}
            | {"NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 2},
        ),
    ],
)
@pytest.mark.parametrize(("heads", "length", "dim"), [(2, 512, 128), (1, 128, 128), (3, 384, 64)])
def test_attention(name: str, options: dict[str, Any], heads: int, length: int, dim: int):
    narrow = {"BLOCK_N": 64} if dim == 64 else {}
    run(name, "attention", {"sizes": [1, heads, length, dim], **options, **narrow})


def test_attention_with_the_tuners_first_configuration():
    run("hopper_fa_ws_pipelined_pingpong", "attention", {"sizes": [1, 1, 256, 128]})


def test_persistent_attention_walks_over_many_tiles():
    recorder = run("hopper_fa_ws_pipelined_pingpong_persistent", "attention", {"sizes": [8, 9, 256, 128]})
    assert recorder.trace.launches[0].grid == (132, 1, 1)


@pytest.mark.parametrize(
    ("name", "case", "options"),
    [
        ("hopper_gemm_ws", "gemm", {"sizes": [256, 512, 512], **GEMM}),
        pytest.param("hopper_gemm_ws", "gemm", {"sizes": [248, 512, 512], **PAIR}, marks=needs_clusters),
        ("hopper_gemm_pipelined", "gemm", {"sizes": [256, 512, 512]}),
        ("hopper-persistent-gemm-ws-pingpong", "gemm", {"sizes": [256, 256, 512], "call": "matmul_tlx_ws_persistent"}),
        ("hopper_fa_ws_pipelined_pingpong", "attention", {"sizes": [1, 1, 512, 128], **ATTENTION}),
        ("vector-add2", "add2", {"size": 5000}),
        ("ikbo/ikbo_fa_triton", "broadcast_attention", {"sizes": [3, 32, 2, 64, 128]}),
        ("ikbo/ikbo_lce_triton", "broadcast_embedding", {"sizes": [3, 64, 64, 64, 128]}),
    ],
)
def test_times_are_the_same_without_values(name: str, case: str, options: dict[str, Any]):
    with_values = run(name, case, dict(options)).trace.launches[0]
    without = run(name, case, dict(options), values=False).trace.launches[0]
    assert with_values.cycles == without.cycles
    for column in ("begin", "end", "slot", "phase", "released_by"):
        assert (with_values.events[column] == without.events[column]).all()


@pytest.mark.parametrize("size", [98432, 1000])
def test_vector_add2(size: int):
    recorder = run("vector-add2", "add2", {"size": size})
    assert [launch.kernel for launch in recorder.trace.launches] == ["add2_kernel", "add2_warp_specialized_kernel"]


@pytest.mark.parametrize(
    "sizes", [[4, 32, 2, 64, 128], [5, 64, 2, 128, 100], [3, 96, 1, 64, 31]], ids=["whole", "ragged", "short"]
)
def test_attention_of_candidates_over_their_users(sizes: list[int]):
    recorder = run("ikbo/ikbo_fa_triton", "broadcast_attention", {"sizes": sizes})
    (launch,) = recorder.trace.launches
    assert launch.kernel == "_ikbo_fa_kernel"
    assert launch.grid == (sizes[0], sizes[2], sizes[1] // 32)


@pytest.mark.parametrize("sizes", [[4, 64, 64, 64, 128], [5, 100, 72, 48, 200]], ids=["whole", "ragged"])
def test_embeddings_of_candidates_and_their_users(sizes: list[int]):
    recorder = run("ikbo/ikbo_lce_triton", "broadcast_embedding", {"sizes": sizes})
    assert [launch.kernel for launch in recorder.trace.launches] == ["_ikbo_lce_kernel"]
