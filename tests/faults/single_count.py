"""Two consumers read every slot and both release it, but the barrier counts one release.

The first release lets the producer refill the slot under the slower consumer; the second completes another phase.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="arrive-count", role="load", name="empty", shows="nothing", params={"K": 4})

SIDE = tl.constexpr(64)


@triton.jit
def two_readers(x_desc, y_ptr, K, FIX: tl.constexpr):
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2, arrive_count=2 if FIX else 1)  # FAULT
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                tlx.barrier_wait(empty[k % 2], ((k // 2) & 1) ^ 1)  # FAULT
                tlx.barrier_expect_bytes(full[k % 2], SIDE * SIDE * 2)
                tlx.async_descriptor_load(x_desc, tiles[k % 2], [k * SIDE, 0], full[k % 2])
        with tlx.async_task(num_warps=4, replicate=2):
            reader = tlx.async_task_replica_id()
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                values = tlx.local_load(tiles[k % 2])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[k % 2])  # FAULT
                tl.store(y_ptr + (k * 2 + reader) * SIDE * SIDE + at, values * (reader + 1))


def launch(FIX: bool, K: int):
    side = SIDE.value
    x = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((K, 2, side, side), device="cuda", dtype=torch.float16)
    two_readers[(1,)](TensorDescriptor.from_tensor(x, [side, side]), y, K, FIX=FIX)
    return y, torch.stack((x, 2 * x), 0).view(2, K, side, side).transpose(0, 1)


if __name__ == "__main__":
    main(CASE, launch)
