"""What operations work on: names, places, types and slots, of the kernel `hopper` in `data/pipelines.py`."""

from __future__ import annotations

import pytest
from ir_samples import BAR, DATA, golden, module_text

from tlxviz.ir import load_program
from tlxviz.ir.accesses import accesses, agent_of
from tlxviz.ir.operands import Operand, affine, operands, slot_index
from tlxviz.ir.program import Program, Site, SiteKind

SOURCE = (DATA / "pipelines.py").read_text().splitlines()


@pytest.fixture(scope="module")
def hopper() -> Program:
    return load_program(golden("hopper"), "hopper.ttgir")


def of_kind(program: Program, kind: SiteKind, agent: str) -> list[Site]:
    return [site for site in program.sites if site.kind is kind and site.agent.name == agent]


def said(program: Program, site: Site) -> list[tuple[str, str, str]]:
    return [(each.part, each.name, each.type) for each in operands(program, site)]


def test_a_load(hopper: Program) -> None:
    first = of_kind(hopper, SiteKind.TMA_LOAD, "load")[0]
    assert said(hopper, first) == [
        ("descriptor", "b_desc", "blocks of 64x128 f16 in global memory"),
        ("destination", "b_tiles", "64x128 f16 in shared memory"),
        ("barrier", "b_full", "mbarrier"),
    ]
    made = {each.name: SOURCE[each.made.line - 1].strip() for each in operands(hopper, first)[1:]}
    assert made == {
        "b_tiles": "b_tiles = tlx.local_alloc((DEPTH, COLUMNS), tl.float16, 2)",
        "b_full": "b_full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)",
    }


def test_a_product_in_each_of_two_tasks(hopper: Program) -> None:
    for number, agent in enumerate(("mma.0", "mma.1")):
        [product] = of_kind(hopper, SiteKind.MMA, agent)
        a, b, c = operands(hopper, product)
        assert [(each.part, each.name, each.type, each.slots) for each in (a, b, c)] == [
            ("A", "a_tiles", "64x64 f16 in shared memory", 4),
            ("B", "b_tiles", "64x128 f16 in shared memory", 2),
            ("accumulator", "acc", "64x128 f32 in registers", 0),
        ]
        assert a.index is not None
        assert b.index is not None
        # slot + 2 * half, and slot: the same number of the program
        assert a.index.base is b.index.base
        assert a.index.base is not None
        assert (a.index.offset, b.index.offset) == (2 * number, 0)
        assert c.index is None
        # what the iteration before has left there
        assert SOURCE[c.made.line - 1].strip() == "acc = tlx.async_dot(a_tiles[slot + 2 * half], b_tiles[slot], acc)"


def test_a_wait_for_products_names_results_alone(hopper: Program) -> None:
    wait = of_kind(hopper, SiteKind.MMA_WAIT, "mma.0")[0]
    assert said(hopper, wait) == [("accumulator", "acc", "64x128 f32 in registers")]


def test_numbers_of_named_barriers_are_no_operands() -> None:
    body = """%n = arith.constant 10 : i32
    %t = arith.constant 256 : i32
    ttng.wait_barrier_named %n, %t : i32, i32"""
    program = load_program(module_text(body))
    assert [operands(program, site) for site in program.sites] == [()]


def test_indices_are_a_number_and_a_constant() -> None:
    body = f"""%c3 = arith.constant 3 : i32
    %c1 = arith.constant 1 : i32
    %bars = ttg.local_alloc : () -> !ttg.memdesc<8xi64, #shared1, #smem, mutable>
    %s = arith.addi %i, %c3 : i32
    %u = arith.subi %s, %c1 : i32
    %d = arith.muli %u, %c3 : i32
    %b0 = ttg.memdesc_index %bars[%u] : !ttg.memdesc<8xi64, #shared1, #smem, mutable> -> {BAR}
    %b1 = ttg.memdesc_index %bars[%c3] : !ttg.memdesc<8xi64, #shared1, #smem, mutable> -> {BAR}
    %b2 = ttg.memdesc_index %bars[%d] : !ttg.memdesc<8xi64, #shared1, #smem, mutable> -> {BAR}
    ttng.arrive_barrier %b0, 1 : {BAR}
    ttng.arrive_barrier %b1, 1 : {BAR}
    ttng.arrive_barrier %b2, 1 : {BAR}"""
    program = load_program(module_text(body))
    found: list[Operand] = [operands(program, site)[0] for site in program.sites]
    i = program.kernel.regions[0].entry.arguments[0]
    indices = [each.index for each in found]
    assert None not in indices
    assert [(each.base, each.offset) for each in indices[:2] if each] == [(i, 2), (None, 3)]
    product = indices[2]
    assert product is not None
    assert product.base is not None
    assert product.base.name == "%d"
    assert affine(i).offset == 0


