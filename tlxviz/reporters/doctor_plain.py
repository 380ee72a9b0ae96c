"""What `doctor` found where rich is missing or broken: the lines alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from tlxviz.doctor.model import Finding, Status

_MARKS = {Status.OK: "+", Status.WARNING: "!", Status.PROBLEM: "x"}


@dataclass(frozen=True, slots=True)
class DoctorPlainReporter:
    findings: Sequence[Finding]
    can_run: bool

    def render(self, stream: TextIO) -> None:
        for finding in self.findings:
            stream.write(f"{_MARKS[finding.status]} {finding.title}: {finding.detail}\n")
            if finding.mend:
                stream.write(f"  mend: {finding.mend}\n")
        stream.write(f"\ntlxviz {'can' if self.can_run else 'cannot'} run kernels here.\n")
