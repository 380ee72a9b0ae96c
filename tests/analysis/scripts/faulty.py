"""Kernels of each of which the compiler makes something else than it says. Lines are found by their comments."""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def squeezed(a_ptr, b_ptr, c_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            r = tl.arange(0, BM)
            c = tl.arange(0, BN)
            k = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for i in range(4):  # squeezed: loop
                x = tl.load(a_ptr + i * BM * BK + r[:, None] * BK + k[None, :])  # squeezed: load
                y = tl.load(b_ptr + i * BN * BK + k[:, None] * BN + c[None, :])
                acc = tl.dot(x, y, acc)  # squeezed: dot
            tl.store(c_ptr + r[:, None] * BN + c[None, :], acc)
        with tlx.async_task(num_warps=4, replicate=2, registers=R):  # squeezed: task
            tl.store(c_ptr + tl.arange(0, 128) + BM * BN, tl.zeros((128,), tl.float32))
            tlx.barrier_arrive(done[0], 1)


@triton.jit
def overdrawn(a_ptr, b_ptr, c_ptr):
    done = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
        with tlx.async_task(num_warps=4, registers=256):  # overdrawn: task
            at = tl.arange(0, 64)
            tile = at[:, None] * 64 + at[None, :]
            product = tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile))  # overdrawn: dot
            tl.debug_barrier()
            tl.store(c_ptr + tile, product)
            tlx.barrier_arrive(done[0], 1)
        with tlx.async_task(num_warps=4, registers=256):
            tl.store(c_ptr + tl.arange(0, 128) + 64 * 64, tl.zeros((128,), tl.float32))


@triton.jit
def crossed(a_ptr, c_ptr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    at = tl.arange(0, 64)
    tile = at[:, None] * 64 + at[None, :]
    tlx.local_store(a[0], tl.load(a_ptr + tile))
    tlx.fence("async_shared")
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(4):
        one = tlx.async_dot(a[0], a[0], acc)  # crossed: one
        other = tlx.async_dot(a[0], a[0])  # crossed: other
        acc += tlx.async_dot_wait(1, one) * tlx.async_dot_wait(0, other)
    tl.store(c_ptr + tile, acc)


@triton.jit
def faultless(a_ptr, c_ptr):
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    at = tl.arange(0, 64)
    tile = at[:, None] * 64 + at[None, :]
    tlx.local_store(a[0], tl.load(a_ptr + tile))
    tlx.fence("async_shared")
    acc = tl.zeros((64, 64), tl.float32)
    for _ in range(4):
        acc = tlx.async_dot_wait(0, tlx.async_dot(a[0], a[0], acc))
        acc = tlx.async_dot(a[0], a[0], acc)
        acc = tlx.async_dot_wait(0, acc)
    tl.debug_barrier()
    tl.store(c_ptr + tile, acc)


@triton.jit
def exact(a_ptr, c_ptr):
    at = tl.arange(0, 16)
    tile = at[:, None] * 16 + at[None, :]
    a = tl.load(a_ptr + tile)
    halves = tl.dot(a, a)  # exact: halves
    whole = tl.dot(halves, halves, input_precision="ieee")  # exact: whole
    tl.store(c_ptr + tile, whole)


halves = torch.ones(4 * 256 * 64, device="cuda", dtype=torch.float16)
out = torch.empty(128 * 256 + 128, device="cuda")
squeezed[(1,)](halves, halves, out, BM=128, BN=256, BK=64, R=240, num_warps=4)
overdrawn[(1,)](halves, halves, out, num_warps=4)
crossed[(1,)](halves, out)
faultless[(1,)](halves, out)
exact[(1,)](halves, out, num_warps=1)
