"""The integer and bit instructions of PTX over numpy arrays of the exact width, where arithmetic wraps as on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tlxviz.sim.ptx.types import TYPES, U32, IntArray, Opcode, PtxType, Refusal

Built: TypeAlias = tuple[tuple[PtxType, ...], tuple[PtxType, ...], Callable[..., Any]]

_U64 = np.uint64


def _bits(a: IntArray) -> int:
    return 8 * a.dtype.itemsize


def _unsigned(a: IntArray) -> IntArray:
    return np.asarray(a).view(f"u{a.dtype.itemsize}")


def shift_left(a: IntArray, count: IntArray) -> IntArray:
    """`a << count`, zero once the count reaches the width."""
    bits = _bits(a)
    small = np.minimum(count, bits - 1).astype(a.dtype)
    return np.where(count >= bits, np.zeros((), a.dtype), np.left_shift(a, small))


def shift_right(a: IntArray, count: IntArray) -> IntArray:
    """`a >> count`, arithmetic when `a` is signed; a count of the width or more leaves only the sign."""
    bits = _bits(a)
    small = np.minimum(count, bits - 1).astype(a.dtype)
    shifted = np.right_shift(a, small)
    return shifted if a.dtype.kind == "i" else np.where(count >= bits, np.zeros((), a.dtype), shifted)


def _low_mask(length: IntArray, dtype: Any) -> IntArray:
    return np.bitwise_not(shift_left(np.full((), -1, np.int64).view(_U64).astype(dtype), length))


def _high_half(a: IntArray, b: IntArray) -> IntArray:
    """The upper half of the product."""
    bits = _bits(a)
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}8")
        return np.right_shift(np.multiply(a.astype(wide), b.astype(wide)), wide.type(bits)).astype(a.dtype)
    low, shift = _U64(0xFFFFFFFF), _U64(32)
    x, y = a.view(_U64), b.view(_U64)
    x0, x1, y0, y1 = x & low, x >> shift, y & low, y >> shift
    middle = x1 * y0 + ((x0 * y0) >> shift)
    high = np.asarray(x1 * y1 + (middle >> shift) + ((x0 * y1 + (middle & low)) >> shift))
    if a.dtype.kind == "i":
        high = np.asarray(high - np.where(a < 0, y, _U64(0)) - np.where(b < 0, x, _U64(0)))
    return high.view(a.dtype)


def _product(op: Opcode, ptx_type: PtxType) -> tuple[PtxType, Callable[[IntArray, IntArray], IntArray]]:
    part = op.one_of("lo hi wide", "lo")
    if part == "lo":
        return ptx_type, np.multiply
    if part == "hi":
        return ptx_type, _high_half
    if ptx_type.bits not in (16, 32):
        raise Refusal(f"{op.name}.wide takes types of 16 or 32 bits")
    result = TYPES[f"{ptx_type.kind}{2 * ptx_type.bits}"]

    def wide(a: IntArray, b: IntArray) -> IntArray:
        return np.multiply(a.astype(result.numpy_dtype), b.astype(result.numpy_dtype))

    return result, wide


def _divide(a: IntArray, b: IntArray) -> IntArray:
    """The quotient cut towards zero; all bits set for a zero divisor, whose quotient PTX leaves open."""
    safe = np.where(b == 0, np.ones((), b.dtype), b)
    return np.where(b == 0, np.bitwise_not(np.zeros((), a.dtype)), (a - np.fmod(a, safe)) // safe)


def _remainder(a: IntArray, b: IntArray) -> IntArray:
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, np.ones((), b.dtype), b)))


def _saturating(function: Callable[[IntArray, IntArray], IntArray]) -> Callable[[IntArray, IntArray], IntArray]:
    def apply(a: IntArray, b: IntArray) -> IntArray:
        info = np.iinfo(np.int32)
        return np.clip(function(a.astype(np.int64), b.astype(np.int64)), info.min, info.max).astype(np.int32)

    return apply


def popcount(a: IntArray) -> IntArray:
    """How many bits are set."""
    x = np.asarray(_unsigned(a)).astype(_U64)
    x = x - ((x >> _U64(1)) & _U64(0x5555555555555555))
    x = (x & _U64(0x3333333333333333)) + ((x >> _U64(2)) & _U64(0x3333333333333333))
    x = (x + (x >> _U64(4))) & _U64(0x0F0F0F0F0F0F0F0F)
    return np.asarray((x * _U64(0x0101010101010101)) >> _U64(56)).astype(np.uint32)


def leading_zeros(a: IntArray) -> IntArray:
    """How many zeros stand above the highest set bit."""
    bits, x = _bits(a), np.asarray(_unsigned(a)).astype(_U64)
    for shift in (1, 2, 4, 8, 16, 32):
        x = x | (x >> _U64(shift))
    return (np.uint32(bits) - popcount(np.asarray(x))).astype(np.uint32)


def reverse_bits(a: IntArray) -> IntArray:
    """The bits in opposite order."""
    bits, x = _bits(a), np.asarray(_unsigned(a)).astype(_U64)
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        x = ((x >> _U64(shift)) & _U64(mask)) | ((x & _U64(mask)) << _U64(shift))
    x = np.asarray(x).byteswap()
    return np.asarray(x >> _U64(64 - bits)).astype(f"u{bits // 8}").view(a.dtype)


def _top_bit(op: Opcode) -> Callable[[IntArray], IntArray]:
    """bfind: where the highest bit is that differs from the sign; all bits set without one."""

    def apply(a: IntArray) -> IntArray:
        x = np.where(a < 0, np.bitwise_not(a), a) if a.dtype.kind == "i" else a
        zeros = leading_zeros(np.asarray(x))
        found = zeros if "shiftamt" in op.modifiers else np.uint32(_bits(a) - 1) - zeros
        return np.where(x == 0, np.uint32(0xFFFFFFFF), found)

    return apply


def _extract(a: IntArray, position: IntArray, length: IntArray) -> IntArray:
    bits, x = _bits(a), np.asarray(_unsigned(a))
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    mask = _low_mask(length, x.dtype)
    field = shift_right(x, position) & mask
    if a.dtype.kind == "u":
        return field
    end = np.minimum(position + length - (length > 0), bits - 1).astype(np.uint32)
    inside = np.minimum(length, np.maximum(bits - position.astype(np.int64), 0)).astype(np.uint32)
    negative = ((shift_right(x, end) & x.dtype.type(1)) != 0) & (length > 0)
    fill = np.bitwise_not(_low_mask(inside, x.dtype))
    return np.asarray(np.where(negative, field | fill, field)).view(a.dtype)


def _insert(a: IntArray, into: IntArray, position: IntArray, length: IntArray) -> IntArray:
    position, length = position & np.uint32(0xFF), length & np.uint32(0xFF)
    mask = shift_left(np.asarray(_low_mask(length, a.dtype)), position)
    return (into & ~mask) | (shift_left(a, position) & mask)


def _permute(a: IntArray, b: IntArray, selector: IntArray) -> IntArray:
    data = a.astype(_U64) | (b.astype(_U64) << _U64(32))
    result: Any = np.zeros((), np.uint32)
    for index in range(4):
        choice = (selector >> np.uint32(4 * index)) & np.uint32(0xF)
        byte = ((data >> ((choice & np.uint32(7)) * np.uint32(8)).astype(_U64)) & _U64(0xFF)).astype(np.uint32)
        sign = np.where(byte & np.uint32(0x80), np.uint32(0xFF), np.uint32(0))
        result = result | (np.where(choice & np.uint32(8), sign, byte) << np.uint32(8 * index))
    return result


def _lookup(a: IntArray, b: IntArray, c: IntArray, table: IntArray) -> IntArray:
    """lop3: the table has one bit for each combination of the bits of a, b and c."""
    lut, result = int(table), np.zeros(np.broadcast(a, b, c).shape, a.dtype)
    for index in range(8):
        if lut >> index & 1:
            result |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return result


def _funnel(op: Opcode) -> Callable[[IntArray, IntArray, IntArray], IntArray]:
    def apply(low: IntArray, high: IntArray, count: IntArray) -> IntArray:
        data = low.astype(_U64) | (high.astype(_U64) << _U64(32))
        clamped = np.minimum(count, np.uint32(32)) if "clamp" in op.modifiers else count & np.uint32(31)
        if "l" in op.modifiers:
            return ((data << clamped.astype(_U64)) >> _U64(32)).astype(np.uint32)
        return (data >> clamped.astype(_U64)).astype(np.uint32)

    return apply


def _dot4(a: IntArray, b: IntArray, c: IntArray) -> IntArray:
    """dp4a: the sum of the products of the four bytes."""
    total: Any = c
    for index in range(4):
        # Shifting to the top and back extends the sign of a signed byte.
        up, down = 24 - 8 * index, 24
        left, right = (x << x.dtype.type(up) >> x.dtype.type(down) for x in (a, b))
        total = total + (left.astype(np.int64) * right.astype(np.int64)).astype(c.dtype)
    return total


def _distance(a: IntArray, b: IntArray) -> IntArray:
    return np.subtract(np.maximum(a, b), np.minimum(a, b))


def _plus(function: Callable[[IntArray, IntArray], IntArray]) -> Callable[[IntArray, IntArray, IntArray], IntArray]:
    """`function` of two operands plus a third one."""

    def apply(a: IntArray, b: IntArray, c: IntArray) -> IntArray:
        return np.add(function(a, b), c)

    return apply


def _arithmetic(op: Opcode) -> Built:
    functions: dict[str, Callable[[IntArray, IntArray], IntArray]] = {
        "add": np.add, "sub": np.subtract, "div": _divide, "rem": _remainder, "min": np.minimum, "max": np.maximum,
    }  # fmt: skip
    op.only({"min": "relu", "max": "relu", "add": "sat", "sub": "sat"}.get(op.name, ""))
    function = functions[op.name]
    if "sat" in op.modifiers:
        if op.type.name != "s32":
            raise Refusal(f"{op.name}.sat is supported for s32")
        function = _saturating(function)
    if "relu" in op.modifiers:
        plain = function

        def rectified(a: IntArray, b: IntArray) -> IntArray:
            return np.maximum(plain(a, b), np.zeros((), a.dtype))

        function = rectified
    return (op.type,), (op.type, op.type), function


def _multiply(op: Opcode) -> Built:
    op.only("lo hi wide")
    source = op.type
    result, multiply = _product(op, source)
    if op.name == "mul":
        return (result,), (source, source), multiply
    return (result,), (source, source, result), _plus(multiply)


def _multiply_24(op: Opcode) -> Built:
    op.only("lo hi")
    source = op.type
    if source.name not in ("s32", "u32"):
        raise Refusal(f"{op.name} takes s32 or u32")
    wide, shift = np.dtype(f"{source.kind.replace('s', 'i')}8"), 16 if "hi" in op.modifiers else 0

    def low_24(a: IntArray) -> IntArray:
        return np.right_shift(np.left_shift(a, a.dtype.type(8)), a.dtype.type(8)).astype(wide)

    def multiply(a: IntArray, b: IntArray) -> IntArray:
        return np.right_shift(low_24(a) * low_24(b), wide.type(shift)).astype(source.numpy_dtype)

    if op.name == "mul24":
        return (source,), (source, source), multiply
    return (source,), (source, source, source), _plus(multiply)


def _bitwise(op: Opcode) -> Built:
    op.only("")
    if op.name == "not":
        return (op.type,), (op.type,), np.logical_not if op.type.kind == "p" else np.bitwise_not
    functions = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    return (op.type,), (op.type, op.type), functions[op.name]


def _counting(op: Opcode) -> Built:
    functions = {"popc": popcount, "clz": leading_zeros, "brev": reverse_bits, "bfind": _top_bit(op)}
    op.only("shiftamt" if op.name == "bfind" else "")
    return (op.type if op.name == "brev" else U32,), (op.type,), functions[op.name]


def _moving(op: Opcode) -> Built:
    if op.name in ("shl", "shr"):
        op.only("")
        return (op.type,), (op.type, U32), shift_left if op.name == "shl" else shift_right
    if op.name == "shf":
        op.only("l r wrap clamp")
        return (U32,), (U32, U32, U32), _funnel(op)
    if op.name == "bfe":
        op.only("")
        return (op.type,), (op.type, U32, U32), _extract
    if op.name == "bfi":
        op.only("")
        plain = TYPES[f"u{op.type.bits}"]
        return (plain,), (plain, plain, U32, U32), _insert
    op.only("")
    if op.name == "prmt":
        return (U32,), (U32, U32, U32), _permute
    return (U32,), (U32, U32, U32, U32), _lookup


def _signs(op: Opcode) -> Built:
    op.only("")
    functions: dict[str, Callable[[IntArray], IntArray]] = {
        "neg": np.negative, "abs": np.abs, "cnot": lambda a: (a == 0).astype(a.dtype),
    }  # fmt: skip
    return (op.type,), (op.type,), functions[op.name]


def _sums(op: Opcode) -> Built:
    op.only("")
    if op.name == "dp4a":
        if len(op.types) != 2:
            raise Refusal("dp4a names two types")
        result = TYPES["s32"] if "s32" in (op.types[0].name, op.types[1].name) else U32
        return (result,), (op.types[0], op.types[1], result), _dot4
    return (op.type,), (op.type,) * 3, _plus(_distance)


_BUILDERS: dict[str, Callable[[Opcode], Built]] = {
    **dict.fromkeys(("add", "sub", "div", "rem", "min", "max"), _arithmetic),
    **dict.fromkeys(("mul", "mad"), _multiply),
    **dict.fromkeys(("mul24", "mad24"), _multiply_24),
    **dict.fromkeys(("and", "or", "xor", "not"), _bitwise),
    **dict.fromkeys(("popc", "clz", "brev", "bfind"), _counting),
    **dict.fromkeys(("shl", "shr", "shf", "bfe", "bfi", "prmt", "lop3"), _moving),
    **dict.fromkeys(("neg", "abs", "cnot"), _signs),
    **dict.fromkeys(("sad", "dp4a"), _sums),
}

# The names that exist for integers only; the others are shared with floating point and come through its builders.
NAMES = tuple(name for name in _BUILDERS if name not in ("add", "sub", "div", "min", "max", "mul", "mad", "neg", "abs"))


def build(op: Opcode, _operands: int) -> Built:
    """The types of the results, the types of the sources, and the function, for an integer instruction."""
    if op.name not in _BUILDERS:
        raise Refusal(f"{op.name} is not supported for the type .{op.type.name}")
    if (op.type.is_float or op.type.kind == "m") and op.name not in ("and", "or", "xor"):
        raise Refusal(f"{op.name} is not supported for the type .{op.type.name}")
    return _BUILDERS[op.name](op)
