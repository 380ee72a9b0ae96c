"""Words about findings that the reports share."""

from __future__ import annotations

from tlxviz.check.model import Place, Severity
from tlxviz.check.report import CheckReport
from tlxviz.reporters.layout import plural


def when(place: Place) -> str:
    """`CTA 0, iteration 3 of outer iteration 1`, as far as it is known."""
    parts = [f"CTA {place.cta}"] if place.cta >= 0 else []
    if place.inner >= 0:
        outer = "" if place.outer in (-1, place.inner) else f" of outer iteration {place.outer}"
        parts.append(f"iteration {place.inner}{outer}")
    return ", ".join(parts)


def act(place: Place) -> str:
    """`store: TMA store reads staging[0]`."""
    return f"{place.role}: {place.doing}" if place.role else place.doing


def checked(launches: int, ctas: int, schedules: int) -> str:
    """`2 launches, 8 CTAs, 2 schedules`, or that nothing has run. No CTA where none got to its end."""
    if not launches:
        return "its text alone, which nothing has run"
    parts = [plural(launches, "launch", "launches"), plural(ctas, "CTA") if ctas else "", plural(schedules, "schedule")]
    return ", ".join(filter(None, parts))


def found(report: CheckReport) -> str:
    """`1 error, 2 warnings, 1 suppressed`, or that there is nothing."""
    counts = [(report.of(severity), str(severity)) for severity in Severity]
    parts = [plural(count, noun) for count, noun in counts if count] or ["nothing found"]
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    return ", ".join(parts)
