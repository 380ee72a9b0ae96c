"""mbarriers, named barriers, fences, votes; and what all that waits shares."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import BarrierArray
from tlxviz.ir.types import MemDescType, TensorType
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.semantics.cluster_barriers import meet
from tlxviz.sim.semantics.operands import scalar_type, skip


def barrier(e: Emitter, value: Value) -> str:
    """A variable with the Barrier that `value` stands for."""
    code = e.scalar(value)
    if e.unit.program.roots.get(value) is None:
        return e.let(f"one_of({code})", "b")
    return e.let(f"{code}[0]" if value in e.unit.arrays else code, "b")


def open_guard(e: Emitter, op: Operation) -> bool:
    """Opens `if pred:` where there is a predicate; the caller closes it by `close_guard`."""
    value = op.operand("pred")
    code = "True" if value is None else e.scalar(value)
    if code == "True":
        return False
    e.flush()
    e.line(f"if {code}:")
    e.indent += 1
    return True


def close_guard(e: Emitter, guarded: bool) -> None:
    """Ends what `open_guard` opened, if it did."""
    if guarded:
        e.line("pass")
        e.indent -= 1


def drain(e: Emitter, queue: str, condition: str, cycles: float) -> None:
    """Takes the first of a queue of (cycle, row), and waits for it, as long as `condition` on `{q}` holds."""
    e.flush()
    begin = e.mark()
    q = e.let(queue, "q")
    cause = e.fresh("n")
    if e.traced:
        e.line(f"{cause} = -1")
    with e.block(f"while {condition.format(q=q)}:"):
        done = e.fresh("x")
        e.line(f"{done}, {cause} = {q}.popleft()")
        e.line(f"if t < {done}: t = {done}")
    e.line(f"t += {round(cycles)}")
    e.record(begin=begin, cause=cause)


# ---------------------------------------------------------------------- mbarriers


@emits("ttng.init_barrier")
def init_barrier(e: Emitter, op: Operation) -> None:
    e.charge(latency=e.unit.device.sync.mbarrier_arrive)
    b = barrier(e, op.groups["barrier"][0])
    e.watch("initialised", b)
    e.line(f"{b}.init({op.attributes['count']})")
    if op is e.unit.meets_after:
        meet(e)


@emits("ttng.inval_barrier")
def inval_barrier(e: Emitter, op: Operation) -> None:
    """Lifetime only."""
    if e.watched:
        e.order()
        e.watch("invalidated", barrier(e, op.groups["barrier"][0]))


def _is_bit(value: Value) -> bool:
    """Whether a phase is surely 0 or 1."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    match op.name:
        case "arith.constant":
            return op.attributes["value"] in (0, 1)
        case "arith.andi":
            return any(_is_bit(operand) for operand in op.operands)
        case "arith.xori":
            return all(_is_bit(operand) for operand in op.operands)
        case "arith.extui":
            return scalar_type(op.operands[0].type).name == "i1"
        case _:
            return False


@emits("ttng.wait_barrier")
def wait_barrier(e: Emitter, op: Operation) -> None:
    sync = e.unit.device.sync
    e.settle_loads()
    guarded = open_guard(e, op)
    b = barrier(e, op.groups["barrier"][0])
    phase_value = op.groups["phase"][0]
    phase = e.scalar(phase_value)
    if not _is_bit(phase_value):
        phase = e.let(f"{phase} & 1", "p")
    if e.unmet:
        costs.block_barrier(e)
    e.order()
    begin = e.mark()
    outer, inner = e.iteration()
    number = e.fresh("n") if e.traced and e.unit.options.detailed else ""
    if number:
        e.line(f"{number} = {b}.completed - ({b}.phase != {phase})")
    with e.block(f"if {b}.phase == {phase}:"):
        e.line(f"{b}.waiters.append(send); me.blocked = ('wait', {e.site()}, t, {outer}, {inner}, {b}, {phase})")
        e.line("t = yield None")
        e.line(f"t += {round(sync.mbarrier_wake)}")
    with e.block("else:"):
        e.line(f"t += {round(sync.mbarrier_try_wait)}")
    e.watch("waited", b, phase)
    e.record(begin=begin, phase=phase, cause=f"{b}.cause", barrier=b, number=number)
    close_guard(e, guarded)


def is_remote(e: Emitter, value: Value) -> bool:
    """Whether a view is of another CTA's memory, or may be."""
    return e.unit.clustered and isinstance(value.type, MemDescType) and value.type.space == "shared_cluster_memory"


def arrived(e: Emitter, b: str) -> str:
    """Statements that note the last arrival on a barrier."""
    note = f"{b}.last_site = {e.site()}; {b}.last_time = t"
    return f"{note}; {b}.last_cta = cta.index" if e.unit.clustered else note


