"""P takes the columns of the scores when these are in registers, and the next scores wait until P has been multiplied.

Scores and P are one memory; three barriers order what is written there by two tasks and a tensor core.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"STEPS": 1}, {"STEPS": 4})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def chained_products(q_ptr, k_desc, v_ptr, y_ptr, STEPS):
    """The sum of (Q K) / 8 V over the tiles K."""
    q = tlx.local_alloc((ROWS, SIDE), tl.float16, 1)
    v = tlx.local_alloc((SIDE, SIDE), tl.float16, 1)
    k_tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    scores = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    p = tlx.local_alloc((ROWS, SIDE), tl.float16, 2, tlx.storage_kind.tmem, reuse=scores)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    ready = tlx.alloc_barriers(1)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    scores_full = tlx.alloc_barriers(1)
    p_full = tlx.alloc_barriers(1)
    added = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, SIDE)[None, :]
            tlx.local_store(q[0], tl.load(q_ptr + row * SIDE + column))
            tlx.local_store(v[0], tl.load(v_ptr + tl.arange(0, SIDE)[:, None] * SIDE + column))
            tlx.fence("async_shared")
            tlx.barrier_arrive(ready[0])
            for i in range(STEPS):
                tlx.barrier_wait(scores_full[0], i & 1)
                s = tlx.local_load(scores[0])
                tl.debug_barrier()
                tlx.local_store(p[1], (s * 0.125).to(tl.float16))
                tlx.barrier_arrive(p_full[0])
            tlx.barrier_wait(added[0], (STEPS & 1) ^ 1)
            tl.store(y_ptr + row * SIDE + column, tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(ready[0], 0)
            for i in range(STEPS):
                tlx.barrier_wait(full[i % 2], (i // 2) & 1)
                tlx.barrier_wait(added[0], (i & 1) ^ 1)
                tlx.async_dot(q[0], k_tiles[i % 2], scores[0], use_acc=False, mBarriers=[empty[i % 2], scores_full[0]])
                tlx.barrier_wait(p_full[0], i & 1)
                tlx.async_dot(p[1], v[0], acc[0], use_acc=i > 0, mBarriers=[added[0]])
        with tlx.async_task(num_warps=1):
            for i in range(STEPS):
                tlx.barrier_wait(empty[i % 2], ((i // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[i % 2], SIDE * SIDE * 2)
                tlx.async_descriptor_load(k_desc, k_tiles[i % 2], [i * SIDE, 0], full[i % 2])


def launch(STEPS: int):
    rows, side = ROWS.value, SIDE.value
    q = torch.randn((rows, side), device="cuda", dtype=torch.float16)
    k = torch.randn((STEPS, side, side), device="cuda", dtype=torch.float16)
    v = torch.randn((side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((rows, side), device="cuda", dtype=torch.float32)
    chained_products[(1,)](q, TensorDescriptor.from_tensor(k.view(STEPS * side, side), [side, side]), v, y, STEPS)
    p = ((q.float() @ k.float()) / 8).half().float()
    return y, (p @ v.float()).sum(0)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
