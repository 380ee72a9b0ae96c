"""The producer waits from the second lap on only, and the consumer releases nothing in the last lap.

Waits and arrivals on `empty` number K - S each, fewer than the fills.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 2, "S": 3}, {"K": 3, "S": 3}, {"K": 7, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def first_and_last_laps(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(min(K, S)):
                tlx.barrier_expect_bytes(full[k], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[k], [0, k * SIDE], full[k])
                tlx.async_descriptor_load(b_desc, b[k], [k * SIDE, 0], full[k])
            for k in range(S, K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(max(K - S, 0)):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            for k in range(max(K - S, 0), K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot], b[slot], acc)
            acc = tlx.async_dot_wait(0, acc)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((side, max(K, 1) * side), device="cuda", dtype=torch.float16)
    b = torch.randn((max(K, 1) * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    first_and_last_laps[(1,)](a_desc, b_desc, y, K, S=S)
    return y, a[:, : K * side].float() @ b[: K * side].float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
