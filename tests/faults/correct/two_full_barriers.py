"""A slot has two barriers that say it is full, one for A and one for B, and a single one that says it is empty.

The second operand is waited for after the first one has been used.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 5, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def operands_apart(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    """The sum of A's tiles times the sum of B's tiles, element by element."""
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    a_full = tlx.alloc_barriers(S)
    b_full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            of_a = tl.zeros((SIDE, SIDE), tl.float32)
            of_b = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(a_full[slot], (k // S) & 1)
                of_a += tlx.local_load(a[slot]).to(tl.float32)
                tlx.barrier_wait(b_full[slot], (k // S) & 1)
                of_b += tlx.local_load(b[slot]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
            tl.store(y_ptr + at, of_a * of_b)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(a_full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [k * SIDE, 0], a_full[slot])
                tlx.barrier_expect_bytes(b_full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], b_full[slot])


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    b = torch.randn_like(a)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    operands_apart[(1,)](a_desc, b_desc, y, K, S=S)
    return y, a.float().view(K, side, side).sum(0) * b.float().view(K, side, side).sum(0)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
