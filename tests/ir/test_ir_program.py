"""Agents, barriers, buffers, descriptors and sites of small kernels of our own (`data/pipelines.py`)."""

from __future__ import annotations

from collections import Counter

import pytest
from ir_samples import BAR, golden, module_text

from tlxviz.ir import load_program
from tlxviz.ir.program import BarrierArray, Buffer, Descriptor, Program, Role, SiteKind
from tlxviz.ir.roles import unique_names
from tlxviz.ir.roots import has_root


@pytest.fixture(scope="module")
def hopper() -> Program:
    return load_program(golden("hopper"), "hopper.ttgir")


@pytest.fixture(scope="module")
def blackwell() -> Program:
    return load_program(golden("blackwell"), "blackwell.ttgir")


def test_agents_of_a_hopper_kernel(hopper: Program) -> None:
    rows = [(agent.index, agent.name, agent.role, agent.task, agent.warps, agent.registers) for agent in hopper.agents]
    assert rows == [
        (0, "load", Role.LOAD, 0, 4, None),
        (1, "mma.0", Role.MMA, 1, 4, 232),
        (2, "mma.1", Role.MMA, 2, 4, 232),
    ]
    assert (hopper.name, hopper.num_warps, hopper.total_warps, hopper.cluster) == ("hopper", 4, 12, (1, 1, 1))


def test_total_warps_are_whole_warp_groups(blackwell: Program) -> None:
    assert [(agent.name, agent.warps) for agent in blackwell.agents] == [("epilogue", 4), ("mma", 1), ("load", 1)]
    assert blackwell.total_warps == 8


def test_barriers(hopper: Program) -> None:
    assert [(array.name, array.slots, array.counts) for array in hopper.barriers] == [
        ("a_full", 4, (1, 1, 1, 1)),
        ("b_full", 2, (1, 1)),
        ("empty", 2, (2, 2)),
    ]


def test_buffers_and_descriptors(hopper: Program, blackwell: Program) -> None:
    assert [(buffer.name, buffer.bytes, buffer.slots) for buffer in hopper.buffers[:2]] == [
        ("a_tiles", 4 * 64 * 64 * 2, 4),
        ("b_tiles", 2 * 64 * 128 * 2, 2),
    ]
    assert [(each.name, each.block) for each in hopper.descriptors] == [
        ("a_desc", (64, 64)),
        ("b_desc", (64, 128)),
        ("c_desc", (64, 128)),
    ]
    accumulator = next(buffer for buffer in blackwell.buffers if buffer.name == "acc")
    assert (accumulator.bytes, accumulator.slots) == (128 * 128 * 4, 1)


def test_sites_of_the_load_task(hopper: Program) -> None:
    own = [site for site in hopper.sites if site.agent.name == "load"]
    assert [(site.kind, site.variable, site.bytes) for site in own] == [
        (SiteKind.WAIT, "empty", 0),
        (SiteKind.EXPECT, "b_full", 64 * 128 * 2),
        (SiteKind.TMA_LOAD, "b_tiles", 64 * 128 * 2),
        (SiteKind.EXPECT, "a_full", 64 * 64 * 2),
        (SiteKind.TMA_LOAD, "a_tiles", 64 * 64 * 2),
        (SiteKind.EXPECT, "a_full", 64 * 64 * 2),
        (SiteKind.TMA_LOAD, "a_tiles", 64 * 64 * 2),
    ]


def test_replicas_have_the_same_sites(hopper: Program) -> None:
    first, second = ([site for site in hopper.sites if site.agent.index == index] for index in (1, 2))
    assert [site.kind for site in first] == [site.kind for site in second]
    assert [site.location for site in first] == [site.location for site in second]


def test_sites_are_numbered_in_textual_order(hopper: Program, blackwell: Program) -> None:
    for program in (hopper, blackwell):
        assert [site.index for site in program.sites] == list(range(len(program.sites)))
        lines = [site.operation.line for site in program.sites]
        assert lines == sorted(lines)
        assert all(program.site_of[site.operation] is site for site in program.sites)
        assert {site.location.file for site in program.sites} == {"pipelines.py"}


def test_blackwell_kinds(blackwell: Program) -> None:
    count = Counter(site.kind for site in blackwell.sites)
    assert count[SiteKind.MMA] == 2
    assert count[SiteKind.MMA_COMMIT] == 1
    assert count[SiteKind.TMA_STORE] == 1
    assert {site.variable for site in blackwell.sites if site.kind is SiteKind.MMA} == {"acc"}


