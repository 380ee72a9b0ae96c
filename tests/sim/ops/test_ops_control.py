"""Control flow: what loops and branches carry, in every way that values are held."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import compile_kernel, execute, executes, run_kernel, run_ttgir

from tlxviz.sim.errors import HangError, RunawayError

N = 64


@triton.jit
def carrying(src, out, count, step, N: tl.constexpr):
    i = tl.arange(0, N)
    pointers = src + i
    scattered = src + i * i % 7
    mask = i < N
    index = i
    uniform = tl.full([N], 0, tl.int32)
    total = tl.zeros([N], tl.float32)
    number = 0
    flag = mask
    one = src
    for k in range(0, count, step):
        total += tl.load(pointers, mask=mask, other=0.0) + tl.load(scattered) + tl.load(one)
        pointers += N
        scattered += 1
        one += 2
        mask = mask & (i < N - k)
        flag = flag ^ (i > k)
        uniform = uniform + (i * k if k > 2 else tl.full([N], 1, tl.int32))
        index = index * 3 + k
        number += k * k
    tl.store(out + i, total)
    tl.store(out + N + i, index.to(tl.float32))
    tl.store(out + 2 * N + i, uniform.to(tl.float32))
    tl.store(out + 3 * N + i, mask.to(tl.float32) + 2 * flag.to(tl.float32))
    tl.store(out + 4 * N + i, tl.load(pointers))
    tl.store(out + 5 * N, number.to(tl.float32))
    tl.store(out + 5 * N + 1, tl.load(one))


def carried(src: torch.Tensor, count: int, step: int) -> torch.Tensor:
    i = torch.arange(N)
    at, scattered, mask, one, number = i, i * i % 7, i < N, 0, 0
    index, uniform, total, flag = i, torch.zeros(N, dtype=torch.int64), torch.zeros(N), mask
    for k in range(0, count, step):
        total = total + ((torch.where(mask, src[at], 0.0) + src[scattered]) + src[one])
        at, scattered, one = at + N, scattered + 1, one + 2
        mask = mask & (i < N - k)
        flag = flag ^ (i > k)
        uniform = uniform + (i * k if k > 2 else 1)
        index = (index * 3 + k).to(torch.int32).long()
        number += k * k
    out = torch.zeros(6, N)
    out[0], out[1], out[2], out[4] = total, index.float(), uniform.float(), src[at]
    out[3] = mask.float() + 2 * flag.float()
    out[5, 0], out[5, 1] = number, src[one]
    return out


@pytest.mark.parametrize(("count", "step"), [(0, 1), (2, 2), (9, 1), (9, 4), (8, 4), (-3, 2), (25, 1)])
@executes("scf.for")
def test_loops_carry_every_representation(count: int, step: int):
    src, out = torch.randn(N * 40), torch.zeros(6, N)
    run_kernel(carrying, (1,), src, out, count, step, N=N)
    assert torch.equal(out, carried(src, count, step))


@triton.jit
def nested(out, rows, cols, N: tl.constexpr):
    i = tl.arange(0, N)
    total = i
    mask = i >= 0
    for r in range(rows):
        row = i * r
        for c in range(r, cols, 2):
            row += c
            mask = mask & (i > c - 5)
            for _ in range(c % 3):
                total = total + row
        if r % 2 == 1:
            total = total ^ r
        else:
            total = -total
    tl.store(out + i, tl.where(mask, total, -1))


@pytest.mark.parametrize(("rows", "cols"), [(0, 5), (3, 0), (4, 9), (5, 5)])
@executes("scf.for")
def test_nested_loops(rows: int, cols: int):
    out = torch.zeros(N, dtype=torch.int32)
    run_kernel(nested, (1,), out, rows, cols, N=N)
    i = torch.arange(N, dtype=torch.int32)
    total, mask = i, i >= 0
    for r in range(rows):
        row = i * r
        for c in range(r, cols, 2):
            row = row + c
            mask = mask & (i > c - 5)
            for _ in range(c % 3):
                total = total + row
        total = total ^ r if r % 2 == 1 else -total
    assert torch.equal(out, torch.where(mask, total, -1))


@triton.jit
def whiles(src, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    pointers = src + i
    at = 0
    steps = 0
    swap = i
    other = i * 2
    total = tl.zeros([N], tl.float32)
    while (at < limit) & (tl.load(src + at) < 100.0):
        total += tl.load(pointers)
        pointers += 1
        steps += 1
        at = at * 2 + 1
        kept = swap
        swap = other
        other = kept
    tl.store(out + i, total)
    tl.store(out + N + i, swap.to(tl.float32) - other.to(tl.float32))
    tl.store(out + 2 * N + i, tl.load(pointers))
    tl.store(out + 3 * N, at.to(tl.float32))
    tl.store(out + 3 * N + 1, steps.to(tl.float32))


@pytest.mark.parametrize("limit", [0, 1, 40, 1000])
@executes("scf.while", "scf.condition")
def test_while_loops(limit: int):
    src, out = torch.randn(4 * N), torch.zeros(4, N)
    src[31] = 1000.0
    run_kernel(whiles, (1,), src, out, limit, N=N)
    i = torch.arange(N)
    at, steps, total, swap, other = 0, 0, torch.zeros(N), i, i * 2
    while at < limit and src[at] < 100:
        total, steps, at, swap, other = total + src[i + steps], steps + 1, at * 2 + 1, other, swap
    assert torch.equal(out[0], total)
    assert torch.equal(out[1], (swap - other).float())
    assert torch.equal(out[2], src[i + steps])
    assert out[3, :2].tolist() == [at, steps]


@triton.jit
def branches(src, flag, out, N: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.load(flag)
    if p == 0:
        index, mask, mixed = i, i < 9, i
        value, number, pointers, uniform = tl.load(src + i), 1, src + i, tl.full([N], 3, tl.int32)
        condition = i > 2
    elif p == 1:
        index, mask, mixed = i * 2 + p, i > 50, tl.load(src + i).to(tl.int32)
        value, number, pointers, uniform = tl.zeros([N], tl.float32), 2, src + i * i, tl.full([N], 4, tl.int32)
        condition = tl.load(src + i) > 0
    else:
        index, mask, mixed = tl.full([N], 5, tl.int32), (i < 60) & (i > 4), tl.full([N], -1, tl.int32)
        value, number, pointers, uniform = tl.load(src + 2 * i), p + 1, src + (N - i), i * 0 + p
        condition = i == i
    tl.store(out + i, tl.where(mask, index, 0).to(tl.float32))
    tl.store(out + N + i, value)
    tl.store(out + 2 * N + i, tl.load(pointers, mask=mask, other=0.5))
    tl.store(out + 3 * N + i, (uniform * number).to(tl.float32))
    tl.store(out + 4 * N + i, mixed.to(tl.float32), mask=condition)


@pytest.mark.parametrize("p", [0, 1, 2])
@executes("scf.if", "scf.yield")
def test_branches_give_every_representation(p: int):
    src, out = torch.randn(N * N), torch.zeros(5, N)
    run_kernel(branches, (1,), src, torch.tensor([p], dtype=torch.int32), out, N=N)
    i = torch.arange(N)
    index = [i, i * 2 + p, torch.full((N,), 5)][p]
    mask = [i < 9, i > 50, (i < 60) & (i > 4)][p]
    mixed = [i.float(), src[i].trunc() + 0.0, torch.full((N,), -1.0)][p]
    value = [src[i], torch.zeros(N), src[2 * i]][p]
    at = [i, i * i, N - i][p]
    condition = [i > 2, src[i] > 0, i == i][p]
    number, uniform = [(1, 3), (2, 4), (3, 2)][p]
    assert torch.equal(out[0], torch.where(mask, index, 0).float())
    assert torch.equal(out[1], value)
    assert torch.equal(out[2], torch.where(mask, src[at], 0.5))
    assert torch.equal(out[3], torch.full((N,), float(number * uniform)))
    assert torch.equal(out[4], torch.where(condition, mixed, 0.0))


@triton.jit
def early(src, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    i = tl.arange(0, N)
    x = tl.load(src + pid * N + i)
    if tl.load(src + pid * N) > 0:
        tl.store(out + pid * N + i, x)
        return
    tl.store(out + pid * N + i, x * 2)


@executes("cf.cond_br", "tt.return")
def test_early_returns():
    src, out = torch.randn(6, N), torch.zeros(6, N)
    src[0, 0], src[1, 0] = 1.0, -1.0
    run_kernel(early, (6,), src, out, 4, N=N)
    wanted = torch.where(src[:, :1] > 0, src, src * 2)
    wanted[4:] = 0
    assert torch.equal(out, wanted)


GRAPH = """tt.func public @kernel(%out: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %base = tt.splat %out : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
    %at = tt.addptr %base, %r : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
    cf.br ^bb1(%c0, %r, %at, %out : i32, tensor<32xi32>, tensor<32x!tt.ptr<i32>>, !tt.ptr<i32>)
  ^bb1(%k: i32, %x: tensor<32xi32>, %p: tensor<32x!tt.ptr<i32>>, %one: !tt.ptr<i32>):
    %more = arith.cmpi slt, %k, %n : i32
    cf.cond_br %more, ^bb2, ^bb3(%x : tensor<32xi32>)
  ^bb2:
    %next = arith.addi %k, %c1 : i32
    %s = tt.splat %next : i32 -> tensor<32xi32>
    %y = arith.muli %x, %s : tensor<32xi32>
    tt.store %p, %y : tensor<32x!tt.ptr<i32>>
    %c32 = arith.constant 32 : i32
    %move = tt.splat %c32 : i32 -> tensor<32xi32>
    %q = tt.addptr %p, %move : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
    %two = tt.addptr %one, %c32 : !tt.ptr<i32>, i32
    tt.store %one, %next : !tt.ptr<i32>
    cf.br ^bb1(%next, %y, %q, %two : i32, tensor<32xi32>, tensor<32x!tt.ptr<i32>>, !tt.ptr<i32>)
  ^bb3(%z: tensor<32xi32>):
    %neg = arith.subi %z, %r : tensor<32xi32>
    tt.store %p, %neg : tensor<32x!tt.ptr<i32>>
    tt.return
}"""


@pytest.mark.parametrize("n", [0, 1, 4])
@executes("cf.br", "cf.cond_br")
def test_a_graph_of_blocks_with_arguments(n: int):
    out = torch.zeros(n + 1, 32, dtype=torch.int32)
    run_ttgir(GRAPH, out, n)
    r = x = torch.arange(32, dtype=torch.int32)
    for k in range(n):
        x = x * (k + 1)
        wanted = x.clone()
        wanted[0] = k + 1
        assert torch.equal(out[k], wanted)
    assert torch.equal(out[n], x - r)


@triton.jit
def endless(flag):
    while tl.load(flag, volatile=True) == 0:
        pass


def test_a_loop_that_waits_for_memory_which_nobody_writes_hangs():
    with pytest.raises(HangError, match="over and over, and nobody writes it any more"):
        run_kernel(endless, (1,), torch.zeros(1, dtype=torch.int32))


@triton.jit
def counting(counter):
    while tl.atomic_add(counter, 1) >= 0:
        pass


def test_a_loop_that_never_ends_is_ended():
    launch = compile_kernel(counting, (1,), torch.zeros(1, dtype=torch.int32))
    with pytest.raises(RunawayError, match="still running after"):
        execute(launch, cycle_limit=100_000)


@triton.jit(noinline=True)
def chosen(x, y, p):
    if p > 0:
        return x * 2, y + 1
    else:
        return y, x


@triton.jit(noinline=True)
def moved(pointer, by):
    return pointer + by


@triton.jit(noinline=True)
def stored(out, value, n):
    i = tl.arange(0, 64)
    for _ in range(n):
        tl.store(out + i, i + value)
        out += 64


@triton.jit
def calling(src, out, p, N: tl.constexpr):
    x, y = chosen(tl.load(src), tl.load(src + 1), p)
    one = moved(src, N)
    tl.store(out, x)
    tl.store(out + 1, y)
    tl.store(out + 2, tl.load(one))
    stored(out + N, x, 2)


@pytest.mark.parametrize("p", [0, 1])
@executes("tt.call")
def test_functions_that_are_not_inlined(p: int):
    src, out = torch.randn(2 * N), torch.zeros(3, N)
    run_kernel(calling, (1,), src, out, p, N=N)
    x, y = (src[0] * 2, src[1] + 1) if p else (src[1], src[0])
    assert out[0, :3].tolist() == [x, y, src[N]]
    assert torch.equal(out[1:], (torch.arange(N) + x).expand(2, N))


CALL = (
    """tt.func private @twice(%x: INTS, %p: PTRS, %q: PTR, %no: PTR) -> (INTS, PTRS, PTR) attributes {noinline = true} {
    %y = arith.addi %x, %x : INTS
    %c = arith.constant dense<32> : INTS
    %c32 = arith.constant 32 : i32
    %m = tt.addptr %p, %c : PTRS, INTS
    %n = tt.addptr %q, %c32 : PTR, i32
    tt.return %y, %m, %n : INTS, PTRS, PTR
}
tt.func public @kernel(%out: PTR) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : INTS
    %base = tt.splat %out : PTR -> PTRS
    %at = tt.addptr %base, %r : PTRS, INTS
    %a:3 = tt.call @twice(%r, %at, %out, %out) : (INTS, PTRS, PTR, PTR) -> (INTS, PTRS, PTR)
    %b:3 = tt.call @twice(%a#0, %a#1, %a#2, %out) : (INTS, PTRS, PTR, PTR) -> (INTS, PTRS, PTR)
    tt.store %a#1, %b#0 : PTRS
    %c9 = arith.constant 9 : i32
    tt.store %b#2, %c9 : PTR
    tt.return
}""".replace("PTRS", "tensor<32x!tt.ptr<i32>>")
    .replace("INTS", "tensor<32xi32>")
    .replace("PTR", "!tt.ptr<i32>")
)


@executes("tt.call")
def test_calls_with_tiles_of_values_and_pointers():
    out = torch.zeros(3, 32, dtype=torch.int32)
    run_ttgir(CALL, out)
    assert torch.equal(out[1], torch.arange(32, dtype=torch.int32) * 4)
    assert out[2].tolist() == [9] + [0] * 31
