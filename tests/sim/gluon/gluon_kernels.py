"""Gluon kernels for Hopper: copies, pipelines, matrix products and attention, as their authors would launch them."""

# ruff: noqa: RUF005, SIM113 # kernels have neither unpacking nor enumerate

from __future__ import annotations

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LINE = gl.BlockedLayout([1], [32], [4], [0])
ROWS = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
COLUMNS = gl.BlockedLayout([4, 1], [16, 2], [1, 4], [0, 1])


def described(tensor: torch.Tensor, block: list[int]) -> TensorDescriptor:
    """A descriptor with the widest swizzle that the block allows."""
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(tensor, block, layout)


# ---------------------------------------------------------------------- moving data


@gluon.jit
def transpose(source, target, M, N, BLOCK: gl.constexpr, read: gl.constexpr, write: gl.constexpr):
    rows = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(1, read))
    columns = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, read))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tile = gl.load(source + rows[:, None] * N + columns[None, :], mask=inside, other=0.0)
    tile = gl.convert_layout(tile, write)
    rows = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(1, write))
    columns = gl.program_id(1) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, write))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    gl.store(target + columns[None, :] * M + rows[:, None], tile, mask=inside)


@gluon.jit
def doubled(source, target, size, BLOCK: gl.constexpr, layout: gl.constexpr, STAGES: gl.constexpr):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffers = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], plain)
    lane = gl.arange(0, BLOCK, layout=layout)
    for stage in gl.static_range(STAGES - 1):
        at = stage * BLOCK + lane
        async_copy.async_copy_global_to_shared(buffers.index(stage), source + at, mask=at < size)
        async_copy.commit_group()
    for tile in range(gl.cdiv(size, BLOCK)):
        ahead = tile + STAGES - 1
        at = ahead * BLOCK + lane
        async_copy.async_copy_global_to_shared(buffers.index(ahead % STAGES), source + at, mask=at < size)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 1)
        at = tile * BLOCK + lane
        gl.store(target + at, buffers.index(tile % STAGES).load(layout) * 2, mask=at < size)
    async_copy.wait_group(0)


