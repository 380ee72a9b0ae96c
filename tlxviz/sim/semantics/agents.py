"""The frame of a warp group's generator."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.ir.operation import Region
from tlxviz.sim.emitter import Emitter
from tlxviz.sim.engine import ENGINES
from tlxviz.sim.semantics.cf import emit_body
from tlxviz.sim.semantics.cluster_barriers import part


def write_agent(e: Emitter, name: str, parameters: Sequence[str], region: Region) -> None:
    """Writes the generator of a warp group: it is resumed with a cycle, and returns the cycle at which it ends."""
    emit_body(e, region)
    e.settle_loads()
    e.order()
    if e.unit.pairs and e.unit.clustered and e.agent is not None and e.agent.task == 0:
        part(e)
    e.watch("ended", at=False)
    # a default task that does nothing after its partitions have ended did end when it began to wait for them
    e.line(f"return {e.joined_at[0]} if t == {e.joined_at[1]} else t" if e.joined_at else "return t")
    e.unit.add_function(f"def {name}({', '.join(['cta', 'me', *parameters])}):", e.body, ["t = yield", *prologue(e)])


def prologue(e: Emitter) -> list[str]:
    """Lines that a function begins with which runs on a warp group's clock."""
    lines = [
        "send = me.send",
        "sm = cta.sm",
        "loop = sm.loop",
        "reach = sm.reach",
        "heap = loop.heap",
        "seq = loop.sequence",
    ]
    if e.traced:
        lines += ["rows = cta.rows", "emit = rows.append", f"base = me.number * {ENGINES * len(e.unit.program.sites)}"]
        if e.unit.marked:
            lines.append("marks = me.marks")
    return lines
