"""Two consumers take the steps in turn, and each arrives for all steps under a predicate that is true for its own.

Every phase gets one arrival: slots are even in number, so that each consumer comes to those that are its own.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"K": 1, "S": 2}, {"K": 9, "S": 4})

SIDE = tl.constexpr(64)


@triton.jit
def in_turn(x_desc, y_ptr, K, S: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4, replicate=2):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                slot = k % S
                mine = k % 2 == tlx.async_task_replica_id()
                tlx.barrier_wait(full[slot], (k // S) & 1, pred=mine)
                if mine:
                    tl.store(y_ptr + k * SIDE * SIDE + at, tlx.local_load(tiles[slot]))
                    tlx.fence("async_shared")
                tlx.barrier_arrive(empty[slot], pred=mine)


def launch(K: int, S: int):
    side = SIDE.value
    x = torch.randn((max(K, 1) * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    in_turn[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, S=S)
    return y[: K * side], x[: K * side]


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
