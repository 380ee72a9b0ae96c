"""A row is written to shared memory by ordinary stores and copied to global memory in bulk, with no fence between.

The copy reads through another proxy, which may not see what was stored.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="proxy-fence", role="compute", name="row", shows="nothing", params={"K": 2})

SIZE = tl.constexpr(128)


@triton.jit
def doubled_rows(x_ptr, y_ptr, K, FIX: tl.constexpr):
    row = tlx.local_alloc((SIZE,), tl.float32, 1)
    for k in range(K):
        tlx.async_descriptor_store_wait(0)
        tlx.local_store(row[0], tl.load(x_ptr + k * SIZE + tl.arange(0, SIZE)) * 2)  # FAULT
        if FIX:
            tlx.fence("async_shared")
        tlx.async_store(y_ptr + k * SIZE, row[0], SIZE * 4)  # FAULT
    tlx.async_descriptor_store_wait(0)


def launch(FIX: bool, K: int):
    x = torch.randn((K, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    doubled_rows[(1,)](x, y, K, FIX=FIX)
    return y, 2 * x


if __name__ == "__main__":
    main(CASE, launch)
