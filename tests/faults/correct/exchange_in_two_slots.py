"""Two CTAs exchange partial sums round by round through two slots, and nobody says that a slot has been read.

What comes for the round between says it: its sender had the round before, and sent it after it had read.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"ROUNDS": 1}, {"ROUNDS": 5})

SIZE = tl.constexpr(128)


@triton.jit
def exchanged_sums(x_ptr, y_ptr, ROUNDS):
    partial = tlx.local_alloc((SIZE,), tl.float32, 2)
    came = tlx.alloc_barriers(2)
    rank = tlx.cluster_cta_rank()
    at = tl.arange(0, SIZE)
    # of both slots the first bytes are expected before the other CTA can send them
    tlx.barrier_expect_bytes(came[0], SIZE * 4)
    tlx.barrier_expect_bytes(came[1], SIZE * 4)
    tlx.cluster_barrier()
    for i in range(ROUNDS):
        here = (i * 2 + rank) * SIZE + at
        x = tl.load(x_ptr + here)
        slot = i % 2
        tlx.async_remote_shmem_store(dst=partial[slot], src=x, remote_cta_rank=rank ^ 1, barrier=came[slot])
        tlx.barrier_wait(came[slot], (i // 2) & 1)
        other = tlx.local_load(partial[slot])
        tl.debug_barrier()  # all warps have read before one expects, and any of them sends, the next round
        tlx.barrier_expect_bytes(came[slot], SIZE * 4, pred=i + 2 < ROUNDS)
        tl.store(y_ptr + here, x + other)
    tlx.cluster_barrier()


def launch(ROUNDS: int):
    x = torch.randn((ROUNDS, 2, SIZE.value), device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    exchanged_sums[(2,)](x, y, ROUNDS, ctas_per_cga=(2, 1, 1))
    return y, x.sum(1, keepdim=True).expand_as(x)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
