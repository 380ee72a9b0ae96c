"""Who and where the code runs, the clock, and hints."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.sim.emitter import Emitter, emits


@emits("tt.get_program_id")
def get_program_id(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.result_scalar(op, f"cta.pid[{op.attributes['axis']}]")


@emits("tt.get_num_programs")
def get_num_programs(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.result_scalar(op, f"cta.grid[{op.attributes['axis']}]")


@emits("gpu.thread_id")
def thread_id(e: Emitter, op: Operation) -> None:
    """The number of the warp group's first thread: a warp group acts as one, and its first thread speaks for it."""
    e.charge(slots=1)
    e.result_scalar(op, "me.first_thread" if op.attributes["axis"] == 0 else "0")


@emits("ttg.warp_id")
def warp_id(e: Emitter, op: Operation) -> None:
    e.charge(slots=1)
    e.result_scalar(op, "me.first_thread // 32")


@emits("ttg.clock64")
def clock64(e: Emitter, op: Operation) -> None:
    e.flush()
    e.result_scalar(op, "t" if not e.timed else "int(t)")


@emits("llvm.intr.assume")
def assume(e: Emitter, op: Operation) -> None:
    """A hint for the optimiser."""
