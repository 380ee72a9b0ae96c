"""The CTAs of a cluster share the slots of B, which both have to give back, but take different numbers of steps.

They work on two groups of a grouped GEMM, and the longer one waits for releases of the one that has ended.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="trip-count", role="load", name="empty", shows="hang", params={"K": 4})

SIDE = tl.constexpr(64)


@triton.jit
def grouped_products(a_ptr, b_desc, y_ptr, K, FIX: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            steps = K if FIX else K - 2 * rank
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(a[0], tl.load(a_ptr + rank * SIDE * SIDE + at))
            tlx.fence("async_shared")
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(steps):
                tlx.barrier_wait(full[0], k & 1)
                acc = tlx.async_dot(a[0], b[0], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[0], remote_cta_rank=0)
                tlx.barrier_arrive(empty[0], remote_cta_rank=1)
            tl.store(y_ptr + rank * SIDE * SIDE + at, acc)
            tlx.cluster_barrier()
        with tlx.async_task(num_warps=4):
            rank = tlx.cluster_cta_rank()
            steps = K if FIX else K - 2 * rank
            for k in range(steps):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)  # FAULT
                tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2)
                if rank == 0:
                    half = tlx.local_slice(b[0], [0, 0], [SIDE // 2, SIDE])
                else:
                    half = tlx.local_slice(b[0], [SIDE // 2, 0], [SIDE // 2, SIDE])
                row = k * SIDE + rank * (SIDE // 2)
                tlx.async_descriptor_load(b_desc, half, [row, 0], full[0], multicast_targets=[0, 1])
            tlx.cluster_barrier()


def launch(FIX: bool, K: int):
    side = SIDE.value
    a = torch.randn((2, side, side), device="cuda", dtype=torch.float16)
    b = torch.randn((K, side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2, side, side), device="cuda", dtype=torch.float32)
    b_desc = TensorDescriptor.from_tensor(b.reshape(K * side, side), [side // 2, side])
    grouped_products[(2,)](a, b_desc, y, K, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, a.float() @ b.float().sum(0)


if __name__ == "__main__":
    main(CASE, launch)
