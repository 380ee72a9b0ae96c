"""Loads and stores: pointers and masks in every form, all element types."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import executes, run_kernel, run_ttgir
from op_programs import TORCH

from tlxviz.sim.errors import MemoryAccessError, SimulationError


@triton.jit
def copy_2d(src, dst, rows, cols, stride_r, stride_c, out_r, out_c, other, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * N + tl.arange(0, N)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(src + r[:, None] * stride_r + c[None, :] * stride_c, mask=inside, other=other)
    tl.store(dst + r[:, None] * out_r + c[None, :] * out_c, x)


@pytest.mark.parametrize("dtype", list(TORCH.values()), ids=list(TORCH))
@executes(
    "tt.make_range",
    "tt.load",
    "tt.store",
    "tt.addptr",
    "tt.splat",
    "tt.broadcast",
    "tt.expand_dims",
    "arith.cmpi",
    "arith.andi",
)
def test_boxes_of_every_type(dtype: torch.dtype):
    src = (torch.randn(50, 40) * 20).to(dtype)
    dst = torch.zeros(64, 64).to(dtype)
    three = 3.0 if dtype.is_floating_point else 3
    run_kernel(copy_2d, (2, 2), src, dst, 50, 40, 40, 1, 64, 1, three, M=32, N=32)
    wanted = torch.full((64, 64), 3.0).to(dtype)
    wanted[:50, :40] = src
    assert torch.equal(dst.float(), wanted.float())


@executes("tt.load", "tt.store")
def test_views_transposes_and_negative_strides():
    whole = torch.randn(100, 100)
    view = whole[10:42, 5:69:2]
    dst = torch.zeros(32, 32)
    run_kernel(copy_2d, (1, 1), view, dst, 32, 32, *view.stride(), 1, 32, 0.0, M=32, N=32)
    assert torch.equal(dst.T, view)
    last = whole[31:, 31:]
    run_kernel(copy_2d, (1, 1), last, dst, 32, 32, -100, -1, 32, 1, 0.0, M=32, N=32)
    assert torch.equal(dst, whole[:32, :32].flip(0, 1))
    target = torch.zeros(32, 32)
    run_kernel(copy_2d, (1, 1), view, target[31:, 31:], 32, 32, *view.stride(), -32, -1, 0.0, M=32, N=32)
    assert torch.equal(target, view.flip(0, 1))


@triton.jit
def masks(src, dense, flag, out, others, N: tl.constexpr):
    r = tl.arange(0, N)
    at = r[:, None] * N + r[None, :]
    causal = r[:, None] >= r[None, :]
    tl.store(out + at, tl.load(src + at, mask=causal, other=-1.0))
    chosen = tl.load(dense + at) != 0
    tl.store(out + N * N + at, tl.load(src + at, mask=chosen, other=tl.load(others + at)))
    tl.store(out + 2 * N * N + at, tl.load(src + at, mask=tl.load(flag) > 0, other=2.0))
    tl.store(out + 3 * N * N + at, tl.load(src + at), mask=chosen & causal)
    tl.store(out + 4 * N * N + at, tl.load(src + at), mask=tl.load(flag) > 0)
    some = (r[:, None] < 5) | (r[None, :] >= 9)
    tl.store(out + 5 * N * N + at, tl.load(src + at, mask=some & (tl.load(flag) <= 0), other=0.5))
    tl.store(
        out + 6 * N * N + at,
        tl.load(src + at, mask=~causal, other=0.25),
        mask=(r % 3 == 1)[:, None] & (r != 7)[None, :],
    )
    band = (r[:, None] > 3) & (r[:, None] <= 20) & (tl.program_id(0) + 17 > r[None, :]) & (r[None, :] * 2 - 5 >= 4)
    tl.store(out + 7 * N * N + at, tl.load(src + at, mask=band, other=9.0))
    tl.store(out + 8 * N * N + at, tl.load(src + at, mask=band & (tl.load(flag) > 0), other=tl.load(others + at)))


@pytest.mark.parametrize("flag", [0, 1])
@executes("tt.load", "tt.store", "arith.cmpi", "arith.andi", "arith.ori", "arith.xori", "arith.remsi")
def test_masks_of_every_shape(flag: int):
    n = 32
    src, others, dense = torch.randn(n, n), torch.randn(n, n), (torch.rand(n, n) < 0.4).to(torch.int8)
    out = torch.zeros(9, n, n)
    run_kernel(masks, (1,), src, dense, torch.tensor([flag], dtype=torch.int32), out, others, N=n)
    r = torch.arange(n)
    causal = r[:, None] >= r[None, :]
    on = torch.full((n, n), bool(flag))
    band = (r[:, None] > 3) & (r[:, None] <= 20) & (r[None, :] < 17) & (r[None, :] * 2 - 5 >= 4)
    chosen = dense.bool()
    some = (r[:, None] < 5) | (r[None, :] >= 9)
    stored = (r % 3 == 1)[:, None] & (r != 7)[None, :]
    wanted = [
        torch.where(causal, src, -1.0),
        torch.where(chosen, src, others),
        torch.where(on, src, 2.0),
        torch.where(chosen & causal, src, 0.0),
        torch.where(on, src, 0.0),
        torch.where(some & ~on, src, 0.5),
        torch.where(stored, torch.where(~causal, src, 0.25), 0.0),
        torch.where(band, src, 9.0),
        torch.where(band & on, src, others),
    ]
    for number, tensor in enumerate(wanted):
        assert torch.equal(out[number], tensor), number


@triton.jit
def indirect(src, rows, cols, out, scale, WIDE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    r, c = tl.load(rows + i), tl.load(cols + i)
    if WIDE:
        r = r.to(tl.int64)
        c = c.to(tl.int64)
    x = tl.load(src + r[:, None] * scale + c[None, :])
    tl.store(out + i[:, None] * N + i[None, :], x)
    y = tl.load(src + (r * scale + c), mask=r > 2, other=-5.0)
    tl.store(out + N * N + i, y)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
@executes("tt.load", "tt.addptr")
def test_gathers_by_index_tensors(dtype: torch.dtype, wide: bool):
    n, width = 32, 300 if dtype != torch.int8 or wide else 3
    src = torch.randn(30, 300)
    rows, cols = (torch.randint(0, 30, (n,), dtype=dtype) for _ in range(2))
    out = torch.zeros(n + 1, n)
    run_kernel(indirect, (1,), src, rows, cols, out, width, WIDE=wide, N=n)
    r, c = rows.long(), cols.long()
    flat = src.reshape(-1)
    assert torch.equal(out[:n], flat[r[:, None] * width + c[None, :]])
    assert torch.equal(out[n], torch.where(r > 2, flat[r * width + c], -5.0))


@triton.jit
def arithmetic_of_indices(out, big, N: tl.constexpr):
    i = tl.arange(0, N)
    hashed = i * 1103515245 + 12345
    k = tl.load(big)
    tl.store(out + i, hashed % 1000)
    tl.store(out + N + i, hashed.to(tl.int64))
    tl.store(out + 2 * N + i, (hashed < i).to(tl.int32))
    tl.store(out + 3 * N + i, (i * k).to(tl.int64))
    tl.store(out + 4 * N + i, (i - 5).to(tl.uint32).to(tl.int64))
    tl.store(out + 5 * N + i, hashed // 7)
    tl.store(out + 6 * N + i, (k + i < 0).to(tl.int32))
    tl.store(out + 7 * N + i, (i << 27) >> 3)
    tl.store(out + 8 * N + i, (7 - i) // 2 + (7 - i) % 2)
    tl.store(out + 9 * N + i, tl.where(i > k, i, -i))
    tl.store(out + 10 * N + i, (i * 3 + 1).to(tl.float32).to(tl.int64))
    x = (i * i * i * i * i * i * i).to(tl.int64)
    tl.store(out + 11 * N + i, x)


@executes(
    "arith.muli", "arith.remsi", "arith.divsi", "arith.extsi", "arith.extui", "arith.cmpi", "arith.shli", "arith.shrsi"
)
def test_indices_wrap_like_any_integer():
    n, k = 128, 2**31 - 100
    out = torch.zeros(12, n, dtype=torch.int64)
    run_kernel(arithmetic_of_indices, (1,), out, torch.tensor([k], dtype=torch.int32), N=n)
    i = torch.arange(n)

    def wrap(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.int32).long()

    hashed = wrap(i * 1103515245 + 12345)
    wanted = [
        torch.fmod(hashed, 1000),
        hashed,
        (hashed < i).long(),
        wrap(i * k),
        (i - 5) & 0xFFFFFFFF,
        torch.div(hashed, 7, rounding_mode="trunc"),
        (wrap(i + k) < 0).long(),
        wrap(i << 27) >> 3,
        torch.div(7 - i, 2, rounding_mode="trunc") + torch.fmod(7 - i, 2),
        torch.where(i > k, i, -i),
        i * 3 + 1,
        wrap(i**7),
    ]
    for number, tensor in enumerate(wanted):
        assert torch.equal(out[number], tensor), number


@triton.jit
def overflowing(src, out, stride, WIDE: tl.constexpr):
    i = tl.arange(0, 32)
    r = i.to(tl.int64) if WIDE else i
    at = r[:, None] * stride + i[None, :]
    tl.store(out + i[:, None] * 32 + i[None, :], tl.load(src + at, mask=(r < 1)[:, None], other=0.0))


def test_an_index_that_overflows_32_bits_is_refused():
    src, out = torch.randn(64), torch.zeros(32, 32)
    with pytest.raises(SimulationError, match="32 bits"):
        run_kernel(overflowing, (1,), src, out, 2**31 - 10, WIDE=False)
    run_kernel(overflowing, (1,), src, out, 2**31 - 10, WIDE=True)
    assert torch.equal(out[0], src[:32])


def test_memory_outside_an_allocation_is_refused():
    with pytest.raises(MemoryAccessError, match="allocation that has 1024"):
        run_kernel(copy_2d, (1, 1), torch.zeros(1024), torch.zeros(32, 32), 32, 32, 33, 1, 32, 1, 0.0, M=32, N=32)
    with pytest.raises(MemoryAccessError, match="store"):
        run_kernel(copy_2d, (1, 1), torch.zeros(1024), torch.zeros(1000), 32, 32, 32, 1, 32, 1, 0.0, M=32, N=32)


@triton.jit
def addresses(table, out, a, b, N: tl.constexpr):
    """`b` is there to be in the launch: what the table points to has to be an argument."""
    i = tl.arange(0, N)
    first = tl.load(table).to(tl.pointer_type(tl.float32))
    second = tl.load(table + 1).to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(first + i) + tl.load(second + i))
    chosen = tl.load(table + 1 - (i >= 0).to(tl.int32)).to(tl.pointer_type(tl.float32))
    tl.store(out + N + i, tl.load(chosen + i))
    number = (a + i * 2).to(tl.int64)
    tl.store(out + 2 * N + i, (number - a.to(tl.int64)).to(tl.float32))
    bits = tl.load((a + i).to(tl.pointer_type(tl.int32)))
    tl.store((out + 3 * N).to(tl.pointer_type(tl.int32)) + i, bits)
    halves = tl.load((a + i).to(tl.pointer_type(tl.int16)) + 1)
    tl.store(out + 4 * N + i, halves.to(tl.float32))
    bytes_ = tl.load(a.to(tl.pointer_type(tl.uint8)) + i)
    tl.store(out + 5 * N + i, bytes_.to(tl.float32))
    if tl.load(table) == 0:
        tl.store(b, 0.0)


@executes("tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast")
def test_pointers_as_integers_and_of_other_types():
    n = 64
    a, b, out = torch.randn(n * 2), torch.randn(n * 2), torch.zeros(6, n)
    table = torch.tensor([a.data_ptr(), b.data_ptr()])
    run_kernel(addresses, (1,), table, out, a, b, N=n)
    assert torch.equal(out[0], a[:n] + b[:n])
    assert torch.equal(out[1], a[:n])
    assert torch.equal(out[2], torch.arange(n) * 8.0)
    assert torch.equal(out[3], a[:n])
    assert torch.equal(out[4], a.view(torch.int16)[1::2][:n].float())
    assert torch.equal(out[5], a.view(torch.uint8)[:n].float())


@triton.jit
def selected(a, b, flag, out, N: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.load(flag)
    tl.store(out + i, tl.load(tl.where(i % 2 == 0, a + i, a + 2 * i)))
    chosen = a
    if p > 0:
        chosen = b
    tl.store(out + N + i, tl.load(chosen + i))
    tile_ = a + i
    if p > 0:
        tile_ = b + i * 2
    tl.store(out + 2 * N + i, tl.load(tile_))
    tl.store(out + 3 * N + i, tl.load(tl.where(i < p * 1000, a + i, b + i)))


@pytest.mark.parametrize("flag", [0, 1])
@executes("arith.select")
def test_pointers_are_selected(flag: int):
    n = 64
    a, b, out = torch.randn(2 * n), torch.randn(2 * n), torch.zeros(4, n)
    run_kernel(selected, (1,), a, b, torch.tensor([flag], dtype=torch.int32), out, N=n)
    i = torch.arange(n)
    assert torch.equal(out[0], torch.where(i % 2 == 0, a[:n], a[2 * i]))
    assert torch.equal(out[1], (b if flag else a)[:n])
    assert torch.equal(out[2], b[::2] if flag else a[:n])
    assert torch.equal(out[3], (a if flag else b)[:n])


@triton.jit
def cubes(src, dst, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    x = tl.load(src + a * (B * C) + b * C + c, mask=(a < 3) & (c > 1), other=7.0)
    tl.store(dst + c * (A * B) + a * B + b, x, mask=b != 2)


@executes("tt.expand_dims", "tt.broadcast")
def test_three_dimensions():
    src, dst = torch.randn(4, 8, 16), torch.zeros(16, 4, 8)
    run_kernel(cubes, (1,), src, dst, A=4, B=8, C=16)
    wanted = src.clone()
    wanted[3:], wanted[:, :, :2] = 7.0, 7.0
    wanted[:, 2] = 0.0
    assert torch.equal(dst, wanted.permute(2, 0, 1))


@triton.jit
def scalars(src, dst, flag, other):
    i = tl.program_id(0)
    tl.store(
        dst + i, tl.load(src + i * 2, mask=i < 3, other=other).to(dst.dtype.element_ty), mask=tl.load(flag + i) != 0
    )


@pytest.mark.parametrize("dtype", list(TORCH.values()), ids=list(TORCH))
@executes("tt.load", "tt.store", "tt.get_program_id")
def test_single_elements(dtype: torch.dtype):
    src, dst = (torch.arange(10) - 3).to(dtype), torch.zeros(5).to(dtype)
    flags, other = torch.tensor([1, 1, 0, 1, 1], dtype=torch.int8), 8.0 if dtype.is_floating_point else 8
    run_kernel(scalars, (5,), src, dst, flags, other)
    wanted = torch.tensor([-3.0, -1.0, 0.0, 8.0, 8.0]).to(dtype)
    assert torch.equal(dst.float(), wanted.float())


@executes("arith.constant", "tt.unsplat")
def test_constants_and_unsplat():
    text = """tt.func public @kernel(%out: !tt.ptr<i32>, %wide: !tt.ptr<f32>) {
    %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %p = tt.splat %out : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %q = tt.addptr %p, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    tt.store %q, %0 : tensor<4x!tt.ptr<i32>>
    %one = arith.constant dense<0x7F800000> : tensor<1xf32>
    %u = tt.unsplat %one : tensor<1xf32>
    tt.store %wide, %u : !tt.ptr<f32>
    %a = tt.make_range {end = 1 : i32, start = 0 : i32} : tensor<1xi32>
    %pw = tt.splat %wide : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
    %pa = tt.addptr %pw, %a : tensor<1x!tt.ptr<f32>>, tensor<1xi32>
    %pu = tt.unsplat %pa : tensor<1x!tt.ptr<f32>>
    %v = tt.load %pu : !tt.ptr<f32>
    %c1 = arith.constant 1 : i32
    %pn = tt.addptr %wide, %c1 : !tt.ptr<f32>, i32
    tt.store %pn, %v : !tt.ptr<f32>
    tt.return
}"""
    out, wide = torch.zeros(4, dtype=torch.int32), torch.zeros(2)
    run_ttgir(text, out, wide)
    assert out.tolist() == [1, 2, 3, 4]
    assert wide.tolist() == [float("inf")] * 2
