"""What `doctor` found as one line of JSON, which docs/doctor.md describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TextIO

from tlxviz.doctor.model import Finding

SCHEMA = "tlxviz.doctor"
VERSION = 1
"""Grows when a field changes its meaning or goes; new fields leave it."""


@dataclass(frozen=True, slots=True)
class DoctorJsonReporter:
    findings: Sequence[Finding]
    can_run: bool

    def render(self, stream: TextIO) -> None:
        checks = [asdict(finding) for finding in self.findings]
        document = {"schema": SCHEMA, "version": VERSION, "can_run": self.can_run, "checks": checks}
        stream.write(json.dumps(document) + "\n")
