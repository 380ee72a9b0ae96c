"""The functions that generated code calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappush
from typing import Any

import numpy as np
import torch

from tlxviz.sim import memory, parts, ptx_rounding
from tlxviz.sim.dtypes import (
    as_unsigned,
    cast,
    cast_towards_zero,
    float_to_int,
    float_to_int_scalar,
    float_to_unsigned,
    int_to_float,
    int_to_float_scalar,
    round_f16,
    round_f32,
    round_scalar,
    shift_left,
    tf32,
    truncating_div,
    truncating_rem,
    unsigned,
    wrap,
)
from tlxviz.sim.engine import AgentRun, Barrier, Cta
from tlxviz.sim.errors import DeviceAssertError, MemoryAccessError, RunawayError
from tlxviz.sim.shared import SharedView, allocate

# ---------------------------------------------------------------------- scalars


def scalar_divf(a: float, b: float) -> float:
    """IEEE division."""
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def scalar_remf(a: float, b: float) -> float:
    """`fmod`; NaN for a zero divisor."""
    return math.fmod(a, b) if b != 0.0 and not math.isinf(a) else math.nan


def scalar_cmpf(predicate: str, a: float, b: float) -> bool:
    """One float comparison; `o...` are false and `u...` true when an operand is NaN."""
    if predicate in ("true", "false"):
        return predicate == "true"
    if a != a or b != b:
        return predicate.startswith("u")
    match predicate[1:]:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "gt":
            return a > b
        case "ge":
            return a >= b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case _:
            return predicate == "ord"


def scalar_maxnumf(a: float, b: float) -> float:
    return b if a != a else a if b != b else max(a, b)


def scalar_minnumf(a: float, b: float) -> float:
    return b if a != a else a if b != b else min(a, b)


def scalar_maximumf(a: float, b: float) -> float:
    return math.nan if a != a or b != b else max(a, b)


def scalar_minimumf(a: float, b: float) -> float:
    return math.nan if a != a or b != b else min(a, b)


def scalar_maxui(a: int, b: int, bits: int) -> int:
    return a if unsigned(a, bits) > unsigned(b, bits) else b


def scalar_minui(a: int, b: int, bits: int) -> int:
    return a if unsigned(a, bits) < unsigned(b, bits) else b


def scalar_divui(a: int, b: int, bits: int) -> int:
    divisor = unsigned(b, bits)
    return wrap(unsigned(a, bits) // divisor, bits) if divisor else -1


def scalar_remui(a: int, b: int, bits: int) -> int:
    divisor = unsigned(b, bits)
    return wrap(unsigned(a, bits) % divisor, bits) if divisor else a


def scalar_shrui(a: int, b: int, bits: int) -> int:
    return wrap(unsigned(a, bits) >> b, bits) if 0 <= b < bits else 0


def scalar_shrsi(a: int, b: int, bits: int) -> int:
    return a >> min(max(b, 0), bits - 1)


def scalar_divsi(a: int, b: int, bits: int) -> int:
    return wrap(truncating_div(a, b), bits)


def scalar_ceildivsi(a: int, b: int, bits: int) -> int:
    return wrap(-(-a // b), bits) if b else -1


def scalar_floordivsi(a: int, b: int, bits: int) -> int:
    return wrap(a // b, bits) if b else -1


def scalar_ceildivui(a: int, b: int, bits: int) -> int:
    return wrap(-(-unsigned(a, bits) // unsigned(b, bits)), bits) if b else -1


def scalar_clampf(value: float, low: float, high: float) -> float:
    """`clamp` to `low` where the value is NaN."""
    return scalar_minnumf(scalar_maxnumf(value, low), high)


def scalar_clampf_nan(value: float, low: float, high: float) -> float:
    """`clamp` that keeps NaN."""
    return scalar_minimumf(scalar_maximumf(value, low), high)


def scalar_unary(function: Callable[[torch.Tensor], torch.Tensor], value: float, dtype: torch.dtype) -> Any:
    """A function of one number, through torch so that it agrees with tensors."""
    return function(torch.tensor(value, dtype=dtype)).item()


def bitcast_scalar(value: float, before: torch.dtype, after: torch.dtype) -> Any:
    """The same bits as another type."""
    return torch.tensor(value, dtype=before).view(after).item()


# ---------------------------------------------------------------------- tensors


def _both(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(a, torch.Tensor):
        a = torch.tensor(a, dtype=b.dtype)
    if not isinstance(b, torch.Tensor):
        b = torch.tensor(b, dtype=a.dtype)
    return a, b


def divide_int(a: Any, b: Any) -> torch.Tensor:
    """Truncating division; a zero divisor gives -1."""
    a, b = _both(a, b)
    # the host traps where the quotient does not fit
    special = (b == 0) | (b == -1)
    if not bool(special.any()):
        return torch.div(a, b, rounding_mode="trunc")
    quotient = torch.div(a, torch.where(special, 1, b), rounding_mode="trunc")
    return torch.where(special, torch.where(b == 0, -1, -a), quotient)


def remainder_int(a: Any, b: Any) -> torch.Tensor:
    """The remainder of `divide_int`."""
    a, b = _both(a, b)
    special = (b == 0) | (b == -1)
    if not bool(special.any()):
        return torch.fmod(a, b)
    return torch.where(special, torch.where(b == 0, a, 0), torch.fmod(a, torch.where(special, 1, b)))


def tensor_divui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b = _both(a, b)
    if dtype.itemsize == 8:
        return _by_numpy(lambda x, y: np.where(y == 0, np.uint64(2**64 - 1), x // np.where(y == 0, 1, y)), a, b)
    return divide_int(as_unsigned(a), as_unsigned(b)).to(dtype)


def tensor_remui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b = _both(a, b)
    if dtype.itemsize == 8:
        return _by_numpy(lambda x, y: np.where(y == 0, x, x % np.where(y == 0, 1, y)), a, b)
    return remainder_int(as_unsigned(a), as_unsigned(b)).to(dtype)


def _by_numpy(function: Callable[..., Any], a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A function of unsigned 64-bit integers, which torch does not compute with."""
    x, y = (operand.contiguous().numpy().view(np.uint64) for operand in (a, b))
    return torch.from_numpy(np.ascontiguousarray(function(x, y)).view(np.int64))


