from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

from analysis.synthetic_traces import MEASURED, hung, launch, pipeline

from tlxviz.analysis.summary import summarise
from tlxviz.reporters.json import VERSION, JsonReporter

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def report(*made: Any) -> dict[str, Any]:
    stream = io.StringIO()
    JsonReporter([summarise(each) for each in made]).render(stream)
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
        return set(value).union(
            *(fields(each) for key, each in value.items() if key not in ("config", "waits_by_kind"))
        )

    document = report(pipeline(provenance=MEASURED), hung())
    for each in document["launches"]:
        for group in each["groups"]:
            group["shares"]["waits"] = None
    assert fields(document) == documented
    assert f'"version": {VERSION}' in text


def test_numbers_that_json_cannot_hold() -> None:
    (first,) = report(launch(arguments={"scale": float("inf"), "none": None, "shape": (1, 2), "odd": 1 + 2j}))[
        "launches"
    ]
    assert first["config"] == {"scale": "inf", "none": None, "shape": [1, 2], "odd": "(1+2j)"}
