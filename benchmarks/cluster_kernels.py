"""Kernels of CTAs in clusters: arrivals and bytes that go back and forth, layer norm over several CTAs, a GEMM whose
pairs of CTAs share what they load. The last two are those that the fbtriton wheel ships as tutorials.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

PAIR = {"ctas_per_cga": (2, 1, 1), "num_warps": 4}
GEMM = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True,
    "NUM_CTAS": 2,
    "USE_WARP_BARRIER": False,
    "ctas_per_cga": (2, 1, 1),
}


@triton.jit
def ping_pong(y_ptr, rounds):
    """The CTAs of a pair release each other in turns."""
    rank = tlx.cluster_cta_rank()
    bars = tlx.alloc_barriers(1)
    for i in range(rounds):
        if rank == 0:
            tlx.barrier_arrive(bars[0], remote_cta_rank=1)
            tlx.barrier_wait(bars[0], i & 1)
        else:
            tlx.barrier_wait(bars[0], i & 1)
            tlx.barrier_arrive(bars[0], remote_cta_rank=0)
    tl.store(y_ptr + tl.program_id(0), 1 + rank)


@triton.jit
def meet(y_ptr, rounds):
    """The CTAs of a cluster wait for each other."""
    for _ in range(rounds):
        tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0), 1 + tlx.cluster_cta_rank())


@triton.jit
def swap(y_ptr, rounds, SIZE: tl.constexpr, COPY: tl.constexpr):
    """Each CTA of a pair sends the other one what it has got from it, by asynchronous stores or by copies."""
    rank = tlx.cluster_cta_rank()
    buf = tlx.local_alloc((SIZE,), tl.float32, 2)
    # Two, since bytes of the next round may overtake some of this one's.
    bars = tlx.alloc_barriers(2)
    at = tl.arange(0, SIZE)
    x = at.to(tl.float32) + 1000 * rank
    tlx.cluster_barrier()
    for i in range(rounds):
        bar = bars[i & 1]
        tlx.barrier_expect_bytes(bar, 4 * SIZE)
        there = buf[(i + 1) & 1]
        if COPY:
            tlx.local_store(buf[i & 1], x)
            tlx.fence("async_shared")
            tlx.async_remote_shmem_copy(dst=there, src=buf[i & 1], remote_cta_rank=rank ^ 1, barrier=bar)
        else:
            tlx.async_remote_shmem_store(dst=there, src=x, remote_cta_rank=rank ^ 1, barrier=bar)
        tlx.barrier_wait(bar, (i >> 1) & 1)
        x = tlx.local_load(there) + 1
    tlx.cluster_barrier()
    tl.store(y_ptr + tl.program_id(0) * SIZE + at, x)


def alternating(rounds: int, clusters: int = 66) -> torch.Tensor:
    """Ranks plus one, after so many round trips of an arrival."""
    y = torch.empty(2 * clusters, device="cuda", dtype=torch.int32)
    ping_pong[(2 * clusters,)](y, rounds, **PAIR)
    return y


def meetings(rounds: int, ctas: int) -> torch.Tensor:
    """Ranks plus one, after so many cluster barriers."""
    y = torch.empty(64, device="cuda", dtype=torch.int32)
    meet[(64,)](y, rounds, ctas_per_cga=(ctas, 1, 1), num_warps=4)
    return y


def swapped(rounds: int, size: int, copy: bool, clusters: int = 66) -> torch.Tensor:
    """Rows of `size` numbers, a row for each CTA."""
    y = torch.empty(2 * clusters, size, device="cuda")
    swap[(2 * clusters,)](y, rounds, SIZE=size, COPY=copy, **PAIR)
    return y


def swapped_by_torch(rounds: int, size: int, clusters: int = 66) -> torch.Tensor:
    """What `swapped` computes."""
    first = torch.arange(size, device="cuda", dtype=torch.float32)
    pair = torch.stack([first, first + 1000])
    return (pair if rounds % 2 == 0 else pair.flip(0)).repeat(clusters, 1) + rounds


@cache
def _tutorial(name: str) -> Any:
    path = Path(tlx.__file__).parent / "tutorials" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton looks a kernel's globals up there
    spec.loader.exec_module(module)
    return module


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, ctas: int) -> torch.Tensor:
    """Layer norm of rows, of each of which `ctas` CTAs have a part."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
    block = triton.next_power_of_2(columns // ctas)
    kernel = _tutorial("blackwell-multi-cta-layernorm_test").kernel_layernorm_multi_cta.fn
    kernel[(rows, ctas)](
        x, y, weight, bias, mean, rstd, x.stride(0), rows, columns, 1e-5,
        BLOCK_SIZE_M=1, BLOCK_SIZE_N=block, num_reduction_ctas=ctas, SHOULD_MASK_ROW=False,
        SHOULD_MASK_COL=columns % block != 0, num_warps=8, ctas_per_cga=(1, ctas, 1),
    )  # fmt: skip
    return y


def paired_gemm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two matrices, by pairs of CTAs that load B together."""
    return _tutorial("hopper_gemm_ws").matmul(a, b, GEMM)
