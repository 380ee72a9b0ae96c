"""A kernel of which one warp group spills, and kernels whose barriers go or come. Lines are found by their comments."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def spilling(x_ptr, out_ptr, steps):
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
        with tlx.async_task(num_warps=4, registers=24):
            at = tl.arange(0, 8192)
            tile = tl.load(x_ptr + at)
            for _ in range(steps):  # spilling: loop
                tile = tile * tile + tl.sum(tile)  # spilling: sum
            tl.store(out_ptr + at, tile)
            tlx.barrier_arrive(done[0], 1)  # spilling: arrive
        with tlx.async_task(num_warps=2, registers=24):
            tl.store(out_ptr + 8192 + tl.arange(0, 128), tl.zeros((128,), tl.float32))
            tlx.barrier_arrive(done[0], 1)  # spilling: other arrive


@triton.jit
def never(out_ptr):
    bars = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    program = tl.program_id(0)
    for _ in range(program, -1):
        tlx.barrier_wait(bars[1], 0)  # never: wait
    if tl.num_programs(0) < 0:
        tlx.barrier_arrive(bars[1], 1)  # never: arrive
    if program != program:
        tlx.barrier_wait(bars[1], 1)  # never: other wait
    tlx.barrier_arrive(bars[0], 1)
    tlx.barrier_wait(bars[0], 0)
    tl.store(out_ptr + tl.arange(0, 128), tl.zeros((128,), tl.float32))


@triton.jit
def branches(out_ptr, n):
    bars = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    for i in tl.static_range(4):
        if n > i:
            tlx.barrier_arrive(bars[0], 1)
        else:
            tlx.barrier_arrive(bars[0], 1)
        tlx.barrier_wait(bars[0], i & 1)
    tl.store(out_ptr + tl.arange(0, 128), tl.zeros((128,), tl.float32))


@triton.jit
def reducing(x_ptr, out_ptr, steps):
    full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(steps):
                tlx.barrier_wait(empty[i % 2], ((i // 2) & 1) ^ 1)
                tlx.barrier_arrive(full[i % 2], 1)
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, 1024)
            x = tl.load(x_ptr + at)
            for i in range(steps):  # reducing: loop
                tlx.barrier_wait(full[i % 2], (i // 2) & 1)  # reducing: wait
                x = x * 0.5 + tl.sum(x)  # reducing: sum
                tlx.barrier_arrive(empty[i % 2], 1)  # reducing: arrive
            tl.store(out_ptr + at, x)


x = torch.ones(8192, device="cuda")
out = torch.empty(8192 + 128, device="cuda")
spilling[(1,)](x, out, 4, num_warps=4)
never[(1,)](out)
branches[(1,)](out, 2)
reducing[(1,)](x, out, 32)
