"""The math task fills subtile 0 and then 1, the store task drains 1 and then 0, and there is one staging slot.

Each side waits for the other: the store for subtile 1, which needs the slot that subtile 0 still occupies.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="circular-wait", role="store", name="done", shows="hang", params={"T": 2})
SIDE = tl.constexpr(64)


@triton.jit
def staged_subtiles(x_ptr, y_desc, T, FIX: tl.constexpr):
    staging = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    done = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * 2 * SIDE + tl.arange(0, SIDE)[None, :]
            for n in range(2 * T):
                x = tl.load(x_ptr + (n // 2) * 2 * SIDE * SIDE + (n % 2) * SIDE + at)
                tlx.barrier_wait(empty[0], (n & 1) ^ 1)
                tlx.local_store(staging[0], x + x)
                tlx.fence("async_shared")
                tlx.barrier_arrive(done[n & 1])
        with tlx.async_task(num_warps=1):
            for t in range(T):
                for n in range(2):
                    sub = n if FIX else 1 - n
                    tlx.barrier_wait(done[sub], t & 1)  # FAULT
                    tlx.async_descriptor_store(y_desc, staging[0], [t * SIDE, sub * SIDE])
                    tlx.async_descriptor_store_wait(0)
                    tlx.barrier_arrive(empty[0])


def launch(FIX: bool, T: int):
    side = SIDE.value
    x = torch.randn((T * side, 2 * side), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    staged_subtiles[(1,)](x, TensorDescriptor.from_tensor(y, [side, side]), T, FIX=FIX)
    return y, x + x


if __name__ == "__main__":
    main(CASE, launch)
