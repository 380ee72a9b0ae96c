"""What was found in the kernels of a program: the findings of all launches, by kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tlxviz.check.model import Finding, Severity
from tlxviz.check.source import Source


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """What was found in one launch, or in the text of a kernel alone."""

    kernel: str
    source: Source
    findings: tuple[Finding, ...]
    launches: int = 1
    """0 for the text of a kernel."""
    ctas: int = 0
    """CTAs that ran."""
    schedules: int = 1
    """Orders of events that were tried; 0 for the text of a kernel."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What was found in the launches of a kernel, each of which differs in its TTGIR, grid or scalars."""

    kernel: str
    source: Source
    findings: tuple[Finding, ...]
    """Those that count first, by severity; then those that the source keeps away."""
    launches: int
    ctas: int
    """Of all launches together."""
    schedules: int
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A kernel of which launches were not checked."""

    kernel: str
    reason: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found in a program."""

    device: str
    """The GPU that was simulated."""
    kernels: tuple[KernelReport, ...]
    unchecked: tuple[Unchecked, ...] = ()

    def of(self, severity: Severity) -> int:
        """How many findings of a severity there are that nobody keeps away."""
        return sum(finding.severity is severity and finding.suppressed is None for finding in self.findings)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all kernels."""
        return tuple(finding for kernel in self.kernels for finding in kernel.findings)

    @property
    def suppressed(self) -> int:
        """How many findings the sources keep away."""
        return sum(finding.suppressed is not None for finding in self.findings)

    def fails(self, *, strict: bool) -> bool:
        """Whether something counts as found: errors that nobody keeps away, and warnings too where `strict`."""
        return self.of(Severity.ERROR) > 0 or (strict and self.of(Severity.WARNING) > 0)


def gather(device: str, launches: Iterable[LaunchReport], unchecked: Sequence[Unchecked] = ()) -> CheckReport:
    """The report on a program: what several launches of a kernel show is one finding, with the first of them."""
    kernels: dict[tuple[str, str, int], list[LaunchReport]] = {}
    for launch in launches:
        kernels.setdefault((launch.kernel, launch.source.file, launch.source.first), []).append(launch)
    return CheckReport(device, tuple(map(_kernel, kernels.values())), tuple(dict.fromkeys(unchecked)))


def _kernel(launches: Sequence[LaunchReport]) -> KernelReport:
    found: dict[tuple[Any, ...], Finding] = {}
    for launch in launches:
        for key, finding in _numbered(launch.findings).items():
            first = found.get(key)
            found[key] = finding if first is None else replace(first, times=first.times + finding.times)
    order = list(Severity)
    return KernelReport(
        launches[0].kernel,
        launches[0].source,
        tuple(sorted(found.values(), key=lambda each: (each.suppressed is not None, order.index(each.severity)))),
        sum(launch.launches for launch in launches),
        sum(launch.ctas for launch in launches),
        sum(launch.schedules for launch in launches),
    )


def _numbered(findings: Sequence[Finding]) -> dict[tuple[Any, ...], Finding]:
    """By what tells a finding from others of other launches; those of one launch stay apart."""
    found: dict[tuple[Any, ...], Finding] = {}
    for finding in findings:
        places = tuple((place.role, place.location, place.variable) for place in finding.places)
        same = finding.rule, finding.severity, places
        found[*same, sum(key[:-1] == same for key in found)] = finding
    return found


def fingerprint(finding: Finding, source: Source) -> str:
    """Names a finding across versions of a file: by its rule, kernel, roles, variables and the text of its lines."""
    parts = [finding.rule, finding.kernel]
    for place in finding.places:
        parts += [place.role, place.variable, " ".join(source.line(place.location).split())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