@gluon.jit
def incremented(
    source, target, size, BLOCK: gl.constexpr, layout: gl.constexpr, INCREMENT: gl.constexpr, ARRIVALS: gl.constexpr
):
    """Copies that tell an mbarrier when they have landed, two tiles at a time."""
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    buffers = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    landed = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(2):
        mbarrier.init(landed.index(slot), count=ARRIVALS)
    lane = gl.arange(0, BLOCK, layout=layout)
    tiles = gl.cdiv(size, BLOCK)
    for tile in range(tiles + 1):
        if tile < tiles:
            at = tile * BLOCK + lane
            async_copy.async_copy_global_to_shared(buffers.index(tile % 2), source + at, mask=at < size)
            async_copy.mbarrier_arrive(landed.index(tile % 2), increment_count=INCREMENT)
            if INCREMENT:  # then the copies come on top of the arrivals that the barrier was made for
                mbarrier.arrive(landed.index(tile % 2), count=1)
        if tile > 0:
            before = tile - 1
            mbarrier.wait(landed.index(before % 2), (before // 2) & 1)
            at = before * BLOCK + lane
            gl.store(target + at, buffers.index(before % 2).load(layout) + 1, mask=at < size)


@gluon.jit
def tma_incremented(source, target, layout: gl.constexpr):
    landed = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    tile = gl.allocate_shared_memory(source.dtype, source.block_type.shape, source.layout)
    mbarrier.init(landed, count=1)
    row = gl.program_id(0) * source.block_type.shape[0]
    column = gl.program_id(1) * source.block_type.shape[1]
    mbarrier.expect(landed, source.block_type.nbytes)
    tma.async_copy_global_to_shared(source, [row, column], landed, tile)
    mbarrier.wait(landed, 0)
    mbarrier.invalidate(landed)
    tile.store(tile.load(layout) + 1.0)
    fence_async_shared()
    tma.async_copy_shared_to_global(target, [row, column], tile)
    tma.store_wait(0)


@gluon.jit
def views(source, target, layout: gl.constexpr, across: gl.constexpr):
    """Slots, transposed, sliced and reshaped views of shared memory."""
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    slots = gl.allocate_shared_memory(gl.float32, [2, 32, 64], plain)
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    for slot in gl.static_range(2):
        tile = source + slot * 2048 + row[:, None] * 64 + column[None, :]
        async_copy.async_copy_global_to_shared(slots.index(slot), tile)
    async_copy.commit_group()
    async_copy.wait_group(0)
    down = gl.arange(0, 64, layout=gl.SliceLayout(1, across))
    right = gl.arange(0, 32, layout=gl.SliceLayout(0, across))
    gl.store(target + down[:, None] * 32 + right[None, :], slots.index(1).permute([1, 0]).load(across))
    gl.store(target + 2048 + down[:, None] * 32 + right[None, :], slots.index(1).reshape([64, 32]).load(across))
    half = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    gl.store(target + 4096 + row[:, None] * 32 + half[None, :], slots.index(0).slice(32, 32, dim=1).load(layout))


# ---------------------------------------------------------------------- computing


@gluon.jit
def _sum(a, b):
    return a + b


@gluon.jit
def _pick(value, place):
    if place > 5:
        return value
    else:
        return -value


@gluon.jit
def _read(pointer, buffer, size, layout: gl.constexpr):
    at = gl.arange(0, buffer.shape[0], layout=layout)
    async_copy.async_copy_global_to_shared(buffer, pointer + at, mask=at < size)
    async_copy.commit_group()
    async_copy.wait_group(0)
    return buffer.load(layout)


@gluon.jit
def vector_functions(source, places, target, size, N: gl.constexpr, layout: gl.constexpr):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    value = _read(source, gl.allocate_shared_memory(gl.float32, [N], plain), size, layout)
    place = _read(places, gl.allocate_shared_memory(gl.int32, [N], plain), N, layout)
    lane = gl.arange(0, N, layout=layout)
    gl.store(target + lane, gl.exp2(value) + gl.sqrt(gl.abs(value)))
    gl.store(target + N + lane, gl.associative_scan(value, 0, _sum))
    gl.store(target + 2 * N, gl.sum(value, 0))
    gl.store(target + 2 * N + 1, gl.max(value, 0))
    gl.store(target + 2 * N + 2, gl.min(value, 0))
    gl.atomic_add(target + 2 * N + 3, gl.sum(value, 0))
    gl.store(target + 3 * N + lane, gl.gather(value, place, 0))
    gl.store(target + 4 * N + lane, gl.histogram(place, N, layout=layout).to(gl.float32))
    double, square = gl.inline_asm_elementwise(
        "add.f32 $0, $2, $2; mul.f32 $1, $2, $2;",
        "=f,=f,f",
        [value],
        dtype=(gl.float32, gl.float32),
        is_pure=True,
        pack=1,
    )
    gl.store(target + 5 * N + lane, double + square)
    gl.store(target + 6 * N + lane, gl.map_elementwise(_pick, value, place))


@gluon.jit
def _returns(value):
    return value * 2, 7


@gluon.jit
def _stores(target, layout: gl.constexpr):
    lane = gl.arange(0, 128, layout=layout)
    gl.store(target + 128 + lane, lane)


@gluon.jit
def task_with_results(target, layout: gl.constexpr):
    """What the default task returns is used after all tasks have ended."""
    lane = gl.arange(0, 128, layout=layout)
    value, factor = gl.warp_specialize([(_returns, (lane,)), (_stores, (target, layout))], [4], [24])
    gl.store(target + lane, value * factor)


@gluon.jit
def pipelined_matmul(a, b, c, K, STAGES: gl.constexpr, NUM_WARPS: gl.constexpr):
    """C = A x B^T: copies run ahead of the MMAs by all stages but one."""
    BM: gl.constexpr = c.block_type.shape[0]
    BN: gl.constexpr = c.block_type.shape[1]
    BK: gl.constexpr = a.block_type.shape[1]
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
    row = gl.program_id(0) * BM
    column = gl.program_id(1) * BN
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [NUM_WARPS, 1], [16, BN, 16])
    acc = warpgroup_mma_init(gl.zeros((BM, BN), gl.float32, layout))
    steps = gl.cdiv(K, BK)
    for ahead in gl.static_range(STAGES - 1):
        mbarrier.expect(full.index(ahead), a.block_type.nbytes + b.block_type.nbytes, pred=ahead < steps)
        tma.async_copy_global_to_shared(
            a, [row, ahead * BK], full.index(ahead), a_tiles.index(ahead), pred=ahead < steps
        )
        tma.async_copy_global_to_shared(
            b, [column, ahead * BK], full.index(ahead), b_tiles.index(ahead), pred=ahead < steps
        )
    for step in range(steps):
        now = step % STAGES
        mbarrier.wait(full.index(now), (step // STAGES) & 1)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        acc = warpgroup_mma(a_tiles.index(now), b_tiles.index(now).permute((1, 0)), acc, is_async=True)
        later = step + STAGES - 1
        slot = later % STAGES
        mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes, pred=later < steps)
        tma.async_copy_global_to_shared(a, [row, later * BK], full.index(slot), a_tiles.index(slot), pred=later < steps)
        tma.async_copy_global_to_shared(
            b, [column, later * BK], full.index(slot), b_tiles.index(slot), pred=later < steps
        )
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    for stage in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(stage))
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    c_tile.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [row, column], c_tile)
    tma.store_wait(pendings=0)


