"""Two CTAs exchange partial sums through one slot and one barrier, and neither waits until its last one was read.

The faster one writes the next round over a slot that the other one has still to read.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="cluster", role="compute", name="partial", shows="wrong", params={"ROUNDS": 3})

SIZE = tl.constexpr(128)


@triton.jit
def exchanged_sums(x_ptr, y_ptr, ROUNDS, FIX: tl.constexpr):
    partial = tlx.local_alloc((SIZE,), tl.float32, 1)
    came = tlx.alloc_barriers(1)
    was_read = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    at = tl.arange(0, SIZE)
    tlx.cluster_barrier()
    for i in range(ROUNDS):
        here = (i * 2 + rank) * SIZE + at
        x = tl.load(x_ptr + here)
        tlx.barrier_expect_bytes(came[0], SIZE * 4)
        if FIX:
            tlx.barrier_wait(was_read[0], (i & 1) ^ 1)
        tlx.async_remote_shmem_store(dst=partial[0], src=x, remote_cta_rank=rank ^ 1, barrier=came[0])  # FAULT
        tlx.barrier_wait(came[0], i & 1)
        for j in range(6 * rank):  # the second CTA is slower
            x += tl.load(y_ptr + (i * 2 + rank) * SIZE + (at + j) % SIZE)
        other = tlx.local_load(partial[0])  # FAULT
        if FIX:
            tlx.barrier_arrive(was_read[0], 1, remote_cta_rank=rank ^ 1)
        tl.store(y_ptr + here, x + other)
    tlx.cluster_barrier()


def launch(FIX: bool, ROUNDS: int):
    x = torch.randn((ROUNDS, 2, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    exchanged_sums[(2,)](x, y, ROUNDS, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, x.sum(1, keepdim=True).expand_as(x)


if __name__ == "__main__":
    main(CASE, launch)
