"""Shared memory: allocation, views, loads and stores, gather and scatter."""

from __future__ import annotations

import pytest
import torch
from kernel_runner import executes, fbtriton_only, run_kernel, run_ttgir

from tlxviz.ir import load_program

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"


@triton.jit
def through_slots(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SLOTS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tl.float16, SLOTS)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    for slot in range(SLOTS):
        tlx.local_store(buffers[slot], tl.load(x_ptr + slot * ROWS * COLUMNS + at))
    for slot in range(SLOTS):
        tl.store(y_ptr + slot * ROWS * COLUMNS + at, tlx.local_load(buffers[SLOTS - 1 - slot]))


@executes("ttg.local_alloc", "ttg.memdesc_index", "ttg.local_store", "ttg.local_load")
def test_slots_are_apart():
    x = torch.randn(3, 32, 64).half()
    y = torch.zeros_like(x)
    run_kernel(through_slots, (1,), x, y, ROWS=32, COLUMNS=64, SLOTS=3)
    assert torch.equal(y, x.flip(0))


@triton.jit
def transposed(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tlx.dtype_of(x_ptr), 1)
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tlx.local_store(buffers[0], tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :]))
    turned = tlx.local_load(tlx.local_trans(buffers[0]))
    tl.store(y_ptr + columns[:, None] * ROWS + rows[None, :], turned)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.float8_e5m2]
)
@executes("ttg.memdesc_trans")
def test_transposed_view(dtype: torch.dtype):
    x = (torch.randn(32, 64) * 20).to(dtype)
    y = torch.zeros(64, 32, dtype=dtype)
    run_kernel(transposed, (1,), x, y, ROWS=32, COLUMNS=64)
    assert torch.equal(y.float(), x.float().t())


@triton.jit
def sliced(x_ptr, y_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tl.float16, 1)
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tlx.local_store(buffers[0], tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :]))
    right = tlx.local_slice(buffers[0], [0, COLUMNS // 2], [ROWS, COLUMNS // 2])
    values = tlx.local_load(right)
    tlx.local_store(right, values + values)
    tl.store(y_ptr + rows[:, None] * COLUMNS + columns[None, :], tlx.local_load(buffers[0]))


@executes("ttg.memdesc_subslice")
def test_a_subslice_is_part_of_its_buffer():
    x = torch.randn(64, 128).half()
    y = torch.zeros_like(x)
    run_kernel(sliced, (1,), x, y, ROWS=64, COLUMNS=128)
    wanted = x.clone()
    wanted[:, 64:] *= 2
    assert torch.equal(y, wanted)


@triton.jit
def reinterpreted(x_ptr, y_ptr, SIZE: tl.constexpr):
    buffers = tlx.local_alloc((SIZE,), tl.float32, 1)
    at = tl.arange(0, SIZE)
    tlx.local_store(buffers[0], tl.load(x_ptr + at))
    halves = tlx.local_reinterpret(buffers[0], tl.int16, [2 * SIZE])
    twice = tl.arange(0, 2 * SIZE)
    tl.store(y_ptr + twice, tlx.local_load(halves))


@executes("ttg.memdesc_reinterpret")
def test_reinterpreted_bytes():
    x = torch.randn(256)
    y = torch.zeros(512, dtype=torch.int16)
    run_kernel(reinterpreted, (1,), x, y, SIZE=256)
    assert torch.equal(y, x.view(torch.int16))


@triton.jit
def overlapping(x_ptr, y_ptr, z_ptr, SIZE: tl.constexpr):
    alias = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    wide = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=alias)
    narrow = tlx.local_alloc((SIZE, SIZE), tl.float16, 2, reuse=alias)
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tlx.local_store(wide[0], tl.load(x_ptr + at))
    tl.store(y_ptr + at, tlx.local_load(wide[0]))
    tlx.local_store(narrow[1], tl.load(x_ptr + at).to(tl.float16))
    tl.store(z_ptr + at, tlx.local_load(narrow[1]))


@executes("ttg.memdesc_reinterpret")
def test_buffers_that_share_their_storage():
    x = torch.randn(64, 64)
    y, z = torch.zeros_like(x), torch.zeros_like(x).half()
    run_kernel(overlapping, (1,), x, y, z, SIZE=64)
    assert torch.equal(y, x)
    assert torch.equal(z, x.half())


@triton.jit
def gathered(x_ptr, index_ptr, y_ptr, z_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    source = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1)
    target = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + at)
    index = tl.load(index_ptr + at)
    tlx.local_store(source[0], x)
    tl.store(y_ptr + at, tlx.local_gather(source[0], index, AXIS))
    tlx.local_scatter(target[0], x, index, AXIS)
    tl.store(z_ptr + at, tlx.local_load(target[0]))


@triton.jit
def renamed(x_ptr, y_ptr, SIZE: tl.constexpr):
    floats = tlx.local_alloc((SIZE,), tl.float32, 2)
    bits = tlx.local_alloc((SIZE,), tl.int32, 2, reuse=floats)
    at = tl.arange(0, SIZE)
    tlx.local_store(floats[1], tl.load(x_ptr + at))
    tl.store(y_ptr + at, tlx.local_load(bits[1]))


