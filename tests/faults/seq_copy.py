"""A loop carries slot and phase, and the phase is updated from the slot that has been advanced already.

The two are no longer those of a step: the consumer asks for a lap of a slot that has not been filled so often.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

CASE = Case(rule="parity", role="mma", name="full", shows="hang", params={"K": 6, "S": 2})

SIDE = tl.constexpr(64)


@triton.jit
def carried_phase(a_desc, b_desc, y_ptr, K, S: tl.constexpr, FIX: tl.constexpr):
    a = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, SIDE), tl.float16, S)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * SIDE * SIDE * 2)
                tlx.async_descriptor_load(a_desc, a[slot], [0, k * SIDE], full[slot])
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, 0], full[slot])
        with tlx.async_task(num_warps=4):
            acc = tl.zeros((SIDE, SIDE), tl.float32)
            slot = 0
            phase = 0
            for _ in range(K):
                tlx.barrier_wait(full[slot], phase)  # FAULT
                acc = tlx.async_dot(a[slot], b[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
                if FIX:
                    phase ^= (slot == S - 1).to(tl.int32)
                    slot = (slot + 1) % S
                else:
                    slot = (slot + 1) % S
                    phase ^= (slot == S - 1).to(tl.int32)
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            tl.store(y_ptr + at, acc)


def launch(FIX: bool, K: int, S: int):
    side = SIDE.value
    a = torch.randn((side, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((side, side), device="cuda", dtype=torch.float32)
    a_desc, b_desc = (TensorDescriptor.from_tensor(each, [side, side]) for each in (a, b))
    carried_phase[(1,)](a_desc, b_desc, y, K, S=S, FIX=FIX)
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
