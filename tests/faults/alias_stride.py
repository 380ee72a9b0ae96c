"""Slots of P lie over those of the scores, and their index counts two for each slot of scores, as it is with fp16.

With P in fp8 there are four, so that the second task's P lies in the scores of the first one.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="tmem-alias", role="epilogue.1", name="scores", shows="wrong", params={"BYTES": 1})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def two_groups(s_ptr, p_ptr, s_out_ptr, p_out_ptr, DTYPE: tl.constexpr, BYTES: tl.constexpr, FIX: tl.constexpr):
    """Group g has scores g, and its P in the last columns of them."""
    SLOTS: tl.constexpr = 4 // BYTES if FIX else 2
    scores = tlx.local_alloc((ROWS, SIDE), tl.float32, 2, tlx.storage_kind.tmem)
    p = tlx.local_alloc((ROWS, SIDE), DTYPE, 2 * 4 // BYTES, tlx.storage_kind.tmem, reuse=scores)
    ready = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for g in tl.static_range(2):
                tlx.local_store(scores[g], tl.load(s_ptr + g * ROWS * SIDE + at))
            tlx.barrier_arrive(ready[0])
        with tlx.async_task(num_warps=4, replicate=2):
            g = 1 - tlx.async_task_replica_id()
            at = g * ROWS * SIDE + tl.arange(0, ROWS)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            probabilities = tl.load(p_ptr + at).to(DTYPE)
            tlx.barrier_wait(ready[0], 0)
            if g == 0:  # the first group comes later
                tl.store(p_out_ptr + at, tl.load(p_out_ptr + at) + 1)
                tl.debug_barrier()
            s = tlx.local_load(scores[g])  # FAULT
            tl.debug_barrier()
            slot = g * SLOTS + SLOTS - 1
            tlx.local_store(p[slot], probabilities)  # FAULT
            tl.debug_barrier()
            tl.store(s_out_ptr + at, s)
            tl.store(p_out_ptr + at, tlx.local_load(p[slot]).to(tl.float32))


def launch(FIX: bool, BYTES: int):
    dtype = {1: tl.float8e4nv, 2: tl.float16}[BYTES]
    s = torch.randn((2, ROWS.value, SIDE.value), device="cuda", dtype=torch.float32)
    p = torch.randint(0, 9, s.shape, device="cuda").float()
    s_out, p_out = torch.zeros_like(s), torch.zeros_like(p)
    two_groups[(1,)](s, p, s_out, p_out, DTYPE=dtype, BYTES=BYTES, FIX=FIX)
    return torch.stack((s_out, p_out)), torch.stack((s, p))


if __name__ == "__main__":
    main(CASE, launch)
