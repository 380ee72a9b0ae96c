"""Two CTAs fill the slots of both by halves, and every consumer releases each slot to both producers.

A CTA ends when the other one has released its last fills, which the waits behind the loop see to.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 2, "S": 2}, {"K": 5, "S": 2}, {"K": 3, "S": 1})

SIDE = tl.constexpr(64)


@triton.jit
def shared_operand(a_ptr, b_desc, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(a[0], tl.load(a_ptr + rank * SIDE * SIDE + at))
            tlx.fence("async_shared")
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[0], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
                tlx.barrier_arrive(empty[slot], remote_cta_rank=rank ^ 1)
            tl.store(y_ptr + rank * SIDE * SIDE + at, acc)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                if rank == 0:
                    half = tlx.local_slice(b[slot], [0, 0], [SIDE // 2, SIDE])
                else:
                    half = tlx.local_slice(b[slot], [SIDE // 2, 0], [SIDE // 2, SIDE])
                row = k * SIDE + rank * (SIDE // 2)
                tlx.async_descriptor_load(b_desc, half, [row, 0], full[slot], multicast_targets=[0, 1])
            for k in range(max(K - S, 0), K):
                tlx.barrier_wait(empty[k % S], (k // S) & 1)


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((2, side, side), device="cuda", dtype=torch.float16)
    b = torch.randn((K, side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2, side, side), device="cuda", dtype=torch.float32)
    b_desc = TensorDescriptor.from_tensor(b.view(K * side, side), [side // 2, side])
    shared_operand[(2,)](a, b_desc, y, K, S=S, ctas_per_cga=(2, 1, 1))
    return y, a.float() @ b.float().sum(0)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
