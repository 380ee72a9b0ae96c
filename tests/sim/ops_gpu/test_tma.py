"""TMA: loads, stores, reductions, gathers and scatters; descriptors of the host and of the device."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from kernel_runner import executes, fbtriton_only, run_kernel, run_ttgir

from tlxviz.launch.model import HostDescriptor

triton = pytest.importorskip("triton")
tlx = pytest.importorskip("triton.language.extra.tlx")
tl = pytest.importorskip("triton.language")


def descriptor(tensor: torch.Tensor, block: list[int], padding: str = "zero") -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block, padding)


@triton.jit
def shifted(x, y, from0, from1, to0, to1, BYTES: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tlx.dtype_of(x), 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], BYTES)
    tlx.async_descriptor_load(x, buffers[0], [from0, from1], full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.async_descriptor_store(y, buffers[0], [to0, to1])
    tlx.async_descriptor_store_wait(0)


def window(x: torch.Tensor, start: tuple[int, ...], size: tuple[int, ...], fill: float = 0.0) -> torch.Tensor:
    """A box of a tensor that may lie partly or wholly outside it."""
    found = torch.full(size, fill, dtype=torch.float32)
    for at in torch.cartesian_prod(*(torch.arange(length) for length in size)).reshape(-1, len(size)).tolist():
        place = [a + b for a, b in zip(at, start, strict=True)]
        if all(0 <= p < n for p, n in zip(place, x.shape, strict=True)):
            found[tuple(at)] = float(x[tuple(place)])
    return found


DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("start", [(0, 0), (-5, 32), (40, -16), (100, 100)], ids=str)
@executes("ttng.async_tma_copy_global_to_local", "ttng.async_tma_copy_local_to_global")
@executes("ttng.async_tma_store_wait", "ttng.barrier_expect")
def test_what_lies_outside_reads_as_zero(dtype: torch.dtype, start: tuple[int, int]):
    x = (torch.randn(50, 48) * 20).to(dtype)
    y = torch.ones(16, 32).to(dtype)
    run_kernel(
        shifted,
        (1,),
        descriptor(x, [16, 32]),
        descriptor(y, [16, 32]),
        *start,
        0,
        0,
        BYTES=16 * 32 * x.element_size(),
        ROWS=16,
        COLUMNS=32,
    )
    assert torch.equal(y.float(), window(x.float(), start, (16, 32)))


def test_nan_padding():
    x = torch.randn(50, 48)
    y = torch.ones(16, 32)
    source, target = descriptor(x, [16, 32], "nan"), descriptor(y, [16, 32])
    run_kernel(shifted, (1,), source, target, 40, 32, 0, 0, BYTES=2048, ROWS=16, COLUMNS=32)
    wanted = window(x, (40, 32), (16, 32), float("nan"))
    assert torch.equal(y.isnan(), wanted.isnan())
    assert torch.equal(y.nan_to_num(), wanted.nan_to_num())


@pytest.mark.parametrize("start", [(-3, 0), (45, 40), (0, -30), (50, 0), (-16, 0)], ids=str)
def test_what_lies_outside_is_not_stored(start: tuple[int, int]):
    x, y = torch.randn(16, 32), torch.zeros(50, 64)
    source, target = descriptor(x, [16, 32]), descriptor(y[:, :48], [16, 32])
    run_kernel(shifted, (1,), source, target, 0, 0, *start, BYTES=2048, ROWS=16, COLUMNS=32)
    wanted = torch.zeros_like(y)
    for row in range(16):
        for column in range(32):
            r, c = row + start[0], column + start[1]
            if 0 <= r < 50 and 0 <= c < 48:
                wanted[r, c] = x[row, column]
    assert torch.equal(y, wanted)


@triton.jit
def block_of(x, y, at0, at1, at2, at3, at4, RANK: tl.constexpr):
    if RANK == 1:
        y.store([0], x.load([at0]))
    if RANK == 2:
        y.store([0, 0], x.load([at0, at1]))
    if RANK == 3:
        y.store([0, 0, 0], x.load([at0, at1, at2]))
    if RANK == 4:
        y.store([0, 0, 0, 0], x.load([at0, at1, at2, at3]))
    if RANK == 5:
        y.store([0, 0, 0, 0, 0], x.load([at0, at1, at2, at3, at4]))


SHAPES = {1: (100,), 2: (10, 40), 3: (3, 10, 40), 4: (2, 3, 10, 24), 5: (2, 2, 3, 6, 24)}
BLOCKS = {1: (32,), 2: (4, 16), 3: (2, 4, 16), 4: (1, 2, 4, 16), 5: (1, 2, 2, 4, 16)}


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_ranks(rank: int, outside: bool):
    shape, block = SHAPES[rank], BLOCKS[rank]
    x, y = torch.randn(shape), torch.ones(block)
    start = tuple((size - length + (length // 2 if outside else 0)) for size, length in zip(shape, block, strict=True))
    places = (*start, 0, 0, 0, 0)[:5]
    run_kernel(block_of, (1,), descriptor(x, list(block)), descriptor(y, list(block)), *places, RANK=rank)
    assert torch.equal(y, window(x, start, block))


@triton.jit
def reduced(x_ptr, y, at, KIND: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    buffers = tlx.local_alloc((ROWS, COLUMNS), tlx.dtype_of(y), 1)
    offsets = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tlx.local_store(buffers[0], tl.load(x_ptr + offsets))
    tlx.fence("async_shared")
    tlx.async_descriptor_store(y, buffers[0], [at, 0], store_reduce=KIND)
    tlx.async_descriptor_store_wait(0)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("add", torch.float32),
        ("add", torch.float16),
        ("add", torch.int32),
        ("min", torch.int32),
        ("max", torch.int32),
        ("and", torch.int32),
        ("or", torch.int32),
        ("xor", torch.int32),
    ],
)
@executes("ttng.async_tma_reduce", "ttng.fence_async_shared")
def test_reductions(kind: str, dtype: torch.dtype):
    x = (torch.randn(32, 32) * 100).to(dtype)
    y = (torch.randn(40, 32) * 100).to(dtype)
    wanted = y.clone()
    call = {
        "add": torch.add,
        "min": torch.minimum,
        "max": torch.maximum,
        "and": torch.bitwise_and,
        "or": torch.bitwise_or,
        "xor": torch.bitwise_xor,
    }[kind]
    wanted[16:] = call(y[16:], x[:24])
    run_kernel(reduced, (1,), x, descriptor(y, [32, 32]), 16, KIND=kind, ROWS=32, COLUMNS=32)
    assert torch.equal(y, wanted)


LAYOUT = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BAR = f"!ttg.memdesc<1xi64, {LAYOUT}, #ttg.shared_memory, mutable>"
NVMMA = "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
TILES = f"!ttg.memdesc<1x16x32xf16, {NVMMA}, #ttg.shared_memory, mutable>"
TILE = f"!ttg.memdesc<16x32xf16, {NVMMA}, #ttg.shared_memory, mutable>"
DESC = f"!tt.tensordesc<1x32xf16, {NVMMA}>"
ROWS = "tensor<16xi32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>"


def test_gather_and_scatter_of_rows():
    """No Hopper has them; the simulator does, for the TTGIR of other GPUs."""
    pointers = ROWS.replace("xi32", "x!tt.ptr<i32>")
    x, y = torch.randn(64, 96).half(), torch.zeros(60, 32).half()
    rows = torch.randperm(64)[:16].int()
    run_ttgir(
        f"""
  tt.func public @rows(%x: {DESC}, %y: {DESC}, %p: !tt.ptr<i32>) {{
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c48 = arith.constant 48 : i32
    %range = tt.make_range {{end = 16 : i32, start = 0 : i32}} : {ROWS}
    %splat = tt.splat %p : !tt.ptr<i32> -> {pointers}
    %at = tt.addptr %splat, %range : {pointers}, {ROWS}
    %rows = tt.load %at : {pointers}
    %bars = ttg.local_alloc : () -> {BAR}
    %bar = ttg.memdesc_index %bars[%c0] : {BAR} -> {BAR}
    ttng.init_barrier %bar, 1 : {BAR}
    %tiles = ttg.local_alloc : () -> {TILES}
    %tile = ttg.memdesc_index %tiles[%c0] : {TILES} -> {TILE}
    ttng.barrier_expect %bar, 1024, %true : {BAR}
    ttng.async_tma_gather %x[%rows, %c48] %tile, %bar, %true : {DESC}, {ROWS}, i32, {BAR}, {TILE}, i1
    ttng.wait_barrier %bar, %c0, %true : {BAR}
    ttng.async_tma_scatter %y[%rows, %c0] %tile : {DESC}, {ROWS}, i32, {TILE}
    ttng.async_tma_store_wait {{pendings = 0 : i32}}
    tt.return
  }}""",
        HostDescriptor(x, (64, 96), (96, 1), (1, 32)),
        HostDescriptor(y, (60, 32), (32, 1), (1, 32)),
        rows,
    )
    wanted = torch.zeros(64, 32).half()
    wanted[rows.long()] = x[rows.long(), 48:80]
    assert torch.equal(y, wanted[:60])


@triton.jit
def made_here(x_ptr, y_ptr, m, n, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    sources = tlx.allocate_tensor_descriptor(2)
    target = tlx.allocate_tensor_descriptor(1)
    tlx.make_tensor_descriptor(sources[1], x_ptr, [m, n], [stride, 1], [ROWS, COLUMNS])
    tlx.make_tensor_descriptor(target[0], y_ptr, [m, n], [stride, 1], [ROWS, COLUMNS])
    x = tlx.reinterpret_tensor_descriptor(sources[1], [ROWS, COLUMNS], tl.float16)
    y = tlx.reinterpret_tensor_descriptor(target[0], [ROWS, COLUMNS], tl.float16)
    buffers = tlx.local_alloc((ROWS, COLUMNS), tl.float16, 2)
    full = tlx.alloc_barriers(2)
    count = tl.cdiv(m, ROWS)
    for n_ in range(count):
        slot = n_ % 2
        tlx.barrier_expect_bytes(full[slot], ROWS * COLUMNS * 2)
        tlx.async_descriptor_load(x, buffers[slot], [n_ * ROWS, 8], full[slot])
        tlx.barrier_wait(full[slot], (n_ // 2) & 1)
        tlx.async_descriptor_store(y, buffers[slot], [n_ * ROWS, 0])
        tlx.async_descriptor_store_wait(1)
    tlx.async_descriptor_store_wait(0)


@fbtriton_only("make_tensor_descriptor into memory of its own calls a builder that it does not have")
@executes("ttg.global_scratch_alloc", "ttng.tensormap_create", "ttng.tensormap_fenceproxy_acquire")
@executes("ttng.reinterpret_tensor_descriptor")
def test_descriptors_that_the_kernel_makes():
    x, y = torch.randn(100, 80).half(), torch.zeros(100, 80).half()
    run_kernel(made_here, (1,), x, y, 100, 72, 80, ROWS=32, COLUMNS=64)
    wanted = torch.zeros_like(y)
    wanted[:, :64] = x[:, 8:72]
    assert torch.equal(y, wanted)


@triton.jit
def made_plainly(x_ptr, y_ptr, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [ROWS, COLUMNS])
    y = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [ROWS, COLUMNS])
    for row in range(0, m, ROWS):
        for column in range(0, n, COLUMNS):
            y.store([row, column], x.load([row, column]) * 2.0)


@executes(
    "ttng.tensormap_create",
    "ttng.async_tma_store_token_wait",
    utlx=["ttng.tensormap_create", "ttng.async_tma_store_wait"],
)
def test_descriptors_of_plain_triton():
    x, y = torch.randn(70, 100), torch.zeros(70, 100)
    run_kernel(made_plainly, (1,), x, y, 70, 100, ROWS=16, COLUMNS=32)
    assert torch.equal(y, x * 2)
