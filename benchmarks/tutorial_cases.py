"""The cases of `tutorials.py`: calls of the tutorials of TLX with small sizes, and their files' own tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    file: str
    """The tutorial, without `.py`."""
    what: str
    """What is special about this case."""
    kind: str
    """One of `CASES` in tests/sim/tutorial_driver.py."""
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    alone: bool = False
    """Whether there is nothing that its result is compared with."""

    @property
    def name(self) -> str:
        return f"{self.file}, {self.what}"


def _own(call: str, **options: Any) -> dict[str, Any]:
    return {"call": call, **options}


_GEMM = {"sizes": [512, 512, 512]}
_WS = {
    "BLOCK_SIZE_M": 128,
    "BLOCK_SIZE_N": 256,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "NUM_SMEM_BUFFERS": 2,
    "NUM_TMEM_BUFFERS": 2,
    "NUM_MMA_GROUPS": 1,
    "EPILOGUE_SUBTILE": 1,
    "NUM_CTAS": 1,
    "SPLIT_K": 1,
    "INTERLEAVE_EPILOGUE": 0,
}
_CLC = {
    "BLOCK_SIZE_M": 128,
    "BLOCK_SIZE_N": 256,
    "BLOCK_SIZE_K": 64,
    "GROUP_SIZE_M": 8,
    "NUM_SMEM_BUFFERS": 2,
    "NUM_TMEM_BUFFERS": 2,
    "EPILOGUE_SUBTILE": True,
}
_TWO = {"NUM_MMA_GROUPS": 2, "BLOCK_SIZE_M": 256, "BLOCK_SIZE_N": 128}
_PAIR = {"NUM_CTAS": 2, "ctas_per_cga": [2, 1, 1]}
_PIPELINED = {"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 4}
_HEADS = {"sizes": [1, 2, 512, 128]}
_FA = {"BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2}
_FA_PERSISTENT = {**_FA, "NUM_BUFFERS_Q": 1, "NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1}
_DIVIDED = {
    "BLOCK_M": 256,
    "BLOCK_N": 128,
    "SUBTILING": True,
    "SUBTILING_P": False,
    "VECT_MUL": 1,
    "FADD2_REDUCE": False,
}
_DEVICE_TMA = _own(
    "test_op",
    Z=1,
    H=1,
    N_CTX=512,
    HEAD_DIM=128,
    causal=False,
    provider="triton-fp16",
    SUBTILING=False,
    VECT_MUL=0,
    FADD2_REDUCE=False,
    bwd_config_idx=0,
)
_MX = {
    "sizes": [1, 1, 256, 128],
    "BLOCK_M": 256,
    "BLOCK_N": 128,
    "NUM_BUFFERS_Q": 1,
    "NUM_BUFFERS_KV": 4,
    "NUM_BUFFERS_QK": 1,
    "NUM_MMA_GROUPS": 2,
    "NUM_Q_SCALE_TMEM_BUFFERS": 1,
    "NUM_KV_SCALE_TMEM_BUFFERS": 2,
    "GROUP_SIZE_N": 1,
    "RESCALE_OPT": True,
    "UNROLL_KV": True,
}
"""Without torchao, by which the tutorial gets its numbers; here they are made otherwise."""
_GDPA = {"B": 2, "max_M": 256, "D": 512, "H": 4, "dense_q_len": 192, "sparsity": 1.0, "dense_q": False}
_GFX9 = [
    "v0_naive",
    "v1_buffer_load",
    "v2_async_copy",
    "v3_lds",
    "v4_global_prefetch",
    "v5_local_prefetch",
    "v6_loop_unroll",
    "v7_slice",
    "v8_warp_pipeline",
    "v9_beyond_hotloop",
]
_HOPPER_FA = {"BLOCK_M": 128, "BLOCK_N": 128, "NUM_BUFFERS": 2, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2}


def _gemm_ws() -> list[Case]:
    variants: list[tuple[str, dict[str, Any]]] = [
        ("one CTA", {}),
        ("warp barriers", {"USE_WARP_BARRIER": True}),
        ("epilogue in four", {"EPILOGUE_SUBTILE": 4}),
        ("interleaved epilogue", {**_TWO, "INTERLEAVE_EPILOGUE": 1}),
        ("two MMA groups", _TWO),
        ("split K", {"SPLIT_K": 2}),
        ("pairs of CTAs", _PAIR),
        ("pairs of CTAs, warp barriers", {**_PAIR, "USE_WARP_BARRIER": True}),
    ]
    cases = [Case("blackwell_gemm_ws", what, "gemm", {**_GEMM, **_WS, **more}) for what, more in variants]
    columns = {**_GEMM, **_WS, "columns": "ab"}
    return [
        *cases,
        Case("blackwell_gemm_ws", "transposed operands", "gemm", columns),
        Case("blackwell_gemm_ws", "ragged", "gemm", {**_WS, "sizes": [392, 520, 328]}),
        Case("blackwell_gemm_ws", "first configuration", "gemm", _GEMM),
    ]


def _attention() -> list[Case]:
    cases = [
        Case("blackwell_fa_ws", "forward", "attention", {**_HEADS, **_FA}),
        *(
            Case(file, what, "attention", {**_HEADS, **_FA, **more, "causal": causal})
            for file, more in (("blackwell_fa_ws_persistent", {"NUM_BUFFERS_Q": 1}), ("blackwell_fa_ws_pipelined", {}))
            for what, causal in (("forward", False), ("forward, causal", True))
        ),
    ]
    for file, more in (
        ("blackwell_fa_ws_pipelined_persistent", {"USE_WARP_BARRIER": False}),
        ("blackwell_fa_clc", {}),
    ):
        for what, options in (
            ("forward", {"causal": False, "RESCALE_OPT": False, "USE_WHERE": False}),
            ("forward, causal", {"causal": True, "RESCALE_OPT": False, "USE_WHERE": False}),
            ("forward, causal, rescaling where needed", {"causal": True, "RESCALE_OPT": True, "USE_WHERE": False}),
            ("forward, rescaling by where", {"causal": False, "RESCALE_OPT": True, "USE_WHERE": True}),
        ):
            cases.append(Case(file, what, "attention", {**_HEADS, **_FA_PERSISTENT, **more, **options}))
    warp_barrier = {**_HEADS, **_FA_PERSISTENT, "USE_WARP_BARRIER": True, "RESCALE_OPT": False, "USE_WHERE": False}
    pipelined = "blackwell_fa_ws_pipelined_persistent"
    return [
        *cases,
        Case(pipelined, "forward, causal, warp barriers", "attention", {**warp_barrier, "causal": True}),
        Case(pipelined, "backward", "attention_backward", {**_HEADS, "causal": False}),
        Case(pipelined, "backward, causal", "attention_backward", {**_HEADS, "causal": True}),
        Case("blackwell_fa_ws_pipelined_persistent_mxfp8", "forward, causal", "mx_attention", {**_MX, "causal": True}),
        *(
            Case(
                "blackwell_fa_ws_pipelined_persistent_mxfp8",
                "backward, causal" if causal else "backward",
                "mx_attention_backward",
                {"sizes": [1, 1, 256, 128], "causal": causal},
            )
            for causal in (False, True)
        ),
    ]


def _others() -> list[Case]:
    addmm = "blackwell-triton-addmm-2cta_test"
    cross = {"max_uih_len_kv": 256, "max_targets": 32, "set": {"batch_size": 2}}
    return [
        Case("blackwell-grouped-gemm_test", "TLX", "own", _own("test_op")),
        Case("blackwell-cross-attention", "TLX and plain", "own", _own("test_op", **cross)),
        Case("blackwell-gdpa", "forward", "activated_attention", {**_GDPA, "activation": "fast_gelu"}, alone=True),
        *(
            Case(addmm, what, "own", _own(f"test_matmul_{name}_correctness", M=256, N=256, K=128))
            for what, name in (
                ("pairs of CTAs", "2cta"),
                ("divided by the compiler", "2cta_ws"),
                ("descriptors from the host", "2cta_host_tma"),
                ("descriptors from the host, divided by the compiler", "2cta_host_tma_ws"),
            )
        ),
        Case(
            "blackwell-multi-cta-layernorm_test",
            "long rows",
            "layernorm_call",
            {"sizes": [4, 32768], "call": "multi_cta_layernorm"},
        ),
        Case(
            "blackwell-multi-cta-layernorm_test", "its own test", "own", _own("test_op", M=4, N=16384, dtype="float16")
        ),
        Case(
            "blackwell_multi_cta_layernorm_ws_test",
            "persistent",
            "layernorm_call",
            {"sizes": [4, 16384], "call": "multi_cta_layernorm_ws"},
        ),
        *(
            Case(
                "testing/multi_cta_layer_norm",
                what,
                "layernorm_call",
                {"sizes": [8, 16384], "call": call, "NUM_CTAS": 4, **more},
            )
            for what, call, more in (
                ("rows", "multi_cta_layernorm", {}),
                ("blocks of rows", "multi_cta_layernorm_2d", {"BLOCK_SIZE_M": 4}),
            )
        ),
        *(
            Case(
                "fused_attention_ws_device_tma",
                f"{what}, {variant}",
                "own",
                {**_DEVICE_TMA, "mode": mode, "baseVariant": variant},
            )
            for what, mode in (("forward", "fwd"), ("backward", "bwd"))
            for variant in ("ws", "ws_persistent")
        ),
        *(
            Case(
                "fused_attention_ws_device_tma",
                f"forward, causal, {variant}",
                "divided_attention",
                {**_HEADS, "variant": variant, "causal": True, "more": [False, 0, False]},
            )
            for variant in ("ws", "ws_persistent")
        ),
        *(
            Case(
                "fused_attention_ws_device_tma_dp",
                f"forward, {variant}",
                "divided_attention",
                {**_HEADS, **_DIVIDED, **more, "variant": variant, "causal": False},
            )
            for variant, more in (("ws", {}), ("ws_persistent", {"GROUP_SIZE_N": 1}))
        ),
        Case("vector-add2", "both", "add2", {"size": 5000}),
        Case("ikbo/ikbo_fa_triton", "forward", "broadcast_attention", {"sizes": [4, 32, 2, 64, 128]}),
        Case("ikbo/ikbo_lce_triton", "forward", "broadcast_embedding", {"sizes": [4, 64, 64, 64, 128]}),
    ]


def _hopper() -> list[Case]:
    persistent = {"sizes": [512, 512, 512], "call": "matmul_tlx_ws_persistent"}
    return [
        Case("hopper_gemm_pipelined", "first configuration", "gemm", _GEMM),
        Case("hopper_gemm_ws", "first configuration", "gemm", {"sizes": [512, 512, 512]}),
        Case("hopper-persistent-gemm-ws-cooperative", "first configuration", "gemm", persistent),
        Case("hopper-persistent-gemm-ws-pingpong", "first configuration", "gemm", persistent),
        Case("hopper_fa_ws", "forward", "attention", {**_HEADS, **_HOPPER_FA}),
        Case("hopper_fa_ws_pipelined", "forward", "attention", {**_HEADS, **_HOPPER_FA}),
        Case("hopper_fa_ws_pipelined_pingpong", "forward", "attention", {**_HEADS, **_HOPPER_FA}),
        Case("hopper_fa_ws_pipelined_pingpong_persistent", "first configuration", "attention", _HEADS),
    ]


def _amd() -> list[Case]:
    causal = {**_HEADS, "causal": False}
    heads = 3 * [_HEADS["sizes"]]
    addmm = [[512, 256], [256, 512], [512], [512, 512]]
    scaled = [[256, 256], [256, 256], [256, 8], [256, 8]]
    return [
        Case("amd_gemm_pipelined", "first configuration", "gemm", _GEMM),
        Case("amd_gemm_warp_pipeline", "own configuration", "gemm", _GEMM),
        Case("amd_tdm_gemm_pipelined", "own configuration", "gemm", _GEMM),
        Case("amd_fa_pipelined", "own configuration", "attention", causal),
        Case("amd_fa_cluster", "own configuration", "attention", causal),
        Case(
            "amd_fa_persistent",
            "simple",
            "own",
            _own("flash_attn_async_simple", tensors=heads, sm_scale=0.5),
            alone=True,
        ),
        Case("amd_addmm_glu", "optimized", "own", _own("run_optimized", tensors=addmm)),
        Case("amd_mxfp_gemm_tdm_pipelined", "own configuration", "own", _own("matmul", tensors=scaled)),
        *(Case(f"gfx9_gemm/a16w16/{version}/matmul_kernel", "own configuration", "gemm", _GEMM) for version in _GFX9),
        *(
            Case(file, "import", "imported", alone=True)
            for file in (
                "amd_hstu_attn",
                "amd_pa_decode",
            )
        ),
    ]


CASES: tuple[Case, ...] = (
    *_gemm_ws(),
    Case("blackwell_gemm_clc", "cluster launch control", "gemm", {**_GEMM, **_CLC}),
    Case("blackwell_gemm_clc", "many tiles", "gemm", {"sizes": [2048, 3072, 128], **_CLC}),
    Case("blackwell_gemm_clc", "warp barriers", "gemm", {**_GEMM, **_CLC, "USE_WARP_BARRIER": True}),
    Case("blackwell_gemm_pipelined", "one CTA", "gemm", {**_GEMM, **_PIPELINED}),
    Case("blackwell_gemm_2cta", "pairs of CTAs", "gemm", _GEMM),
    *_attention(),
    *_others(),
    *_hopper(),
    *_amd(),
)
