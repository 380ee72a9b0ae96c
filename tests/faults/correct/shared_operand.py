"""Two consumers read every slot of B, each with its own A, and B's barrier counts two releases.

A slot is read twice between two fills, on purpose.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 5, "S": 2})

SIDE = tl.constexpr(64)
BYTES = tl.constexpr(64 * 64 * 2)


@triton.jit
def two_row_blocks(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, 2 * S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 3 * BYTES)
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(a_desc, a[slot + S], [SIDE, k * SIDE], full[slot])
        with tlx.async_task(num_warps=4, replicate=2):
            consumer = tlx.async_task_replica_id()
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot + consumer * S], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            row = consumer * SIDE + tl.arange(0, SIDE)
            tl.store(y_ptr + row[:, None] * SIDE + tl.arange(0, SIDE)[None, :], acc)


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((2 * side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2 * side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    two_row_blocks[(1,)](a_desc, b_desc, y, K, S=S)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
