"""Functions of Triton's library that are made of several operations, against torch and numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import executes, run_kernel, run_ttgir

M, N = 8, 64


@triton.jit
def ordering(src, out, top, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(src + at)
    tl.store(out + at, tl.sort(x))
    tl.store(out + M * N + at, tl.sort(x, descending=True))
    tl.store(out + 2 * M * N + at, tl.flip(x, 1))
    tl.store(top + r[:, None] * K + tl.arange(0, K)[None, :], tl.topk(x, K))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.float16], ids=str)
def test_sorting(dtype: torch.dtype):
    x = (torch.randn(M, N) * 100).to(dtype)
    out, top = torch.zeros(3, M, N, dtype=dtype), torch.zeros(M, 16, dtype=dtype)
    run_kernel(ordering, (1,), x, out, top, M=M, N=N, K=16)
    assert torch.equal(out[0], x.sort(1).values)
    assert torch.equal(out[1], x.sort(1, descending=True).values)
    assert torch.equal(out[2], x.flip(1))
    assert torch.equal(top, x.topk(16, 1).values)


@triton.jit
def composed(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def accumulating(src, other, out, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x, y = tl.load(src + at), tl.load(other + at)
    tl.store(out + at, tl.cumprod(x, 0))
    tl.store(out + M * N + at, tl.softmax(x))
    p, q = tl.associative_scan((x, y), 1, composed)
    tl.store(out + 2 * M * N + at, p)
    tl.store(out + 3 * M * N + at, q)
    p, q = tl.reduce((x, y), 1, composed)
    tl.store(out + 4 * M * N + r, p)
    tl.store(out + 4 * M * N + M + r, q)
    half = r[:, None] * N + tl.arange(0, N // 2)[None, :]
    tl.store(out + 5 * M * N + at, tl.interleave(tl.load(src + half), tl.load(other + half)))


@executes("tt.scan", "tt.reduce", "tt.join")
def test_accumulations():
    x, y = torch.rand(M, N) + 0.5, torch.randn(M, N)
    out = torch.zeros(6, M, N)
    run_kernel(accumulating, (1,), x, y, out, M=M, N=N)
    torch.testing.assert_close(out[0], x.cumprod(0))
    torch.testing.assert_close(out[1], x.softmax(0))
    p, q = [x[:, 0]], [y[:, 0]]
    for column in range(1, N):
        p.append(p[-1] * x[:, column])
        q.append(q[-1] * x[:, column] + y[:, column])
    torch.testing.assert_close(out[2], torch.stack(p, dim=1))
    torch.testing.assert_close(out[3], torch.stack(q, dim=1))
    torch.testing.assert_close(out[4].flatten()[: 2 * M], torch.cat([p[-1], q[-1]]))
    assert torch.equal(out[5], torch.stack([x[:, : N // 2], y[:, : N // 2]], dim=2).view(M, N))


@triton.jit
def whole_numbers(src, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(src + i)
    tl.store(out + i, tl.umulhi(x, x + 7))
    tl.store(out + N + i, tl.cdiv(x, 7))
    tl.store(out + 2 * N, tl.xor_sum(x, 0))
    tl.store(out + 2 * N + 1, tl.reduce_or(x, 0))
    row, column = tl.swizzle2d(i // 16, i % 16, 4, 16, 2)
    tl.store(out + 3 * N + i, row * 16 + column)


@executes("tt.mulhiui", "arith.xori", "arith.ori")
def test_whole_numbers():
    n = 64
    x = torch.randint(1, 2**30, (n,), dtype=torch.int32)
    out = torch.zeros(4, n, dtype=torch.int32)
    run_kernel(whole_numbers, (1,), x, out, N=n)
    wide = x.long()
    assert torch.equal(out[0].long(), wide * (wide + 7) >> 32)
    assert torch.equal(out[1].long(), -(-wide // 7))
    assert out[2, 0] == np.bitwise_xor.reduce(x.numpy())
    assert out[2, 1] == np.bitwise_or.reduce(x.numpy())
    order = [(i // 32 * 2 + i % 2) * 16 + i % 32 // 2 for i in range(n)]
    assert out[3].tolist() == order


@triton.jit
def drawing(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(seed, i))
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out + N + i, (a & 0xFFFF).to(tl.float32))
    tl.store(out + 2 * N + i, (d & 0xFFFF).to(tl.float32))
    tl.store(out + 3 * N + i, ((b ^ c) & 0xFFFF).to(tl.float32))


def philox(seed: int, counters: np.ndarray) -> list[np.ndarray]:
    """Philox 4x32 with ten rounds (Salmon et al. 2011), counting in the first word."""
    words = [counters.astype(np.uint64), *(np.zeros(len(counters), np.uint64) for _ in range(3))]
    low, high = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            second >> np.uint64(32) ^ words[1] ^ np.uint64(low),
            second & np.uint64(0xFFFFFFFF),
            first >> np.uint64(32) ^ words[3] ^ np.uint64(high),
            first & np.uint64(0xFFFFFFFF),
        ]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return words


@pytest.mark.parametrize("seed", [0, 7, 123456789])
def test_random_numbers(seed: int):
    n = 256
    out = torch.zeros(4, n)
    run_kernel(drawing, (1,), out, seed, N=n)
    a, b, c, d = (word.astype(np.int64) for word in philox(seed, np.arange(n)))
    signed = np.where(a >= 2**31, a - 2**32, a)
    uniform = np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)
    assert np.array_equal(out[0].numpy(), uniform)
    for row, word in zip(out[1:], (a, d, b ^ c), strict=True):
        assert np.array_equal(row.numpy(), (word & 0xFFFF).astype(np.float32))


LINE = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>, #ttg.shared_memory, mutable"
TYPES = {
    "INTS": f"tensor<128xi32, {LINE}>",
    "FLAGS": f"tensor<128xi1, {LINE}>",
    "POINTERS": f"tensor<128x!tt.ptr<i32>, {LINE}>",
    "BUFFER": f"!ttg.memdesc<128xi32, {SHARED}>",
}
ATOMICS = """
tt.func public @atomics(%x: !tt.ptr<i32>, %places: !tt.ptr<i32>, %out: !tt.ptr<i32>, %limit: i32) {
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : INTS
  %xs = tt.splat %x : !tt.ptr<i32> -> POINTERS
  %xp = tt.addptr %xs, %i : POINTERS, INTS
  %value = tt.load %xp : POINTERS
  %ps = tt.splat %places : !tt.ptr<i32> -> POINTERS
  %pp = tt.addptr %ps, %i : POINTERS, INTS
  %place = tt.load %pp : POINTERS
  %limits = tt.splat %limit : i32 -> INTS
  %in = arith.cmpi slt, %i, %limits : INTS
  %b = ttg.local_alloc %value : (INTS) -> BUFFER
  %old = ttg.local_atomic_scatter_rmw KIND, %b[%place], %i, %in {axis = 0 : i32} : (BUFFER, INTS, INTS, FLAGS) -> INTS
  %all = ttg.local_atomic_scatter_rmw KIND, %b[%place], %i {axis = 0 : i32} : (BUFFER, INTS, INTS) -> INTS
  %new = ttg.local_load %b : BUFFER -> INTS
  %os = tt.splat %out : !tt.ptr<i32> -> POINTERS
  %op = tt.addptr %os, %i : POINTERS, INTS
  tt.store %op, %new : POINTERS
  %c128 = arith.constant dense<128> : INTS
  %oq = tt.addptr %op, %c128 : POINTERS, INTS
  tt.store %oq, %old : POINTERS
  tt.return
}
"""


@pytest.mark.parametrize(
    ("kind", "combine"),
    [
        ("add", lambda a, b: a + b),
        ("max", max),
        ("min", min),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
        ("exch", lambda a, b: b),
    ],
)
@executes("ttg.local_atomic_scatter_rmw")
def test_atomics_on_shared_memory(kind: str, combine: Callable[[int, int], int]):
    x = torch.randint(0, 1000, (128,), dtype=torch.int32)
    places = torch.randint(0, 50, (128,), dtype=torch.int32)
    out = torch.zeros(2, 128, dtype=torch.int32)
    text = ATOMICS.replace("KIND", kind)
    for word, type_ in TYPES.items():
        text = text.replace(word, type_)
    run = run_ttgir(text, x, places, out, 100)
    memory, old = x.tolist(), [0] * 128
    for number, place in enumerate(places.tolist()[:100]):
        old[number] = memory[place]
        memory[place] = combine(memory[place], number)
    for number, place in enumerate(places.tolist()):
        memory[place] = combine(memory[place], number)
    assert out[0].tolist() == memory
    assert out[1, :100].tolist() == old[:100]
    assert run.cycles == run_ttgir(text, x, places, out, 100, values=False).cycles


POISON = f"""
tt.func public @unset(%out: !tt.ptr<i32>, %flag: i32) {{
  %zero = arith.constant 0 : i32
  %seven = arith.constant 7 : i32
  %poison = ub.poison : i32
  %tile = ub.poison : tensor<128xi32, {LINE}>
  %i = tt.make_range {{end = 128 : i32, start = 0 : i32}} : tensor<128xi32, {LINE}>
  %go = arith.cmpi sgt, %flag, %zero : i32
  %number, %numbers = scf.if %go -> (i32, tensor<128xi32, {LINE}>) {{
    scf.yield %seven, %i : i32, tensor<128xi32, {LINE}>
  }} else {{
    scf.yield %poison, %tile : i32, tensor<128xi32, {LINE}>
  }}
  %s = tt.splat %out : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, {LINE}>
  %p = tt.addptr %s, %i : tensor<128x!tt.ptr<i32>, {LINE}>, tensor<128xi32, {LINE}>
  %by = tt.splat %number : i32 -> tensor<128xi32, {LINE}>
  %value = arith.muli %numbers, %by : tensor<128xi32, {LINE}>
  tt.store %p, %value : tensor<128x!tt.ptr<i32>, {LINE}>
  tt.return
}}
"""


@executes("ub.poison")
def test_a_value_that_is_not_set_is_any():
    out = torch.zeros(128, dtype=torch.int32)
    run_ttgir(POISON, out, 1)
    assert torch.equal(out, torch.arange(128, dtype=torch.int32) * 7)