@executes("ttg.memdesc_reinterpret")
def test_a_buffer_in_the_place_of_another():
    x, y = torch.randn(128), torch.zeros(128, dtype=torch.int32)
    run = run_kernel(renamed, (1,), x, y, SIZE=128)
    assert torch.equal(y, x.view(torch.int32))
    assert [(buffer.name, buffer.bytes) for buffer in load_program(run.launch.ttgir).buffers] == [("floats", 1024)]


@fbtriton_only("it has no local_gather and no local_scatter")
@pytest.mark.parametrize("axis", [0, 1])
@executes("ttg.local_gather", "ttg.local_scatter")
def test_gather_and_scatter(axis: int):
    x = torch.randn(32, 64)
    index = torch.argsort(torch.rand(32, 64), dim=axis).int()
    y, z = torch.zeros_like(x), torch.zeros_like(x)
    run_kernel(gathered, (1,), x, index, y, z, ROWS=32, COLUMNS=64, AXIS=axis)
    assert torch.equal(y, x.gather(axis, index.long()))
    assert torch.equal(z, torch.zeros_like(x).scatter(axis, index.long(), x))


@executes("ttg.local_alloc", "ttg.memdesc_reshape", "ttg.local_load", "ttg.local_dealloc")
def test_an_allocation_with_contents_in_another_shape():
    down, right = f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>", f"#ttg.slice<{{dim = 0, parent = {BLOCKED}}}>"
    before = f"!ttg.memdesc<32x64xf32, {SHARED}, #ttg.shared_memory>"
    after = f"!ttg.memdesc<64x32xf32, {SHARED}, #ttg.shared_memory>"
    x, y = torch.randn(32, 64), torch.zeros(64, 32)
    run_ttgir(
        f"""
  tt.func public @reshaped(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {{
    %c64 = arith.constant dense<64> : tensor<32x64xi32, {BLOCKED}>
    %c32 = arith.constant dense<32> : tensor<64x32xi32, {BLOCKED}>
    %r0 = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, {down}>
    %r1 = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, {right}>
    %r2 = tt.expand_dims %r0 {{axis = 1 : i32}} : tensor<32xi32, {down}> -> tensor<32x1xi32, {BLOCKED}>
    %r3 = tt.broadcast %r2 : tensor<32x1xi32, {BLOCKED}> -> tensor<32x64xi32, {BLOCKED}>
    %r4 = arith.muli %r3, %c64 : tensor<32x64xi32, {BLOCKED}>
    %r5 = tt.expand_dims %r1 {{axis = 0 : i32}} : tensor<64xi32, {right}> -> tensor<1x64xi32, {BLOCKED}>
    %r6 = tt.broadcast %r5 : tensor<1x64xi32, {BLOCKED}> -> tensor<32x64xi32, {BLOCKED}>
    %at = arith.addi %r4, %r6 : tensor<32x64xi32, {BLOCKED}>
    %p0 = tt.splat %x : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>, {BLOCKED}>
    %p = tt.addptr %p0, %at : tensor<32x64x!tt.ptr<f32>, {BLOCKED}>, tensor<32x64xi32, {BLOCKED}>
    %v = tt.load %p : tensor<32x64x!tt.ptr<f32>, {BLOCKED}>
    %m = ttg.local_alloc %v : (tensor<32x64xf32, {BLOCKED}>) -> {before}
    %n = ttg.memdesc_reshape %m : {before} -> {after}
    %w = ttg.local_load %n : {after} -> tensor<64x32xf32, {BLOCKED}>
    ttg.local_dealloc %m : {before}
    %s0 = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, {down}>
    %s1 = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, {right}>
    %s2 = tt.expand_dims %s0 {{axis = 1 : i32}} : tensor<64xi32, {down}> -> tensor<64x1xi32, {BLOCKED}>
    %s3 = tt.broadcast %s2 : tensor<64x1xi32, {BLOCKED}> -> tensor<64x32xi32, {BLOCKED}>
    %s4 = arith.muli %s3, %c32 : tensor<64x32xi32, {BLOCKED}>
    %s5 = tt.expand_dims %s1 {{axis = 0 : i32}} : tensor<32xi32, {right}> -> tensor<1x32xi32, {BLOCKED}>
    %s6 = tt.broadcast %s5 : tensor<1x32xi32, {BLOCKED}> -> tensor<64x32xi32, {BLOCKED}>
    %bt = arith.addi %s4, %s6 : tensor<64x32xi32, {BLOCKED}>
    %q0 = tt.splat %y : !tt.ptr<f32> -> tensor<64x32x!tt.ptr<f32>, {BLOCKED}>
    %q = tt.addptr %q0, %bt : tensor<64x32x!tt.ptr<f32>, {BLOCKED}>, tensor<64x32xi32, {BLOCKED}>
    tt.store %q, %w : tensor<64x32x!tt.ptr<f32>, {BLOCKED}>
    tt.return
  }}""",
        x,
        y,
    )
    assert torch.equal(y, x.view(64, 32))
