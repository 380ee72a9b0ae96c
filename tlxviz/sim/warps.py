"""Which threads of a CTA are which warp group, as Triton's lowering deals them out."""

from __future__ import annotations

from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program


def first_threads(program: Program) -> dict[int, int]:
    """Number of the first thread of each agent.

    The default task comes first. Behind it, the partitions of each `ttg.warp_specialize` lie by size, the largest
    first, together with idle partitions that fill the last group of four warps; unless the kernel says where.
    """
    found = {agent.index: 0 for agent in program.agents if agent.task == 0}
    agent_of = {agent.region: agent for agent in program.agents}
    for op in program.module.walk():
        if op.name == "ttg.warp_specialize":
            agents = [agent_of[region] for region in op.regions if region in agent_of]
            starts = _starts(op, [agent.warps for agent in agents], program)
            found.update({agent.index: 32 * start for agent, start in zip(agents, starts, strict=True)})
    return found


def _starts(op: Operation, sizes: list[int], program: Program) -> list[int]:
    given = op.attributes.get("warpGroupStartIds")
    if isinstance(given, list) and len(given) == len(sizes):
        return [int(start) for start in given]
    idle = program.total_warps - program.num_warps - sum(sizes)
    padded = list(sizes)
    while idle > 0:
        padded.append(1 << (idle.bit_length() - 1))
        idle -= padded[-1]
    starts = [0] * len(padded)
    warp = program.num_warps
    for index in sorted(range(len(padded)), key=lambda index: -padded[index]):
        starts[index] = warp
        warp += padded[index]
    return starts[: len(sizes)]
