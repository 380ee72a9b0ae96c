"""Inline assembly that only marks a place."""

from __future__ import annotations

import pytest
from ir_samples import module_text, operation

from tlxviz.ir import load_program
from tlxviz.ir.markers import (
    fault_of_name,
    is_marker,
    probe_marker,
    probe_number,
    range_assembly,
    range_bound,
)


def assembly(text: str) -> str:
    return probe_marker(0, "%m").replace("// tlxviz probe 0 $0", text)


def test_a_probe_is_read_as_it_is_written() -> None:
    read = operation(probe_marker(17))
    assert read.result.name == "%tlxviz_probe17"
    assert read.attributes["pure"] is False
    assert (probe_number(read), range_bound(read), is_marker(read)) == (17, None, True)
    assert operation(probe_marker(3, "%m")).result.name == "%m"


@pytest.mark.parametrize("bound", ["begin", "end"])
def test_a_bound_of_a_range(bound: str) -> None:
    read = operation(assembly(range_assembly(bound, "row max, of tile 2")))
    assert (probe_number(read), range_bound(read), is_marker(read)) == (None, (bound, "row max, of tile 2"), True)


@pytest.mark.parametrize("text", ["mov.u32 $0, 1;", "// tlxviz probe x $0", "// tlxviz begin $0", "// tlxviz probe 1"])
def test_other_assembly_is_no_marker(text: str) -> None:
    assert not is_marker(operation(assembly(text)))


def test_probes_are_no_sites_and_ranges_are() -> None:
    lines = ["ttng.fence", "ttng.fence_async_shared"]
    plain = load_program(module_text("\n".join(lines)))
    probed = load_program(module_text("\n".join([probe_marker(0), lines[0], probe_marker(1), lines[1]])))
    assert [site.kind for site in probed.sites] == [site.kind for site in plain.sites] == ["fence", "fence"]
    begin = assembly(range_assembly("begin", "copy"))
    end = assembly(range_assembly("end", "copy")).replace("%m", "%n")
    named = load_program(module_text("\n".join([begin, *lines, end]))).sites
    assert [site.kind for site in named] == ["range_begin", "fence", "fence", "range_end"]
    assert [site.variable for site in named] == ["copy", "", "", "copy"]


@pytest.mark.parametrize("name", ["a", "softmax", "row max", "x" * 100, "tile[0]: a->b, 50%"])
def test_names_of_ranges(name: str) -> None:
    assert fault_of_name(name) == ""


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", 'a"b', "$0", "a\\b", "{a}", "a|b", "é", "x" * 101, 3, None])
def test_what_no_range_can_be_called(name: object) -> None:
    assert fault_of_name(name).startswith(("a range cannot be called", "the name of a range"))