def test_what_a_loop_carries_has_no_known_slot() -> None:
    body = f"""%c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %bars = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #shared1, #smem, mutable>
    %b0 = ttg.memdesc_index %bars[%c0] : !ttg.memdesc<2xi64, #shared1, #smem, mutable> -> {BAR}
    %b1 = ttg.memdesc_index %bars[%c1] : !ttg.memdesc<2xi64, #shared1, #smem, mutable> -> {BAR}
    %r:2 = scf.for %k = %c0 to %i step %c1 iter_args(%x0 = %b0, %y0 = %b1) -> ({BAR}, {BAR}) : i32 {{
      ttng.arrive_barrier %x0, 1 : {BAR}
      scf.yield %y0, %x0 : {BAR}, {BAR}
    }}"""
    program = load_program(module_text(body))
    barrier = operands(program, program.sites[0])[0]
    assert barrier.root is program.barriers[0]
    assert barrier.index is None
    assert slot_index(barrier.value) is None


def test_who_reads_and_writes_buffers(hopper: Program) -> None:
    found = [
        (each.buffer.name, each.operation.name.split(".")[1], agent.name, each.writes)
        for each in accesses(hopper)
        if (agent := agent_of(hopper, each.operation)) and each.buffer.name in ("a_tiles", "b_tiles")
    ]
    load = "async_tma_copy_global_to_local"
    assert found == [
        ("b_tiles", load, "load", True),
        ("a_tiles", load, "load", True),
        ("a_tiles", load, "load", True),
        ("a_tiles", "warp_group_dot", "mma.0", False),
        ("b_tiles", "warp_group_dot", "mma.0", False),
        ("a_tiles", "warp_group_dot", "mma.1", False),
        ("b_tiles", "warp_group_dot", "mma.1", False),
    ]
    # c is stored to shared memory when it is allocated, and read by the store
    staged = [(each.part, each.writes) for each in accesses(hopper) if each.buffer.name not in ("a_tiles", "b_tiles")]
    assert staged == [("init", True), ("src", False)] * 2


def test_scales_and_answers_are_read() -> None:
    a, b, d = (
        f"!ttg.memdesc<{shape}, mutable>"
        for shape in (
            "128x128xf8E4M3FN, #shared, #smem",
            "128x64xf8E4M3FN, #shared, #smem",
            "128x64xf32, #tmem, #ttng.tensor_memory",
        )
    )
    scale = "!ttg.memdesc<128x4xi8, #shared, #smem, mutable>"
    answer = "!ttg.memdesc<1xui128, #shared1, #smem, mutable>"
    body = f"""%yes = arith.constant true
    %a = ttg.local_alloc : () -> {a}
    %b = ttg.local_alloc : () -> {b}
    %d = ttng.tmem_alloc : () -> {d}
    %as = ttg.local_alloc : () -> {scale}
    %bs = ttg.local_alloc : () -> {scale}
    %answer = ttg.local_alloc : () -> {answer}
    ttng.tc_gen5_mma_scaled %a, %b, %d, %as, %bs, %yes, %yes lhs = e4m3 rhs = e4m3 : {a}, {b}, {d}, {scale}, {scale}
    %u, %v, %w = ttng.clc_query_cancel %answer : ({answer}) -> (i32, i32, i32)"""
    found = [each.writes for each in accesses(load_program(module_text(body)))]
    assert found == [False, False, True, False, False, False]  # A, B, the accumulator, two scales, the answer
