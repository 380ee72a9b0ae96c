"""A CTA writes rows to its shared memory by ordinary stores and has them copied to its peer, with no fence between.

The copy reads through another proxy, which may not see what was stored.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="proxy-fence", role="compute", name="rows", shows="nothing")

SIZE = tl.constexpr(128)


@triton.jit
def exchanged_rows(x_ptr, y_ptr, FIX: tl.constexpr):
    rows = tlx.local_alloc((SIZE,), tl.float32, 2)
    came = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    at = tl.arange(0, SIZE)
    tlx.local_store(rows[0], tl.load(x_ptr + rank * SIZE + at) * 2)  # FAULT
    tlx.barrier_expect_bytes(came[0], SIZE * 4)
    if FIX:
        tlx.fence("async_shared")
    tlx.cluster_barrier()
    tlx.async_remote_shmem_copy(dst=rows[1], src=rows[0], remote_cta_rank=rank ^ 1, barrier=came[0])  # FAULT
    tlx.barrier_wait(came[0], 0)
    tl.store(y_ptr + rank * SIZE + at, tlx.local_load(rows[1]))
    tlx.cluster_barrier()


def launch(FIX: bool):
    x = torch.randn((2, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    exchanged_rows[(2,)](x, y, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, 2 * x.flip(0)


if __name__ == "__main__":
    main(CASE, launch)