@pytest.mark.parametrize("name", ["hopper", "blackwell"])
def test_every_view_has_a_root(name: str) -> None:
    program = load_program(golden(name))
    for operation in program.module.walk():
        for value in operation.operands:
            if has_root(value):
                assert isinstance(program.roots[value], BarrierArray | Buffer | Descriptor), (
                    operation.name,
                    value.name,
                )


def test_a_kernel_without_partitions_is_one_agent() -> None:
    program = load_program(golden("plain"))
    assert [(agent.name, agent.warps, agent.location.file) for agent in program.agents] == [
        ("compute", 4, "pipelines.py")
    ]
    assert program.sites == []


TWO_BARRIERS = "!ttg.memdesc<2xi64, #shared1, #smem, mutable>"
TWO_BUFFERS = f"""\
%one = arith.constant 1 : i32
%b = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #shared1, #smem, mutable> loc("b")
%v = ttg.memdesc_index %b[%one] : {TWO_BARRIERS} -> {BAR}
ttng.init_barrier %v, 3 : {BAR}
%s = ttg.local_alloc : () -> !ttg.memdesc<4xi64, #shared1, #smem, mutable> loc("s")
%t = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #shared, #smem, mutable> loc("s")
"""


def test_i64_memory_is_a_barrier_only_where_it_is_used_as_one() -> None:
    program = load_program(module_text(TWO_BUFFERS))
    assert [(array.name, array.counts) for array in program.barriers] == [("b", (0, 3))]
    assert [(buffer.name, buffer.bytes) for buffer in program.buffers] == [("s.0", 32), ("s.1", 16384)]


SELECTED = """\
%u = scf.if %c -> (!ttg.memdesc<128x64xf16, #shared, #smem, mutable>) {
  scf.yield %t : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
} else {
  scf.yield %{other} : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
}
%q = scf.for %k = %i to %i step %i iter_args(%w = %u) -> (!ttg.memdesc<128x64xf16, #shared, #smem, mutable>)  : i32 {
  %z = ttg.local_load %w : !ttg.memdesc<128x64xf16, #shared, #smem, mutable> -> tensor<128x64xf16, #mma>
  scf.yield %w : !ttg.memdesc<128x64xf16, #shared, #smem, mutable>
}"""


@pytest.mark.parametrize(("other", "known"), [("t", True), ("tile", False)])
def test_roots_through_loops_and_conditions(other: str, known: bool) -> None:
    program = load_program(module_text(TWO_BUFFERS + SELECTED.replace("{other}", other)))
    loop = next(operation for operation in program.module.walk() if operation.name == "scf.for")
    carried = loop.regions[0].entry.arguments[1]
    assert (program.roots.get(carried) is program.buffers[1]) == known
    assert (program.roots.get(loop.result) is program.buffers[1]) == known


def test_cluster_from_either_attribute() -> None:
    given = '"ttg.cluster-dim-x" = 1 : i32, "ttg.cluster-dim-y" = 2 : i32, "ttg.num-warps" = 8 : i32'
    assert load_program(module_text("", given)).cluster == (1, 2, 1)
    assert load_program(module_text("", '"ttg.num-ctas" = 2 : i32')).cluster == (2, 1, 1)


def test_unique_names() -> None:
    assert unique_names(["load", "mma", "mma"]) == ["load", "mma.0", "mma.1"]
    assert unique_names(["a", "a.0", "a"]) == ["a.1", "a.0", "a.2"]


def specialized(warps: int) -> str:
    """A `ttg.warp_specialize` with one partition."""
    return (
        "ttg.warp_specialize(%i)\ndefault {\nttg.warp_yield\n}\n"
        f"partition0(%a: i32) num_warps({warps}) {{\nttg.warp_return\n}} : (i32) -> ()\n"
    )


def test_several_warp_specializations_share_the_warps_of_the_largest() -> None:
    program = load_program(module_text(specialized(8) + specialized(1)))
    assert [(agent.name, agent.task, agent.warps) for agent in program.agents] == [
        ("compute", 0, 4),
        ("idle.0", 1, 8),
        ("idle.1", 1, 1),
    ]
    assert program.total_warps == 12


def test_a_task_without_a_request_for_registers() -> None:
    text = specialized(4).replace("(%i)\n", "(%i) attributes {requestedRegisters = array<i32: -1>}\n", 1)
    assert [agent.registers for agent in load_program(module_text(text)).agents] == [None, None]
