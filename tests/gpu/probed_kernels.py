"""Small kernels of the forms that probes have to cope with: `probed_kernels.py NAME...` runs some, each twice, and says
whether the second launch, which nobody records, computes the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

import tlxviz.language as tv
from tlxviz._triton import toolchain


@triton.jit(noinline=True)
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(a_ptr + i[:, None] * N + i[None, :])
    b = tl.load(b_ptr + i[:, None] * N + i[None, :])
    tl.store(c_ptr + i[:, None] * N + i[None, :], tl.dot(a, b).to(tl.float16))


@triton.jit
def calls(a_ptr, b_ptr, c_ptr, rounds, N: tl.constexpr):
    """A function that is not inlined, in a loop."""
    for r in range(rounds):
        product(a_ptr + r * N * N, b_ptr, c_ptr + r * N * N, N)


@triton.jit
def volume(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """A grid of three dimensions."""
    n = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    at = n * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) * 2 + n)


@triton.jit
def ranges(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Ranges that the kernel names, nested and in a loop."""
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    tv.begin("sum")
    for i in range(n):
        tv.begin("row")
        total += tl.load(x_ptr + i * BLOCK + at)
        tv.end("row")
    tv.end("sum")
    tl.store(y_ptr + at, total)


@triton.jit
def hand_off(x_ptr, y_ptr, BLOCK: tl.constexpr, WARPS: tl.constexpr):
    """Two specializations one after the other, the second with smaller tasks than the first."""
    first = tlx.local_alloc((BLOCK,), tl.float32, 1)
    second = tlx.local_alloc((BLOCK,), tl.float32, 1)
    first_full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    second_full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(first_full[0], 0)
            at = tl.arange(0, BLOCK)
            tl.store(y_ptr + at, tlx.local_load(first[0]) + 1)
        with tlx.async_task(num_warps=4):
            at = tl.arange(0, BLOCK)
            tlx.local_store(first[0], tl.load(x_ptr + at))
            tlx.barrier_arrive(first_full[0])
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(second_full[0], 0)
            at = tl.arange(0, BLOCK)
            tl.store(y_ptr + BLOCK + at, tlx.local_load(second[0]) + 2)
        with tlx.async_task(num_warps=WARPS):
            at = tl.arange(0, BLOCK)
            tlx.local_store(second[0], tl.load(x_ptr + BLOCK + at))
            tlx.barrier_arrive(second_full[0])


@triton.jit
def ping_pong(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Two replicas of a task that take turns by named barriers."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            pass
        with tlx.async_task(num_warps=4, replicate=2):
            me = tlx.async_task_replica_id()
            at = tl.arange(0, BLOCK)
            if me == 1:
                tlx.named_barrier_arrive(9, 256)
            for i in range(n):
                if me == 0:
                    tlx.named_barrier_wait(9, 256)
                else:
                    tlx.named_barrier_wait(10, 256)
                row = 2 * i + me
                x = tl.load(x_ptr + row * BLOCK + at)
                tl.store(y_ptr + row * BLOCK + at, tl.exp(x))
                if me == 0:
                    tlx.named_barrier_arrive(10, 256)
                else:
                    tlx.named_barrier_arrive(9, 256)
            if me == 0:
                tlx.named_barrier_wait(9, 256)


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, device="cuda")


def _calls() -> tuple[Callable[[], object], torch.Tensor]:
    a, b = _random(3, 64, 64).half(), _random(64, 64).half()
    c = torch.empty_like(a)
    return lambda: calls[(1,)](a, b, c, 3, 64), c


def _volume() -> tuple[Callable[[], object], torch.Tensor]:
    x = _random(4 * 6 * 10 * 128)
    y = torch.empty_like(x)
    return lambda: volume[(4, 6, 10)](x, y, 128), y


def _ranges() -> tuple[Callable[[], object], torch.Tensor]:
    x, y = _random(5, 256), _random(256)
    return lambda: ranges[(1,)](x, y, 5, 256), y


def _hand_off() -> tuple[Callable[[], object], torch.Tensor]:
    x = _random(256)
    y = torch.empty_like(x)
    warps = 2 if toolchain().distribution == "fbtriton" else 4  # triton-utlx: no tensors in smaller tasks
    return lambda: hand_off[(1,)](x, y, 128, warps), y


def _ping_pong() -> tuple[Callable[[], object], torch.Tensor]:
    x = _random(8, 512)
    y = torch.empty_like(x)
    return lambda: ping_pong[(1,)](x, y, 4, 512), y


KERNELS = {"calls": _calls, "volume": _volume, "ranges": _ranges, "hand_off": _hand_off, "ping_pong": _ping_pong}


def main(names: list[str]) -> None:
    torch.manual_seed(0)
    for name in names or KERNELS:
        launch, output = KERNELS[name]()
        launch()
        first = output.clone()
        output.zero_()
        launch()
        print(name, "identical" if torch.equal(first, output) and not first.isnan().any() else "different")


if __name__ == "__main__":
    main(sys.argv[1:])
