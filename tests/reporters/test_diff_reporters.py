from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import MEASURED, hung, launch, pipeline
from analysis.test_difference import one

from tlxviz.analysis.difference import difference
from tlxviz.reporters.diff_json import VERSION, DiffJsonReporter
from tlxviz.reporters.diff_text import DiffTextReporter

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "diff.md"
PAIRS = {
    "pipelines": (pipeline(), pipeline(9, cycles=950)),
    "other warp groups": (one(name="compute", role="compute", flop=10**9), pipeline()),
    "measured": (pipeline(provenance=MEASURED), pipeline(cycles=1300)),
    "waves": (one(ctas=2, statistics={"waves": 2}), one(statistics={"waves": 2})),
    "hung": (pipeline(), hung()),
    "nothing": (launch(), launch(cycles=5)),
    "equal": (one(), one()),
    "long names": (one(name="a" * 50, role="b" * 50), one(name="a" * 50, role="b" * 50, before=90)),
}


def text(a: Any, b: Any, **how: Any) -> str:
    stream = io.StringIO()
    DiffTextReporter([difference(a, b)], ("a.tlxtrace", "b.tlxtrace"), **how).render(stream)
    return stream.getvalue()


def document(a: Any, b: Any) -> dict[str, Any]:
    stream = io.StringIO()
    DiffJsonReporter([difference(a, b)]).render(stream)
    assert stream.getvalue().count("\n") == 1
    return json.loads(stream.getvalue())


def test_it_begins_with_how_much_and_why() -> None:
    lines = text(one(), one(product=30, before=60, arguments={"M": 1})).splitlines()
    assert lines[:7] == [
        "A  a.tlxtrace: kernel on NVIDIA H200 SXM, simulated",
        "B  b.tlxtrace: kernel on NVIDIA H200 SXM, simulated",
        "changed: M None -> 1",
        "",
        "B takes 25.0% more time than A: 150 cycles against 120 (+30, +30 ns).",
        "Most of it: arithmetic of mma +40 (133%). Against it: tensor core -10 (-33%).",
        "Causes with a name explain 100% of the difference.",
    ]


def test_causes_that_got_faster_are_to_the_left_of_the_axis() -> None:
    lines = text(one(), one(product=30, before=60)).splitlines()
    arithmetic = next(line for line in lines if line.startswith("arithmetic of mma"))
    tensor_core = next(line for line in lines if line.startswith("tensor core"))
    assert re.search(r" 45 +85 +\+40 +133\.3% +\|███████$", arithmetic)
    assert re.search(r" 40 +30 +-10 +-33\.3% +██\|$", tensor_core)
    assert arithmetic.index("|") == tensor_core.index("|")


def test_less_for_a_flop() -> None:
    said = text(one(flop=100), one(product=100, flop=300))
    assert "B takes 50.0% more time than A" in said.replace("\n", " ")
    assert "For a FLOP, it takes 50.0% less." in said.replace("\n", " ")


def test_equal_launches() -> None:
    said = text(one(), one())
    assert "B takes as long as A: 120 cycles." in said
    assert "Most of it" not in said


def test_what_was_not_traced_is_said() -> None:
    said = " ".join(text(*PAIRS["waves"]).split())
    assert "Of B, 1 CTA of an SM was traced where 2 waves of CTAs run" in said
    assert "waves that were not traced count as those that were" in said


def test_a_launch_that_hangs_is_said_to() -> None:
    assert "it hangs or was interrupted" in text(*PAIRS["hung"])


def test_errors_of_the_simulator() -> None:
    said = text(*PAIRS["measured"])
    assert "Errors of the simulator (cycles)" in said
    assert "Places" not in said


def test_units_of_kernels_with_other_warp_groups() -> None:
    said = text(*PAIRS["other warp groups"])
    assert "Units (for 10^9 FLOP)" in said
    assert "Units" not in text(*PAIRS["pipelines"])


@pytest.mark.parametrize("width", [20, 40, 60, 72, 80, 120])
@pytest.mark.parametrize("name", PAIRS)
def test_it_fits(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = text(*PAIRS[name], numbers=[(0, 1)]).splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line != line.rstrip() for line in lines)


def test_the_facts_as_json() -> None:
    found = document(one(), one(product=30, before=60))
    assert (found["schema"], found["version"]) == ("tlxviz.diff", VERSION)
    (first,) = found["launches"]
    assert (first["cycles"], first["a"]["cycles"], first["b"]["cycles"]) == (30, 120, 150)
    assert first["causes"][0]["cause"] == "arithmetic"
    assert [each["difference"] for each in first["causes"]] == [40, -10, 0, 0, 0]
    assert sum(each["difference"] for each in first["causes"]) == first["cycles"]
    assert {each["cause"] for each in first["causes"] if not each["named"]} == {"rest"}


def test_every_field_is_documented() -> None:
    described = DOCUMENT.read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)`", described.partition("## JSON")[2], re.MULTILINE))
    fields: set[str] = set()

    def collect(value: Any) -> None:
        for each in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
            collect(each)
        if isinstance(value, dict):
            fields.update(key for key in value)

    for a, b in PAIRS.values():
        found = document(a, b)
        for each in found["launches"]:
            each["a"]["config"] = each["b"]["config"] = each["changed"] = None
        collect(found)
    assert fields == documented
    assert f'"version": {VERSION}' in described
