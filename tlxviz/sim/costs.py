"""How long arithmetic takes a warp group that runs alone, from the device's rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import PointerType, ScalarType, TensorType, Type, bytes_of, element_of
from tlxviz.sim.emitter import Emitter


def elements_per_thread(e: Emitter, type_: Type) -> float:
    """Elements of a value that one thread holds; at least one along each axis: layouts replicate small tensors."""
    if not isinstance(type_, TensorType):
        return 1.0
    encoding = type_.encoding
    if (
        encoding is not None
        and encoding.name == "blocked"
        and len(encoding.parameters["warpsPerCTA"]) == len(type_.shape)
    ):
        spread = zip(encoding.parameters["threadsPerWarp"], encoding.parameters["warpsPerCTA"], strict=True)
        return math.prod(
            max(1.0, size / (lanes * warps)) for size, (lanes, warps) in zip(type_.shape, spread, strict=True)
        )
    return max(1.0, type_.size / e.threads)


_ADDRESS_SHARE = 1 / 8
"""Share of the elements of an index that costs an instruction: neighbours that one access moves share their address."""
_FORWARDING = frozenset(
    {
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.trans",
        "tt.addptr",
        "ttg.convert_layout",
        "tt.make_range",
    }
)


def is_addressing(e: Emitter, value: Value) -> bool:
    """Whether a tensor is made of ranges and scalars only, as pointers and masks of tiles are."""
    known = e.unit.addressing
    found = known.get(value)
    if found is None:
        known[value] = True  # for the time being: a cycle through a loop decides nothing
        found = known[value] = _is_addressing(e, value)
    return found


def _is_addressing(e: Emitter, value: Value) -> bool:
    if not isinstance(value.type, TensorType):
        return True
    element = element_of(value.type)
    if isinstance(element, ScalarType) and element.is_float:
        return False
    op = value.owner
    if not isinstance(op, Operation):
        return not isinstance(element, ScalarType)  # pointers that a loop carries
    if op.name == "arith.constant":
        return True
    if op.name in _FORWARDING or op.name.startswith("arith."):
        return all(is_addressing(e, operand) for operand in op.operands)
    return False


def _share(e: Emitter, op: Operation) -> float:
    if not op.results or not is_addressing(e, op.results[0]):
        return 1.0
    together = neighbours(op.results[0].type) if op.name == "arith.cmpi" else None
    return _ADDRESS_SHARE if together is None else 1 / min(8, together)


def _instructions(e: Emitter, type_: Type, count: float) -> float:
    """Cycles of the busiest scheduler for `count` warp instructions per element of a value of `type_`."""
    share = _share(e, e.operation) if e.operation is not None else 1.0
    return max(1.0, elements_per_thread(e, type_) * share) * count * _crowd(e)


def _crowd(e: Emitter) -> float:
    """Warps of the group on one scheduler."""
    return max(1.0, e.warps / e.unit.device.alu.schedulers)


def issue(e: Emitter, type_: Type, instructions: float = 1.0) -> None:
    """`instructions` per element of a value of `type_`, one warp instruction per scheduler and cycle.

    Numbers that are no tensors depend on each other: each waits for the one before.
    """
    if isinstance(type_, TensorType):
        e.charge(slots=_instructions(e, type_, instructions))
    else:
        e.charge(slots=instructions, latency=instructions * (e.unit.device.alu.latency_cycles - 1))


def logic(e: Emitter, type_: Type, instructions: float = 1.0) -> None:
    """Comparisons, choices, bitwise logic: as `issue`, in a pipe of their own."""
    if not isinstance(type_, TensorType):
        issue(e, type_, instructions)
        return
    alu = e.unit.device.alu
    slots = _instructions(e, type_, instructions)
    e.charge(slots=slots, logic=slots * 32 * alu.schedulers / alu.compare)


def rated(e: Emitter, type_: Type, per_cycle: float) -> None:
    """Work of a unit with `per_cycle` results per cycle and SM, spread over the schedulers that the group reaches."""
    if not isinstance(type_, TensorType):
        issue(e, type_)
        return
    alu = e.unit.device.alu
    share = min(1.0, e.warps / alu.schedulers)
    address = _share(e, e.operation) if e.operation is not None else 1.0
    size = max(1.0, elements_per_thread(e, type_) * address) * e.threads
    e.charge(slots=size / (per_cycle * share))


def _rate(e: Emitter, element: Type) -> float:
    """Plain instructions per cycle and SM on elements of a type."""
    alu = e.unit.device.alu
    match element.name if isinstance(element, ScalarType) else "":
        case "f32":
            return alu.fp32
        case "f16" | "bf16":
            return alu.fp16
        case "f64":
            return alu.fp64
        case "i64":
            return alu.int32 / 2
        case _:
            return alu.int32


_LOGIC = frozenset(
    f"arith.{name}"
    for name in (
        *("maxsi", "minsi", "maxui", "minui", "maxnumf", "minnumf", "maximumf", "minimumf"),
        *("select", "andi", "ori", "xori", "shli"),
    )
)


def elementwise(e: Emitter, op: Operation) -> None:
    """One plain instruction per element, at the rate of the element type."""
    type_ = op.results[0].type if op.results else op.operands[0].type
    if op.name in _LOGIC:
        logic(e, type_)
    else:
        rated(e, type_, _rate(e, element_of(type_)))


def division(e: Emitter, op: Operation) -> None:
    """Of integers: by a constant, shifts or a multiplication; by anything else, a reciprocal and some twenty
    instructions that depend on each other, three of them in the MUFU."""
    divisor = op.operands[1].owner
    if isinstance(divisor, Operation) and divisor.name == "arith.constant":
        issue(e, op.result.type, 4.0)
        return
    alu = e.unit.device.alu
    special(e, op.result.type, 3.0)
    issue(e, op.result.type, 20.0)
    e.charge(latency=2 * alu.mufu_latency_cycles)


def multiply_adds(e: Emitter, element: Type, count: int) -> None:
    """`count` multiply-adds with sums of type `element`."""
    share = min(1.0, e.warps / e.unit.device.alu.schedulers)
    e.charge(slots=count / (_rate(e, element) * share))


def conversion(e: Emitter, op: Operation) -> None:
    """A narrowing or widening conversion per element; narrowing packs two results."""
    type_ = op.result.type
    if not isinstance(type_, TensorType):
        issue(e, type_)
        return
    alu = e.unit.device.alu
    before, after = element_of(op.operands[0].type), element_of(type_)
    narrows = isinstance(before, ScalarType) and isinstance(after, ScalarType) and after.bits < before.bits
    rate = alu.convert if narrows else alu.compare
    cycles = elements_per_thread(e, type_) * e.threads / (rate * min(1.0, e.warps / alu.schedulers))
    e.charge(slots=cycles * alu.compare / (32 * alu.schedulers), logic=cycles)


def special(e: Emitter, type_: Type, uses: float = 1.0) -> None:
    """`uses` MUFU operations per element."""
    alu = e.unit.device.alu
    share = min(1.0, e.warps / alu.schedulers)
    size = elements_per_thread(e, type_) * e.threads
    e.charge(
        slots=_instructions(e, type_, uses), mufu=uses * size / (alu.mufu * share), latency=alu.mufu_latency_cycles
    )


_THREE_INPUTS = frozenset(f"arith.{name}" for name in ("maxnumf", "minnumf", "maximumf", "minimumf"))
"""On Blackwell one instruction gives the largest or smallest of three (FMNMX3)."""


def _combined_at_once(e: Emitter, type_: TensorType, combine: Operation | None) -> int:
    """Numbers that one instruction adds to what a thread has combined."""
    three = combine is not None and combine.name in _THREE_INPUTS and element_of(type_) == ScalarType("f32")
    return 2 if three and e.unit.device.capability >= (10, 0) else 1


_MEETING = 12
"""Instructions of a warp that leaves its part of a reduction in shared memory and gets the whole: addresses and
predicates, two writes and two reads, three barriers (as ptxas writes them for CUDA 12)."""


def reduction(e: Emitter, type_: Type, axis: int, combine: Operation | None, values: int) -> None:
    """Each thread combines its elements along `axis` one after the other, then threads combine theirs by shuffles,
    then warps by shared memory.

    The rows of a thread follow each other, and what uses the first does not wait for the last.
    """
    if not isinstance(type_, TensorType):
        return
    alu = e.unit.device.alu
    lanes, warps = lanes_along(type_, axis, e.warps)
    own = elements_per_thread(e, type_)
    along = max(1.0, min(own, type_.shape[axis] / (lanes * warps)))
    rows = own / along
    step = logic if combine is not None and combine.name in _LOGIC else _plain
    fresh = not e.started
    at_once = _combined_at_once(e, type_, combine)
    step(e, type_, values / at_once)
    # what another operation of this stretch gives is combined as it comes
    chain = along / at_once * alu.latency_cycles if fresh else alu.latency_cycles
    steps = math.ceil(math.log2(lanes)) if lanes > 1 else 0
    moves = rows * steps * values * _crowd(e)
    e.charge(
        slots=2 * moves,
        shared=moves * 32 * alu.schedulers / alu.shuffle,
        latency=chain + steps * (alu.shuffle_cycles + alu.latency_cycles),
    )
    if warps > 1:
        memory = e.unit.device.memory
        again = math.ceil(math.log2(warps))
        e.charge(
            slots=(2 * again + _MEETING) * _crowd(e),
            latency=2 * memory.shared_latency_cycles + again * (alu.shuffle_cycles + alu.latency_cycles),
        )
        block_barrier(e)
        block_barrier(e)


def _plain(e: Emitter, type_: Type, instructions: float) -> None:
    assert isinstance(type_, TensorType)
    e.charge(slots=_instructions(e, type_, instructions))


def lanes_along(type_: TensorType, axis: int, warps: int) -> tuple[int, int]:
    """How many lanes of a warp, and how many warps, have different elements along an axis of a tensor."""
    encoding = type_.encoding
    size = type_.shape[axis]
    if encoding is not None and encoding.name == "blocked":
        lanes = int(encoding.parameters["threadsPerWarp"][axis])
        own = int(encoding.parameters["sizePerThread"][axis])
        across = int(encoding.parameters["warpsPerCTA"][axis])
        lanes = max(1, min(lanes, size // own))
        return lanes, max(1, min(across, size // (own * lanes)))
    if encoding is not None and encoding.name == "linear":
        return _steps(encoding.parameters["lane"], axis), _steps(encoding.parameters["warp"], axis)
    if encoding is not None and encoding.name == "nvidia_mma":
        return (8, 4)[axis == len(type_.shape) - 1], int(encoding.parameters["warpsPerCTA"][axis])
    return min(32, size), max(1, min(warps, size // 32))


def _steps(bases: Sequence[Sequence[int]], axis: int) -> int:
    """How many places along an axis the bits of a linear layout stand for."""
    return 1 << sum(1 for basis in bases if basis[axis])


def shared_traffic(e: Emitter, type_: Type, times: float = 1.0) -> None:
    """Reads or writes a value of `type_` in shared memory `times` times."""
    memory = e.unit.device.memory
    e.charge(
        slots=times * max(1.0, bytes_of(type_) / e.threads / 16) * _crowd(e),
        shared=times * bytes_of(type_) / memory.shared_bytes_per_cycle,
        latency=memory.shared_latency_cycles,
    )


_WIDEST_ACCESS = 16
"""Bytes that a thread reads or writes by one instruction."""


def neighbours(type_: Type) -> int | None:
    """Elements of a tensor that a thread holds beside one another, as far as its layout says."""
    if not isinstance(type_, TensorType) or type_.encoding is None or type_.encoding.name != "blocked":
        return None
    parameters = type_.encoding.parameters
    return int(parameters["sizePerThread"][int(parameters["order"][0])])


_PREDICATES = 6
"""Masks of accesses that predicate registers can hold."""
_KEEPING = 0.7
"""Instructions for one that a register has to hold."""
_BASE = 4
"""Instructions of a warp for the address that a tile's accesses have in common."""


