"""What the simulator refuses because hardware leaves it undefined, as findings."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.check.brings import Bringing, Kind, bringings
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.subjects import Subjects
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program
from tlxviz.sim.errors import (
    BarrierError,
    Cause,
    ClusterError,
    DeviceAssertError,
    LaunchControlError,
    LaunchLimitError,
    MemoryAccessError,
    Refused,
    RunawayError,
    SimulationError,
)

_RULES: dict[type[SimulationError], tuple[str, str]] = {
    MemoryAccessError: ("out-of-bounds", "Mask the access, or mend its offsets."),
    RunawayError: ("endless", "See which value ends the loop, and who writes it."),
    DeviceAssertError: ("assertion", "The kernel's own tl.device_assert says so."),
    LaunchLimitError: ("limits", "Use fewer warps or stages, or smaller tiles."),
    LaunchControlError: ("cluster", "Leave the loop when the answer says that no tile is left."),
    ClusterError: ("cluster", "Reach only CTAs of the cluster that wait for it."),
    BarrierError: ("arrive-count", "Let as many arrive in each phase as the barrier counts."),
}
"""Rule and advice by the kind of the error."""


@dataclass(frozen=True, slots=True)
class _Judgement:
    rule: str
    advice: str
    concerned: tuple[Place, ...] = ()


def finding_of_refusal(error: SimulationError, program: Program) -> Finding | None:
    """The finding that an error of the simulator stands for; None for one that is no fault of the kernel."""
    known = next((found for kind, found in _RULES.items() if isinstance(error, kind)), None)
    if known is None:
        return None
    subjects, facts, op = Subjects(program), error.refused, error.operation
    judgement = _judged(facts, op, program) or _Judgement(*known)
    place = _place(error, facts, subjects)
    where = f"{place.role}{f' of CTA {error.cta}' if error.cta >= 0 else ''}: " if place.role else ""
    figures = {"have": facts.have, "need": facts.need} if facts.need >= 0 else dict[str, int]()
    return Finding(
        judgement.rule,
        Severity.ERROR,
        program.name,
        f"{where}{error.detail}",
        tuple(dict.fromkeys([place, *judgement.concerned])),
        (),
        judgement.advice,
        facts={**figures},
    )


def _judged(facts: Refused, op: Operation | None, program: Program) -> _Judgement | None:
    """What the cause says more exactly than the kind of the error does."""
    match facts.cause:
        case Cause.UNINITIALISED:
            if facts.target >= 0:
                advice = (
                    "Let all CTAs of the cluster meet once their barriers are initialised (tlx.cluster_barrier()), or "
                    "wait for an arrival of that CTA."
                )
            else:
                advice = "Initialise the barrier first: make it by tlx.alloc_barriers before the async tasks."
            return _Judgement("barrier-lifetime", advice)
        case Cause.THREADS:
            users = Subjects(program).users(facts.slot)
            return _Judgement("named-barrier", "Give the same number of threads at all uses of it.", users)
        case Cause.ARRIVALS:
            return _arrivals(facts, op, program)
        case Cause.MEETING:
            return _Judgement(
                "cluster", "Let each warp group arrive at the cluster's barrier once, and then wait there."
            )
        case Cause.ENDED:
            advice = "Let that CTA wait for it, or all CTAs of the cluster meet at the end: tlx.cluster_barrier()."
            return _Judgement("cluster", advice)
        case _:
            return None


def _arrivals(facts: Refused, op: Operation | None, program: Program) -> _Judgement:
    arriving = [
        each
        for each in bringings(program)
        if each.array == facts.array and each.kind is Kind.ARRIVALS and each.slot in (-1, facts.slot)
    ]
    mine = next((each for each in arriving if each.site.operation is op), None)
    others = tuple(_arrival(each, program) for each in arriving)
    if mine is not None and op is not None and mine.amount > facts.need and mine.amount != op.attributes.get("count"):
        warps = mine.amount // 32
        advice = f"Let the barrier count the {mine.amount} threads of all {warps} warps: num_warps={warps}."
        return _Judgement("lane", advice, others)
    return _Judgement("arrive-count", _RULES[BarrierError][1], others)


def _arrival(bringing: Bringing, program: Program) -> Place:
    site, slot = bringing.site, bringing.slot
    array = program.barriers[bringing.array].name
    name = array if slot < 0 else f"{array}[{slot}]"
    return Place(f"arrives on {name} ({bringing.amount})", site.agent.name, site.location, array, slot, -1)


def _place(error: SimulationError, facts: Refused, subjects: Subjects) -> Place:
    op = error.operation
    if op is None:
        return Place("is launched", "", subjects.kernel_place, "", -1, -1)
    variable = subjects.barriers(facts.array) if facts.array >= 0 else subjects.subject(op)
    if facts.cause is Cause.THREADS:
        variable = str(facts.slot)
    return Place(subjects.doing(op), subjects.role_of(op), subjects.place(op), variable, facts.slot, error.cta)
