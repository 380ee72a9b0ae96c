"""Two descriptors take turns, and one is rewritten without a wait of its own for the copies that used it.

A problem has at least as many tiles as there are slots: waiting for a slot, the producer has waited for those copies.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({"PROBLEMS": 1, "K": 2}, {"PROBLEMS": 5, "K": 2}, {"PROBLEMS": 4, "K": 3})

SIDE = tl.constexpr(64)


@triton.jit
def sums_of_problems(x_ptr, y_ptr, PROBLEMS, K):
    descriptors = tlx.allocate_tensor_descriptor(num=2)
    tiles = tlx.local_alloc((SIDE, SIDE), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
            for g in range(PROBLEMS):
                total = tl.zeros((SIDE, SIDE), tl.float32)
                for k in range(K):
                    n = g * K + k
                    tlx.barrier_wait(full[n % 2], (n // 2) & 1)
                    total += tlx.local_load(tiles[n % 2]).to(tl.float32)
                    tlx.fence("async_shared")
                    tlx.barrier_arrive(empty[n % 2])
                tl.store(y_ptr + g * SIDE * SIDE + at, total)
        with tlx.async_task(num_warps=1):
            for g in range(PROBLEMS):
                desc = tlx.make_tensor_descriptor(
                    desc_ptr=descriptors[g % 2],
                    base=x_ptr + g * K * SIDE * SIDE,
                    shape=[K * SIDE, SIDE],
                    strides=[SIDE, 1],
                    block_shape=[SIDE, SIDE],
                )
                for k in range(K):
                    n = g * K + k
                    tlx.barrier_wait(empty[n % 2], ((n // 2) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[n % 2], SIDE * SIDE * 2)
                    tlx.async_descriptor_load(desc, tiles[n % 2], [k * SIDE, 0], full[n % 2])


def launch(PROBLEMS: int, K: int):
    side = SIDE.value
    triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    x = torch.randn((PROBLEMS, K, side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((PROBLEMS, side, side), device="cuda", dtype=torch.float32)
    sums_of_problems[(1,)](x, y, PROBLEMS, K)
    return y, x.float().sum(1)


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
