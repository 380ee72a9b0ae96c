"""The products of a tile go to one accumulator while the epilogue drains the other one.

An accumulator is overwritten by a first product that does not add, when its last rows are in registers.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"TILES": 1, "K": 2}, {"TILES": 5, "K": 1}, {"TILES": 3, "K": 3})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def alternating_sums(a_desc, b_desc, y_ptr, TILES, K):
    a = tlx.local_alloc((ROWS, SIDE), tl.float16, 2)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 2, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    acc_full = tlx.alloc_barriers(2)
    acc_empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for t in range(TILES):
                tlx.barrier_wait(acc_full[t % 2], (t // 2) & 1)
                total = tlx.local_load(acc[t % 2])
                tlx.barrier_arrive(acc_empty[t % 2])
                tl.store(y_ptr + t * ROWS * SIDE + at, total)
        with tlx.async_task(num_warps=1):
            n = 0
            for t in range(TILES):
                tlx.barrier_wait(acc_empty[t % 2], ((t // 2) & 1) ^ 1)
                for k in range(K):
                    tlx.barrier_wait(full[n % 2], (n // 2) & 1)
                    tlx.async_dot(a[n % 2], b[n % 2], acc[t % 2], use_acc=k > 0, mBarriers=[empty[n % 2]])
                    n += 1
                tlx.tcgen05_commit(acc_full[t % 2])
        with tlx.async_task(num_warps=1):
            for n in range(TILES * K):
                tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[n % 2], (ROWS + SIDE) * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[n % 2], [n // K * ROWS, n % K * SIDE], full[n % 2])
                tlx.async_descriptor_load(b_desc, b[n % 2], [n % K * SIDE, 0], full[n % 2])


def launch(TILES: int, K: int):
    rows, side = ROWS.value, SIDE.value
    a = torch.randn((TILES * rows, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES * rows, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = TensorDescriptor.from_tensor(a, [rows, side]), TensorDescriptor.from_tensor(b, [side, side])
    alternating_sums[(1,)](a_desc, b_desc, y, TILES, K)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
