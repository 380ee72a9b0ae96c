"""Tiles take 3, 1, 0, 5... steps, and both roles carry one count of steps through all tiles.

No tile begins at slot 0 with parity 0 but the first, and an empty one touches no barrier.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

SHAPES = ({"LENGTHS": (3, 1, 5), "S": 2}, {"LENGTHS": (0, 1, 0, 4, 0), "S": 3}, {"LENGTHS": (0,), "S": 1})

SIDE = tl.constexpr(64)


@triton.jit
def sums_of_lengths(x_desc, lengths_ptr, y_ptr, TILES, S: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            n = 0
            for t in range(TILES):
                total = tl.zeros((SIDE, SIDE), tl.float32)
                for _ in range(tl.load(lengths_ptr + t)):
                    tlx.barrier_wait(full[n % S], (n // S) & 1)
                    total += tlx.local_load(tiles[n % S]).to(tl.float32)
                    tlx.fence("async_shared")
                    tlx.barrier_arrive(empty[n % S])
                    n += 1
                tl.store(y_ptr + t * SIDE * SIDE + at, total)
        with tlx.async_task(num_warps=1):
            n = 0
            for t in range(TILES):
                for k in range(tl.load(lengths_ptr + t)):
                    tlx.barrier_wait(empty[n % S], ((n // S) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[n % S], SIDE * SIDE * 2)
                    tlx.async_descriptor_load(x_desc, tiles[n % S], [t * SIDE, k * SIDE], full[n % S])
                    n += 1


def launch(LENGTHS: tuple[int, ...], S: int):
    side, count, longest = SIDE.value, len(LENGTHS), max(*LENGTHS, 1)
    x = torch.randn((count * side, longest * side), device="cuda", dtype=torch.float16)
    y = torch.full((count, side, side), -1.0, device="cuda")
    lengths = torch.tensor(LENGTHS, device="cuda", dtype=torch.int32)
    sums_of_lengths[(1,)](TensorDescriptor.from_tensor(x, [side, side]), lengths, y, count, S=S)
    steps = x.float().view(count, side, longest, side).transpose(1, 2)
    taken = torch.arange(longest, device="cuda") < lengths[:, None]
    return y, (steps * taken[:, :, None, None]).sum(1)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
