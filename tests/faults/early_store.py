"""A CTA stores into its peer's shared memory, and so to the peer's barrier, before it knows that this is initialised.

If the peer has started late, the bytes come to memory that is no barrier yet.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="barrier-lifetime", role="compute", name="came", shows="error", params={"STEPS": 12})

SIZE = tl.constexpr(128)


@triton.jit
def exchange(x_ptr, y_ptr, STEPS, FIX: tl.constexpr):
    rank = tlx.cluster_cta_rank()
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    x = tl.load(x_ptr + at)
    for i in range(rank * STEPS):  # the second CTA starts late
        x += tl.load(y_ptr + (at + i) % SIZE)
    got = tlx.local_alloc((SIZE,), tl.float32, 1)
    came = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(came[0], SIZE * 4)
    if FIX:
        tlx.cluster_barrier()
    tlx.async_remote_shmem_store(dst=got[0], src=x, remote_cta_rank=rank ^ 1, barrier=came[0])  # FAULT
    tlx.barrier_wait(came[0], 0)
    tl.store(y_ptr + at, tlx.local_load(got[0]))
    tlx.cluster_barrier()


def launch(FIX: bool, STEPS: int):
    x = torch.randn((2, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    exchange[(2,)](x, y, STEPS, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, x.flip(0)


if __name__ == "__main__":
    main(CASE, launch)