def accesses(e: Emitter, type_: Type, size: int, *, masked: bool) -> None:
    """Issues loads, stores or asynchronous copies of `size` bytes through pointers of `type_`, each as wide as a thread
    has neighbours. Their addresses take the path that shuffles take."""
    alu = e.unit.device.alu
    together = neighbours(type_)
    width = _WIDEST_ACCESS
    if isinstance(type_, TensorType) and together is not None:
        width = max(1, min(width, together * size // type_.size))
    instructions = max(e.warps, size / (32 * width))
    kept = masked and instructions / e.warps > _PREDICATES
    e.charge(
        slots=instructions / min(e.warps, alu.schedulers) * (1 + (_KEEPING if kept else 0)) + _BASE * _crowd(e),
        shared=instructions * 32 / alu.shuffle,
    )


def block_barrier(e: Emitter) -> None:
    """The warps of the group wait for each other."""
    if e.warps > 1:
        sync = e.unit.device.sync
        e.charge(latency=sync.block_barrier_base + sync.block_barrier_per_warp * e.warps)
        e.unmet = e.reading = False


def global_traffic(e: Emitter, type_: Type) -> int:
    """Issues a load, store or atomic through pointers of `type_`; returns its bytes."""
    size = _accessed_bytes(type_)
    if isinstance(type_, TensorType):
        accesses(e, type_, size, masked=e.operation is not None and e.operation.operand("mask") is not None)
    else:
        e.charge(slots=1)
    return size


def _accessed_bytes(type_: Type) -> int:
    element = element_of(type_)
    assert isinstance(element, PointerType)
    count = type_.size if isinstance(type_, TensorType) else 1
    return count * bytes_of(element.pointee)
