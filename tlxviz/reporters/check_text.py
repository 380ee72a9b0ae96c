"""What was found in kernels, as text for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.report import CheckReport, KernelReport
from tlxviz.check.source import Source
from tlxviz.reporters.check_words import act, checked, found, when
from tlxviz.reporters.excerpt import excerpt
from tlxviz.reporters.layout import HEADING, SIDE, glyphs, make_console, place, plural, say, whole

_MARKS = {Severity.ERROR: ("!", "bold red"), Severity.WARNING: ("*", "yellow"), Severity.NOTE: ("-", "dim")}
_MOST = 8
"""Places of a finding that are shown with their source."""


@dataclass(frozen=True, slots=True)
class CheckTextReporter:
    report: CheckReport

    def render(self, stream: TextIO) -> None:
        console = make_console(stream)
        for kernel in self.report.kernels:
            _say_kernel(console, kernel)
            console.print()
        for each in self.report.unchecked:
            say(console, Text.assemble((each.kernel, HEADING), ("  not checked", "yellow")))
            say(console, each.reason, indent=2)
            console.print()
        _say_summary(console, self.report)


def _say_kernel(console: Console, kernel: KernelReport) -> None:
    where = place(kernel.source.file, kernel.source.first)
    counts = checked(kernel.launches, kernel.ctas, kernel.schedules)
    say(console, Text.assemble((kernel.kernel, HEADING), (f"  {where}  " if where else "  ", SIDE), (counts, SIDE)))
    for finding in kernel.findings:
        if finding.suppressed is None:
            console.print()
            _say_finding(console, finding, kernel.source)
    kept = [finding for finding in kernel.findings if finding.suppressed is not None]
    if kept:
        console.print()
    for finding in kept:
        _say_suppressed(console, finding)
    if not kernel.findings:
        say(console, "nothing found", indent=2)


def _say_finding(console: Console, finding: Finding, source: Source) -> None:
    mark, style = _MARKS[finding.severity]
    head = Text.assemble((f"{mark} {finding.severity}", style), " ", (f"[{finding.rule}]", "bold"))
    side = [place(finding.location.file, finding.location.line)]
    side.append(f"seen {plural(finding.times, 'time')}" if finding.times > 1 else "")
    side.append(f"launch {finding.launch}" if finding.launch else "")
    side.append(f"schedule {finding.schedule}" if finding.schedule else "")
    say(console, head.append(f"  {', '.join(filter(None, side))}", SIDE))
    say(console, finding.message, indent=2)
    for each in finding.places[:_MOST]:
        _say_place(console, each, source)
    if len(finding.places) > _MOST:
        say(console, f"and {plural(len(finding.places) - _MOST, 'operation')} more", indent=4, style=SIDE)
    facts = [f"{name} {whole(fact) if isinstance(fact, int) else fact}" for name, fact in finding.facts.items()]
    if facts:
        say(console, ", ".join(facts), indent=2)
    for number, sentence in enumerate(finding.why):
        _say_behind(console, "why: " if not number else "     ", sentence)
    if finding.advice:
        _say_behind(console, "do:  ", finding.advice)


def _say_place(console: Console, each: Place, source: Source) -> None:
    side = when(each)
    if not (act(each) or each.location.file):
        return
    say(console, Text.assemble((act(each), "bold"), (f"  {side}" if side else "", SIDE)), indent=4)
    line = source.line(each.location)
    number = f"{each.location.line} | "
    if not line.strip():
        where = place(each.location.file, each.location.line)
        if where:
            say(console, where, indent=6, style=SIDE)
        return
    room = max(8, console.width - 6 - len(number))
    text, mark = excerpt(line, each.location.column, room, ellipsis=glyphs(console).ellipsis)
    _say_line(console, Text.assemble((number, SIDE), text))
    if mark:
        _say_line(console, Text.assemble((" " * (len(number) - 2) + "| ", SIDE), (mark, "bold")))


def _say_line(console: Console, line: Text) -> None:
    console.print(Text("      ").append_text(line), no_wrap=True, crop=True)


def _say_behind(console: Console, head: str, sentence: str) -> None:
    """A sentence behind a word, and its further lines below it."""
    for number, line in enumerate(Text(sentence).wrap(console, console.width - 2 - len(head))):
        line.rstrip()
        before = head if not number else " " * len(head)
        console.print(Text.assemble("  ", (before, SIDE)).append_text(line), no_wrap=True, crop=True)


def _say_suppressed(console: Console, finding: Finding) -> None:
    where = place(finding.location.file, finding.location.line)
    head = Text.assemble(("- suppressed", "dim"), f" [{finding.rule}]", (f"  {where}", SIDE))
    say(console, head)
    say(console, f"because: {finding.suppressed}", indent=2, style=SIDE)


def summary(report: CheckReport) -> str:
    """`1 error, 1 suppressed in 2 kernels, 3 launches, 12 CTAs, 3 schedules on NVIDIA H200 SXM`."""
    launches = sum(kernel.launches for kernel in report.kernels)
    ctas = sum(kernel.ctas for kernel in report.kernels)
    schedules = sum(kernel.schedules for kernel in report.kernels)
    ran = f", {checked(launches, ctas, schedules)}" if launches else ""
    return f"{found(report)} in {plural(len(report.kernels), 'kernel')}{ran} on {report.device}"


def _say_summary(console: Console, report: CheckReport) -> None:
    style = next((_MARKS[severity][1] for severity in Severity if report.of(severity)), "bold")
    text = Text(summary(report))
    text.stylize(style, 0, len(found(report)))
    say(console, text)
