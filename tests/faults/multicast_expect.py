"""CTA 0 copies every tile into both CTAs of a cluster, and is the only one that expects the bytes.

In CTA 1 the bytes land at a barrier that nobody arrives on, so that its consumer waits for ever.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="cluster", role="load", name="full", shows="hang", params={"K": 3})

SIDE = tl.constexpr(64)


@triton.jit
def copied_into_both(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)  # FAULT
                values = tlx.local_load(tiles[0])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[0])
                tlx.barrier_arrive(empty[0], remote_cta_rank=rank ^ 1)
                tl.store(y_ptr + (k * 2 + rank) * SIDE * SIDE + at, values)
        with tlx.async_task(num_warps=1):
            leads = tlx.cluster_cta_rank() == 0
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                if FIX:
                    tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2)
                else:
                    tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2, pred=leads)  # FAULT
                if leads:
                    tlx.async_descriptor_load(x_desc, tiles[0], [k * SIDE, 0], full[0], multicast_targets=[0, 1])
            # neither CTA ends before the other one's last release has come
            tlx.barrier_wait(empty[0], (K & 1) ^ 1)


def launch(FIX: bool, K: int):
    side = SIDE.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((K, 2, side, side), device="cuda", dtype=torch.float16)
    copied_into_both[(2,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, x.view(K, 1, side, side).expand_as(y)


if __name__ == "__main__":
    main(CASE, launch)
