"""A consumer reads a slot by ordinary loads and releases it without a fence, and the slot is refilled by TMA.

The refill is a write of another proxy, which a barrier alone does not order after the reads.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="proxy-fence", role="epilogue", name="scales", shows="nothing", params={"N": 3})

SIDE = tl.constexpr(64)


@triton.jit
def copied_scales(x_desc, y_ptr, N, FIX: tl.constexpr):
    scales = tlx.local_alloc((SIDE,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(N):
                tlx.barrier_wait(full[0], i & 1)
                values = tlx.local_load(scales[0])  # FAULT
                if FIX:
                    tlx.fence("async_shared")
                tlx.barrier_arrive(empty[0])  # FAULT
                tl.store(y_ptr + i * SIDE + tl.arange(0, SIDE), values)
        with tlx.async_task(num_warps=1):
            for i in range(N):
                tlx.barrier_wait(empty[0], (i & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], SIDE * 4)
                tlx.async_descriptor_load(x_desc, scales[0], [i * SIDE], full[0])


def launch(FIX: bool, N: int):
    x = torch.randn(N * SIDE.value, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    copied_scales[(1,)](TensorDescriptor.from_tensor(x, [SIDE.value]), y, N, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
