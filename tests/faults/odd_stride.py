"""A descriptor is made on the device for rows of 36 halves, which are 72 bytes apart.

TMA takes strides of whole 16 bytes only; what it copies otherwise is undefined.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="descriptor", role="load", name="desc", shows="nothing", params={"COLUMNS": 36})

SIDE = tl.constexpr(32)


@triton.jit
def first_columns(x_ptr, y_ptr, COLUMNS, STRIDE):
    descriptors = tlx.allocate_tensor_descriptor(num=1)
    tile = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(full[0], 0)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, tlx.local_load(tile[0]))
        with tlx.async_task(num_warps=1):
            desc = tlx.make_tensor_descriptor(  # FAULT
                desc_ptr=descriptors[0],
                base=x_ptr,
                shape=[SIDE, COLUMNS],
                strides=[STRIDE, 1],
                block_shape=[SIDE, SIDE],
            )
            tlx.barrier_expect_bytes(full[0], SIDE * SIDE * 2)
            tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0])  # FAULT


def launch(FIX: bool, COLUMNS: int):
    side = SIDE.value
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    stride = triton.cdiv(COLUMNS, 8) * 8 if FIX else COLUMNS
    x = torch.randn((side, stride), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float16)
    first_columns[(1,)](x, y, COLUMNS, stride)
    return y, x[:, :side]


if __name__ == "__main__":
    main(CASE, launch)