@emits("ttng.arrive_barrier", "tlx.warp_barrier_arrive")
def arrive_barrier(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    guarded = open_guard(e, op)
    remote = is_remote(e, op.groups["barrier"][0])
    b = barrier(e, op.groups["barrier"][0])
    e.flush()
    begin = e.mark()
    # once so that all have done what came before, and once more as part of arriving
    costs.block_barrier(e)
    costs.block_barrier(e)
    e.unmet = True
    e.charge(latency=e.unit.device.sync.mbarrier_arrive)
    e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    count = op.attributes["count"]
    if op.name == "tlx.warp_barrier_arrive" or op.attributes.get("perThread"):
        count *= e.threads
    if remote:
        cycles = round(e.unit.device.cluster.remote_arrive_cycles)
        there = e.late(f"t + {cycles}", "remote")
        x = e.let(f"max({there}, me.remote)", "x")  # not before what was stored there earlier
        if e.unit.pairs or e.paced:
            e.line(f"me.remote = {x}")  # the CTA does not end before: see `cluster_barriers.part`
        arrival = f"{b}, {count}, {e.foreign(row)}, {e.site()}, cta"
        e.line(f"heappush(heap, ({x}, next(seq), arrive_remotely, ({arrival})))")
        e.watch_arrival(x, f"({b},)")
    else:
        e.line(arrived(e, b))
        e.line(f"{b}.pending -= {count}")
        e.line(f"if {b}.pending <= 0: {b}.settle(t, {row})")
        e.watch("arrived", b)
    close_guard(e, guarded)


def _has_one_arrival(e: Emitter, value: Value) -> bool:
    """Whether every phase of a barrier takes one arrival: here the expectation itself."""
    root = e.unit.program.roots.get(value)
    return isinstance(root, BarrierArray) and set(root.counts) == {1}


@emits("ttng.barrier_expect")
def barrier_expect(e: Emitter, op: Operation) -> None:
    guarded = open_guard(e, op)
    if is_remote(e, op.groups["barrier"][0]):
        raise UnsupportedOperation(
            "barrier_expect_bytes on the barrier of another CTA: Hopper's instruction (expect_tx.shared::cta) takes "
            "barriers of its own CTA only, so let that CTA expect its own bytes"
        )
    b = barrier(e, op.groups["barrier"][0])
    size = op.attributes["bytes"]
    e.flush()
    begin = e.mark()
    e.charge(latency=e.unit.device.sync.mbarrier_expect)
    if _has_one_arrival(e, op.groups["barrier"][0]):
        e.flush()  # nobody but this warp group completes the phase, and the copy that follows is in order
    else:
        e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    e.line(f"{b}.tx += {size}; {b}.pending -= 1; {arrived(e, b)}")
    e.line(f"if {b}.pending <= 0: {b}.settle(t, {row})")
    e.watch("arrived", b)
    close_guard(e, guarded)


@emits("ttg.barrier", "gpu.barrier")
def block_barrier(e: Emitter, op: Operation) -> None:
    costs.block_barrier(e)


@emits("ttng.wait_barrier_named", "ttng.arrive_barrier_named", "tlx.named_barrier_wait", "tlx.named_barrier_arrive")
def named_barrier(e: Emitter, op: Operation) -> None:
    sync = e.unit.device.sync
    e.settle_loads()
    number = e.scalar(op.groups["barrier"][0])
    needed = e.scalar(op.groups["threads"][0])
    waits = op.name in ("ttng.wait_barrier_named", "tlx.named_barrier_wait")
    e.flush()
    begin = e.mark()
    if not waits:
        e.charge(latency=sync.named_arrive)
    e.order()
    b = e.let(f"cta.named_barrier({number})", "b")
    e.line(f"{b}.last_site = {e.site()}; {b}.last_time = t")
    e.watch("meets", b)
    if not waits:
        row = e.row()
        e.record(begin=begin, slot=number, phase=f"{b}.completed")
        e.line(f"{b}.arrive(loop, t, {e.threads}, {needed}, {row})")
        return
    outer, inner = e.iteration()
    completed = e.let(f"{b}.completed", "n") if e.traced else "-1"
    with e.block(f"if not {b}.arrive(loop, t, {e.threads}, {needed}, -1):"):
        e.line(f"{b}.waiters.append(send); me.blocked = ('named_wait', {e.site()}, t, {outer}, {inner}, {b}, {number})")
        e.line("t = yield None")
    e.line(f"t += {round(sync.named_barrier)}")
    e.watch("met", b)
    e.record(begin=begin, slot=number, phase=completed, cause=f"{b}.cause")


# ---------------------------------------------------------------------- fences, votes


@emits("ttng.fence_async_shared")
def fence_async_shared(e: Emitter, op: Operation) -> None:
    _fence(e, op, e.unit.device.sync.fence_async_shared)


@emits("ttng.fence")
def fence(e: Emitter, op: Operation) -> None:
    _fence(e, op, e.unit.device.sync.fence_gpu)


def _fence(e: Emitter, op: Operation, cycles: float) -> None:
    e.flush()
    begin = e.mark()
    e.line(f"t += {round(cycles)}")
    if op.name == "ttng.fence_async_shared":
        e.watch("fenced", at=False)
    e.record(begin=begin)


@emits("ttng.fence_mbarrier_init_release_cluster")
def fence_mbarrier_init(e: Emitter, op: Operation) -> None:
    e.charge(latency=e.unit.device.sync.fence_async_shared)


@emits("ttng.vote_ballot_sync")
def vote_ballot_sync(e: Emitter, op: Operation) -> None:
    e.charge(slots=2, latency=e.unit.device.alu.shuffle_cycles)
    if skip(e, op):
        return
    mask, flag = op.groups["mask"][0], op.groups["pred"][0]
    if isinstance(op.result.type, TensorType):
        e.result_dense(op, f"ballot({e.scalar(mask)}, {e.dense(flag)}, {e.warps})")
    else:
        e.result_scalar(op, f"({e.scalar(mask)} if {e.scalar(flag)} else 0)")
