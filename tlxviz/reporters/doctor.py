"""What `doctor` found, as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.text import Text

from tlxviz.doctor.model import Finding, Status
from tlxviz.reporters.layout import HEADING, SIDE, glyphs, make_console, say
from tlxviz.reporters.layout import UNICODE as UNICODE_GLYPHS

_STYLES = {Status.OK: "green", Status.WARNING: "yellow", Status.PROBLEM: "bold red"}
_UNICODE = {Status.OK: "✓", Status.WARNING: "!", Status.PROBLEM: "✗"}
_ASCII = {Status.OK: "+", Status.WARNING: "!", Status.PROBLEM: "x"}


@dataclass(frozen=True, slots=True)
class DoctorTextReporter:
    findings: Sequence[Finding]
    can_run: bool

    def render(self, stream: TextIO) -> None:
        console = make_console(stream)
        marks = _UNICODE if glyphs(console) is UNICODE_GLYPHS else _ASCII
        width = max(len(finding.title) for finding in self.findings)
        for finding in self.findings:
            style = _STYLES[finding.status]
            line = Text.assemble((marks[finding.status], style), " ", (f"{finding.title:<{width}}", HEADING), "  ")
            room = max(20, console.width - len(line))
            details = Text(finding.detail).wrap(console, room)
            for index, part in enumerate(details):
                part.rstrip()
                start = line if index == 0 else Text(" " * len(line))
                console.print(start + part, no_wrap=True, crop=True)
            if finding.mend:
                say(console, Text.assemble(("mend: ", SIDE), finding.mend), indent=len(line))
        console.print()
        if self.can_run:
            say(console, "tlxviz can run kernels here.", style=HEADING)
        else:
            say(console, "tlxviz cannot run kernels here.", style=_STYLES[Status.PROBLEM])
