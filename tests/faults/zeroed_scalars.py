"""A column of tensor memory holds scalars of an epilogue, and lies in an accumulator that its first product overwrites.

The scalars are read after that product, when they are gone.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="tmem-alias", role="mma", name="acc", shows="wrong", params={"K": 2})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def scaled_product(a_desc, b_desc, scale_ptr, y_ptr, K, FIX: tl.constexpr):
    """Row i of the product is multiplied by scale i, which waits in tensor memory."""
    a = tlx.local_alloc((ROWS, SIDE), tl.float16, 2)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 2, tlx.storage_kind.tmem)
    # a column each; those of accumulator 1 are free
    scale = tlx.local_alloc((ROWS, 1), tl.float32, 2 * SIDE, tlx.storage_kind.tmem, reuse=acc)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    total = tlx.alloc_barriers(1)
    noted = tlx.alloc_barriers(1)
    COLUMN: tl.constexpr = SIDE if FIX else SIDE - 1
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(scale[COLUMN], tl.load(scale_ptr + tl.arange(0, ROWS))[:, None])  # FAULT
            tlx.barrier_arrive(noted[0])
            tlx.barrier_wait(total[0], 0)
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            factor = tlx.local_load(scale[COLUMN])  # FAULT
            tl.store(y_ptr + at, tlx.local_load(acc[0]) * factor)
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(noted[0], 0)
            for k in range(K):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                tlx.async_dot(a[k % 2], b[k % 2], acc[0], use_acc=k > 0, mBarriers=[empty[k % 2]])  # FAULT
            tlx.tcgen05_commit(total[0])
        with tlx.async_task(num_warps=1):
            for k in range(K):
                tlx.barrier_wait(empty[k % 2], ((k // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[k % 2], (ROWS + SIDE) * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[k % 2], [0, k * SIDE], full[k % 2])
                tlx.async_descriptor_load(b_desc, b[k % 2], [k * SIDE, 0], full[k % 2])


def launch(FIX: bool, K: int):
    rows, side = ROWS.value, SIDE.value
    a = torch.randn((rows, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    scale = torch.rand(rows, device="cuda", dtype=torch.float32)
    y = torch.zeros((rows, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = TensorDescriptor.from_tensor(a, [rows, side]), TensorDescriptor.from_tensor(b, [side, side])
    scaled_product[(1,)](a_desc, b_desc, scale, y, K, FIX=FIX)
    return y, a.float() @ b.float() * scale[:, None]


if __name__ == "__main__":
    main(CASE, launch)
