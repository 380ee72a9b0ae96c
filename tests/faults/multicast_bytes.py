"""Each CTA of a cluster copies half of a tile into both, and expects the bytes of its own half only.

A phase is over when the first half has landed, whichever it is; the second half counts against the next phase.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="expect-bytes", role="load", name="full", shows="hang", params={"K": 4})

SIDE = tl.constexpr(64)
HALF = tl.constexpr(32)


@triton.jit
def shared_tiles(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            total = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                total += tlx.local_load(tiles[0]).to(tl.float32)
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[0], remote_cta_rank=0)
                tlx.barrier_arrive(empty[0], remote_cta_rank=1)
            tl.store(y_ptr + tl.program_id(0) * SIDE * SIDE + at, total)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                if FIX:
                    tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2)
                else:
                    tlx.barrier_expect_bytes(full[0], HALF * SIDE * 2)  # FAULT
                if rank == 0:
                    half = tlx.local_slice(tiles[0], [0, 0], [HALF, SIDE])
                else:
                    half = tlx.local_slice(tiles[0], [HALF, 0], [HALF, SIDE])
                row = k * SIDE + rank * HALF
                tlx.async_descriptor_load(x_desc, half, [row, 0], full[0], multicast_targets=[0, 1])
            # this CTA must not end before the other one has released its last tile
            tlx.barrier_wait(empty[0], (K & 1) ^ 1)


def launch(FIX: bool, K: int):
    side, half = SIDE.value, HALF.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2, side, side), device="cuda", dtype=torch.float32)
    shared_tiles[(2,)](TensorDescriptor.from_tensor(x, [half, side]), y, K, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, x.float().reshape(K, side, side).sum(0).expand(2, side, side)


if __name__ == "__main__":
    main(CASE, launch)
