"""Regions, blocks, scopes, functions and locations."""

from __future__ import annotations

import pytest
from ir_samples import STAGES, golden, module_text, parsed

from tlxviz.ir import TtgirError, parse_module
from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.operation import Block, Operation
from tlxviz.ir.sites import kernel_line

LOOP = """\
%r:2 = scf.for %k = %i to %i step %i iter_args(%a = %f, %b = %x) -> (f32, tensor<128xf32, #blocked>)  : i32 {
  %s = arith.addf %a, %a : f32
  scf.yield %s, %b : f32, tensor<128xf32, #blocked>
} {tt.num_stages = 3 : i32}
%t = arith.addf %r#0, %f : f32"""
WHILE = """\
%r = scf.while (%a = %i) : (i32) -> (i32) {
  %go = arith.cmpi slt, %a, %i : i32
  scf.condition(%go) %a : i32
} do {
^bb0(%a: i32):
  %n = arith.addi %a, %i : i32
  scf.yield %n : i32
}"""
TASKS = f"""\
%one = arith.constant 1 : i32
ttg.warp_specialize(%i, %stages) attributes {{requestedRegisters = array<i32: 24, 232>}}
default {{
  %v = arith.addi %one, %one : i32
  ttg.warp_yield
}}
partition0(%a: i32, %s: {STAGES}) num_warps(1) {{
  %v = arith.addi %a, %a : i32
  ttg.warp_return
}}
partition1(%a: i32, %s: {STAGES}) num_warps(4) {{
  %v = arith.addi %a, %a : i32
  ttg.warp_return
}} : (i32, {STAGES}) -> ()"""


def body(text: str) -> list[Operation]:
    """The operations of the kernel that does `text`."""
    return parsed(text).kernel.regions[0].entry.operations


def test_loop() -> None:
    loop, after, _ = body(LOOP)
    assert {part: [value.name for value in values] for part, values in loop.groups.items()} == {
        "lower": ["%i"],
        "upper": ["%i"],
        "step": ["%i"],
        "init": ["%f", "%x"],
    }
    block = loop.regions[0].entry
    assert [value.name for value in block.arguments] == ["%k", "%a", "%b"]
    assert block.arguments[1].owner is block
    assert block.operations[0].operands[0] is block.arguments[1]
    assert loop.attributes == {"tt.num_stages": 3}
    assert [value.name for value in loop.results] == ["%r#0", "%r#1"]
    assert after.operands[0] is loop.results[0]
    assert block.region is loop.regions[0]
    assert loop.regions[0].parent is loop


def test_while_has_two_regions_and_names_may_repeat() -> None:
    loop = body(WHILE)[0]
    before, after = loop.regions
    assert before.entry.arguments[0] is not after.entry.arguments[0]
    assert before.entry.terminator.operand("condition") is before.entry.operations[0].result
    assert after.entry.operations[0].operands[0] is after.entry.arguments[0]
    assert after.entry.label == "bb0"


def test_if_with_and_without_else() -> None:
    first, second, _ = body(
        "%r = scf.if %c -> (i32) {\nscf.yield %i : i32\n} else {\nscf.yield %i : i32\n}\nscf.if %c {\n}"
    )
    assert len(first.regions) == 2
    assert len(second.regions) == 1
    assert first.operand("condition") is second.operand("condition")


def test_partitions_see_only_their_arguments() -> None:
    _, specialize, _ = body(TASKS)
    default, first, second = specialize.regions
    assert [region.name for region in specialize.regions] == ["default", "partition0", "partition1"]
    assert (first.attributes, second.attributes) == ({"num_warps": 1}, {"num_warps": 4})
    assert specialize.attributes["requestedRegisters"] == [24, 232]
    assert [value.name for value in specialize.groups["captures"]] == ["%i", "%stages"]
    assert first.entry.operations[0].operands[0] is first.entry.arguments[0]
    assert default.entry.operations[0].operands[0].name == "%one"
    with pytest.raises(TtgirError, match="undefined value `%one`"):
        parsed(TASKS.replace("%a, %a", "%one, %one"))


def test_default_region_sees_the_kernel() -> None:
    one, specialize, _ = body(TASKS)
    assert specialize.regions[0].entry.operations[0].operands[0] is one.result


RESULTS = """\
%t:2 = ttg.warp_specialize(%i)
default {
  %v = arith.addi %i, %i : i32
  ttg.warp_yield %v, %stages : i32, STAGES
}
partition0(%a: i32) num_warps(1) {
  ttg.warp_return
} : (i32) -> (i32, STAGES)
%u = arith.addi %t#0, %i : i32""".replace("STAGES", STAGES)


def test_tasks_have_the_results_that_the_default_task_yields() -> None:
    specialize, after, _ = body(RESULTS)
    assert [value.name for value in specialize.results] == ["%t#0", "%t#1"]
    assert [value.name for value in specialize.regions[0].entry.yielded] == ["%v", "%stages"]
    assert after.operands[0] is specialize.results[0]
    with pytest.raises(TtgirError, match=r"expected 2 operands of the default task's ttg.warp_yield, found 1"):
        parsed(RESULTS.replace("%v, %stages : i32, " + STAGES, "%v : i32"))
    with pytest.raises(TtgirError, match="expected 2 results, found 1"):
        parsed(RESULTS.replace("%t:2", "%t").replace("%t#0", "%t"))


