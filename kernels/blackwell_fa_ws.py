"""O = softmax(Q @ K^T / sqrt(D)) @ V for Blackwell, warp-specialised with TLX; with or without a causal mask.

As many CTAs as the GPU has SMs walk over tiles of 256 rows of Q, each tile in two halves of 128 rows.

- A producer of one warp copies by TMA: the halves of Q, then blocks of K and V by turns into a ring of STAGES slots.
- An MMA role of one warp issues, for one half and the other by turns, the product with V and then the next one with K.
  While one half is in the tensor cores, the other one is in its softmax.
- Two softmax groups have a row a thread. Each reads S of its half from tensor memory, writes P over it as a 16-bit
  type, and passes on by how much older sums have to shrink.
- The default task is the correction. It shrinks O in tensor memory before the next product is added; at the end of a
  tile it divides O and stores it by TMA, while the first products of the next tile run.

S and P of each half have 128 columns of tensor memory, and O has D more.

    python kernels/blackwell_fa_ws.py --length 512 --causal
"""

from __future__ import annotations

import argparse
import math
import sys

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCES = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
HALVES = tl.constexpr(2)
ROWS = tl.constexpr(128)
BLOCK_N = tl.constexpr(128)
STRIPS = tl.constexpr(2)
SHRUNK = tl.constexpr(32)
# What an SM has for a CTA, less what barriers, factors and the compiler's scratch memory take.
SHARED_MEMORY = 232448 - 4096
# How much of K and V a group of heads may have: a part of L2 that stays while others come.
L2_SHARE = 32 * 2**20


