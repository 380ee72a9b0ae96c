"""The producer expects the bytes of min(ROWS, BATCH) rows, but the box of its descriptor always has ROWS rows.

More bytes land than the barrier was told, so that its phase never completes.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="expect-bytes", role="load", name="full", shows="hang", params={"K": 2, "BATCH": 8})
ROWS = tl.constexpr(16)
DEPTH = tl.constexpr(64)


@triton.jit
def skinny_copy(x_desc, y_ptr, K, BATCH: tl.constexpr, FIX: tl.constexpr):
    rows: tl.constexpr = ROWS if FIX or BATCH > ROWS else BATCH
    x = tlx.local_alloc((ROWS, DEPTH), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            row = tl.arange(0, ROWS)[:, None]
            at = row * K * DEPTH + tl.arange(0, DEPTH)[None, :]
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1)
                values = tlx.local_load(x[0])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[0])
                tl.store(y_ptr + k * DEPTH + at, values, mask=row < BATCH)
        with tlx.async_task(num_warps=1):
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], rows * DEPTH * 2)  # FAULT
                tlx.async_descriptor_load(x_desc, x[0], [0, k * DEPTH], full[0])


def launch(FIX: bool, K: int, BATCH: int):
    rows, depth = ROWS.value, DEPTH.value
    x = torch.randn((BATCH, K * depth), device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    skinny_copy[(1,)](TensorDescriptor.from_tensor(x, [rows, depth]), y, K, BATCH=BATCH, FIX=FIX)
    return y, x


if __name__ == "__main__":
    main(CASE, launch)
