"""Tensor memory: views of lanes and columns, what they share, and how long warps take to move it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from kernel_runner import Run, b200, compile_kernel, execute, executes, fbtriton_only, h200, ttgir_launch

from tlxviz.ir.types import Encoding, MemDescType, ScalarType
from tlxviz.launch.model import Launch
from tlxviz.sim.errors import LaunchLimitError, MemoryAccessError, UnsupportedOperation
from tlxviz.sim.tensor_layout import layout_of
from tlxviz.sim.tensor_memory import allocate_tensor

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")

MEMORY = b200().tensor_memory


def run(function: Any, *args: Any, **options: Any) -> Run:
    """With values and without, which has to take the same time; the run with values."""
    launch = compile_kernel(function, (1,), *args, device=b200(), **options)
    return both(launch)


def both(launch: Launch) -> Run:
    with_values = execute(launch, device=b200())
    assert execute(launch, device=b200(), values=False).cycles == with_values.cycles
    return with_values


def numbers(*shape: int) -> torch.Tensor:
    """Different ones, which fp16 holds."""
    return (torch.arange(int(np.prod(shape))) % 2039 - 1000).float().reshape(shape)


@triton.jit
def slots(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, NUM: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tiles = tlx.local_alloc((M, N), tlx.dtype_of(x_ptr), NUM, tlx.storage_kind.tmem)
    for slot in range(NUM):
        tlx.local_store(tiles[slot], tl.load(x_ptr + slot * M * N + at))
    for slot in range(NUM):
        tl.store(y_ptr + slot * M * N + at, tlx.local_load(tiles[slot]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(128, 64), (128, 32), (64, 64)], ids=str)
@executes("ttng.tmem_alloc", "ttng.tmem_store", "ttng.tmem_load", "ttg.memdesc_index")
def test_slots_keep_what_is_stored(shape: tuple[int, int], dtype: torch.dtype):
    x = torch.randn(3, *shape).to(dtype)
    y = torch.zeros_like(x)
    run(slots, x, y, M=shape[0], N=shape[1], NUM=3)
    assert torch.equal(x, y)


@triton.jit
def slices(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, START: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    tile = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    tlx.local_store(tile[0], tl.load(x_ptr + row * N + tl.arange(0, N)[None, :]))
    part = tlx.local_slice(tile[0], [0, START], [M, WIDTH])
    tlx.local_store(part, tlx.local_load(part) + 1)
    tl.store(y_ptr + row * N + tl.arange(0, N)[None, :], tlx.local_load(tile[0]))


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize(("start", "width"), [(0, 32), (32, 32), (64, 64), (96, 32)])
@executes("ttng.tmem_subslice", "ttng.tmem_load")
def test_slices_are_columns_of_what_they_are_cut_from(rows: int, start: int, width: int):
    x = torch.randn(rows, 128)
    y = torch.zeros_like(x)
    run(slices, x, y, M=rows, N=128, START=start, WIDTH=width)
    x[:, start : start + width] += 1
    assert torch.equal(x, y)


@triton.jit
def shared_columns(x_ptr, p_ptr, m_ptr, sums_ptr, other_ptr, row_ptr, N: tl.constexpr, SLOT: tl.constexpr):
    """As in attention: fp16 in the upper half of the fp32 columns, and a row's number in the first of the lower."""
    row, at = tl.arange(0, 128)[:, None], tl.arange(0, N)[None, :]
    sums = tlx.local_alloc((128, N), tl.float32, 2, tlx.storage_kind.tmem)
    halves = tlx.local_alloc((128, N), tl.float16, 4, tlx.storage_kind.tmem, reuse=sums)
    columns = tlx.local_alloc((128, 1), tl.float32, 2 * N, tlx.storage_kind.tmem, reuse=sums)
    for slot in tl.static_range(2):
        tlx.local_store(sums[slot], tl.load(x_ptr + slot * 128 * N + row * N + at))
    tlx.local_store(halves[2 * SLOT + 1], tl.load(p_ptr + row * N + at))
    tlx.local_store(columns[SLOT * N + 1], tl.load(m_ptr + row))
    for slot in tl.static_range(2):
        tl.store(sums_ptr + slot * 128 * N + row * N + at, tlx.local_load(sums[slot]))
    tl.store(other_ptr + row * N + at, tlx.local_load(halves[2 * SLOT]))
    tl.store(row_ptr + row, tlx.local_load(columns[(1 - SLOT) * N + 5]))


