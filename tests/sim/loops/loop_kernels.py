"""Plain Triton kernels with loops that the compiler divides among warp groups."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    INNER: tl.constexpr, PARTS: tl.constexpr, OWN_STORE: tl.constexpr, HALVES: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """C = A x B^T + bias, persistent: the compiler divides the loop over tiles, or that over K."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN // 2 if HALVES else BN])
    down = tl.cdiv(M, BM)
    for tile in tl.range(
        tl.program_id(0),
        down * tl.cdiv(N, BN),
        tl.num_programs(0),
        warp_specialize=not INNER,
        data_partition_factor=None if INNER else PARTS,
        separate_epilogue_store=OWN_STORE,
    ):
        row, column = tile % down * BM, tile // down * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=INNER, data_partition_factor=PARTS if INNER else None):
            a = a_desc.load([row, k * BK])
            b = b_desc.load([column, k * BK])
            acc = tl.dot(a, b.T, acc)
        if BIAS:
            at = column + tl.arange(0, BN)
            acc += tl.load(bias_ptr + at, mask=at < N, other=0.0)[None, :]
        if HALVES:
            left, right = tl.split(acc.reshape(BM, 2, BN // 2).permute(0, 2, 1))
            c_desc.store([row, column], left.to(tl.float16))
            c_desc.store([row, column + BN // 2], right.to(tl.float16))
        else:
            c_desc.store([row, column], acc.to(tl.float16))


@triton.jit
def host_matmul(a_desc, b_desc, c_desc, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same with descriptors that the host made."""
    down = tl.cdiv(M, BM)
    tiles = down * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=True):
        row, column = tile % down * BM, tile // down * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a_desc.load([row, k * BK]), b_desc.load([column, k * BK]).T, acc)
        c_desc.store([row, column], acc.to(tl.float16))


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, length, heads, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    """Forward attention; `scale` includes the logarithm of e to the base 2."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [heads * length, D], [D, 1], [BM, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [heads * length, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [heads * length, D], [D, 1], [BN, D])
    o_desc = tl.make_tensor_descriptor(o_ptr, [heads * length, D], [D, 1], [BM, D])
    row, base = tl.program_id(0) * BM, tl.program_id(1) * length
    q = q_desc.load([base + row, 0])
    highest = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in tl.range(0, length, BN, warp_specialize=True):
        k = k_desc.load([base + start, 0])
        scores = tl.dot(q, k.T) * scale
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(highest - higher)
        total = total * shrink + tl.sum(weights, 1)
        acc = acc * shrink[:, None]
        v = v_desc.load([base + start, 0])
        acc = tl.dot(weights.to(tl.float16), v, acc)
        highest = higher
    o_desc.store([base + row, 0], (acc / total[:, None]).to(tl.float16))
