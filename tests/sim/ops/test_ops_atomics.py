"""Atomic operations, on tiles and on single elements."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import executes, run_kernel, run_ttgir
from op_programs import TORCH, tile

N = 128


@triton.jit
def tiles(dst, src, old, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(src + i)
    if KIND == "add":
        before = tl.atomic_add(dst + i // 2, x)
    elif KIND == "max":
        before = tl.atomic_max(dst + i // 2, x)
    elif KIND == "min":
        before = tl.atomic_min(dst + i // 2, x)
    elif KIND == "and":
        before = tl.atomic_and(dst + i // 2, x)
    elif KIND == "or":
        before = tl.atomic_or(dst + i // 2, x)
    elif KIND == "xor":
        before = tl.atomic_xor(dst + i // 2, x)
    else:
        before = tl.atomic_xchg(dst + i // 2, x)
    tl.store(old + i, before)


COMBINE: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add,
    "max": torch.maximum,
    "min": torch.minimum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "xchg": lambda a, b: b,
}


@pytest.mark.parametrize("kind", list(COMBINE))
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64], ids=str)
@executes("tt.atomic_rmw")
def test_tiles_with_places_that_repeat(dtype: torch.dtype, kind: str):
    if dtype.is_floating_point and kind in ("and", "or", "xor"):
        kind = "add"
    dst, src = (torch.randn(N) * 1e5).to(dtype), (torch.randn(N) * 1e5).to(dtype)
    wanted, before = dst.clone(), torch.zeros(N, dtype=dtype)
    for i in range(N):
        before[i] = wanted[i // 2]
        wanted[i // 2] = COMBINE[kind](wanted[i // 2], src[i])
    old = torch.zeros(N, dtype=dtype)
    run_kernel(tiles, (1,), dst, src, old, KIND=kind, N=N)
    assert torch.equal(dst, wanted)
    if not (dtype.is_floating_point and kind in ("max", "min")):  # made of two masked halves: each knows its own places
        assert torch.equal(old, before)


UNSIGNED = """tt.func public @kernel(%dst: !tt.ptr<{type}>, %src: !tt.ptr<{type}>, %old: !tt.ptr<{type}>) {{
    %i = tt.make_range {{end = 128 : i32, start = 0 : i32}} : {int}
    %d = tt.splat %dst : !tt.ptr<{type}> -> {pointers}
    %s = tt.splat %src : !tt.ptr<{type}> -> {pointers}
    %o = tt.splat %old : !tt.ptr<{type}> -> {pointers}
    %di = tt.addptr %d, %i : {pointers}, {int}
    %si = tt.addptr %s, %i : {pointers}, {int}
    %oi = tt.addptr %o, %i : {pointers}, {int}
    %x = tt.load %si : {pointers}
    %c = arith.constant dense<64> : {int}
    %m = arith.cmpi slt, %i, %c : {int}
    %b = tt.atomic_rmw {kind}, acq_rel, gpu, %di, %x, %m : ({pointers}, {values}, {bools}) -> {values}
    tt.store %oi, %b : {pointers}
    tt.return
}}"""


@pytest.mark.parametrize("kind", ["umax", "umin", "exch", "add", "max", "min", "and", "or", "xor"])
@pytest.mark.parametrize("name", ["i32", "i64"])
@executes("tt.atomic_rmw")
def test_masked_and_unsigned(name: str, kind: str):
    dtype = TORCH[name]
    dst, src = torch.randint(-9, 9, (N,)).to(dtype), torch.randint(-9, 9, (N,)).to(dtype)
    start, old = dst.clone(), torch.full((N,), 77, dtype=dtype)
    text = UNSIGNED.format(
        type=name, kind=kind, int=tile("i32"), pointers=tile(f"!tt.ptr<{name}>"), values=tile(name), bools=tile("i1")
    )
    run_ttgir(text, dst, src, old)
    bits = 64 if name == "i64" else 32

    def unsigned(x: torch.Tensor) -> list[int]:
        return [int(v) & ((1 << bits) - 1) for v in x]

    if kind in ("umax", "umin"):
        best = max if kind == "umax" else min
        found = [best(a, b) for a, b in zip(unsigned(start), unsigned(src), strict=True)]
        assert unsigned(dst)[:64] == found[:64]
    else:
        assert torch.equal(dst[:64], COMBINE["xchg" if kind == "exch" else kind](start, src)[:64])
    assert torch.equal(dst[64:], start[64:])
    assert torch.equal(old[:64], start[:64])


@triton.jit
def numbers(counter, seen, floats, flag):
    pid = tl.program_id(0)
    ticket = tl.atomic_add(counter, 1)
    tl.store(seen + ticket, pid)
    tl.atomic_max(counter + 1, pid)
    tl.atomic_xchg(counter + 2, pid + 100)
    tl.atomic_add(counter + 3, 5, mask=pid < 2)
    won = tl.atomic_cas(flag, 0, pid + 1)
    if won == 0:
        tl.store(flag + 1, pid + 1)
    tl.atomic_add(floats, 0.5)
    tl.atomic_max(floats + 1, -3.0 - pid)
    tl.atomic_min(floats + 2, 2.0 - pid)


@executes("tt.atomic_rmw", "tt.atomic_cas", "tt.get_program_id")
def test_single_elements_across_programs():
    counter, seen = torch.zeros(4, dtype=torch.int32), torch.full((8,), -1, dtype=torch.int32)
    floats, flag = torch.tensor([0.0, -100.0, 100.0]), torch.zeros(2, dtype=torch.int32)
    run_kernel(numbers, (8,), counter, seen, floats, flag)
    assert counter[:2].tolist() == [8, 7]
    assert 100 <= counter[2] < 108
    assert counter[3] == 10
    assert sorted(seen.tolist()) == list(range(8))
    assert flag[0] == flag[1] > 0
    assert floats.tolist() == [4.0, -3.0, -5.0]


@triton.jit
def halves(dst, src, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(dst + i, tl.load(src + i))
    tl.atomic_add(dst + i * 0, tl.load(src + i), mask=i % 2 == 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@executes("tt.atomic_rmw")
def test_sums_of_halves(dtype: torch.dtype):
    dst, src = torch.zeros(N, dtype=dtype), torch.ones(N, dtype=dtype)
    run_kernel(halves, (1,), dst, src, N=N)
    assert dst[0] == 65
    assert bool((dst[1:] == 1).all())


@triton.jit
def swapping(dst, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_cas(dst + i // 2, i // 2, 1000 + i))


@executes("tt.atomic_cas")
def test_compare_and_swap_of_tiles():
    dst, old = torch.arange(N, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)
    run_kernel(swapping, (1,), dst, old, N=N)
    i = torch.arange(N)
    assert torch.equal(dst[: N // 2].long(), 1000 + i[::2])
    assert torch.equal(old.long(), torch.where(i % 2 == 0, i // 2, 999 + i))
