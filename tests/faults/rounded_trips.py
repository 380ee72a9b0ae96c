"""The producer counts whole slices along K, the consumer counts a last, partial one as well.

Where K is no multiple of a slice, the consumer waits for a slot that nobody fills.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="trip-count", role="mma", name="full", shows="hang", params={"LENGTH": 160, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def ragged_product(a_desc, b_desc, y_ptr, LENGTH, S: tl.constexpr, FIX: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            steps = tl.cdiv(LENGTH, SIDE) if FIX else LENGTH // SIDE
            for k in range(steps):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            for k in range(tl.cdiv(LENGTH, SIDE)):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1)  # FAULT
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)


def launch(FIX: bool, LENGTH: int, S: int):
    side = SIDE.value
    a = torch.randn((side, LENGTH), device="cuda", dtype=torch.float16)
    b = torch.randn((LENGTH, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    ragged_product[(1,)](a_desc, b_desc, y, LENGTH, S=S, FIX=FIX)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
