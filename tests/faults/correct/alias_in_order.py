"""The output tile is staged in the memory of an operand, once the last product that reads that has been waited for.

The two buffers have the same bytes and are never in use at the same time.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 1}, {"K": 5, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def staged_over_operand(a_desc, b_desc, y_desc, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 1, reuse=a)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            tlx.local_store(staging[0], acc.to(tl.float16))
            tlx.fence("async_shared")
            tlx.async_descriptor_store(y_desc, staging[0], [0, 0])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float16)
    a_desc, b_desc, y_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b, y))
    staged_over_operand[(1,)](a_desc, b_desc, y_desc, K, S=S)
    return y.float(), a.float() @ b.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
