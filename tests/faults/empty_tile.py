"""The producer passes over tiles without steps along K, but its consumer waits for at least one slot per tile.

At an empty tile it takes a slot that belongs to the next tile, and at the end it waits for one that never comes.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="trip-count", role="epilogue", name="full", shows="hang", params={"TILES": 3})

SIDE = tl.constexpr(64)


@triton.jit
def sums_of_lengths(x_desc, lengths_ptr, y_ptr, TILES, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            n = 0
            for t in range(TILES):
                steps = tl.load(lengths_ptr + t)
                if not FIX:
                    steps = tl.maximum(steps, 1)
                total = tl.zeros((SIDE, SIDE), tl.float32)
                for _ in range(steps):
                    tlx.barrier_wait(full[n % 2], (n // 2) & 1)  # FAULT
                    total += tlx.local_load(tiles[n % 2]).to(tl.float32)
                    tlx.fence("async_shared")
                    tlx.barrier_arrive(empty[n % 2])
                    n += 1
                tl.store(y_ptr + t * SIDE * SIDE + at, total)
        with tlx.async_task(num_warps=1):
            n = 0
            for t in range(TILES):
                steps = tl.load(lengths_ptr + t)
                for k in range(steps):
                    tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[n % 2], SIDE * SIDE * 2)
                    tlx.async_descriptor_load(x_desc, tiles[n % 2], [t * SIDE, k * SIDE], full[n % 2])
                    n += 1


def launch(FIX: bool, TILES: int):
    side = SIDE.value
    lengths = [2 * (t % 2 == 0) for t in range(TILES)]
    x = torch.randn((TILES * side, 2 * side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES, side, side), device="cuda", dtype=torch.float32)
    counts = torch.tensor(lengths, device="cuda", dtype=torch.int32)
    sums_of_lengths[(1,)](TensorDescriptor.from_tensor(x, [side, side]), counts, y, TILES, FIX=FIX)
    sums = x.float().view(TILES, side, 2, side).sum(2)
    return y, sums * (counts > 0)[:, None, None]


if __name__ == "__main__":
    main(CASE, launch)
