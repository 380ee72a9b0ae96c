"""Parities of waits against how often their barrier completes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tlxviz.check.brings import Kind
from tlxviz.check.model import Finding, Severity
from tlxviz.check.static.courses import Course, Step
from tlxviz.check.static.registry import Kernel, rule

_FEWEST = 3
"""Waits at a barrier from which on its law shows."""


@rule
def period(kernel: Kernel) -> Iterator[Finding]:
    """Waits that ask for one parity twice in a row although their barrier completes once per wait."""
    if kernel.clustered:
        return
    completions = _completions(kernel)
    told: set[tuple[str, int]] = set()
    for course in kernel.courses:
        for (array, slot), waits in _waits(course).items():
            key = course.agent.name, array
            completed = completions.get((array, slot))
            if key in told or completed is None or len(waits) < _FEWEST:
                continue
            again = next((pair for pair in pairwise(waits) if pair[0].parity == pair[1].parity), None)
            # waits that are repeated for a phase are harmless: those for others have to be as many as it completes
            asked = phases_asked(waits)
            if again is None or abs(completed - len(waits)) > 1 or asked >= completed - 1:
                continue
            told.add(key)
            yield _wrong_law(kernel, course, waits, again[1], completed)


def _completions(kernel: Kernel) -> dict[tuple[int, int], int]:
    """How often each mbarrier completes; without those of which some arrivals are not known."""
    unclear = {each.array for each in kernel.bringings if each.kind is Kind.ARRIVALS and not each.amount}
    open_ = {course.agent.name for course in kernel.courses if not course.complete and not course.cut}
    unclear |= {each.array for each in kernel.bringings if each.site.agent.name in open_} | kernel.renewed
    arrivals = Counter[tuple[int, int]]()
    for course in kernel.courses:
        for step in course.steps:
            if step.brings is not None and step.brings.kind is Kind.ARRIVALS:
                arrivals[step.array, step.slot] += step.brings.amount
    found: dict[tuple[int, int], int] = {}
    for (array, slot), number in arrivals.items():
        counts = kernel.program.barriers[array].counts
        if array not in unclear and 0 <= slot < len(counts) and counts[slot] and not number % counts[slot]:
            found[array, slot] = number // counts[slot]
    return found


def _waits(course: Course) -> dict[tuple[int, int], list[Step]]:
    found: dict[tuple[int, int], list[Step]] = {}
    for step in course.steps:
        if step.parity >= 0:
            found.setdefault((step.array, step.slot), []).append(step)
    return found


def phases_asked(waits: Sequence[Step]) -> int:
    """Phases of one barrier that a warp group asks for: each is of another parity than the one before."""
    parities = [1, *(step.parity for step in waits)]  # the phase before the first one counts as of parity 1
    return sum(before != after for before, after in pairwise(parities))


def _wrong_law(kernel: Kernel, course: Course, waits: Sequence[Step], again: Step, completed: int) -> Finding:
    barrier, role = kernel.barrier(again.array, again.slot), course.agent.name
    parities = "".join(str(step.parity) for step in waits[:12]) + ("..." if len(waits) > 12 else "")
    sites = dict.fromkeys(step.site for step in waits)
    constant = len({step.parity for step in waits}) == 1
    law = "is always the same" if constant else "does not change from one to the next"
    return kernel.finding(
        "parity",
        Severity.ERROR,
        f"{role} waits for {barrier} {len(waits)} times, and it completes {completed} times; but the parity that "
        f"{role} asks for {law}: {parities}",
        [kernel.place(site, f"waits for {barrier}", again.slot) for site in [again.site, *sites]],
        (f"a wait for the parity of a phase that is over goes on at once, as that of iteration {again.inner} does",),
        f"Derive the parity from how often {barrier} completes: flip it once per wait.",
    )
