"""With values off, control flow and time are those of a run with values, and outputs stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import run_kernel

N = 64


@triton.jit
def by_loaded_bounds(src, out, starts, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for k in range(tl.load(starts + pid), tl.load(starts + pid + 1)):
        total += tl.load(src + k * N + i)
    if tl.load(starts + pid) % 2 == 1:
        total = tl.exp(total)
    tl.store(out + pid * N + i, total)


@triton.jit
def by_indices(src, out, table, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(table)
    steps = 0
    while at >= 0:
        rows = tl.load(table + i % 4)
        x = tl.load(src + tl.maximum(rows, 0)[:, None] * N + i[None, :])
        tl.store(out + i[:, None] * N + i[None, :], x * at)
        at = tl.load(table + at)
        steps += 1
    for _ in range(tl.sum(tl.load(table + tl.arange(0, 4)), 0) % 5 + steps):
        tl.store(out + i, tl.load(src + i) + tl.load(src + N + i))


@triton.jit(noinline=True)
def bound(table, n):
    if n > 2:
        return tl.load(table + 2) + n
    return n


@triton.jit
def by_calls(src, out, table, n, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in range(bound(table, n)):
        tl.store(out + i, tl.load(src + i) * k)
    if n > 3:
        return
    tl.store(out + i, tl.softmax(tl.load(src + i)))


@triton.jit
def by_comparisons(src, out, n, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    smallest = tl.min(tl.where(i * n % 7 == 3, i, N), 0)
    for k in range(smallest):
        tl.store(out + i, tl.load(src + i, mask=i < n) * k, mask=i > k)
    if tl.max((i < limit).to(tl.int32), 0) == 1:
        tl.store(
            out + i, tl.dot(tl.load(src + i[:, None] * N + i[None, :]), tl.load(src + i[:, None] + i[None, :])).sum(1)
        )


def table() -> torch.Tensor:
    return torch.tensor([3, -1, 1, 2], dtype=torch.int32)


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], Callable[[], tuple[Any, ...]]]] = {
    "bounds from memory": (by_loaded_bounds, (4,), lambda: (torch.tensor([0, 3, 3, 8, 9], dtype=torch.int32),)),
    "chained indices": (by_indices, (1,), lambda: (table(),)),
    "calls": (by_calls, (1,), lambda: (table(), 3)),
    "calls, early return": (by_calls, (1,), lambda: (table(), 5)),
    "reduced indices": (by_comparisons, (1,), lambda: (20, 5)),
    "nothing to do": (by_comparisons, (1,), lambda: (7, -3)),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_same_path_without_values(case: str):
    function, grid, arguments = CASES[case]
    src = torch.randn(N, N)
    with_values, without = torch.zeros(N, N), torch.full((N, N), 7.0)
    on = run_kernel(function, grid, src, with_values, *arguments(), N=N)
    off = run_kernel(function, grid, src, without, *arguments(), values=False, N=N)
    assert on.cycles == off.cycles
    assert len(on.trace.events) == len(off.trace.events)
    if case != "nothing to do":
        assert not torch.equal(with_values, torch.zeros(N, N))
    assert torch.equal(without, torch.full((N, N), 7.0))


@triton.jit
def handshake(counter, src, out, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    ticket = tl.atomic_add(counter, 1)
    for _ in range(ticket):
        tl.store(out + pid * N + i, tl.load(src + i))


def test_atomics_that_steer():
    src, out = torch.randn(N), torch.full((4, N), 7.0)
    on = run_kernel(handshake, (4,), torch.zeros(1, dtype=torch.int32), src, out.clone(), N=N)
    off = run_kernel(handshake, (4,), torch.zeros(1, dtype=torch.int32), src, out, values=False, N=N)
    assert on.cycles == off.cycles
    assert bool((out == 7.0).all())
