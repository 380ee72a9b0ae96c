"""A ring of cp.async copies: one group is in flight, and the wait for all but one covers the slot that is read.

At the last step an empty group is committed, so that the same wait covers the last copy.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"K": 1}, {"K": 4})

SIZE = tl.constexpr(512)


@triton.jit
def prefetched_sum(x_ptr, y_ptr, K: tl.constexpr):
    at = tl.arange(0, SIZE)
    rows = tlx.local_alloc((SIZE,), tl.float32, 2)
    tlx.async_load(x_ptr + at, rows[0])
    tlx.async_load_commit_group()
    total = tl.zeros((SIZE,), tl.float32)
    for k in tl.static_range(K):
        if k + 1 < K:
            tlx.async_load(x_ptr + (k + 1) * SIZE + at, rows[(k + 1) % 2])
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(1)
        total += tlx.local_load(rows[k % 2])
    tl.store(y_ptr + at, total)


def launch(K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros(SIZE.value, device="cuda", dtype=torch.float32)
    prefetched_sum[(1,)](x, y, K=K)
    return y, x.sum(0)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