@pytest.mark.parametrize("slot", [0, 1])
@executes("ttg.memdesc_reinterpret", "ttng.tmem_store")
def test_types_share_columns_of_32_bits(slot: int):
    n = 64
    x, p, m = torch.randn(2, 128, n), torch.randn(128, n).half(), torch.randn(128)
    sums, other, row = torch.zeros_like(x), torch.zeros_like(p), torch.zeros(128)
    run(shared_columns, x, p, m, sums, other, row, N=n, SLOT=slot)
    # each lane is a row of 32-bit cells; two fp16 numbers lie in one, the first in its lower half
    cells = x.view(torch.int32).permute(1, 0, 2).reshape(128, 2 * n).clone()
    cells[:, slot * n + n // 2 : (slot + 1) * n] = p.view(torch.int32)
    cells[:, slot * n + 1] = m.view(torch.int32)
    wanted = cells.view(torch.float32).reshape(128, 2, n).permute(1, 0, 2)
    assert torch.equal(sums, wanted)
    # as bits, some of which are no numbers
    assert torch.equal(other.view(torch.int16), cells[:, slot * n : slot * n + n // 2].contiguous().view(torch.int16))
    assert torch.equal(row, wanted[1 - slot, :, 5])


# ---------------------------------------------------------------------- layouts


def memdesc(shape: tuple[int, ...], element: str, name: str = "tensor_memory_encoding", **parameters: Any) -> Any:
    return MemDescType(shape, ScalarType(element), Encoding(name, parameters), "tensor_memory", True, shape)


def cells_of(type_: MemDescType) -> dict[tuple[int, ...], tuple[int, int]]:
    """Lane, and element along it, of each element of a view, as found by writing one after the other."""
    layout = layout_of(type_)
    size = type_.element.bytes
    view = allocate_tensor(0, layout, {4: torch.int32, 2: torch.int16, 1: torch.int8}[size], True)
    assert view.cells is not None
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for place in np.ndindex(*type_.shape):
        value = torch.zeros(type_.shape, dtype=view.dtype)
        value[place] = 1
        view.store(value)
        ((lane, element),) = view.cells.view(view.dtype).nonzero().tolist()
        found[place] = (lane, element)
    return found


LAYOUTS = {
    "rows-in-lanes": (memdesc((128, 2), "f32", blockM=128, blockN=2), lambda m, n: (m, n), 2),
    "two-a-column": (memdesc((128, 4), "f16", blockM=128, blockN=4), lambda m, n: (m, n), 2),
    "one-a-column": (memdesc((128, 4), "f16", blockM=128, blockN=4, colStride=2), lambda m, n: (m, 2 * n), 4),
    "64-rows": (memdesc((64, 4), "f32", blockM=64, blockN=4), lambda m, n: (32 * (m // 16) + m % 16, n), 4),
    "64-rows-twice": (
        memdesc((128, 2), "f32", blockM=64, blockN=2),
        lambda m, n: (32 * (m % 64 // 16) + 16 * (m // 64) + m % 16, n),
        2,
    ),
    "64-rows-wide": (
        memdesc((64, 4), "f32", blockM=64, blockN=2),
        lambda m, n: (32 * (m // 16) + 16 * (n // 2) + m % 16, n % 2),
        2,
    ),
    "blocks": (
        memdesc((256, 4), "f32", blockM=128, blockN=2),
        lambda m, n: (m % 128, n % 2 + 2 * (m // 128) + 4 * (n // 2)),
        8,
    ),
    "slots": (memdesc((2, 128, 2), "f32", blockM=128, blockN=2), lambda s, m, n: (m, 2 * s + n), 4),
    "pair-sums": (
        memdesc((64, 4), "f32", blockM=64, blockN=4, ctaMode="twocta_rhs"),
        lambda m, n: (m + 64 * (n // 2), n % 2),
        2,
    ),
    "pair-operand": (memdesc((64, 2), "f16", blockM=64, blockN=2, ctaMode="twocta_lhs"), lambda m, n: (m, n), 1),
    "scales": (
        memdesc((64, 8), "i8", "tensor_memory_scales_encoding"),
        lambda m, k: (m % 32, 4 * (m // 32) + k % 4 + 8 * (k // 4)),
        4,
    ),
}
"""A type, the lane and element of an element as PTX and Triton's linear layouts have them, and the columns in all."""


@pytest.mark.parametrize(("type_", "place", "columns"), LAYOUTS.values(), ids=LAYOUTS)
def test_lanes_and_columns(type_: MemDescType, place: Any, columns: int):
    assert layout_of(type_).columns == columns
    assert cells_of(type_) == {index: place(*index) for index in np.ndindex(*type_.shape)}


def test_slices_of_blocks_that_lie_apart():
    type_ = memdesc((128, 64), "i32", blockM=128, blockN=16)
    view = allocate_tensor(0, layout_of(memdesc((256, 64), "i32", blockM=128, blockN=16)), torch.int32, True)
    view.store(numbers(256, 64).int())
    assert torch.equal(view.columns(32, 32).tensor, numbers(256, 64).int()[:, 32:64])
    assert torch.equal(view.columns(8, 8).tensor, numbers(256, 64).int()[:, 8:16])
    assert view.columns(8, 8) is view.columns(8, 8)
    assert torch.equal(view.transposed((1, 0)).tensor, numbers(256, 64).int().t())
    with pytest.raises(UnsupportedOperation, match="across its blocks"):
        allocate_tensor(0, layout_of(type_), torch.int32, True).columns(8, 16)


def test_a_slot_can_be_packed_although_its_array_is_not():
    """As Triton's own aliases have it: the type of a slot says where its elements are."""
    whole = allocate_tensor(0, layout_of(memdesc((1, 128, 8), "f32", blockM=128, blockN=8)), torch.float32, True)
    array = whole.reinterpreted(
        layout_of(memdesc((1, 128, 8), "f16", blockM=128, blockN=8, colStride=2)), torch.float16
    )
    slot = array.at(0, layout_of(memdesc((128, 8), "f16", blockM=128, blockN=8)))
    slot.store(numbers(128, 8))
    assert whole.cells is not None
    assert torch.equal(whole.cells.view(torch.float16)[:, :8], numbers(128, 8).half())
    assert not whole.cells[:, 4:].any()


def test_a_view_does_not_reach_beyond_its_allocation():
    view = allocate_tensor(0, layout_of(memdesc((128, 8), "f32", blockM=128, blockN=8)), torch.float32, True)
    wide = view.reinterpreted(layout_of(memdesc((128, 16), "f32", blockM=128, blockN=16)), torch.float32)
    with pytest.raises(MemoryAccessError, match="behind its allocation"):
        wide.store(torch.zeros(128, 16))


def test_unknown_layouts_are_refused():
    with pytest.raises(UnsupportedOperation, match="layout shiny"):
        layout_of(memdesc((128, 8), "f32", "shiny"))


# ---------------------------------------------------------------------- initial values, predicates, copies

HEAD = """#blocked = #ttg.blocked<{sizePerThread = [1, 32], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @by_hand(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %m = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>
    %n = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #blocked}>>
    %row = tt.expand_dims %m {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<128x1xi32, #blocked>
    %column = tt.expand_dims %n {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #blocked}>> -> tensor<1x32xi32, #blocked>
    %width = arith.constant dense<32> : tensor<128x1xi32, #blocked>
    %start = arith.muli %row, %width : tensor<128x1xi32, #blocked>
    %rows = tt.broadcast %start : tensor<128x1xi32, #blocked> -> tensor<128x32xi32, #blocked>
    %columns = tt.broadcast %column : tensor<1x32xi32, #blocked> -> tensor<128x32xi32, #blocked>
    %at = arith.addi %rows, %columns : tensor<128x32xi32, #blocked>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<128x32x!tt.ptr<f32>, #blocked>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x32x!tt.ptr<f32>, #blocked>
    %from = tt.addptr %xs, %at : tensor<128x32x!tt.ptr<f32>, #blocked>, tensor<128x32xi32, #blocked>
    %to = tt.addptr %ys, %at : tensor<128x32x!tt.ptr<f32>, #blocked>, tensor<128x32xi32, #blocked>
    %value = tt.load %from : tensor<128x32x!tt.ptr<f32>, #blocked>
"""  # noqa: E501
TAIL = """
    %read = ttng.tmem_load %tile : !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x32xf32, #blocked>
    tt.store %to, %read : tensor<128x32x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
"""  # noqa: E501


def by_hand(body: str) -> tuple[Run, torch.Tensor, torch.Tensor]:
    """Runs `body`, which fills `%tile` from `%value`; gives what was loaded, and what was in tensor memory."""
    x, y = torch.randn(128, 32), torch.zeros(128, 32)
    return both(ttgir_launch(HEAD + body + TAIL, x, y)), x, y


@executes("ttng.tmem_alloc")
def test_an_allocation_with_an_initial_value_and_a_token():
    _, x, y = by_hand(
        "%tile, %token = ttng.tmem_alloc %value : (tensor<128x32xf32, #blocked>) -> "
        "(!ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)"
    )
    assert torch.equal(x, y)


@pytest.mark.parametrize("stored", [True, False])
def test_a_store_with_a_predicate(stored: bool):
    _, x, y = by_hand(
        "%tile = ttng.tmem_alloc : () -> !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>\n"
        f"%flag = arith.constant {'true' if stored else 'false'}\n"
        "ttng.tmem_store %value, %tile, %flag : tensor<128x32xf32, #blocked> -> "
        "!ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>"
    )
    assert torch.equal(y, x if stored else torch.zeros_like(x))


@executes("ttng.tmem_copy")
def test_a_copy_from_shared_memory_tells_its_barrier():
    body = """
    %zero = arith.constant 0 : i32
    %yes = arith.constant true
    %source = ttg.local_alloc %value : (tensor<128x32xf32, #blocked>) -> !ttg.memdesc<128x32xf32, #shared, #smem>
    %done = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #line, #smem, mutable>
    ttng.init_barrier %done, 1 : !ttg.memdesc<1xi64, #line, #smem, mutable>
    %tile = ttng.tmem_alloc : () -> !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>
    ttng.tmem_copy %source, %tile, %done : !ttg.memdesc<128x32xf32, #shared, #smem>, !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.memdesc<1xi64, #line, #smem, mutable>
    ttng.wait_barrier %done, %zero : !ttg.memdesc<1xi64, #line, #smem, mutable>
"""  # noqa: E501
    run_, x, y = by_hand(body)
    assert torch.equal(x, y)
    # without the wait, what was there before
    _, _, y = by_hand(re.sub(r" *ttng.wait_barrier.*\n", "", body))
    assert not y.any()
    assert MEMORY is not None
    # 16 KB are four instructions, of which the warp group issues each in 30 cycles
    (waited,) = [row for row in range(len(run_.trace.events)) if _kind(run_, row) == "wait"]
    took = run_.trace.events["end"][waited] - run_.trace.events["begin"][waited]
    assert took == MEMORY.copy_cycles + 3 * MEMORY.copy_interval_cycles + b200().sync.mbarrier_wake
    by = run_.trace.events["released_by"][waited]
    assert _kind(run_, by) == "tmem_copy"
    # a commit behind it tells its barrier at the same time
    told = "!ttg.memdesc<1xi64, #line, #smem, mutable>"
    copied = "!ttg.memdesc<128x32xf32, #shared, #smem>, !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>"
    committed = body.replace("%tile, %done :", "%tile :").replace(f"{copied}, {told}", copied)
    committed = committed.replace("    ttng.wait", f"    ttng.tc_gen5_commit %done, %yes : {told}\n    ttng.wait")
    assert committed.count("%done") == 4
    second, x, y = by_hand(committed)
    assert torch.equal(x, y)
    (later,) = [row for row in range(len(second.trace.events)) if _kind(second, row) == "wait"]
    assert second.trace.events["end"][later] == run_.trace.events["end"][waited]
    assert _kind(second, second.trace.events["released_by"][later]) == "tmem_copy"


def _kind(run_: Run, row: int) -> str:
    return run_.trace.sites[run_.trace.events["site"][row]].kind


# ---------------------------------------------------------------------- time


def test_figures_that_the_expectations_are_made_of():
    assert MEMORY is not None
    assert (MEMORY.load_latency_cycles, MEMORY.load_bytes_per_cycle, MEMORY.load_least_cycles) == (34, 197, 200)
    assert (MEMORY.store_latency_cycles, MEMORY.store_bytes_per_cycle) == (13, 345)
    assert MEMORY.alloc_cycles == 88
    assert b200().tcgen05 is not None


@triton.jit
def clocked(times_ptr, y_ptr, N: tl.constexpr, MORE: tl.constexpr):
    at = tl.arange(0, 128)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tlx.local_alloc((128, N), tl.float32, 2, tlx.storage_kind.tmem)
    value = tl.zeros((128, N), tl.float32)
    begin = tlx.clock64()
    tlx.local_store(tile[0], value)
    if MORE:
        tlx.local_store(tile[1], value)
    between = tlx.clock64()
    value = tlx.local_load(tile[0])
    other = value
    if MORE:
        other = tlx.local_load(tile[1])
    end = tlx.clock64()
    tl.store(times_ptr, between - begin)
    tl.store(times_ptr + 1, end - between)
    tl.store(y_ptr + at, value + other)


def test_stores_and_loads_take_their_latency_and_their_bytes():
    """128 x 64 fp32 are 32 KB: 95 cycles of stores and 167 of loads, beyond the latency. One waits for the other.

    Before the second store is the index of its slot, which is one instruction. After each the four warps meet.
    """
    assert one_more(64) == (1 + 95 + 13 + 20, 167 + 34)


def test_a_narrow_load_takes_as_long_as_one_of_64_columns():
    """32 columns are 84 cycles of loads and 34 of latency, and a load takes 200 at least."""
    assert one_more(32) == (1 + 48 + 13 + 20, 200)


def one_more(columns: int) -> tuple[int, int]:
    """Cycles that another store, and another load, take."""
    found: dict[bool, list[int]] = {}
    for more in (False, True):
        times = torch.zeros(2, dtype=torch.int64)
        run(clocked, times, torch.zeros(128, columns), N=columns, MORE=more)
        found[more] = times.tolist()
    store, load = (after - before for before, after in zip(found[False], found[True], strict=True))
    return store, load


# ---------------------------------------------------------------------- order


@triton.jit
def factor_and_weights(y_ptr, FENCE: tl.constexpr):
    at = tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :]
    factors = tlx.local_alloc((128, 1), tl.float32, 1, tlx.storage_kind.tmem)
    scores = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    for _ in range(4):
        s = tlx.local_load(scores[0])
        factor = tl.max(s, 1)
        tlx.local_store(factors[0], factor[:, None])
        if FENCE:
            tlx.fence("async_shared")
        tlx.local_store(scores[0], tl.math.exp2(s - factor[:, None]))
    tl.store(y_ptr + at, tlx.local_load(scores[0]))


@pytest.mark.parametrize("fence", [False, True])
def test_a_narrow_store_comes_after_arithmetic_that_does_not_need_it(fence: bool):
    """128 x 128 exponentials, at 16 a cycle, are between the factor and the weights: ptxas has them before both, but
    moves nothing over what others can see."""
    y = torch.zeros(128, 128)
    run_ = run(factor_and_weights, y, FENCE=fence)
    assert torch.equal(y, torch.ones(128, 128))
    events = run_.trace.events
    stores = [row for row in range(len(events)) if _kind(run_, row) == "tmem_store"]
    assert len(stores) == 8
    between = events["begin"][stores[3]] - events["end"][stores[2]]
    assert (between > 1024) == fence
    assert between >= 20  # for which the warps meet


# ---------------------------------------------------------------------- devices


def test_other_devices_have_none():
    launch = compile_kernel(slots, (1,), torch.zeros(128, 32), torch.zeros(128, 32), M=128, N=32, NUM=1, device=b200())
    with pytest.raises(LaunchLimitError, match=r"has none: simulate a B200 \(--device sim:b200\)"):
        execute(launch, device=h200())
    bare = replace(launch, metadata={**launch.metadata, "tmem_size": 0})
    with pytest.raises(UnsupportedOperation, match=r"which NVIDIA H200 SXM does not have: try --device sim:b200"):
        execute(bare, device=h200())
