"""CTAs of a cluster answer each other by remote arrivals up to the end, where all of them meet.

The last arrival is waited for by nobody but the cluster's barrier.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"ROUNDS": 1}, {"ROUNDS": 4})


@triton.jit
def questions_and_answers(y_ptr, ROUNDS):
    question = tlx.alloc_barriers(1)
    answer = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    for i in range(ROUNDS):
        if rank == 1:
            tlx.barrier_arrive(question[0], 1, remote_cta_rank=0)
            if i < ROUNDS - 1:
                tlx.barrier_wait(answer[0], i & 1)
        else:
            tlx.barrier_wait(question[0], i & 1)
            tlx.barrier_arrive(answer[0], 1, remote_cta_rank=1)
    tl.store(y_ptr + tl.program_id(0), ROUNDS)
    tlx.cluster_barrier()


def launch(ROUNDS: int):
    y = torch.zeros(2, device="cuda", dtype=torch.int32)
    questions_and_answers[(2,)](y, ROUNDS, ctas_per_cga=(2, 1, 1))
    return y, torch.full_like(y, ROUNDS)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
