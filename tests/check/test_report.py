"""Findings of all launches, by kernel."""

from __future__ import annotations

from dataclasses import replace

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.report import LaunchReport, Unchecked, fingerprint, gather
from tlxviz.check.source import Source
from tlxviz.ir.location import Location

SOURCE = Source("@jit\ndef kernel(x):\n    load(x)\n    load(x)\n", "/k/kernel.py", 7)


def finding(line: int = 9, severity: Severity = Severity.ERROR, slot: int = 0, **changes: object) -> Finding:
    place = Place("reads", "mma", Location("/k/kernel.py", line, 5), "a", slot, 0)
    return replace(Finding("slot-reuse", severity, "kernel", "wrong", (place,)), **changes)


def launch(*findings: Finding, kernel: str = "kernel", source: Source = SOURCE) -> LaunchReport:
    return LaunchReport(kernel, source, findings, ctas=4)


def test_what_launches_have_in_common_is_one_finding():
    report = gather("GPU", [launch(finding(times=3)), launch(finding(times=2, launch=1), finding(10, launch=1))])
    [kernel] = report.kernels
    assert [(each.times, each.launch) for each in kernel.findings] == [(5, 0), (1, 1)]
    assert (kernel.launches, kernel.ctas, kernel.schedules) == (2, 8, 2)


def test_findings_of_one_launch_stay_apart():
    pair = finding(message="of slot 0"), finding(message="of slot 1")
    [kernel] = gather("GPU", [launch(*pair), launch(*pair)]).kernels
    assert [(each.message, each.times) for each in kernel.findings] == [("of slot 0", 2), ("of slot 1", 2)]


def test_kernels_of_one_name_from_two_places_stay_apart():
    other = Source("def kernel(): pass", "/k/other.py", 1)
    report = gather("GPU", [launch(), launch(source=other), launch(kernel="second")])
    assert [(each.kernel, each.source.file) for each in report.kernels] == [
        ("kernel", "/k/kernel.py"),
        ("kernel", "/k/other.py"),
        ("second", "/k/kernel.py"),
    ]


def test_errors_come_first_and_what_is_kept_last():
    found = [
        finding(9, Severity.NOTE),
        finding(9, Severity.ERROR, suppressed="why"),
        finding(9, Severity.WARNING),
        finding(10),
    ]
    report = gather("GPU", [launch(*found)])
    assert [each.severity for each in report.findings] == ["error", "warning", "note", "error"]
    assert [report.of(severity) for severity in Severity] == [1, 1, 1]
    assert report.suppressed == 1


def test_what_fails():
    assert gather("GPU", [launch(finding())]).fails(strict=False)
    warned = gather("GPU", [launch(finding(severity=Severity.WARNING), finding(suppressed="why"))])
    assert not warned.fails(strict=False)
    assert warned.fails(strict=True)
    assert not gather("GPU", [launch(finding(severity=Severity.NOTE))]).fails(strict=True)


def test_reasons_for_not_checking_are_said_once():
    report = gather("GPU", [], [Unchecked("k", "why"), Unchecked("k", "why"), Unchecked("k", "another")])
    assert [each.reason for each in report.unchecked] == ["why", "another"]


def test_a_fingerprint_stays_when_lines_move_and_changes_with_what_they_say():
    moved = Source("# more\n" + SOURCE.text, SOURCE.file, SOURCE.first)
    assert fingerprint(finding(9), SOURCE) == fingerprint(finding(10), moved)
    spaced = Source(SOURCE.text.replace("load(x)", "load( x)"), SOURCE.file, SOURCE.first)
    assert fingerprint(finding(9), SOURCE) != fingerprint(finding(9), spaced)
    assert fingerprint(finding(9), SOURCE) != fingerprint(finding(9, rule="parity"), SOURCE)


def test_lines_of_a_source():
    assert SOURCE.line(Location("/k/kernel.py", 8)) == "def kernel(x):"
    for elsewhere in (Location("/k/kernel.py", 6), Location("/k/kernel.py", 11), Location("/k/other.py", 8)):
        assert SOURCE.line(elsewhere) == ""
