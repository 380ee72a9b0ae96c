"""The part of the schema of SARIF 2.1.0 that logs of tlxviz use: which keys each object may have, and has to have."""

from __future__ import annotations

from typing import Any

SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "log": ({"version": str, "runs": ["run"]}, {"$schema": str}),
    "run": (
        {"tool": "tool"},
        {"columnKind": str, "originalUriBaseIds": dict, "invocations": ["invocation"], "results": ["result"]},
    ),
    "tool": ({"driver": "component"}, {}),
    "component": ({"name": str}, {"version": str, "rules": ["rule"], "informationUri": str}),
    "rule": (
        {"id": str},
        {"shortDescription": "message", "help": "message", "helpUri": str, "properties": dict},
    ),
    "message": ({"text": str}, {"markdown": str}),
    "invocation": ({"executionSuccessful": bool}, {"toolExecutionNotifications": ["notification"]}),
    "notification": ({"message": "message"}, {"level": str}),
    "result": (
        {"message": "message"},
        {
            "ruleId": str,
            "ruleIndex": int,
            "level": str,
            "locations": ["location"],
            "relatedLocations": ["location"],
            "partialFingerprints": dict,
            "occurrenceCount": int,
            "suppressions": ["suppression"],
            "properties": dict,
        },
    ),
    "location": (
        {},
        {"id": int, "message": "message", "physicalLocation": "physical", "logicalLocations": ["logical"]},
    ),
    "physical": ({}, {"artifactLocation": "artifact", "region": "region"}),
    "artifact": ({}, {"uri": str, "uriBaseId": str}),
    "region": ({}, {"startLine": int, "startColumn": int, "snippet": "message"}),
    "logical": ({}, {"name": str, "kind": str}),
    "suppression": ({"kind": str}, {"status": str, "justification": str}),
}
"""Kind of object to its required and its other keys, each with the kind of its value. The schema allows no others."""
VALUES = {
    ("log", "version"): {"2.1.0"},
    ("result", "level"): {"none", "note", "warning", "error"},
    ("notification", "level"): {"none", "note", "warning", "error"},
    ("run", "columnKind"): {"utf16CodeUnits", "unicodeCodePoints"},
    ("suppression", "kind"): {"inSource", "external"},
    ("suppression", "status"): {"accepted", "underReview", "rejected"},
}
"""Keys that take only some values."""


def check_shape(value: Any, shape: Any = "log", where: str = "log") -> None:
    """Fails unless a value is what the schema wants."""
    if isinstance(shape, list):
        assert isinstance(value, list), where
        for number, each in enumerate(value):
            check_shape(each, shape[0], f"{where}[{number}]")
    elif isinstance(shape, type):
        assert type(value) is shape, where
    else:
        required, others = SHAPES[shape]
        assert required.keys() <= value.keys() <= required.keys() | others.keys(), f"{where}: {sorted(value)}"
        for key, each in value.items():
            check_shape(each, (required | others)[key], f"{where}.{key}")
            assert each in VALUES.get((shape, key), (each,)), f"{where}.{key}"
            assert not key.startswith("start") or each >= 1, f"{where}.{key}"