@triton.jit
def slot_and_phase(step, STAGES: tl.constexpr):
    """Slot of the ring that the step-th use takes, and the parity of how often that slot was used before."""
    return step % STAGES, (step // STAGES) & 1


@triton.jit
def place_of_tile(tile, HEADS, LENGTH, GROUP, CAUSAL: tl.constexpr):
    """Head and first row of a tile. Tiles of GROUP heads are neighbours, so that they find K and V in L2.

    With a mask the long ones, which are the last of a head, come first: those of all heads of the group, so that each
    CTA gets as many blocks as the others.
    """
    tiles = tl.cdiv(LENGTH, HALVES * ROWS)
    first = tile // (GROUP * tiles) * GROUP
    heads = min(HEADS - first, GROUP)
    within = tile % (GROUP * tiles)
    place = within // heads
    if CAUSAL:
        place = tiles - 1 - place
    return first + within % heads, place * (HALVES * ROWS)


@triton.jit
def blocks_of(row, LENGTH, CAUSAL: tl.constexpr):
    """How many blocks of K the rows from `row` of one half need."""
    blocks = tl.cdiv(LENGTH, BLOCK_N)
    if CAUSAL:
        blocks = min(blocks, tl.cdiv(row + ROWS, BLOCK_N))
    return blocks


@triton.jit
def softmax_blocks(
    first,
    last,
    step,
    total,
    peak,
    row,
    LENGTH,
    scale,
    scores,
    weights,
    factors,
    scores_full,
    weights_full,
    factors_full,
    factors_empty,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
    DTYPE: tl.constexpr,
):
    """Weights of blocks `first` to `last` - 1 of one half; the sum and the maximum of each row, as they are then."""
    for block in range(first, last):
        tlx.barrier_wait(scores_full, step & 1)
        s = tlx.local_load(scores)
        if MASKED:
            limit = tl.full((ROWS,), 0, tl.int32) + LENGTH
            if CAUSAL:
                limit = tl.minimum(limit, row + tl.arange(0, ROWS) + 1)
            columns = block * BLOCK_N + tl.arange(0, BLOCK_N)
            s = tl.where(columns[None, :] < limit[:, None], s, float("-inf"))
        higher = tl.maximum(peak, tl.max(s, 1) * scale)
        factor = tl.math.exp2(peak - higher)
        if block > 0:
            tlx.barrier_wait(factors_empty, step & 1)
            tlx.local_store(factors, factor)
            tlx.barrier_arrive(factors_full)
        p = tl.math.exp2(s * scale - higher[:, None])
        tlx.local_store(weights, p.to(DTYPE))
        tlx.barrier_arrive(weights_full)
        total = total * factor + tl.sum(p, 1)
        peak = higher
        step += 1
    return step, total, peak


@triton.jit
def shrink(sums, factors, sums_full, sums_ready, factors_full, factors_empty, step, D: tl.constexpr):
    """Multiplies the rows of O by what the softmax says, once the product of step `step` - 1 is in it."""
    tlx.barrier_wait(factors_full, (step - 1) & 1)
    factor = tlx.local_load(factors)
    tlx.barrier_arrive(factors_empty)
    tlx.barrier_wait(sums_full, (step - 1) & 1)
    for strip in tl.static_range(D // SHRUNK):
        part = tlx.local_slice(sums, [0, strip * SHRUNK], [ROWS, SHRUNK])
        tlx.local_store(part, tlx.local_load(part) * factor[:, None])
    tlx.barrier_arrive(sums_ready)


@triton.jit
def blackwell_fa_ws(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    lse_ptr,
    HEADS,
    LENGTH,
    GROUP,
    scale,
    D: tl.constexpr,
    STAGES: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    DTYPE: tl.constexpr = tlx.dtype_of(q_desc)
    STRIP: tl.constexpr = D // STRIPS

    q_tiles = tlx.local_alloc((ROWS, D), DTYPE, HALVES)
    kv_tiles = tlx.local_alloc((BLOCK_N, D), DTYPE, STAGES)
    o_tiles = tlx.local_alloc((ROWS, STRIP), DTYPE, STRIPS)
    factors = tlx.local_alloc((ROWS,), tl.float32, HALVES)
    scores = tlx.local_alloc((ROWS, BLOCK_N), tl.float32, HALVES, tlx.storage_kind.tmem)
    # P of half h has the upper half of the columns of S.
    weights = tlx.local_alloc((ROWS, BLOCK_N), DTYPE, 2 * HALVES, tlx.storage_kind.tmem, reuse=scores)
    sums = tlx.local_alloc((ROWS, D), tl.float32, HALVES, tlx.storage_kind.tmem)
    q_full = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    q_empty = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    kv_full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    kv_empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    scores_full = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    weights_full = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    factors_full = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    factors_empty = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    sums_full = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)
    sums_ready = tlx.alloc_barriers(num_barriers=HALVES, arrive_count=1)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # correction
            tiles = HEADS * tl.cdiv(LENGTH, HALVES * ROWS)
            upper = 0
            lower = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                head, row = place_of_tile(tile, HEADS, LENGTH, GROUP, CAUSAL)
                upper_blocks = blocks_of(row, LENGTH, CAUSAL)
                lower_blocks = blocks_of(row + ROWS, LENGTH, CAUSAL)
                # The first products of a tile replace what is in O.
                tlx.barrier_arrive(sums_ready[0])
                tlx.barrier_arrive(sums_ready[1])
                for block in range(1, lower_blocks):
                    if block < upper_blocks:
                        shrink(
                            sums[0],
                            factors[0],
                            sums_full[0],
                            sums_ready[0],
                            factors_full[0],
                            factors_empty[0],
                            upper + block,
                            D,
                        )
                    shrink(
                        sums[1],
                        factors[1],
                        sums_full[1],
                        sums_ready[1],
                        factors_full[1],
                        factors_empty[1],
                        lower + block,
                        D,
                    )
                upper += upper_blocks
                lower += lower_blocks
                for half in tl.static_range(HALVES):
                    last = (lower if half else upper) - 1
                    tlx.barrier_wait(factors_full[half], last & 1)
                    factor = tlx.local_load(factors[half])
                    tlx.barrier_arrive(factors_empty[half])
                    tlx.barrier_wait(sums_full[half], last & 1)
                    for strip in tl.static_range(STRIPS):
                        part = tlx.local_slice(sums[half], [0, strip * STRIP], [ROWS, STRIP])
                        o = tlx.local_load(part) * factor[:, None]
                        tlx.async_descriptor_store_wait(STRIPS - 1)
                        tlx.local_store(o_tiles[strip], o.to(DTYPE))
                        tlx.fence("async_shared")
                        tlx.async_descriptor_store(o_desc, o_tiles[strip], [head, row + half * ROWS, strip * STRIP])
            # The staging buffers belong to this CTA only until it ends.
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=4, num_regs=192, replicate=HALVES):  # softmax
            tiles = HEADS * tl.cdiv(LENGTH, HALVES * ROWS)
            half = tlx.async_task_replica_id()
            step = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                head, first_row = place_of_tile(tile, HEADS, LENGTH, GROUP, CAUSAL)
                row = first_row + half * ROWS
                blocks = blocks_of(row, LENGTH, CAUSAL)
                whole = LENGTH // BLOCK_N
                if CAUSAL:
                    whole = min(whole, (row + 1) // BLOCK_N)
                peak = tl.full((ROWS,), float("-inf"), tl.float32)
                total = tl.full((ROWS,), 0.0, tl.float32)
                for masked in tl.static_range(2):  # whole blocks, then those that some rows have a part of
                    step, total, peak = softmax_blocks(
                        whole if masked else 0,
                        blocks if masked else whole,
                        step,
                        total,
                        peak,
                        row,
                        LENGTH,
                        scale,
                        scores[half],
                        weights[2 * half + 1],
                        factors[half],
                        scores_full[half],
                        weights_full[half],
                        factors_full[half],
                        factors_empty[half],
                        CAUSAL,
                        masked == 1,
                        DTYPE,
                    )
                tlx.barrier_wait(factors_empty[half], step & 1)
                tlx.local_store(factors[half], 1 / total)
                tlx.barrier_arrive(factors_full[half])
                rows = row + tl.arange(0, ROWS)
                lse = (peak + tl.math.log2(total)) * 0.6931471805599453
                tl.store(lse_ptr + head * LENGTH + rows, lse, mask=rows < LENGTH)

        with tlx.async_task(num_warps=1, num_regs=24):  # MMA
            tiles = HEADS * tl.cdiv(LENGTH, HALVES * ROWS)
            done = 0
            copy = 0
            upper = 0
            lower = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                head, row = place_of_tile(tile, HEADS, LENGTH, GROUP, CAUSAL)
                upper_blocks = blocks_of(row, LENGTH, CAUSAL)
                lower_blocks = blocks_of(row + ROWS, LENGTH, CAUSAL)

                slot, phase = slot_and_phase(copy, STAGES)
                tlx.barrier_wait(q_full[0], done & 1)
                tlx.barrier_wait(kv_full[slot], phase)
                k = tlx.local_trans(kv_tiles[slot])
                tlx.async_dot(q_tiles[0], k, scores[0], use_acc=False, mBarriers=[scores_full[0]])
                tlx.barrier_wait(q_full[1], done & 1)
                tlx.async_dot(q_tiles[1], k, scores[1], use_acc=False, mBarriers=[scores_full[1], kv_empty[slot]])
                for block in range(0, lower_blocks):
                    v_slot, v_phase = slot_and_phase(copy + 1, STAGES)
                    k_slot, k_phase = slot_and_phase(copy + 2, STAGES)
                    v = kv_tiles[v_slot]
                    k = tlx.local_trans(kv_tiles[k_slot])
                    more = block + 1 < lower_blocks
                    tlx.barrier_wait(kv_full[v_slot], v_phase)
                    if block < upper_blocks:
                        tlx.barrier_wait(sums_ready[0], upper & 1)
                        tlx.barrier_wait(weights_full[0], upper & 1)
                        tlx.async_dot(weights[1], v, sums[0], use_acc=block > 0, mBarriers=[sums_full[0]])
                        upper += 1
                    if more:
                        tlx.barrier_wait(kv_full[k_slot], k_phase)
                        if block + 1 < upper_blocks:
                            tlx.async_dot(q_tiles[0], k, scores[0], use_acc=False, mBarriers=[scores_full[0]])
                    tlx.barrier_wait(sums_ready[1], lower & 1)
                    tlx.barrier_wait(weights_full[1], lower & 1)
                    tlx.async_dot(weights[3], v, sums[1], use_acc=block > 0, mBarriers=[sums_full[1], kv_empty[v_slot]])
                    lower += 1
                    if more:
                        tlx.async_dot(
                            q_tiles[1], k, scores[1], use_acc=False, mBarriers=[scores_full[1], kv_empty[k_slot]]
                        )
                    copy += 2
                tlx.tcgen05_commit(q_empty[0])
                tlx.tcgen05_commit(q_empty[1])
                done += 1

        with tlx.async_task(num_warps=1, num_regs=24):  # producer
            tiles = HEADS * tl.cdiv(LENGTH, HALVES * ROWS)
            done = 0
            copy = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                head, row = place_of_tile(tile, HEADS, LENGTH, GROUP, CAUSAL)
                tlx.barrier_wait(q_empty[0], (done & 1) ^ 1)
                tlx.barrier_expect_bytes(q_full[0], ROWS * D * 2)
                tlx.async_descriptor_load(q_desc, q_tiles[0], [head, row, 0], q_full[0])
                for block in range(0, blocks_of(row + ROWS, LENGTH, CAUSAL)):
                    slot, phase = slot_and_phase(copy, STAGES)
                    tlx.barrier_wait(kv_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(kv_full[slot], BLOCK_N * D * 2)
                    tlx.async_descriptor_load(k_desc, kv_tiles[slot], [head, block * BLOCK_N, 0], kv_full[slot])
                    if block == 0:
                        tlx.barrier_wait(q_empty[1], (done & 1) ^ 1)
                        tlx.barrier_expect_bytes(q_full[1], ROWS * D * 2)
                        tlx.async_descriptor_load(q_desc, q_tiles[1], [head, row + ROWS, 0], q_full[1])
                    slot, phase = slot_and_phase(copy + 1, STAGES)
                    tlx.barrier_wait(kv_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(kv_full[slot], BLOCK_N * D * 2)
                    tlx.async_descriptor_load(v_desc, kv_tiles[slot], [head, block * BLOCK_N, 0], kv_full[slot])
                    copy += 2
                done += 1


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, stages: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """O, and the logarithm of the sum of exponentials of each row, of contiguous [batch, heads, length, D] tensors.

    stages: slots of the ring of K and V; by default as many as shared memory has room for.
    """
    batch, heads, length, d = q.shape
    if not q.shape == k.shape == v.shape:
        raise ValueError(f"Q, K and V have to have one shape, and have {[tuple(x.shape) for x in (q, k, v)]}")
    for name, size in (("the batch", batch), ("heads", heads), ("the length", length)):
        if size < 1:
            raise ValueError(f"{name} is {size} and must be 1 or more")
    if d not in (64, 128):
        raise ValueError(f"D is {d} and must be 64 or 128: O of two halves and S have to fit into tensor memory")
    if q.dtype not in TOLERANCES or not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"Q, K and V are {q.dtype}, {k.dtype} and {v.dtype}, and must be all fp16 or all bf16")
    if not (q.is_contiguous() and k.is_contiguous() and v.is_contiguous()):
        raise ValueError("Q, K and V must be contiguous")
    room = (SHARED_MEMORY - 3 * ROWS.value * d * 2) // (BLOCK_N.value * d * 2)
    stages = min(room, 6) if stages is None else stages
    if not 2 <= stages <= room:
        raise ValueError(f"STAGES is {stages} and must be 2 to {room}: there is shared memory for so many blocks")
    o = torch.empty_like(q)
    lse = torch.empty((batch, heads, length), device=q.device, dtype=torch.float32)
    # One matrix a head: what is beyond its last row is no other head's, and stores leave it alone.
    matrices = [x.view(batch * heads, length, d) for x in (q, k, v, o)]
    blocks = [[1, ROWS.value, d], [1, BLOCK_N.value, d], [1, BLOCK_N.value, d], [1, ROWS.value, d // STRIPS.value]]
    tiles = batch * heads * triton.cdiv(length, HALVES.value * ROWS.value)
    sms = torch.cuda.get_device_properties(q.device).multi_processor_count
    blackwell_fa_ws[(min(sms, tiles),)](
        *(TensorDescriptor.from_tensor(x, block) for x, block in zip(matrices, blocks, strict=True)),
        lse,
        batch * heads,
        length,
        max(1, L2_SHARE // (2 * length * d * 2)) if causal else 1,
        math.log2(math.e) / math.sqrt(d),
        D=d,
        STAGES=stages,
        CAUSAL=causal,
        num_warps=4,
        num_stages=1,
    )
    return o, lse


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The same in fp32 by torch."""
    scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        length = q.shape[-2]
        hidden = torch.ones((length, length), device=q.device, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v.float(), scores.logsumexp(-1)


def main() -> int:
    parser = argparse.ArgumentParser(description="Warp-specialised Blackwell attention: a launch, checked by torch.")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--dim", type=int, default=128, help="64 or 128")
    parser.add_argument("--dtype", choices=tuple(TYPES), default="fp16")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--stages", type=int, help="slots for K and V (default: as many as there is room for)")
    args = parser.parse_args()

    torch.manual_seed(0)
    shape = (args.batch, args.heads, args.length, args.dim)
    try:
        if min(shape) < 1:
            raise ValueError(f"batch, heads, length and dim are {shape} and must be 1 or more")
        q, k, v = (torch.randn(shape, device="cuda", dtype=TYPES[args.dtype]) for _ in range(3))
        o, lse = attention(q, k, v, causal=args.causal, stages=args.stages)
    except ValueError as error:
        print(f"blackwell_fa_ws: {error}", file=sys.stderr)
        return 1

    expected, expected_lse = reference(q, k, v, args.causal)
    error = float((o.float() - expected).norm() / expected.norm())
    lse_error = float((lse - expected_lse).abs().max())
    print(f"blackwell_fa_ws {'x'.join(map(str, shape))}: relative error {error:.2e}, of LSE at most {lse_error:.2e}")
    tolerance = TOLERANCES[q.dtype]
    if not (error <= tolerance and lse_error <= tolerance):  # written so that a NaN fails
        print(f"blackwell_fa_ws: an error is above {tolerance:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
