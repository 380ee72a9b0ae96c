"""`ttg.warp_specialize`: the default task starts its partitions and waits for them."""

from __future__ import annotations

from tlxviz.ir.operation import Operation, Region, Value
from tlxviz.sim.emitter import Emitter, emits
from tlxviz.sim.order import compiled_order
from tlxviz.sim.representation import Absent, Held, codes, rebuild
from tlxviz.sim.semantics.agents import write_agent


@emits("ttg.warp_specialize")
def warp_specialize(e: Emitter, op: Operation) -> None:
    e.settle_loads()
    e.charge(latency=0)
    e.flush()
    delay = round(e.unit.device.launch.warp_specialize_cycles)
    held = [e.get(value) if value in e.held else Absent() for value in op.operands]
    default: Region | None = None
    for region in op.regions:
        if region.name == "default":
            default = region
            continue
        function, captured = partition(e, region, op.operands, held)
        agent = e.unit.agent_of[region]
        run = e.fresh("agent")
        e.line(f"{run} = AgentRun(cta, {agent.index}, {e.unit.first_thread[agent.index]})")
        e.line(f"{run}.generator = {function}({', '.join(['cta', run, *captured])})")
        e.line(f"cta.spawn({run}, t + {delay})")
        e.watch("spawned", run, at=False)
    assert default is not None
    e.charge(latency=delay)  # the default task meets the others when they start
    block = default.entry
    for operation in compiled_order(block.body):
        e.emit(operation)
    yielded = [e.get(value) for value in block.yielded]
    e.settle_loads()
    e.order()
    e.joined_at = (e.fresh("j"), e.fresh("j"))
    e.line(f"{e.joined_at[0]} = t")
    with e.block("if cta.running > 1:"):
        e.line("cta.joiner = (send, 1); me.blocked = ('join', -1, t, -1, -1, None, 0)")
        e.line("t = yield None")
    e.line(f"{e.joined_at[1]} = t")
    e.watch("joined", at=False)
    for result, value in zip(op.results, yielded, strict=False):
        e.set(result, value)


def partition(e: Emitter, region: Region, operands: tuple[Value, ...], held: list[Held]) -> tuple[str, list[str]]:
    """Writes the function of a partition; gives its name and the arguments that the captures become."""
    agent = e.unit.agent_of[region]
    inner = Emitter(e.unit, agent, agent.warps)
    names: list[str] = []
    captured: list[str] = []
    for argument, source, value in zip(region.entry.arguments, operands, held, strict=True):
        if isinstance(value, Absent) or not e.alive(argument):
            inner.set(argument, Absent())
            continue
        fresh = [inner.fresh("a") for _ in codes(value)]
        names += fresh
        captured += codes(value)
        inner.set(argument, rebuild(value, fresh))
        if source in e.unit.arrays:
            e.unit.arrays.add(argument)
    function = f"agent_{agent.index}"
    write_agent(inner, function, names, region)
    return function, captured
