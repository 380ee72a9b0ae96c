"""`ttng`: copies by the TMA engine between shared and global memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tlxviz.ir.operation import Operation
from tlxviz.ir.types import MemDescType, Type, bytes_of, element_of
from tlxviz.sim import costs
from tlxviz.sim.effects import descriptor_name, own_loads
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import TMA
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.expressions import tuple_code
from tlxviz.sim.representation import Pointer, Scalar
from tlxviz.sim.runtime.remote import Multicast
from tlxviz.sim.runtime.transfers import land, land_gather, land_load, land_tile
from tlxviz.sim.semantics.shared_memory import contents
from tlxviz.sim.semantics.sync import arrived, barrier, close_guard, drain, is_remote, open_guard

STORE_WAIT_CYCLES = 8.0
LANDINGS: dict[str, Callable[[int, Any], None]] = {
    "": land,
    "load": land_load,
    "tile": land_tile,
    "gather": land_gather,
}
"""What happens when a load arrives; with values off, or contents that nobody reads, only its barrier is told."""


def _coordinates(e: Emitter, op: Operation) -> str:
    return tuple_code(e.scalar(value) for value in op.groups["coords"])


def _block_bytes(type_: Type) -> int:
    assert isinstance(type_, MemDescType)
    return bytes_of(type_)


def _watch_tile(e: Emitter, op: Operation, told: str) -> None:
    """Tells the observer which descriptor a copy uses, and where in its tensor the tile begins."""
    operand = op.operand("desc")
    held = e.held.get(operand) if operand is not None else None
    if not e.watched or not isinstance(held, Scalar):
        return
    at = _coordinates(e, op) if op.groups.get("coords") else "()"
    e.watch("uses", held.code, at, told)


def _issue_cycles(e: Emitter, type_: Type) -> float:
    """A copy of a block: as many instructions as it has boxes, each as wide as the swizzle."""
    tma = e.unit.device.tma
    assert isinstance(type_, MemDescType)
    swizzle = type_.encoding.parameters.get("swizzlingByteWidth", 0) if type_.encoding is not None else 0
    transposed = type_.encoding is not None and type_.encoding.parameters.get("transposed", False)
    row = type_.shape[0 if transposed else -1] * bytes_of(element_of(type_))
    boxes = max(1, row // swizzle) if isinstance(swizzle, int) and swizzle else 1
    return tma.issue_cycles + (boxes - 1) * tma.box_cycles


@emits("ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather")
def tma_load(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    guarded = open_guard(e, op)
    remote = is_remote(e, op.groups["barrier"][0])
    if remote and e.unit.device.tcgen05 is None:
        raise UnsupportedOperation("a TMA load that tells the barrier of another CTA (two_ctas), which Hopper cannot")
    target = op.groups["dst"][0]
    size = _block_bytes(target.type)
    b = barrier(e, op.groups["barrier"][0])
    view = e.scalar(target)
    needed = contents(e, target)
    if op.name == "ttng.async_tma_gather":
        at = f"({e.dense(op.groups['x_offsets'][0])}, {e.scalar(op.groups['y_offset'][0])})" if needed else "()"
        method = "gather"
    else:
        at = _coordinates(e, op)
        method = "load"
    transfer = math.ceil(size / tma.bytes_per_cycle)
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)  # the bytes are expected before one warp issues the copy
    e.charge(latency=_issue_cycles(e, target.type))
    e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    root = e.unit.program.roots.get(target)
    whole = root is not None and root.index in e.unit.borrowing and method == "load"
    to_several = op.operand("multicast")
    if to_several is not None:
        latency = round(tma.l2_latency_cycles + e.unit.device.cluster.multicast_cycles)
        landing = LANDINGS["tile" if whole else method] if needed else LANDINGS[""]
        code = e.site() + TMA * len(e.unit.program.sites)
        detailed = e.unit.options.detailed
        load = e.constant(Multicast(e.site(), code, size, transfer, latency, landing, whole, detailed))
        source = f"({e.scalar(op.groups['desc'][0])}, {at}, {view})" if needed else "None"
        outer, inner = e.iteration()
        mask = e.scalar(to_several)
        e.line(f"multicast({load}, cta, {mask}, {e.late('t', 'loads')}, {b}, {row}, ({outer}, {inner}), {source})")
        e.watch("loads", view, b, mask)
        _watch_tile(e, op, b)
        close_guard(e, guarded)
        return
    rate = "own_tma" if op in own_loads(e.unit.program) else "tma"
    name = descriptor_name(e.unit.program, op)
    if name:
        e.line(f"if {name!r} not in sm.maps: sm.read_map(t, {name!r})")
    taken = e.let(f"int({size} * reach.{rate})", "x")
    x = e.queue("tma_free", taken)
    e.line(f"sm.tma_busy += {taken}; sm.tma_load_bytes += {size}")
    landed = e.late(f"{x} + {taken} + reach.tma_latency", "loads")
    cause = "-1"
    if e.traced:
        e.record(begin=x, end=landed, cause=row, engine=TMA, barrier=b)
        cause = e.foreign(f"{row} + 1") if remote else f"{row} + 1"
    if needed:
        desc = e.scalar(op.groups["desc"][0])
        if whole:
            method, arrival = "tile", view
        else:
            arrival = f"{view}.tensor"
        landing, arguments = f"land_{method}", f"({b}, {size}, {cause}, {desc}, {at}, {arrival})"
    else:
        landing, arguments = "land", f"({b}, {size}, {cause})"
    if remote:
        landing, arguments = "land_for_pair", f"({landing}, {e.site()}, cta, {arguments})"
    e.line(f"heappush(heap, ({landed}, next(seq), {landing}, {arguments}))")
    e.watch("loads", view, b)
    _watch_tile(e, op, b)
    close_guard(e, guarded)


@emits("ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter", "ttng.async_store")
def tma_store(e: Emitter, op: Operation) -> None:
    tma = e.unit.device.tma
    e.settle_loads()
    source = op.groups["src"][0]
    size = _block_bytes(source.type)
    view = e.scalar(source)
    transfer = math.ceil(size / tma.store_bytes_per_cycle)
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)  # all warps have written before one of them issues the copy
    e.charge(latency=_issue_cycles(e, source.type))
    e.order()
    row = e.row()
    e.record(begin=begin, slot=f"{view}.slot")
    x = e.late(e.queue("tma_store_free", transfer), "stores")
    e.line(f"sm.tma_store_busy += {transfer}; sm.tma_store_bytes += {size}")
    done = e.let(f"{x} + {transfer + round(tma.store_latency_cycles)}", "x")
    if e.traced:
        e.record(begin=x, end=done, slot=f"{view}.slot", phase="-1", cause=row, engine=TMA)
        e.line(f"me.stores.append(({done}, {row} + 1))")
    else:
        e.line(f"me.stores.append(({done}, -1))")
    for result in op.results:
        e.set(result, Scalar(done))
    e.watch("stores", view)
    _watch_tile(e, op, "None")
    if not e.values:
        return
    e.wrote()
    match op.name:
        case "ttng.async_store":
            held = e.get(op.groups["dst"][0])
            if not isinstance(held, Pointer):
                raise UnsupportedOperation("ttng.async_store to something that is no single pointer")
            kind = "bulk"
            arguments = f"{held.base}, {held.offset}, {view}, {e.scalar(op.groups['size'][0])}"
        case "ttng.async_tma_scatter":
            kind = "scatter"
            rows, column = e.dense(op.groups["x_offsets"][0]), e.scalar(op.groups["y_offset"][0])
            arguments = f"{e.scalar(op.groups['desc'][0])}, {rows}, {column}, {view}"
        case "ttng.async_tma_reduce":
            kind = "reduce"
            reduction = repr(str(op.attributes["kind"]))
            arguments = f"{e.scalar(op.groups['desc'][0])}, {_coordinates(e, op)}, {view}, {reduction}"
        case _:
            kind = "store"
            arguments = f"{e.scalar(op.groups['desc'][0])}, {_coordinates(e, op)}, {view}"
    e.line(f"heappush(heap, ({x} + {transfer}, next(seq), leave_{kind}, ({arguments})))")


@emits("ttng.async_tma_store_wait")
def tma_store_wait(e: Emitter, op: Operation) -> None:
    drain(e, "me.stores", f"len({{q}}) > {op.attributes['pendings']}", STORE_WAIT_CYCLES)
    e.watch("stored", "len(me.stores)", at=False)
    costs.block_barrier(e)  # one warp has waited for all


@emits("ttng.async_tma_store_token_wait")
def tma_store_token_wait(e: Emitter, op: Operation) -> None:
    """Waits for one store and those before it, then arrives at barriers."""
    token = e.held.get(op.groups["token"][0])
    first = "{q}"
    if isinstance(token, Scalar) and token.code != "None":
        first = f"{{q}} and {{q}}[0][0] <= {token.code}"
    drain(e, "me.stores", first, STORE_WAIT_CYCLES)
    e.watch("stored", "len(me.stores)", at=False)
    costs.block_barrier(e)
    for target, condition in zip(op.groups.get("barriers", ()), op.groups.get("barrier_preds", ()), strict=True):
        b = barrier(e, target)
        e.order()
        with e.block(f"if {e.scalar(condition)}:"):
            e.line(f"{arrived(e, b)}; {b}.pending -= 1")
            e.line(f"if {b}.pending <= 0: {b}.settle(t, {'len(rows) - 1' if e.traced else '-1'})")
            e.watch("arrived", b)


@emits("ttng.async_tma_prefetch", "ttng.prefetch", "ttng.prefetch_tensormap")
def prefetch(e: Emitter, op: Operation) -> None:
    e.charge(slots=2)
