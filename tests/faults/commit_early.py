"""The commit that tells the epilogue of a complete sum stands before the last product instead of after it.

A commit covers what was issued before it, so the epilogue reads the sum while the last product is added.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="async-not-waited", role="epilogue", name="acc", shows="wrong", params={"K": 3})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def peeled_products(a_desc, b_desc, y_ptr, K, FIX: tl.constexpr):
    """The last product is peeled off the loop."""
    a = tlx.local_alloc((ROWS, SIDE), tl.float16, 2)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    total = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(total[0], 0)
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, tlx.local_load(acc[0]))  # FAULT
        with tlx.async_task(num_warps=1):
            for k in range(K - 1):
                tlx.barrier_wait(full[k % 2], (k // 2) & 1)
                tlx.async_dot(a[k % 2], b[k % 2], acc[0], use_acc=k > 0, mBarriers=[empty[k % 2]])
            last = K - 1
            tlx.barrier_wait(full[last % 2], (last // 2) & 1)
            if not FIX:
                tlx.tcgen05_commit(total[0])  # FAULT
            tlx.async_dot(a[last % 2], b[last % 2], acc[0], use_acc=last > 0, mBarriers=[empty[last % 2]])
            if FIX:
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
    y = torch.zeros((rows, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = TensorDescriptor.from_tensor(a, [rows, side]), TensorDescriptor.from_tensor(b, [side, side])
    peeled_products[(1,)](a_desc, b_desc, y, K, FIX=FIX)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
