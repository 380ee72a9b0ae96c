"""One operand of a slot comes by TMA, a task computes the other, and one barrier counts both: bytes and an arrival.

The producer of bytes and the task that arrives do not know of each other.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 5, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def mixed_operands(a_desc, b_ptr, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S, arrive_count=2)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                slot = k % S
                values = tl.load(b_ptr + k * SIDE * SIDE + at) * 0.5
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.local_store(b[slot], values.to(tl.float16))
                tlx.fence("async_shared")
                tlx.barrier_arrive(full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])


def launch(K: int, S: int):
    side = SIDE.value
    a = torch.randn((side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float32)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    mixed_operands[(1,)](TensorDescriptor.from_tensor(a, [side, side]), b, y, K, S=S)
    return y, a.float() @ (b * 0.5).half().float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
