"""How long arithmetic takes a warp group that runs alone, from the device's rates."""

from __future__ import annotations

import math

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.types import PointerType, ScalarType, TensorType, Type, bytes_of, element_of
from tlxviz.sim.emitter import Emitter


def elements_per_thread(e: Emitter, type_: Type) -> float:
    """Elements of a value that one thread holds; at least one, since layouts replicate small tensors."""
    return max(1.0, type_.size / e.threads) if isinstance(type_, TensorType) else 1.0


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
    return _ADDRESS_SHARE if op.results and is_addressing(e, op.results[0]) else 1.0


def issue(e: Emitter, type_: Type, instructions: float = 1.0) -> None:
    """`instructions` per element of a value of `type_`, one warp instruction per scheduler and cycle."""
    schedulers = e.unit.device.alu.schedulers
    share = _share(e, e.operation) if e.operation is not None else 1.0
    count = max(1.0, elements_per_thread(e, type_) * share)
    e.charge(slots=count * instructions * max(1.0, e.warps / schedulers))


def rated(e: Emitter, type_: Type, per_cycle: float) -> None:
    """Work of a unit with `per_cycle` results per cycle and SM, spread over the schedulers that the group reaches."""
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


def elementwise(e: Emitter, op: Operation) -> None:
    """One plain instruction per element, at the rate of the element type."""
    type_ = op.results[0].type if op.results else op.operands[0].type
    rated(e, type_, _rate(e, element_of(type_)))


def minmax(e: Emitter, type_: Type) -> None:
    """The smaller or larger of two, per element."""
    element = element_of(type_)
    rate = e.unit.device.alu.minmax
    if isinstance(element, ScalarType) and element.is_float and element.bytes == 2:
        rate *= 2
    rated(e, type_, min(rate, _rate(e, element)))


def comparison(e: Emitter, type_: Type) -> None:
    """A comparison or a selection per element."""
    rated(e, type_, e.unit.device.alu.compare)


def multiply_adds(e: Emitter, element: Type, count: int) -> None:
    """`count` multiply-adds with sums of type `element`."""
    share = min(1.0, e.warps / e.unit.device.alu.schedulers)
    e.charge(slots=count / (_rate(e, element) * share))


def conversion(e: Emitter, op: Operation) -> None:
    """A narrowing or widening conversion per element."""
    rated(e, op.result.type, e.unit.device.alu.convert)


def special(e: Emitter, type_: Type, uses: float = 1.0) -> None:
    """`uses` MUFU operations per element."""
    alu = e.unit.device.alu
    share = min(1.0, e.warps / alu.schedulers)
    size = elements_per_thread(e, type_) * e.threads
    e.charge(mufu=uses * size / (alu.mufu * share), latency=alu.mufu_latency_cycles)
    issue(e, type_)


def shared_traffic(e: Emitter, type_: Type, times: float = 1.0) -> None:
    """Reads or writes a value of `type_` in shared memory `times` times."""
    memory = e.unit.device.memory
    e.charge(slots=times * bytes_of(type_) / memory.shared_bytes_per_cycle, latency=memory.shared_latency_cycles)


def block_barrier(e: Emitter) -> None:
    """The warps of the group wait for each other."""
    if e.warps > 1:
        sync = e.unit.device.sync
        e.charge(latency=sync.block_barrier_base + sync.block_barrier_per_warp * e.warps)


def global_traffic(e: Emitter, type_: Type, kind: str) -> tuple[int, int]:
    """Issues a `load`, `store` or `atomic` through pointers of `type_`: (cycles on the load-store path, bytes)."""
    memory = e.unit.device.memory
    size = _accessed_bytes(type_)
    per_thread = max(1.0, size / e.threads / 16) if isinstance(type_, TensorType) else 1.0
    e.charge(slots=per_thread * max(1.0, e.warps / e.unit.device.alu.schedulers) * (2 if kind == "load" else 1))
    return math.ceil(size / memory.load_bytes_per_cycle), size


def _accessed_bytes(type_: Type) -> int:
    element = element_of(type_)
    assert isinstance(element, PointerType)
    count = type_.size if isinstance(type_, TensorType) else 1
    return count * bytes_of(element.pointee)
