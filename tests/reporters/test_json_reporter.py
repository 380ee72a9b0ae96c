from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

from analysis.synthetic_traces import MEASURED, hung, launch, pipeline

from tlxviz.analysis import attribution, compiled, path, rings, roofline, slack, spilled, steady
from tlxviz.analysis.account import Account
from tlxviz.analysis.across import Across
from tlxviz.analysis.summary import summarise
from tlxviz.reporters.json import VERSION, JsonReporter

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def report(*made: Any) -> dict[str, Any]:
    stream = io.StringIO()
    accounts = [Account(each) for each in made]
    JsonReporter([summarise(each) for each in accounts], accounts).render(stream)
    assert stream.getvalue().count("\n") == 1
    return json.loads(stream.getvalue())


def test_the_facts_of_a_pipeline() -> None:
    document = report(pipeline())
    assert (document["schema"], document["version"]) == ("tlxviz.report", VERSION)
    (first,) = document["launches"]
    assert first["kernel"] == "pipeline"
    assert first["config"]["M"] == 8192
    assert first["groups"][1]["shares"]["waits"] == {"mma_wait": 0.5, "wait": 0.3}
    assert first["waits"][0]["released_by"] == [{"engine": "tensor_core", "agent": "mma", "count": 12, "share": 1.0}]
    assert first["strip"]["rows"][0]["name"] == "load"
    assert first["hang"] is None


def test_every_field_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))

    def fields(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(fields, value)) if value else set()
        if not isinstance(value, dict):
            return set()
        return set(value).union(*(fields(each) for key, each in value.items() if key not in free))

    # what has names of its own for keys; `shares` of warp groups are looked at below
    free = ("config", "evidence", "activities", "shares", *SECTIONS)
    document = report(pipeline(provenance=MEASURED), hung())
    found = fields(document) | {"busy", "issue", "wait", "waits"}
    found |= {field.name for field in dataclasses.fields(Across)}  # neither has clusters
    for name, kinds in SECTIONS.items():
        assert name in document["launches"][0]
        found |= {field.name for kind in kinds for field in dataclasses.fields(kind)}
    sections = {"utilisation", "waits", "ranges"}
    assert found - {"stretches", "fills", "occupancy"} | {"occupancy"} == documented | sections
    assert f'"version": {VERSION}' in text


SECTIONS: dict[str, tuple[type, ...]] = {
    "causes": (attribution.GroupAttribution, attribution.Item),
    "path": (path.CriticalPath, path.PathShare),
    "slack": (slack.BarrierSlack,),
    "steady": (steady.SteadyState, steady.Intervals, steady.OddIteration, steady.Excess),
    "rings": (rings.Ring,),
    "roofline": (roofline.Roofline, roofline.Roof),
    "compiler": (
        compiled.Compiled,
        compiled.CompiledGroup,
        compiled.Registers,
        compiled.Spills,
        compiled.Memory,
        compiled.Occupancy,
        compiled.Bound,
        compiled.Next,
        compiled.CompilerNote,
        compiled.GroupSpills,
        spilled.LineSpills,
        compiled.AddedBarrier,
        compiled.RemovedBarrier,
    ),
}


def test_sections_of_a_pipeline() -> None:
    (first,) = report(pipeline())["launches"]
    assert first["verdict"]["bound"] == "arithmetic"
    assert sum(first["path"]["activities"].values()) + first["path"]["rest"] == first["cycles"]
    load, mma = first["causes"]
    assert sum(load["shares"].values()) == sum(mma["shares"].values()) == 1
    assert load["items"][0]["doing"] in ("arithmetic", "issue", "product")
    assert [each["agent"] for each in first["steady"]] == ["load", "mma"]
    assert first["roofline"]["seconds"] == 1.25e-06
    assert "stretches" not in first["path"]


def test_numbers_that_json_cannot_hold() -> None:
    (first,) = report(launch(arguments={"scale": float("inf"), "none": None, "shape": (1, 2), "odd": 1 + 2j}))[
        "launches"
    ]
    assert first["config"] == {"scale": "inf", "none": None, "shape": [1, 2], "odd": "(1+2j)"}
