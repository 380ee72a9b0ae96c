"""Data flow in what an H200 recorded."""

from __future__ import annotations

from collections import Counter

import pytest
from probe_samples import recorded

from tlxviz.analysis.flow import FlowKind, data_flow
from tlxviz.analysis.operands import Operands
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow


def launch(name: str) -> LaunchTrace:
    found = recorded(name)
    made, program = found.assembled(), found.program
    return LaunchTrace(
        kernel=program.name,
        grid=(1, 1, 1),
        arguments={},
        device={},
        clock_mhz=1000.0,
        cycles=0,
        flop=0,
        tracks=made.tracks,
        agents=[AgentRow(each.name, str(each.role), each.task, each.warps) for each in program.agents],
        sites=[
            SiteRow(
                str(each.kind), each.agent.index, each.location.file, each.location.line, each.variable, "", each.bytes
            )
            for each in program.sites
        ],
        barriers=[],
        buffers=[],
        events=made.events,
        provenance={"recorder": "measured"},
    )


@pytest.mark.parametrize("name", ["gemm", "gemm_in_parts"])
def test_each_product_reads_what_was_loaded_in_its_iteration(name: str) -> None:
    made, program = launch(name), recorded(name).program
    flow, events = data_flow(made, program), made.events
    links: Counter[tuple[FlowKind, str, int]] = Counter()
    for target in range(len(events)):
        for source, kind in flow.into(target):
            apart = int(events["inner"][target] - events["inner"][source])
            links[kind, made.sites[events["site"][source]].variable, apart] += 1
    # two consumers and 16 steps, four of which find their slots unused
    assert links == {
        (FlowKind.FILLED, "a_tiles", 0): 32,
        (FlowKind.FILLED, "b_tiles", 0): 32,
        (FlowKind.FREED, "a_empty", 3): 24,
        (FlowKind.FREED, "b_empty", 3): 12,
    }


def test_operands_of_a_product() -> None:
    made, program = launch("gemm"), recorded("gemm").program
    operands, events = Operands(made, program), made.events
    products = [
        row
        for row in range(len(events))
        if made.tracks[events["track"][row]].name == "tensor core" and events["inner"][row] == 5
    ]
    found = [[(each.part, each.name, each.slot) for each in operands.of(row)[:2]] for row in products]
    assert sorted(found) == [
        [("A", "a_tiles", 1), ("B", "b_tiles", 1)],
        [("A", "a_tiles", 5), ("B", "b_tiles", 1)],
    ]