@gluon.jit
def _load_tiles(a, b, a_tiles, b_tiles, full, empty, tiles, down, steps, STAGES: gl.constexpr):
    done = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        row = (tile % down) * a.block_type.shape[0]
        column = (tile // down) * b.block_type.shape[0]
        for step in range(steps):
            slot = done % STAGES
            mbarrier.wait(empty.index(slot), ((done // STAGES) & 1) ^ 1)
            mbarrier.expect(full.index(slot), a.block_type.nbytes + b.block_type.nbytes)
            at = step * a.block_type.shape[1]
            tma.async_copy_global_to_shared(a, [row, at], full.index(slot), a_tiles.index(slot))
            tma.async_copy_global_to_shared(b, [column, at], full.index(slot), b_tiles.index(slot))
            done += 1


@gluon.jit
def _multiply_tiles(
    c, a_tiles, b_tiles, full, empty, tiles, down, steps, STAGES: gl.constexpr, NUM_WARPS: gl.constexpr
):
    BM: gl.constexpr = c.block_type.shape[0]
    BN: gl.constexpr = c.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [NUM_WARPS, 1], [16, BN, 16])
    c_tile = gl.allocate_shared_memory(c.dtype, c.block_type.shape, c.layout)
    done = 0
    for tile in range(gl.program_id(0), tiles, gl.num_programs(0)):
        acc = gl.zeros((BM, BN), gl.float32, layout)
        for _ in range(steps):
            slot = done % STAGES
            mbarrier.wait(full.index(slot), (done // STAGES) & 1)
            acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot).permute((1, 0)), acc, is_async=True)
            acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
            mbarrier.arrive(empty.index(slot), count=1)
            done += 1
        tma.store_wait(0)
        c_tile.store(acc.to(c.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c, [(tile % down) * BM, (tile // down) * BN], c_tile)
    tma.store_wait(0)


@gluon.jit
def persistent_matmul(a, b, c, M, N, K, STAGES: gl.constexpr, num_warps: gl.constexpr):
    """C = A x B^T: one warp copies, the others multiply, and every CTA takes several tiles."""
    a_tiles = gl.allocate_shared_memory(a.dtype, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(b.dtype, [STAGES] + b.block_type.shape, b.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    down = gl.cdiv(M, c.block_type.shape[0])
    tiles = down * gl.cdiv(N, c.block_type.shape[1])
    steps = gl.cdiv(K, a.block_type.shape[1])
    gl.warp_specialize(
        [
            (_multiply_tiles, (c, a_tiles, b_tiles, full, empty, tiles, down, steps, STAGES, num_warps)),
            (_load_tiles, (a, b, a_tiles, b_tiles, full, empty, tiles, down, steps, STAGES)),
        ],
        [1],
        [24],
    )


@gluon.jit
def _load_attention(q, k, v, q_tile, k_tiles, v_tiles, q_full, full, empty, length, STAGES: gl.constexpr):
    base = gl.program_id(1) * length
    mbarrier.expect(q_full, q.block_type.nbytes)
    tma.async_copy_global_to_shared(q, [base + gl.program_id(0) * q.block_type.shape[0], 0], q_full, q_tile)
    step = 0
    for start in range(0, length, k.block_type.shape[0]):
        slot = step % STAGES
        mbarrier.wait(empty.index(slot), ((step // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(slot), k.block_type.nbytes + v.block_type.nbytes)
        tma.async_copy_global_to_shared(k, [base + start, 0], full.index(slot), k_tiles.index(slot))
        tma.async_copy_global_to_shared(v, [base + start, 0], full.index(slot), v_tiles.index(slot))
        step += 1


@gluon.jit
def _attend(
    o, q_tile, k_tiles, v_tiles, q_full, full, empty, length, scale, STAGES: gl.constexpr, NUM_WARPS: gl.constexpr
):
    BM: gl.constexpr = o.block_type.shape[0]
    BN: gl.constexpr = k_tiles.type.shape[1]
    D: gl.constexpr = o.block_type.shape[1]
    score_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [NUM_WARPS, 1], [16, BN, 16])
    out_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [NUM_WARPS, 1], [16, D, 16])
    operand: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=out_layout, k_width=2)
    score_rows: gl.constexpr = gl.SliceLayout(1, score_layout)
    out_rows: gl.constexpr = gl.SliceLayout(1, out_layout)
    highest = gl.full((BM,), float("-inf"), gl.float32, score_rows)
    total = gl.full((BM,), 0.0, gl.float32, score_rows)
    acc = gl.zeros((BM, D), gl.float32, out_layout)
    zero = gl.zeros((BM, BN), gl.float32, score_layout)
    mbarrier.wait(q_full, 0)
    step = 0
    for _ in range(0, length, BN):
        slot = step % STAGES
        mbarrier.wait(full.index(slot), (step // STAGES) & 1)
        scores = warpgroup_mma(q_tile, k_tiles.index(slot).permute((1, 0)), zero, use_acc=False, is_async=True)
        scores = warpgroup_mma_wait(num_outstanding=0, deps=(scores,)) * scale
        higher = gl.maximum(highest, gl.max(scores, 1))
        weights = gl.exp2(scores - higher[:, None])
        shrink = gl.exp2(highest - higher)
        total = total * shrink + gl.sum(weights, 1)
        acc = acc * gl.convert_layout(shrink, out_rows)[:, None]
        weights = gl.convert_layout(weights.to(o.dtype), operand)
        acc = warpgroup_mma(weights, v_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
        mbarrier.arrive(empty.index(slot), count=1)
        highest = higher
        step += 1
    acc = acc / gl.convert_layout(total, out_rows)[:, None]
    o_tile = gl.allocate_shared_memory(o.dtype, o.block_type.shape, o.layout)
    o_tile.store(acc.to(o.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o, [gl.program_id(1) * length + gl.program_id(0) * BM, 0], o_tile)
    tma.store_wait(0)


@gluon.jit
def attention(q, k, v, o, length, scale, STAGES: gl.constexpr, num_warps: gl.constexpr):
    """Forward attention over blocks of keys; weights go from registers into the second product."""
    q_tile = gl.allocate_shared_memory(q.dtype, q.block_type.shape, q.layout)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES] + k.block_type.shape, k.layout)
    v_tiles = gl.allocate_shared_memory(v.dtype, [STAGES] + v.block_type.shape, v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    gl.warp_specialize(
        [
            (_attend, (o, q_tile, k_tiles, v_tiles, q_full, full, empty, length, scale, STAGES, num_warps)),
            (_load_attention, (q, k, v, q_tile, k_tiles, v_tiles, q_full, full, empty, length, STAGES)),
        ],
        [1],
        [24],
    )


def matmul_arguments(
    m: int, n: int, k: int, block: tuple[int, int, int]
) -> tuple[list[torch.Tensor], list[TensorDescriptor]]:
    """Tensors A, B, C and their descriptors."""
    bm, bn, bk = block
    tensors = [torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half()]
    blocks = [[bm, bk], [bn, bk], [bm, bn]]
    return tensors, [described(tensor, size) for tensor, size in zip(tensors, blocks, strict=True)]


def tiles(size: int, block: int) -> int:
    return triton.cdiv(size, block)
