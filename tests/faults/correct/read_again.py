"""A consumer multiplies by every tile of K twice, once as it is and once transposed, before it gives the slot back.

The second read of a slot finds no new fill, and wants none.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 1}, {"K": 3, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def symmetric_products(x_desc, w_ptr, y_ptr, K, S: tl.constexpr):
    """The sum of X W + X^T W over the tiles X."""
    x = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    w = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.local_store(w[0], tl.load(w_ptr + at))
            tlx.fence("async_shared")
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(x[slot], w[0], acc)
                acc = tlx.async_dot(tlx.local_trans(x[slot]), w[0], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            tl.store(y_ptr + at, acc)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, x[slot], [k * SIDE, 0], full[slot])


def launch(K: int, S: int):
    side = SIDE.value
    x = torch.randn((K, side, side), device="cuda", dtype=torch.float16)
    w = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    symmetric_products[(1,)](TensorDescriptor.from_tensor(x.view(K * side, side), [side, side]), w, y, K, S=S)
    sums = x.float().sum(0)
    return y, (sums + sums.T) @ w.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
