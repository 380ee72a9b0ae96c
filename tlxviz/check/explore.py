"""Runs a script with nasty sizes, for so many seconds, and makes what is found as small as it gets.

Whoever has the script hands over how to run it: `run(shape)` runs it once, with every launch checked, and says what
came of it. A script that refuses a shape, by its own `assert` or by its usage, is passed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from tlxviz.check.model import Finding, Severity
from tlxviz.check.schedules import USUAL, Schedule
from tlxviz.check.shapes import Shape, Traits, shapes, smaller

_ATTEMPTS = 12
"""Runs of a script by which a shape is made smaller, for each finding."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a run of a script."""

    findings: tuple[Finding, ...]
    """Of all launches, without those that the source keeps away."""
    traits: Traits
    """Of the kernels that were checked."""
    grids: tuple[tuple[int, int, int], ...] = ()
    """Of the launches, in their order."""
    refused: str = ""
    """Why nothing of it counts: the script's own complaint."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding of another shape than the user's, and the smallest shape that shows it."""

    finding: Finding
    shape: Shape


@dataclass(slots=True)
class Exploration:
    """What came of many shapes."""

    shown: list[Shown] = field(default_factory=list[Shown])
    """What the user's own shape does not show."""
    tried: int = 0
    """Shapes that ran."""
    refused: int = 0
    """Of these, those that the script refused."""


def explore(run: Callable[[Shape], Tried], own: Shape, seconds: float, first: Tried | None = None) -> Exploration:
    """Runs a script with one nasty shape after the other.

    Args:
        run: Runs it with a shape, and checks each launch.
        own: The user's shape.
        seconds: After which no other run is begun.
        first: What came of the user's shape, if it has been run.

    Returns:
        What shapes other than the user's show, each with the smallest shape that does.
    """
    deadline = time.monotonic() + seconds
    base = first if first is not None else run(own)
    traits = base.traits
    seen: set[Hashable] = {_key(finding) for finding in base.findings}
    result = Exploration()

    known: dict[Shape, Tried] = {}

    def tried(shape: Shape) -> Tried:
        found = known.get(shape)
        if found is None:
            found = known[shape] = run(shape)
            result.tried += 1
            result.refused += bool(found.refused)
        return found

    few = Shape(own.arguments, traits.cluster)
    alone = tried(few) if base.grids and time.monotonic() < deadline else None
    # only kernels that ask how many SMs there are have other grids then
    persistent = alone is not None and not alone.refused and alone.grids != base.grids
    for shape, early in [(few, alone), *((shape, None) for shape in shapes(own.arguments, traits, persistent))]:
        if time.monotonic() >= deadline:
            break
        outcome = early or tried(shape)
        for finding in outcome.findings:
            key = _key(finding)
            if key not in seen and _counts(finding):
                seen.add(key)
                result.shown.append(_smallest(finding, shape, traits, tried, deadline))
    return result


def _smallest(finding: Finding, shape: Shape, traits: Traits, run: Callable[[Shape], Tried], deadline: float) -> Shown:
    key, attempts, changed = _key(finding), 0, True
    while changed:
        changed = False
        for attempt in smaller(shape, traits):
            if attempts == _ATTEMPTS or time.monotonic() >= deadline:
                break
            attempts += 1
            again = next((each for each in run(attempt).findings if _key(each) == key), None)
            if again is not None:
                finding, shape, changed = again, attempt, True
                break
    schedule = replace(Schedule.parse(finding.schedule or USUAL), sms=shape.sms)
    why = (*finding.why, f"the script shows it with {shape}")
    return Shown(replace(finding, why=why, schedule="" if schedule == Schedule() else str(schedule)), shape)


def _key(finding: Finding) -> Hashable:
    """The same for findings that say the same of the same line; what waits besides depends on the shape."""
    place = finding.places[0] if finding.places else None
    where = () if place is None else (place.role, place.location.file, place.location.line, place.variable)
    return finding.kernel, finding.rule, finding.severity, where


def _counts(finding: Finding) -> bool:
    """Whether it says something of other shapes: where a tensor is smaller than a tile, whole tiles lie outside."""
    return finding.severity is Severity.ERROR or (
        finding.severity is Severity.WARNING and finding.rule not in ("descriptor", "proxy-fence")
    )
