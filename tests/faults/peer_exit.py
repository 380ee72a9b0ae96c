"""A CTA that asks its peer and waits for each answer leaves out the last wait, since nothing follows.

The peer's last answer is a remote arrival at a CTA that may have ended: at memory of nobody, or of the next cluster.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main

CASE = Case(rule="cluster", role="compute", name="answer", shows="error", params={"ROUNDS": 2})


@triton.jit
def questions_and_answers(y_ptr, ROUNDS, FIX: tl.constexpr):
    question = tlx.alloc_barriers(1)
    answer = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    for i in range(ROUNDS):
        if rank == 1:
            tlx.barrier_arrive(question[0], 1, remote_cta_rank=0)
            if FIX or i < ROUNDS - 1:
                tlx.barrier_wait(answer[0], i & 1)
        else:
            tlx.barrier_wait(question[0], i & 1)
            tlx.barrier_arrive(answer[0], 1, remote_cta_rank=1)  # FAULT
    tl.store(y_ptr + tl.program_id(0), ROUNDS)


def launch(FIX: bool, ROUNDS: int):
    y = torch.zeros(2, device="cuda", dtype=torch.int32)
    questions_and_answers[(2,)](y, ROUNDS, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, torch.full_like(y, ROUNDS)


if __name__ == "__main__":
    main(CASE, launch)
