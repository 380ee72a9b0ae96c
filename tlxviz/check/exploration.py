"""Runs under many schedules: what some of them show, and the simplest schedule that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from tlxviz.check.model import Finding, Severity
from tlxviz.check.runs import Ran, key_of
from tlxviz.check.schedules import Schedule

Run = Callable[[Schedule], Ran]
_SHRUNK = 3
"""Findings whose schedules are made simpler: a run each time that something is left out."""
_ATTEMPTS = 24
"""Runs for that, for each."""
_ALWAYS = 4
"""Schedules that run whatever they cost."""
_FEWEST = 250
"""Cycles below which nobody looks for a shorter delay."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What runs under several schedules show."""

    findings: tuple[Finding, ...]
    """Each with the schedule that shows it, if the first one does not."""
    ctas: int
    """CTAs that ended under the first one."""
    schedules: int
    """Schedules that ran."""
    ended: bool
    """Whether the launch cannot end under the first one."""


def explored(
    run: Run, schedules: Iterable[Schedule], deadline: float = float("inf"), steps: float = float("inf")
) -> Explored:
    """Runs under one schedule after the other, and keeps what the first of them shows that shows it.

    A kernel that cannot end under the first schedule is not run under others: it would come to the same.

    Args:
        run: Runs the launch.
        schedules: The schedules; the first is the usual one.
        deadline: When no other one is begun, in seconds of `time.monotonic`.
        steps: How many the event loops may have before no other one is begun; a few schedules always run.
    """
    found: list[Finding] = []
    seen: set[Hashable] = set()
    ctas = number = 0
    stuck = False
    for number, schedule in enumerate(schedules, 1):
        ran = run(schedule)
        steps -= ran.steps
        fresh = [(finding, _key(finding, ran)) for finding in ran.all]
        fresh = [(finding, key) for finding, key in fresh if key not in seen]
        seen.update(key for _, key in fresh)
        if number == 1:
            found += [finding for finding, _ in fresh]
            ctas = ran.ctas
            stuck = ran.ended is not None
            if stuck:
                break
        else:
            shown = sum(bool(finding.schedule) for finding in found)
            for at, (finding, _) in enumerate(fresh, shown):
                shrinks = finding.severity is Severity.ERROR and at < _SHRUNK and time.monotonic() < deadline
                simple = simplest(schedule, partial(_shows, run, finding)) if shrinks else schedule
                found.append(replace(finding, schedule=str(simple)))
        if time.monotonic() >= deadline or (steps <= 0 and number >= _ALWAYS):
            break
    return Explored(tuple(found), ctas, number, stuck)


def _key(finding: Finding, ran: Ran) -> Hashable:
    """The same for findings of which one is enough: those of the same lines, in whichever order, and all by which a
    run ends early."""
    if finding is ran.ended:
        return "ended"
    # which waits are named besides depends on which of two accesses came first
    told = [place for place in finding.places if not place.doing.startswith("waits ")] or finding.places
    places = frozenset((place.role, place.location, place.variable) for place in told)
    return finding.severity, finding.rule == "proxy-fence", places


def _shows(run: Run, finding: Finding, schedule: Schedule) -> bool:
    ran = run(schedule)
    if any(key_of(each) == key_of(finding) for each in ran.findings):
        return True
    return ran.ended is not None and ran.ended.rule == finding.rule


def simplest(schedule: Schedule, shows: Callable[[Schedule], bool]) -> Schedule:
    """A schedule with fewer and shorter delays, and the first cluster alone if that does, which still shows something.

    Args:
        schedule: One that shows it.
        shows: Whether another one does.
    """
    attempts = 0

    def better(attempt: Schedule) -> bool:
        nonlocal attempts
        attempts += 1
        return attempts <= _ATTEMPTS and shows(attempt)

    changed = True
    while changed and attempts < _ATTEMPTS:
        changed = False
        for attempt in _simpler(schedule):
            if better(attempt):
                schedule, changed = attempt, True
                break
    return schedule


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules that are a step simpler, the greatest steps first."""
    if schedule.clusters:
        yield replace(schedule, clusters=())
    delays = schedule.delays
    if len(delays) > 1:
        for left_out in range(len(delays)):
            yield replace(schedule, delays=delays[:left_out] + delays[left_out + 1 :])
    for position, delay in enumerate(delays):
        if delay.random:
            steady = replace(delay, random=False)
            yield replace(schedule, delays=(*delays[:position], steady, *delays[position + 1 :]))
        if delay.cycles >= 2 * _FEWEST:
            shorter = replace(delay, cycles=delay.cycles // 2)
            yield replace(schedule, delays=(*delays[:position], shorter, *delays[position + 1 :]))
