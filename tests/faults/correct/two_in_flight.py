"""A consumer has two products in flight and gives the slot of the older one back, which a wait for all but one covers.

The slot that is released is not the one of the last product.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 2, "S": 2}, {"K": 7, "S": 3})

SIDE = tl.constexpr(64)


@triton.jit
def overlapped_products(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(k - 1) % S])
            acc = tlx.async_dot_wait(0, acc)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((side, max(K, 1) * side), device="cuda", dtype=torch.float16)
    b = torch.randn((max(K, 1) * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    overlapped_products[(1,)](a_desc, b_desc, y, K, S=S)
    return y, a[:, : K * side].float() @ b[: K * side].float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
