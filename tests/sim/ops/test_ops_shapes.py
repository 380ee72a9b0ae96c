"""Operations that move, reduce and scan the elements of tiles."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import executes, fbtriton_only, run_kernel, run_ttgir
from op_programs import TORCH, tile

M, N = 16, 32


@triton.jit
def reshaping(src, out, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    flat = tl.arange(0, M * N)
    x = tl.load(src + at)
    tl.store(out + flat, tl.reshape(x, [M * N]))
    tl.store(out + M * N + c[:, None] * M + r[None, :], tl.trans(x))
    left, right = tl.split(tl.reshape(x, [M, N // 2, 2]))
    half = r[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(out + 2 * M * N + half, left - right)
    tl.store(out + 3 * M * N + flat, tl.reshape(tl.join(left, right), [M * N]))
    tl.store(out + 4 * M * N + flat, tl.reshape(at, [M * N]).to(tl.float32))
    tl.store(tl.reshape(out + 5 * M * N + at, [M * N]), tl.load(tl.trans(src + at)).reshape([M * N]))
    tl.store(out + 6 * M * N + flat, tl.reshape(at % 3 == r[:, None], [M * N]).to(tl.float32))
    cubes = tl.permute(tl.reshape(x, [4, 4, N]), [2, 0, 1])
    tl.store(out + 7 * M * N + flat, tl.reshape(cubes, [M * N]))
    one, two = tl.split(tl.join(c, c * 2))
    tl.store(out + 8 * M * N + c, (one * two).to(tl.float32))
    first, second = tl.split(tl.join(tl.load(src), tl.load(src + 1)))
    tl.store(out + 8 * M * N + N, first - second)


@executes("ttg.convert_layout", "tt.reshape", "tt.trans", "tt.split", "tt.join")
def test_shapes():
    src, out = torch.randn(M, N), torch.zeros(9, M * N)
    run_kernel(reshaping, (1,), src, out, M=M, N=N)
    at = torch.arange(M * N).view(M, N)
    r, c = torch.arange(M), torch.arange(N)
    wanted = torch.zeros(9, M * N)
    wanted[0], wanted[1], wanted[3] = src.reshape(-1), src.T.reshape(-1), src.reshape(-1)
    wanted[2, : M * N // 2] = (src[:, ::2] - src[:, 1::2]).reshape(-1)
    wanted[4] = at.reshape(-1).float()
    wanted[5] = src.T.reshape(-1)
    wanted[6] = (at % 3 == r[:, None]).reshape(-1).float()
    wanted[7] = src.view(4, 4, N).permute(2, 0, 1).reshape(-1)
    wanted[8, :N] = (c * c * 2).float()
    wanted[8, N] = src[0, 0] - src[0, 1]
    for number in range(9):
        assert torch.equal(out[number], wanted[number]), number


@triton.jit
def joined(src, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    left, right = tl.load(src + 2 * at), tl.load(src + 2 * at + 1)
    tl.store(out + tl.arange(0, 2 * SIZE), tl.cat(left, right, can_reorder=True))


@fbtriton_only("it does not compile tl.cat, once anything has imported it")
@executes("tt.cat")
def test_concatenation():
    src, out = torch.randn(512), torch.zeros(512)
    run_kernel(joined, (1,), src, out, SIZE=256)
    assert torch.equal(out, torch.cat([src[::2], src[1::2]]))


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def both_of(a, b, c, d):
    keep = (a > c) | ((a == c) & (b < d))
    return tl.where(keep, a, c), tl.where(keep, b, d)


@triton.jit
def composed(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def reducing(src, out, ints, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(src + at)
    i = tl.load(ints + at)
    tl.store(out + r, tl.sum(x, 1))
    tl.store(out + N + c, tl.max(x, 0))
    tl.store(out + 2 * N + r, tl.min(x, 1))
    tl.store(out + 3 * N + r, tl.argmax(x, 1).to(tl.float32))
    tl.store(out + 4 * N + c, tl.argmin(i, 0, tie_break_left=True).to(tl.float32))
    tl.store(out + 5 * N, tl.sum(tl.sum(i, 1), 0).to(tl.float32))
    tl.store(out + 5 * N + 1, tl.max(i))
    tl.store(out + 6 * N + c, tl.xor_sum(i, 0).to(tl.float32))
    tl.store(out + 7 * N + r, tl.reduce(x, 1, largest))
    value, place = tl.reduce((x, tl.broadcast_to(c[None, :], [M, N])), 1, both_of)
    tl.store(out + 8 * N + r, value)
    tl.store(out + 9 * N + r, place.to(tl.float32))
    tl.store(out + 10 * N + c, tl.max(i.to(tl.uint32, bitcast=True), 0).to(tl.float32))
    tl.store(out + 11 * N + r, tl.sum(tl.where(at % 2 == 0, 1, 0), 1).to(tl.float32))
    tl.store(out + 12 * N + r, tl.sum(r[:, None] + c[None, :], 1).to(tl.float32))
    number, at_ = tl.max(x, 1, return_indices=True)
    tl.store(out + 13 * N + r, number + at_)
    tl.store(out + 14 * N + c, tl.reduce_or(i, 0).to(tl.float32))


@executes("tt.reduce", "tt.reduce.return")
def test_reductions():
    src = torch.randint(-20, 20, (M, N)).float()
    ints = torch.randint(-(2**20), 2**20, (M, N), dtype=torch.int32) * 64
    ints[3] = ints[9]
    out = torch.zeros(15, N)
    run_kernel(reducing, (1,), src, out, ints, M=M, N=N)
    at = torch.arange(M * N).view(M, N)
    first = torch.tensor([int((row == row.max()).nonzero()[0]) for row in src])
    folded, joined = torch.zeros(N, dtype=torch.int32), torch.zeros(N, dtype=torch.int32)
    for row in ints:
        folded, joined = folded ^ row, joined | row
    wanted = [
        src.sum(1),
        src.amax(0),
        src.amin(1),
        first.float(),
        torch.tensor([int((column == column.min()).nonzero()[0]) for column in ints.T]).float(),
        torch.tensor([ints.sum().to(torch.int32).float(), ints.max().float()]),
        folded.float(),
        src.amax(1),
        src.amax(1),
        first.float(),
        (ints.long() & 0xFFFFFFFF).amax(0).float(),
        (at % 2 == 0).sum(1).float(),
        (torch.arange(M)[:, None] + torch.arange(N)[None, :]).sum(1).float(),
        src.amax(1) + first,
        joined.float(),
    ]
    for number, tensor in enumerate(wanted):
        assert torch.equal(out[number, : len(tensor)], tensor), number


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float64], ids=str
)
@executes("tt.reduce")
def test_reductions_of_other_types(dtype: torch.dtype):
    src = torch.randint(-9, 9, (64,)).to(dtype)
    total = torch.zeros(3, dtype=torch.int32 if dtype in (torch.int8, torch.int16) else dtype)
    run_kernel(summing, (1,), src, total)
    assert total.tolist() == [src.sum().item(), src.max().item(), src.min().item()]


@triton.jit
def summing(src, out):
    x = tl.load(src + tl.arange(0, 64))
    tl.store(out, tl.sum(x))
    tl.store(out + 1, tl.max(x))
    tl.store(out + 2, tl.min(x))


@triton.jit
def scanning(src, out, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    x = tl.load(src + at)
    tl.store(out + at, tl.cumsum(x, 1))
    tl.store(out + M * N + at, tl.cumsum(x, 0, reverse=True))
    tl.store(out + 2 * M * N + at, tl.cumprod(x % 3 - 1, 1))
    tl.store(out + 3 * M * N + at, tl.associative_scan(x, 1, largest))
    a, b = tl.associative_scan((x % 3 - 1, x), 1, composed)
    tl.store(out + 4 * M * N + at, a + b)
    a, b = tl.associative_scan((x % 3 - 1, x), 0, composed, reverse=True)
    tl.store(out + 5 * M * N + at, a - b)


def scan(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = [x[:, 0]], [y[:, 0]]
    for column in range(1, x.shape[1]):
        a, b = [*a, a[-1] * x[:, column]], [*b, b[-1] * x[:, column] + y[:, column]]
    return torch.stack(a, 1), torch.stack(b, 1)


@executes("tt.scan", "tt.scan.return")
def test_scans():
    src, out = torch.randint(0, 9, (M, N), dtype=torch.int32), torch.zeros(6, M, N, dtype=torch.int32)
    run_kernel(scanning, (1,), src, out, M=M, N=N)
    factor = src % 3 - 1
    a, b = scan(factor, src)
    p, q = scan(factor.T.flip(1), src.T.flip(1))
    wanted = [
        src.cumsum(1),
        src.flip(0).cumsum(0).flip(0),
        factor.cumprod(1),
        src.cummax(1).values,
        a + b,
        (p - q).flip(1).T,
    ]
    for number, tensor in enumerate(wanted):
        assert torch.equal(out[number], tensor.to(torch.int32)), number


@triton.jit
def choosing(src, index, out, counts, masked, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    tl.store(out + at, tl.gather(tl.load(src + at), tl.load(index + at), 1))
    tl.store(out + M * N + c, tl.gather(c * 3, tl.load(index + c), 0).to(tl.float32))
    values = tl.load(index + c)
    tl.store(counts + tl.arange(0, 16), tl.histogram(values, 16))
    tl.store(masked + tl.arange(0, 16), tl.histogram(values, 16, mask=c < 20))


@executes("tt.gather", "tt.histogram")
def test_gather_and_histogram():
    src, index = torch.randn(M, N), torch.randint(0, 16, (M, N), dtype=torch.int32)
    out = torch.zeros(M + 1, N)
    counts, masked = torch.zeros(16, dtype=torch.int32), torch.zeros(16, dtype=torch.int32)
    run_kernel(choosing, (1,), src, index, out, counts, masked, M=M, N=N)
    assert torch.equal(out[:M], src.gather(1, index.long()))
    assert torch.equal(out[M], (torch.arange(N) * 3)[index[0].long()].float())
    assert torch.equal(counts.long(), torch.bincount(index[0], minlength=16))
    assert torch.equal(masked.long(), torch.bincount(index[0, :20], minlength=16))


@triton.jit
def multiplying(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DTYPE: tl.constexpr):
    r, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    x, y = tl.load(a + r[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    z = tl.load(c + r[:, None] * N + n[None, :])
    tl.store(out + r[:, None] * N + n[None, :], tl.dot(x, y, z, out_dtype=DTYPE))
    tl.store(out + M * N + r[:, None] * N + n[None, :], tl.dot(x, y, out_dtype=DTYPE))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int8, torch.float32, torch.float8_e5m2], ids=str
)
@executes("tt.dot")
def test_products(dtype: torch.dtype):
    wide = torch.int32 if dtype == torch.int8 else torch.float32
    a, b = (torch.randint(-4, 5, (32, 32)).to(dtype) for _ in range(2))
    c, out = torch.randint(-4, 5, (32, 32)).to(wide), torch.zeros(2, 32, 32, dtype=wide)
    run_kernel(multiplying, (1,), a, b, c, out, M=32, N=32, K=32, DTYPE=tl.int32 if dtype == torch.int8 else tl.float32)
    product = (a.double() @ b.double()).to(wide)
    assert torch.equal(out[0], product + c)
    assert torch.equal(out[1], product)


@triton.jit
def one_of_a_row(src, ids, out, N: tl.constexpr):
    one = tl.arange(0, 1)
    i = tl.arange(0, N)
    start = tl.load(ids + one)
    tl.store(out + i, tl.load(src + (start + i)))
    at = start[:, None] * N + i[None, :]
    tl.store(out + N + i[None, :], tl.load(src + at, mask=(start > 1)[:, None], other=0.0))
    column = i[:, None] * 1 + start[None, :]
    tl.store(out + 2 * N + i[:, None] + one[None, :], tl.load(src + column))


@executes("tt.broadcast", "tt.expand_dims")
def test_vectors_of_one_element():
    src, out = torch.randn(10, N), torch.zeros(3, N)
    run_kernel(one_of_a_row, (1,), src, torch.tensor([3], dtype=torch.int32), out, N=N)
    flat = src.reshape(-1)
    assert torch.equal(out, torch.stack([flat[3 : 3 + N], src[3], flat[3 : 3 + N]]))


MAP = """tt.func public @kernel(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %out: !tt.ptr<i32>) {
    %i = tt.make_range {end = 128 : i32, start = 0 : i32} : INTS
    %as = tt.splat %a : !tt.ptr<i32> -> PTRS
    %bs = tt.splat %b : !tt.ptr<i32> -> PTRS
    %os = tt.splat %out : !tt.ptr<i32> -> PTRS
    %ai = tt.addptr %as, %i : PTRS, INTS
    %bi = tt.addptr %bs, %i : PTRS, INTS
    %oi = tt.addptr %os, %i : PTRS, INTS
    %x = tt.load %ai : PTRS
    %y = tt.load %bi : PTRS
    %s, %d = "tt.map_elementwise"(%x, %y) <{pack = 1 : i32}> ({
    ^bb0(%p: i32, %q: i32):
      %c = arith.cmpi slt, %p, %q : i32
      %k = arith.constant 3 : i32
      %m = arith.muli %p, %k : i32
      %t = arith.select %c, %m, %q : i32
      %u = arith.subi %p, %q : i32
      tt.map_elementwise.return %t, %u : i32, i32
    }) : (INTS, INTS) -> (INTS, INTS)
    %n = arith.muli %s, %d : INTS
    tt.store %oi, %n : PTRS
    tt.return
}""".replace("INTS", tile("i32")).replace("PTRS", tile("!tt.ptr<i32>"))


@executes("tt.map_elementwise", "tt.map_elementwise.return")
def test_a_function_of_each_element():
    a, b = (torch.randint(-9, 9, (128,), dtype=torch.int32) for _ in range(2))
    out = torch.zeros_like(a)
    run_ttgir(MAP, a, b, out)
    assert torch.equal(out, torch.where(a < b, a * 3, b) * (a - b))
    assert TORCH["i32"] == out.dtype


@triton.jit
def order(a, b):
    if a < b:
        return a * 2, b
    else:
        return b, a


@triton.jit
def mapping(a, b, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.map_elementwise(order, tl.load(a + i), tl.load(b + i))
    tl.store(out + i, x)
    tl.store(out + N + i, y)


@executes("tt.map_elementwise")
def test_a_function_with_branches_of_each_element():
    a, b = (torch.randint(-9, 9, (64,), dtype=torch.int32) for _ in range(2))
    out = torch.zeros(2, 64, dtype=torch.int32)
    run_kernel(mapping, (1,), a, b, out, N=64)
    assert torch.equal(out[0], torch.where(a < b, a * 2, b))
    assert torch.equal(out[1], torch.where(a < b, b, a))
