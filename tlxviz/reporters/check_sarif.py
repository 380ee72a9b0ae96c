"""What was found in kernels, as a SARIF 2.1.0 log for code scanning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tlxviz._version import __version__
from tlxviz.check.model import Finding, Place
from tlxviz.check.report import CheckReport, KernelReport, fingerprint
from tlxviz.check.rules import RULES
from tlxviz.reporters.check_words import act, when

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_PAGE = "docs/rules.md"


def sarif_log(report: CheckReport, folder: Path) -> bytes:
    """The log. Files in `folder`, where a repository should begin, are named from there, others in full."""
    rules = [*RULES, *(rule for rule in dict.fromkeys(each.rule for each in report.findings) if rule not in RULES)]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(rules)},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which tlxviz was started."}}},
                "invocations": [_invocation(report)],
                "results": [result for kernel in report.kernels for result in _results(kernel, rules, folder)],
            }
        ],
    }
    return (json.dumps(log, indent=2, allow_nan=False) + "\n").encode()


def _driver(rules: Sequence[str]) -> dict[str, Any]:
    return {"name": "tlxviz", "version": __version__, "rules": [_rule(rule) for rule in rules]}


def _rule(rule: str) -> dict[str, Any]:
    words = RULES[rule].summary if rule in RULES else rule.replace("-", " ")
    page = f"{_PAGE}#{rule}"
    return {
        "id": rule,
        "shortDescription": {"text": f"{words}."},
        # the project has no address of its own, and helpUri has to be an absolute one
        "help": {"text": f"{words}. See {page} of tlxviz.", "markdown": f"{words}. See `{page}` of tlxviz."},
        "properties": {"page": page, "tags": ["synchronization"]},
    }


def _invocation(report: CheckReport) -> dict[str, Any]:
    notes = [
        {"level": "error", "message": {"text": f"Kernel {each.kernel} was not checked: {each.reason}"}}
        for each in report.unchecked
    ]
    return {"executionSuccessful": not notes, "toolExecutionNotifications": notes}


def _results(kernel: KernelReport, rules: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    same: dict[str, int] = {}
    for finding in kernel.findings:
        print_ = fingerprint(finding, kernel.source)
        same[print_] = same.get(print_, 0) + 1
        found.append(
            {
                "ruleId": finding.rule,
                "ruleIndex": rules.index(finding.rule),
                "level": finding.severity.value,
                "message": {"text": _message(finding)},
                "locations": [_location(place, kernel, folder) for place in finding.places[:1]],
                "relatedLocations": [
                    {"id": number, **_location(place, kernel, folder)}
                    for number, place in enumerate(finding.places[1:], 1)
                ],
                "partialFingerprints": {"tlxvizFinding/v1": f"{print_}:{same[print_]}"},
                "occurrenceCount": finding.times,
                "suppressions": _suppressions(finding),
                "properties": {
                    "kernel": finding.kernel,
                    "launch": finding.launch,
                    "schedule": finding.schedule,
                    **finding.facts,
                },
            }
        )
    return found


def _message(finding: Finding) -> str:
    why = [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in finding.why]
    end = "" if finding.message.endswith((".", "!", "?")) else "."
    return "\n".join(
        [f"{finding.message[:1].upper()}{finding.message[1:]}{end}", *why, *filter(None, [finding.advice])]
    )


def _suppressions(finding: Finding) -> list[dict[str, Any]]:
    if finding.suppressed is None:
        return []
    return [{"kind": "inSource", "status": "accepted", "justification": finding.suppressed}]


def _location(place: Place, kernel: KernelReport, folder: Path) -> dict[str, Any]:
    at = place.location
    side = when(place)
    made: dict[str, Any] = {
        "message": {"text": act(place) + (f" ({side})" if side else "")},
        "logicalLocations": [{"name": kernel.kernel, "kind": "function"}],
    }
    if at.file and at.line > 0:
        region: dict[str, Any] = {"startLine": at.line}
        if at.column > 0:
            region["startColumn"] = at.column
        line = kernel.source.line(at)
        if line:
            region["snippet"] = {"text": line}
        made["physicalLocation"] = {"artifactLocation": _artifact(at.file, folder), "region": region}
    return made


def _artifact(file: str, folder: Path) -> dict[str, Any]:
    path = Path(file)
    if path.is_relative_to(folder):
        return {"uri": quote(path.relative_to(folder).as_posix()), "uriBaseId": _ROOT}
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
