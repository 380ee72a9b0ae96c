"""Two consumers share the slots of B, whose barriers count two releases, and one line that releases B is missing.

The producer fills every slot once and then waits for ever for the first one.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="arrive-count", role="load", name="b_empty", shows="hang", params={"K": 4, "S": 2})
SIDE = tl.constexpr(64)
BYTES = tl.constexpr(64 * 64 * 2)


@triton.jit
def two_consumers(a_desc, b_desc, y_ptr, K, S: tl.constexpr, FIX: tl.constexpr):
    # consumer r has slots r * S .. r * S + S - 1 of A; both read every slot of B
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, 2 * S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    a_full = tlx.alloc_barriers(2 * S)
    a_empty = tlx.alloc_barriers(2 * S)
    b_full = tlx.alloc_barriers(S)
    b_empty = tlx.alloc_barriers(S, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                lap = (k // S) & 1
                tlx.barrier_wait(a_empty[slot], lap ^ 1)
                tlx.barrier_expect_bytes(a_full[slot], BYTES)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], a_full[slot])
                tlx.barrier_wait(b_empty[slot], lap ^ 1)  # FAULT
                tlx.barrier_expect_bytes(b_full[slot], BYTES)
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], b_full[slot])
                tlx.barrier_wait(a_empty[slot + S], lap ^ 1)
                tlx.barrier_expect_bytes(a_full[slot + S], BYTES)
                tlx.async_descriptor_load(a_desc, a[slot + S], [SIDE, k * SIDE], a_full[slot + S])
        with tlx.async_task(num_warps=4, replicate=2):
            first = S * tlx.async_task_replica_id()
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                lap = (k // S) & 1
                tlx.barrier_wait(a_full[first + slot], lap)
                tlx.barrier_wait(b_full[slot], lap)
                acc = tlx.async_dot(a[first + slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(a_empty[first + slot])
                if FIX:
                    tlx.barrier_arrive(b_empty[slot])
            row = tlx.async_task_replica_id() * SIDE + tl.arange(0, SIDE)
            tl.store(y_ptr + row[:, None] * SIDE + tl.arange(0, SIDE)[None, :], acc)


def launch(FIX: bool, K: int, S: int):
    side = SIDE.value
    a = torch.randn((2 * side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2 * side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    two_consumers[(1,)](a_desc, b_desc, y, K, S=S, FIX=FIX)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
