"""Products are issued one after another into one accumulator, and give their slots back themselves, unattended.

Only a commit behind the last one is waited for, which covers them all.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"K": 1, "S": 2}, {"K": 5, "S": 3})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def unattended_products(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    a = tlx.local_alloc((ROWS, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    total = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tlx.barrier_wait(total[0], 0)
            tl.store(y_ptr + at, tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)
                tlx.async_dot(a[slot], b[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]])
            tlx.tcgen05_commit(total[0])
        with tlx.async_task(num_warps=1):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], (ROWS + SIDE) * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])


def launch(K: int, S: int):
    rows, side = ROWS.value, SIDE.value
    a = torch.randn((rows, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((rows, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = TensorDescriptor.from_tensor(a, [rows, side]), TensorDescriptor.from_tensor(b, [side, side])
    unattended_products[(1,)](a_desc, b_desc, y, K, S=S)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
