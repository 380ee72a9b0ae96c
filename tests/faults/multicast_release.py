"""Each CTA of a cluster copies half of every tile into both, but waits only for its own consumer to release the slot.

The other CTA's consumer may still read the slot that the copy writes.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="cluster", role="load", name="tiles", shows="wrong", params={"K": 4})

SIDE = tl.constexpr(64)


@triton.jit
def shared_tiles(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1, arrive_count=2 if FIX else 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            total = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                for i in range(8 * rank):  # the second CTA is slower
                    total += tl.load(y_ptr + at) * i
                total += tlx.local_load(tiles[0]).to(tl.float32)  # FAULT
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[0])
                if FIX:
                    tlx.barrier_arrive(empty[0], remote_cta_rank=rank ^ 1)
            tl.store(y_ptr + tl.program_id(0) * SIDE * SIDE + at, total)
            tlx.cluster_barrier()
        with tlx.async_task(num_warps=4):
            rank = tlx.cluster_cta_rank()
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2)
                if rank == 0:
                    half = tlx.local_slice(tiles[0], [0, 0], [SIDE // 2, SIDE])
                else:
                    half = tlx.local_slice(tiles[0], [SIDE // 2, 0], [SIDE // 2, SIDE])
                row = k * SIDE + rank * (SIDE // 2)
                tlx.async_descriptor_load(x_desc, half, [row, 0], full[0], multicast_targets=[0, 1])  # FAULT
            tlx.cluster_barrier()


def launch(FIX: bool, K: int):
    side = SIDE.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2, side, side), device="cuda", dtype=torch.float32)
    shared_tiles[(2,)](TensorDescriptor.from_tensor(x, [side // 2, side]), y, K, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, x.float().reshape(K, side, side).sum(0).expand(2, side, side)


if __name__ == "__main__":
    main(CASE, launch)
