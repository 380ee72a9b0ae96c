"""A consumer keeps one product in flight and gives a slot back only when the next product has been issued.

With a ring of one slot the next product needs the very slot that it holds back.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="circular-wait", role="mma", name="full", shows="hang", params={"K": 4})

SIDE = tl.constexpr(64)


@triton.jit
def one_in_flight(a_desc, b_desc, y_ptr, K, FIX: tl.constexpr):
    S: tl.constexpr = 2 if FIX else 1  # FAULT
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)  # FAULT
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)  # FAULT
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(1, acc)
                if k > 0:
                    tlx.barrier_arrive(empty[(k - 1) % S])
            acc = tlx.async_dot_wait(0, acc)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)


def launch(FIX: bool, K: int):
    side = SIDE.value
    a = torch.randn((side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    one_in_flight[(1,)](a_desc, b_desc, y, K, FIX=FIX)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
