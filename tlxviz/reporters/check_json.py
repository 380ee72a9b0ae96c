"""What was found in kernels, for programs: one line of JSON, which docs/check.md describes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TextIO

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.report import CheckReport, KernelReport, fingerprint
from tlxviz.check.source import Source

SCHEMA = "tlxviz.check"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""


@dataclass(frozen=True, slots=True)
class CheckJsonReporter:
    report: CheckReport

    def document(self) -> dict[str, Any]:
        """The report as plain data."""
        report = self.report
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "device": report.device,
            "summary": {
                "kernels": len(report.kernels),
                "launches": sum(kernel.launches for kernel in report.kernels),
                "ctas": sum(kernel.ctas for kernel in report.kernels),
                "schedules": sum(kernel.schedules for kernel in report.kernels),
                "errors": report.of(Severity.ERROR),
                "warnings": report.of(Severity.WARNING),
                "notes": report.of(Severity.NOTE),
                "suppressed": report.suppressed,
            },
            "kernels": [_kernel(kernel) for kernel in report.kernels],
            "unchecked": [{"kernel": each.kernel, "reason": each.reason} for each in report.unchecked],
        }

    def render(self, stream: TextIO) -> None:
        stream.write(json.dumps(self.document(), allow_nan=False) + "\n")


def _kernel(kernel: KernelReport) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "file": kernel.source.file,
        "line": kernel.source.first,
        "launches": kernel.launches,
        "ctas": kernel.ctas,
        "schedules": kernel.schedules,
        "findings": [_finding(finding, kernel.source) for finding in kernel.findings],
    }


def _finding(finding: Finding, source: Source) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "places": [_place(place, source) for place in finding.places],
        "why": list(finding.why),
        "advice": finding.advice,
        "facts": finding.facts,
        "times": finding.times,
        "launch": finding.launch,
        "schedule": finding.schedule,
        "suppressed": finding.suppressed,
        "fingerprint": fingerprint(finding, source),
    }


def _place(place: Place, source: Source) -> dict[str, Any]:
    return {
        "doing": place.doing,
        "role": place.role,
        "file": place.location.file,
        "line": place.location.line,
        "column": place.location.column,
        "text": source.line(place.location).strip(),
        "variable": place.variable,
        "slot": place.slot,
        "cta": place.cta,
        "outer": place.outer,
        "inner": place.inner,
    }
