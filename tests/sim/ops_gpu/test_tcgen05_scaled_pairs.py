"""Block-scaled products of a pair of CTAs, and the copies of scales into tensor memory that they need."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from cluster_runner import events
from kernel_runner import b200, compile_kernel, execute, executes, fbtriton_only
from test_tcgen05 import both, close
from test_tcgen05_scaled import blocked, operand

from tlxviz.launch.model import Launch
from tlxviz.sim.errors import UnsupportedOperation

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")


@triton.jit
def scaled(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    COPIED: tl.constexpr,
):
    """Each CTA has M rows of A with their scales, half of B, and the scales of all of B."""
    half = tlx.cluster_cta_rank() % 2
    n, k = tl.arange(0, N), tl.arange(0, K)
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = half * (N // 2) + tl.arange(0, N // 2)
    a, b = tlx.local_alloc((M, K), tlx.dtype_of(a_ptr), 1), tlx.local_alloc((N // 2, K), tlx.dtype_of(b_ptr), 1)
    tlx.local_store(a[0], tl.load(a_ptr + row[:, None] * K + k[None, :]))
    tlx.local_store(b[0], tl.load(b_ptr + column[:, None] * K + k[None, :]))
    a_scales = tlx.local_alloc((1, M // 128, K // 128, 2, 256), tl.uint8, 1)
    b_scales = tlx.local_alloc((1, N // 128, K // 128, 2, 256), tl.uint8, 1)
    of_a = tl.load(a_scale_ptr + tl.program_id(0) * (M * K // 32) + tl.arange(0, M * K // 32))
    of_b = tl.load(b_scale_ptr + tl.arange(0, N * K // 32))
    tlx.local_store(a_scales[0], tl.reshape(of_a, (1, M // 128, K // 128, 2, 256)))
    tlx.local_store(b_scales[0], tl.reshape(of_b, (1, N // 128, K // 128, 2, 256)))
    sums = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    ready, done = tlx.alloc_barriers(1, arrive_count=2), tlx.alloc_barriers(1)
    tlx.fence("async_shared")
    tlx.barrier_arrive(ready[0], 1, remote_cta_rank=tlx.cluster_cta_rank() & ~1)
    tlx.barrier_wait(ready[0], 0, pred=half == 0)
    left, right = a[0], tlx.local_trans(b[0])
    if COPIED:
        a_near = tlx.local_alloc((M, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        b_near = tlx.local_alloc((N, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        tlx.tmem_copy(a_scales[0], a_near[0])
        tlx.tmem_copy(b_scales[0], b_near[0])
        tlx.async_dot_scaled(
            left,
            right,
            sums[0],
            a_near[0],
            "e4m3",
            b_near[0],
            "e4m3",
            use_acc=False,
            mBarriers=[done[0]],
            two_ctas=True,
        )
    else:
        tlx.async_dot_scaled(
            left,
            right,
            sums[0],
            a_scales[0],
            "e4m3",
            b_scales[0],
            "e4m3",
            use_acc=False,
            mBarriers=[done[0]],
            two_ctas=True,
        )
    tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + row[:, None] * N + n[None, :], tlx.local_load(sums[0]))


def prepared(n: int, k: int, *, copied: bool) -> tuple[Launch, torch.Tensor, torch.Tensor]:
    """The launch, where its result comes, and what that has to be."""
    m = 128
    (left, x), (right, y) = operand(2 * m, k, "e4m3"), operand(n, k, "e4m3")
    of_a, of_b = (torch.randint(120, 135, (rows, k // 32), dtype=torch.uint8) for rows in (2 * m, n))
    c = torch.zeros(2 * m, n)
    arguments = (left, right, blocked(of_a), blocked(of_b), c)
    sizes = {"M": m, "N": n, "K": k, "COPIED": copied}
    launch = compile_kernel(scaled, (2,), *arguments, device=b200(), **sizes, ctas_per_cga=(2, 1, 1))
    x, y = (each * (2.0 ** (scales.double() - 127)).repeat_interleave(32, 1) for each, scales in ((x, of_a), (y, of_b)))
    return launch, c, x @ y.t()


@pytest.mark.parametrize("copied", [True, False], ids=["tensor-memory", "shared-memory"])
@pytest.mark.parametrize(("n", "k"), [(128, 128), pytest.param(256, 256, marks=pytest.mark.slow)])
@executes("ttng.tc_gen5_mma_scaled", "ttng.tmem_copy")
def test_each_cta_copies_its_own_scales_as_the_first_one_says(n: int, k: int, copied: bool):
    launch, c, wanted = prepared(n, k, copied=copied)
    made = both(launch)
    close(c, wanted)
    # Triton's PTX has tcgen05.cp.cta_group::2, issued where the rank in the cluster is even
    assert [len(events(made.trace, "tmem_copy", cta)) for cta in (0, 1)] == [2, 0]


def test_scales_of_half_of_b_are_refused():
    launch, _, _ = prepared(128, 128, copied=True)
    half = launch.ttgir.replace("!ttg.memdesc<128x128xf32, #tmem,", "!ttg.memdesc<128x256xf32, #tmem,")
    with pytest.raises(UnsupportedOperation, match=r"with 512 scales of B: each CTA needs those of all 256 columns"):
        execute(replace(launch, ttgir=half), device=b200())
