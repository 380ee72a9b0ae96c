"""A task waits for TMA stores before it writes the staging buffer again, but it is another task that has started them.

Stores are counted by the thread that issues them: the wait of a thread without any is over at once.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="lane", role="compute", name="staging", shows="wrong", params={"TILES": 4})

SIDE = tl.constexpr(64)


@triton.jit
def stored_by_another(x_ptr, y_desc, TILES, FIX: tl.constexpr):
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    issued = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            x = tl.load(x_ptr + at)
            for t in range(TILES):
                tlx.barrier_wait(issued[0], (t & 1) ^ 1)
                tlx.async_descriptor_store_wait(0)  # FAULT
                tlx.local_store(staging[0], x)  # FAULT
                tlx.fence("async_shared")
                tlx.barrier_arrive(full[0])
                x += 1
        with tlx.async_task(num_warps=1):
            for t in range(TILES):
                tlx.barrier_wait(full[0], t & 1)
                tlx.async_descriptor_store(y_desc, staging[0], [t * SIDE, 0])
                if FIX:
                    tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(issued[0])
            tlx.async_descriptor_store_wait(0)


def launch(FIX: bool, TILES: int):
    side = SIDE.value
    x = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES, side, side), device="cuda", dtype=torch.float16)
    stored_by_another[(1,)](x, TensorDescriptor.from_tensor(y.view(TILES * side, side), [side, side]), TILES, FIX=FIX)
    return y, x + torch.arange(TILES, device="cuda")[:, None, None]


if __name__ == "__main__":
    main(CASE, launch)
