"""`ttng`: cluster launch control, by which CTAs that run take over others that have not started."""

from __future__ import annotations

from tlxviz.devices.model import LaunchControl
from tlxviz.ir.operation import Operation
from tlxviz.sim import costs
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.engine import LAUNCH_CONTROL
from tlxviz.sim.errors import UnsupportedOperation
from tlxviz.sim.representation import Scalar
from tlxviz.sim.semantics.sync import barrier, close_guard


def _figures(e: Emitter) -> LaunchControl:
    device = e.unit.device
    if device.launch_control is None:
        raise UnsupportedOperation(
            f"cluster launch control, which {device.title} does not have: simulate a B200 (--device sim:b200)"
        )
    return device.launch_control


@emits("ttng.async_clc_try_cancel")
def try_cancel(e: Emitter, op: Operation) -> None:
    """One thread of each CTA that is the first of its cluster along x asks; all CTAs of the cluster get the answer."""
    figures = _figures(e)
    b = barrier(e, op.groups["barrier"][0])
    response = e.scalar(op.groups["response"][0])
    e.flush()
    begin = e.mark()
    costs.block_barrier(e)  # the bytes are expected before one thread asks
    e.flush()
    width = e.unit.program.cluster[0]
    if width > 1:
        e.line(f"if cta.rank % {width} == 0:")
        e.indent += 1
    e.charge(latency=figures.issue_cycles)
    e.order()
    row = e.row()
    e.record(begin=begin, barrier=b)
    latency = e.late(str(round(figures.response_cycles)), "answers")
    answer = f"{row} + 1" if e.traced else row
    request = f"request_cluster(me, t, {latency}, {e.site()}, {b}, {response}, {answer})"
    if e.traced:
        number = e.let(request, "n")
        phase = f"{b}.completed"
        e.record(begin="t", end=f"t + {latency}", slot=number, phase=phase, cause=row, engine=LAUNCH_CONTROL)
    else:
        e.line(request)
    e.watch("answers", response, b)
    close_guard(e, width > 1)


@emits("ttng.clc_query_cancel")
def query_cancel(e: Emitter, op: Operation) -> None:
    figures = _figures(e)
    response = e.scalar(op.groups["response"][0])
    e.flush()
    begin = e.mark()
    e.charge(latency=figures.query_cycles)
    e.order()  # an answer that was to land before now has
    names = [e.fresh() for _ in op.results]
    e.line(f"{', '.join(names)} = answered(me, {response})")
    e.watch("read", response)
    e.record(begin=begin, slot=f"{response}.slot")
    for result, name in zip(op.results, names, strict=True):
        e.set(result, Scalar(name))