def test_values_of_a_region_end_with_it() -> None:
    with pytest.raises(TtgirError, match="undefined value `%s`"):
        parsed(LOOP + "\n%u = arith.addf %s, %f : f32")
    with pytest.raises(TtgirError, match=r"`%f` is defined twice"):
        parsed("%f = arith.addf %f, %f : f32")


def test_generic_region() -> None:
    text = """\
%r = "tt.reduce"(%x) <{axis = 0 : i32}> ({
^bb0(%a: f32 loc("left"), %b: f32 loc(unknown)):
  %m = arith.maxnumf %a, %b : f32
  tt.reduce.return %m : f32
}) {late = 1 : i32} : (tensor<128xf32, #blocked>) -> f32"""
    found = body(text)[0]
    assert found.attributes == {"axis": 0, "late": 1}
    assert found.regions[0].entry.arguments[0].location.name == "left"
    assert found.regions[0].entry.arguments[1].location is UNKNOWN


def test_functions_blocks_and_calls_of_a_real_dump() -> None:
    module = parse_module(golden("plain"))
    assert list(module.functions) == ["plain", "__main__.scaled__fp32_fp32__"]
    assert module.kernel is module.functions["plain"]
    helper = module.functions["__main__.scaled__fp32_fp32__"]
    assert helper.attributes["sym_visibility"] == "private"
    assert helper.attributes["noinline"] is True
    call = next(found for found in module.walk() if found.name == "tt.call")
    assert call.attributes["callee"] == "__main__.scaled__fp32_fp32__"
    blocks = module.kernel.regions[0].blocks
    assert [block.label for block in blocks] == ["", "bb1", "bb2"]
    branch = blocks[0].terminator
    assert branch.attributes["successors"] == ["bb1", "bb2"]
    assert branch.operand("condition") is blocks[0].operations[-2].result
    assert isinstance(module.kernel.regions[0].entry, Block)


def test_branches_with_operands() -> None:
    module = parsed(
        "cf.cond_br %c, ^bb1, ^bb2(%i, %f : i32, f32)\n^bb1:\ncf.br ^bb2(%i, %f : i32, f32)\n^bb2(%a: i32, %b: f32):"
    )
    first, second, third = module.kernel.regions[0].blocks
    assert [value.name for value in first.terminator.groups["false_args"]] == ["%i", "%f"]
    assert "true_args" not in first.terminator.groups
    assert second.terminator.attributes["successors"] == ["bb2"]
    assert [value.name for value in third.arguments] == ["%a", "%b"]


def test_every_operation_knows_its_block_and_line() -> None:
    text = golden("hopper")
    lines = text.split("\n")
    for found in parse_module(text).kernel.regions[0].walk():
        assert found.block is not None
        assert found in found.block.operations
        assert found.name in lines[found.line - 1]


LOCATIONS = [
    ('"k.py":3:7', Location("k.py", 3, 7)),
    ('"x"("k.py":3:7)', Location("k.py", 3, 7, "x")),
    ('"x"', Location(name="x")),
    ("unknown", UNKNOWN),
    ("#loc1", Location("k.py", 1, 2)),
    ('"y"(#loc1)', Location("k.py", 1, 2, "y")),
    ("callsite(#loc2 at #loc1)", Location("lib.py", 9, 9, caller=Location("k.py", 1, 2))),
    ("callsite(unknown at #loc1)", Location(caller=Location("k.py", 1, 2))),
    (
        'callsite(callsite("a.py":1:1 at #loc2) at #loc1)',
        Location("a.py", 1, 1, "", Location("lib.py", 9, 9, "", Location("k.py", 1, 2))),
    ),
    ('fused[unknown, "k.py":3:7, "l.py":1:1]', Location("k.py", 3, 7)),
    ('fused<"meta">["k.py":3:7]', Location("k.py", 3, 7)),
    ('"k.py":3:7 to :8', Location("k.py", 3, 7)),
]


@pytest.mark.parametrize(("printed", "expected"), LOCATIONS)
def test_locations(printed: str, expected: Location) -> None:
    text = module_text(f"%0 = arith.addi %i, %i : i32 loc({printed})")
    text += '#loc1 = loc("k.py":1:2)\n#loc2 = loc("lib.py":9:9)\n'
    found = parse_module(text).kernel.regions[0].entry.operations[0]
    assert found.location == expected
    assert found.result.location == expected


def test_outermost_place_is_the_kernels_own() -> None:
    module = parse_module(golden("plain"))
    reduce = next(found for found in module.walk() if found.name == "tt.reduce")
    assert kernel_line(reduce.location).file == "pipelines.py"
    assert "standard.py" in reduce.location.file


def test_the_heading_of_the_kernel_calls_nothing() -> None:
    heading = Location("k.py", 3, 1)
    task = Location("k.py", 20, 5, caller=heading)
    helper = Location("lib.py", 9, 9, caller=Location("k.py", 21, 5, caller=heading))
    assert kernel_line(task, heading).line == 20
    assert kernel_line(helper, heading).line == 21
    assert kernel_line(task).line == 3
    assert kernel_line(heading, heading) == heading
