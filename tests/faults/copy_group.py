"""A loop keeps two groups of cp.async copies in flight, and allows one to be unfinished also at the last step.

There the one that is allowed to be unfinished is the one that is read.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="async-not-waited", role="compute", name="rows", shows="wrong", params={"K": 4})

SIZE = tl.constexpr(512)


@triton.jit
def prefetched_sum(x_ptr, y_ptr, K: tl.constexpr, FIX: tl.constexpr):
    at = tl.arange(0, SIZE)
    rows = tlx.local_alloc((SIZE,), tl.float32, 2)
    token = tlx.async_load(x_ptr + at, rows[0])
    tlx.async_load_commit_group([token])
    total = tl.zeros((SIZE,), tl.float32)
    for k in tl.static_range(K):
        if k + 1 < K:
            token = tlx.async_load(x_ptr + (k + 1) * SIZE + at, rows[(k + 1) % 2])
            tlx.async_load_commit_group([token])
        if FIX and k + 1 == K:
            tlx.async_load_wait_group(0)
        else:
            tlx.async_load_wait_group(1)  # FAULT
        total += tlx.local_load(rows[k % 2])  # FAULT
    tl.store(y_ptr + at, total)


def launch(FIX: bool, K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros(SIZE.value, device="cuda", dtype=torch.float32)
    prefetched_sum[(1,)](x, y, K=K, FIX=FIX)
    return y, x.sum(0)


if __name__ == "__main__":
    main(CASE, launch)
