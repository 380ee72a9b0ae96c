"""How long arithmetic takes a warp group that runs alone, from the device's rates."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import ScalarType, TensorType, Type, bytes_of, element_of
from tlxviz.sim.emitter import Emitter


def elements_per_thread(e: Emitter, type_: Type) -> float:
    """Elements of a value that one thread holds; at least one, since layouts replicate small tensors."""
    return max(1.0, type_.size / e.threads) if isinstance(type_, TensorType) else 1.0


def issue(e: Emitter, type_: Type, instructions: float = 1.0) -> None:
    """`instructions` per element of a value of `type_`, one warp instruction per scheduler and cycle."""
    schedulers = e.unit.device.alu.schedulers
    e.charge(slots=elements_per_thread(e, type_) * instructions * max(1.0, e.warps / schedulers))


def rated(e: Emitter, type_: Type, per_cycle: float) -> None:
    """Work of a unit that gives `per_cycle` results per cycle and SM, spread over the schedulers that the group reaches."""
    alu = e.unit.device.alu
    share = min(1.0, e.warps / alu.schedulers)
    size = elements_per_thread(e, type_) * e.threads
    e.charge(slots=size / (per_cycle * share))


def elementwise(e: Emitter, op: Operation) -> None:
    """One plain instruction per element, at the rate of the element type."""
    type_ = op.results[0].type if op.results else op.operands[0].type
    element = element_of(type_)
    alu = e.unit.device.alu
    rate = alu.int32
    if isinstance(element, ScalarType):
        match element.name:
            case "f32":
                rate = alu.fp32
            case "f16" | "bf16":
                rate = alu.fp16
            case "f64":
                rate = alu.fp64
            case "i64":
                rate = alu.int32 / 2
            case _:
                pass
    rated(e, type_, rate)


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