def _shift(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
    """Both operands, which shifts are by the width or more (the host masks those, a GPU does not), and the width."""
    a, b = _both(a, b)
    bits = 8 * a.element_size()
    return a, b, (b < 0) | (b >= bits), bits


def tensor_shli(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b, over, bits = _shift(a, b)
    return torch.where(over, 0, a << (b & (bits - 1)))


def tensor_shrui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b, over, bits = _shift(a, b)
    by = b & (bits - 1)
    if bits < 64:
        return torch.where(over, 0, as_unsigned(a) >> by.long()).to(dtype)
    keep = torch.where(by == 0, -1, (1 << (64 - by.clamp(min=1))) - 1)
    return torch.where(over, 0, (a >> by) & keep)


def tensor_shrsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b, over, bits = _shift(a, b)
    return a >> torch.where(over, bits - 1, b)


def tensor_floordivsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b = _both(a, b)
    rest = remainder_int(a, b)
    return divide_int(a, b) - ((rest != 0) & ((rest < 0) != (b < 0)) & (b != 0)).to(dtype)


def tensor_ceildivsi(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b = _both(a, b)
    rest = remainder_int(a, b)
    return divide_int(a, b) + ((rest != 0) & ((rest < 0) == (b < 0)) & (b != 0)).to(dtype)


def tensor_ceildivui(a: Any, b: Any, dtype: torch.dtype) -> torch.Tensor:
    a, b = _both(a, b)
    return tensor_divui(a, b, dtype) + ((tensor_remui(a, b, dtype) != 0) & (b != 0)).to(dtype)


def compare_unsigned(symbol: str, a: Any, b: Any) -> torch.Tensor:
    """`ult`, `ule`, `ugt` or `uge` of tensors or numbers of one type."""
    a, b = _both(a, b)
    if a.dtype == torch.bool:
        a, b = a.to(torch.int8), b.to(torch.int8)
    else:
        lowest = torch.iinfo(a.dtype).min
        a, b = a ^ lowest, b ^ lowest
    return {"ult": torch.lt, "ule": torch.le, "ugt": torch.gt, "uge": torch.ge}[symbol](a, b)


def unsigned_to_float(a: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Unsigned integer to float, rounded once."""
    if a.dtype != torch.int64 or not bool((a < 0).any()):
        return int_to_float(as_unsigned(a), dtype)
    # half of it, with a last bit that stands for what was lost
    half = int_to_float(((a >> 1) & 0x7FFFFFFFFFFFFFFF) | (a & 1), dtype) * 2
    return torch.where(a < 0, half, int_to_float(a, dtype))


def round_away(a: torch.Tensor) -> torch.Tensor:
    """The nearest integer, ties away from zero."""
    whole = a.trunc()
    return torch.copysign(whole.abs() + ((a - whole).abs() >= 0.5), a)


def bitcast(a: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The same bits as another type of the same size."""
    return a.contiguous().view(dtype)


def fma(a: torch.Tensor, b: Any, c: Any) -> torch.Tensor:
    """a * b + c with one rounding."""
    return ptx_rounding.fma(a, _both(b, a)[0], _both(c, a)[0])


def scalar_fma(a: float, b: float, c: float, dtype: torch.dtype) -> float:
    """a * b + c with one rounding."""
    x, y, z = (torch.tensor(number, dtype=dtype) for number in (a, b, c))
    return ptx_rounding.fma(x, y, z).item()


def multiply_high(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The upper half of the unsigned product."""
    if a.element_size() == 8:
        low = (1 << 32) - 1
        a1, a0, b1, b0 = (a >> 32) & low, a & low, (b >> 32) & low, b & low
        middle = a1 * b0 + ((tensor_shrui(a0 * b0, 32, torch.int64)) & low)
        other = a0 * b1 + (middle & low)
        return a1 * b1 + ((middle >> 32) & low) + ((other >> 32) & low)
    product = as_unsigned(a) * as_unsigned(b)
    return (
        tensor_shrui(product, 32, torch.int64).to(a.dtype)
        if a.element_size() == 4
        else ((product >> (8 * a.element_size())).to(a.dtype))
    )


def amax_number(a: torch.Tensor, axis: int) -> torch.Tensor:
    """The largest along an axis; NaNs do not count, as with `maxnum`."""
    found = a.amax(axis)
    return found if not bool(torch.isnan(found).any()) else _numbers(a, axis, -math.inf).amax(axis)


def amin_number(a: torch.Tensor, axis: int) -> torch.Tensor:
    """The smallest along an axis; NaNs do not count."""
    found = a.amin(axis)
    return found if not bool(torch.isnan(found).any()) else _numbers(a, axis, math.inf).amin(axis)


def _numbers(a: torch.Tensor, axis: int, filler: float) -> torch.Tensor:
    nan = torch.isnan(a)
    return torch.where(nan & ~nan.all(axis, keepdim=True), filler, a)


Combine = Callable[..., tuple[torch.Tensor, ...]]


def reduce_by(combine: Combine, sources: Sequence[torch.Tensor], axis: int) -> tuple[torch.Tensor, ...]:
    """Reduces neighbours pairwise, which keeps the order of the operands."""
    items = [source.movedim(axis, 0) for source in sources]
    while items[0].shape[0] > 1:
        size = items[0].shape[0]
        even = size - size % 2
        merged = _same(combine(*(item[0:even:2] for item in items), *(item[1:even:2] for item in items)), items)
        items = [torch.cat((new, item[even:])) if even < size else new for new, item in zip(merged, items, strict=True)]
    return tuple(item[0] for item in items)


def _same(found: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [new.to(old.dtype) for new, old in zip(found, like, strict=True)]


def scan_by(combine: Combine, sources: Sequence[torch.Tensor], axis: int, reverse: bool) -> tuple[torch.Tensor, ...]:
    """Inclusive scan, doubling the distance each round."""
    items = [source.movedim(axis, 0) for source in sources]
    if reverse:
        items = [item.flip(0) for item in items]
    distance = 1
    while distance < items[0].shape[0]:
        merged = _same(combine(*(item[:-distance] for item in items), *(item[distance:] for item in items)), items)
        items = [torch.cat((item[:distance], new)) for new, item in zip(merged, items, strict=True)]
        distance *= 2
    if reverse:
        items = [item.flip(0) for item in items]
    return tuple(item.movedim(0, axis) for item in items)


def map_by(function: Combine, sources: Sequence[torch.Tensor], pack: int, results: int) -> tuple[torch.Tensor, ...]:
    """`tt.map_elementwise`: the function takes `pack` neighbours of each source and gives as many of each result."""
    shape = sources[0].shape
    lanes = [source.reshape(-1, pack)[:, lane] for source in sources for lane in range(pack)]
    found = function(*lanes)
    columns = [found[number * pack : (number + 1) * pack] for number in range(results)]
    return tuple(
        torch.stack([column.expand(lanes[0].shape) for column in group], -1).reshape(shape) for group in columns
    )


def map_numbers(
    function: Callable[..., tuple[Any, ...]], sources: Sequence[torch.Tensor], pack: int, dtypes: Sequence[torch.dtype]
) -> tuple[torch.Tensor, ...]:
    """`map_by` with a function of numbers, which may branch: one group of elements after the other."""
    shape = sources[0].shape
    groups = zip(*(source.reshape(-1, pack).tolist() for source in sources), strict=True)
    rows = [function(*(number for lanes in group for number in lanes)) for group in groups]
    return tuple(
        torch.tensor([row[at * pack : (at + 1) * pack] for row in rows], dtype=dtype).reshape(shape)
        for at, dtype in enumerate(dtypes)
    )


def ballot(mask: int, flags: torch.Tensor, warps: int) -> torch.Tensor:
    """`vote.ballot` of each warp: 32 consecutive flags as bits, given to every thread."""
    bits = (flags.reshape(-1, 32).long() << torch.arange(32)).sum(1) & mask
    return torch.where(bits >= 2**31, bits - 2**32, bits).to(torch.int32).repeat_interleave(32).view(flags.shape)


def spread_part(part: Any, size: int) -> Any:
    """A condition on one element as a condition on `size` of them."""
    holds = part[0] == 0 and part[1] > 0 if isinstance(part, tuple) else bool(part.reshape(-1)[0])
    return (0, size) if holds else (0, 0)


# ---------------------------------------------------------------------- memory


def make_barriers(cta: Cta, array: int, slots: int) -> list[Barrier]:
    """The mbarriers of one allocation."""
    made = [Barrier(cta.sm.loop, array, slot) for slot in range(slots)]
    cta.barriers += made
    return made


def land(cycle: int, arrival: tuple[Barrier, int, int]) -> None:
    """The bytes of a copy have arrived; values are off."""
    barrier, size, cause = arrival
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_load(cycle: int, arrival: tuple[Barrier, int, int, memory.TileDescriptor, Any, torch.Tensor]) -> None:
    """A TMA load has arrived."""
    barrier, size, cause, descriptor, at, target = arrival
    descriptor.load(at, target)
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_tile(
    cycle: int, arrival: tuple[Barrier, int, int, memory.TileDescriptor, tuple[int, ...], SharedView]
) -> None:
    """A TMA load has arrived in a slot that nothing else writes."""
    barrier, size, cause, descriptor, at, view = arrival
    view.receive(descriptor, at)
    barrier.tx -= size
    if barrier.tx == 0 and barrier.pending == 0:
        barrier.flip(cycle, cause)


def land_gather(cycle: int, arrival: tuple[Barrier, int, int, memory.TileDescriptor, Any, torch.Tensor]) -> None:
    """A TMA gather has arrived."""
    barrier, size, cause, descriptor, (rows, column), target = arrival
    descriptor.gather(rows, column, target)
    barrier.land(cycle, size, cause)


def bulk_store(base: torch.Tensor, offset: int, source: torch.Tensor, size: int) -> None:
    """`cp.async.bulk` from shared to global memory: `size` bytes."""
    flat = cast(source.reshape(-1), base.dtype)[: size // base.element_size()]
    memory.tile_view("store", base, offset, [1], [(0, flat.numel())]).copy_(flat)


def land_bulk(cycle: int, arrival: tuple[Barrier, int, int, torch.Tensor, int, torch.Tensor]) -> None:
    """A `cp.async.bulk` from global to shared memory has arrived: `size` bytes."""
    barrier, size, cause, base, offset, target = arrival
    count = size // base.element_size()
    target.view(-1)[:count] = memory.tile_view("load", base, offset, [1], [(0, count)])
    barrier.land(cycle, size, cause)


def scratch(size: int) -> torch.Tensor:
    """Global scratch memory of one CTA."""
    return torch.zeros(size, dtype=torch.int8)


def make_descriptor(
    base: torch.Tensor, offset: int, box: Sequence[int], dims: Sequence[int], strides: Sequence[int], fill: int
) -> memory.TileDescriptor:
    """What `tensormap_create` writes: dimensions from the innermost on, strides in bytes of all but the innermost."""
    size = base.element_size()
    return memory.TileDescriptor(
        base,
        offset,
        tuple(reversed(dims)),
        (*(stride // size for stride in reversed(strides)), 1),
        tuple(reversed(box)),
        math.nan if fill else 0.0,
    )


def find_descriptor(cta: Cta, base: torch.Tensor, offset: int, block: tuple[int, ...]) -> memory.TileDescriptor:
    """The descriptor that was made at a place in memory."""
    found = cta.tensormaps.get((base.data_ptr(), offset))
    if found is None:
        raise MemoryAccessError(
            "a TMA descriptor is used where none was made: make_tensor_descriptor has to come first"
        )
    return memory.TileDescriptor(found.base, found.offset, found.shape, found.strides, block, found.padding)


def atomic_scalar(kind: str, base: torch.Tensor, offset: int, value: Any, compare: Any) -> Any:
    """One atomic; returns what was there."""
    old = memory.load_scalar(base, offset)
    if kind == "cas":
        if old == compare:
            base[offset] = value
        return old
    before = torch.tensor(old, dtype=base.dtype)
    base[offset] = memory.combine(kind, before, torch.tensor(value, dtype=base.dtype))
    return old


def cas_dense(base: torch.Tensor, offsets: torch.Tensor, compare: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Compare-and-swap of a tensor, element by element: places may repeat."""
    memory.load_dense(base, offsets, None, 0)  # refuses what lies outside
    shape = offsets.shape
    found: list[torch.Tensor] = []
    items = (offsets.reshape(-1).tolist(), compare.expand(shape).reshape(-1), value.expand(shape).reshape(-1))
    for place, wanted, new in zip(*items, strict=True):
        found.append(base[place].clone())
        if bool(found[-1] == wanted):
            base[place] = new
    return torch.stack(found).view(shape)


def resolve_tensor(
    space: memory.AddressSpace, addresses: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of addresses as offsets into the one allocation they belong to."""
    base, offset = space.resolve(int(addresses.min()), dtype)
    start = int(addresses.min()) - offset * dtype.itemsize
    return base, torch.div(addresses - start, dtype.itemsize, rounding_mode="floor")


# ---------------------------------------------------------------------- the rest


def device_print(pid: Sequence[int], prefix: str, values: Sequence[Any], hexadecimal: Sequence[int]) -> None:
    """`tl.device_print`: a line per element, as on a GPU.

    Args:
        pid: The program.
        prefix: Text in front of each value; Triton puts the blanks around it.
        values: Tensors and numbers.
        hexadecimal: For each value the digits to print it with in base 16, or 0 for base 10.
    """
    place = ", ".join(map(str, pid))
    if not values:
        print(f"pid ({place}){prefix}")
    for number, (value, digits) in enumerate(zip(values, hexadecimal, strict=True)):
        operand = f"(operand {number}) " if len(values) > 1 else ""
        if not isinstance(value, torch.Tensor):
            print(f"pid ({place}) idx (){prefix}{operand}{_printed(value, digits)}")
            continue
        widths = [len(str(size - 1)) for size in value.shape]
        for index, item in enumerate(value.reshape(-1).tolist()):
            found = (int(i) for i in torch.unravel_index(torch.tensor(index), value.shape))
            where = ", ".join(f"{i:{width}}" for i, width in zip(found, widths, strict=True))
            print(f"pid ({place}) idx ({where}){prefix}{operand}{_printed(item, digits)}")


def _printed(item: float, digits: int) -> str:
    if isinstance(item, float):
        return f"{item:f}"
    return f"0x{int(item) & ((1 << (4 * digits)) - 1):0{digits}x}" if digits else str(int(item))


def device_assert(pid: Sequence[int], condition: Any, message: str) -> None:
    """`tl.device_assert`."""
    holds = bool(condition.all()) if isinstance(condition, torch.Tensor) else bool(condition)
    if not holds:
        raise DeviceAssertError(f"device_assert failed in program {tuple(pid)}: {message or 'no message'}")


def runaway(cycle: int) -> None:
    """Ends an agent that never ends by itself."""
    raise RunawayError(
        f"still running after {cycle:,} cycles: the loop does not end, or waits for memory that nobody writes"
    )


_OF_TORCH = """full full_like where maximum minimum fmax fmin amax amin isnan stack mm addmm matmul tensor exp2 exp
    log2 log log10 log1p expm1 sqrt rsqrt sin cos tan tanh erf atan floor ceil trunc round abs fmod concatenate"""
_OF_PARTS = """indices mask_tensor add_parts rem_part div_part compare_part and_parts where_part narrow_index
    first_of"""
_OF_MEMORY = """load_tile copy_tile store_tile load_dense store_dense load_scalar store_scalar address_of
    bitcast_pointer bitcast_pointers select_pointers TileDescriptor combine atomic_dense"""
"""Functions of other modules that generated code calls."""


def namespace() -> dict[str, Any]:
    """Globals that all generated code starts from."""
    names: dict[str, Any] = {
        name: value for name, value in globals().items() if callable(value) and not name.startswith("_")
    }
    for source, listed in ((torch, _OF_TORCH), (parts, _OF_PARTS), (memory, _OF_MEMORY)):
        names |= {name: getattr(source, name) for name in listed.split()}
    names |= {
        "wrap": wrap,
        "unsigned": unsigned,
        "truncating_div": truncating_div,
        "truncating_rem": truncating_rem,
        "round_f32": round_f32,
        "round_f16": round_f16,
        "round_scalar": round_scalar,
        "cast": cast,
        "cast_towards_zero": cast_towards_zero,
        "float_to_int": float_to_int,
        "float_to_int_scalar": float_to_int_scalar,
        "float_to_unsigned": float_to_unsigned,
        "int_to_float": int_to_float,
        "int_to_float_scalar": int_to_float_scalar,
        "shift_left": shift_left,
        "as_unsigned": as_unsigned,
        "tf32": tf32,
        "allocate": allocate,
        "SharedView": SharedView,
        "AgentRun": AgentRun,
        "heappush": heappush,
        "histogram": _histogram,
        "inf": math.inf,
        "nan": math.nan,
    }
    return names


def _histogram(values: torch.Tensor, mask: torch.Tensor | None = None, *, bins: int) -> torch.Tensor:
    chosen = values if mask is None else values[mask]
    inside = chosen[(chosen >= 0) & (chosen < bins)]
    return torch.bincount(inside.long().reshape(-1), minlength=bins)
