"""A TLX kernel whose consumer forgets to hand the slot back."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def forgetful(source, out, STEPS: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(STEPS):
                tlx.barrier_wait(empty[0], (step & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], 64 * 64 * 2)
                tlx.async_descriptor_load(source, tile[0], [64 * step, 0], full[0])
        with tlx.async_task(num_warps=4):
            total = tl.zeros((64, 64), tl.float32)
            for step in range(STEPS):
                tlx.barrier_wait(full[0], step & 1)
                total += tlx.local_load(tile[0]).to(tl.float32)
                if step > 1:
                    tlx.barrier_arrive(empty[0])
            rows = tl.arange(0, 64)[:, None] * 64
            tl.store(out + rows + tl.arange(0, 64)[None, :], total)


source = torch.randn(256, 64, device="cuda").half()
out = torch.empty(64, 64, device="cuda")
forgetful[(1,)](TensorDescriptor.from_tensor(source, [64, 64]), out, STEPS=4)
print("never printed")
