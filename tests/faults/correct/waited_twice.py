"""The consumer waits for the first tile before its loop begins, and in the loop for the same phase once more.

So it waits once more than the barrier completes, and twice in a row for one parity.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 4, "S": 1}, {"K": 1, "S": 1}, {"K": 7, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def waited_for_twice(x_desc, y_ptr, K, S: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.barrier_wait(full[0], 0)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                values = tlx.local_load(tiles[slot])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot])
                tl.store(y_ptr + k * SIDE * SIDE + at, values)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[slot], [k * SIDE, 0], full[slot])


def launch(K: int, S: int):
    side = SIDE.value
    x = torch.randn((max(K, 1) * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    waited_for_twice[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, S=S)
    return y[: K * side], x[: K * side]


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
