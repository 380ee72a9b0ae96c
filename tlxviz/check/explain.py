"""From what an observer saw to findings: which rule is broken, who is concerned, and why nothing orders them."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.check.classes import Classes, named_barriers, ordering
from tlxviz.check.evidence import Conflict, Early, Leaving, Life, Lost, Outside, Unmade
from tlxviz.check.memory import Access
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.order import Acquire, Meeting
from tlxviz.check.races import Races
from tlxviz.check.subjects import Subjects
from tlxviz.ir.program import Program
from tlxviz.sim.tensor_memory import TensorMemoryView

_INTO_OTHERS = frozenset({"ttg.async_remote_shmem_store", "ttg.remote_shmem_store", "ttg.async_remote_shmem_copy"})


def findings_of(races: Races, program: Program) -> list[Finding]:
    """What a run shows: accesses that nothing orders, arrivals that may come too early, CTAs that may end too early."""
    subjects = Subjects(program)
    classes = Classes(races, subjects)
    return [
        *(_conflict(first, times, subjects, classes) for first, times in races.seen()),
        *(_early(first, times, subjects) for first, times in races.too_early()),
        *(_leaving(first, times, subjects) for first, times in races.leaving_too_soon()),
        *(_outside(first, times, subjects) for first, times in races.outside()),
        *(_life(first, times, subjects) for first, times in races.lives()),
        *(_unmade(first, times, subjects) for first, times in races.unmade()),
        *(_lost(first, times, subjects) for first, times in races.lost() if classes.is_alias(first)),
        *(_unwritten(first, times, subjects) for first, times in races.unwritten()),
        *(_stale(first, times, subjects) for first, times in races.stale()),
    ]


# ---------------------------------------------------------------------- accesses


def _conflict(conflict: Conflict, times: int, subjects: Subjects, classes: Classes) -> Finding:
    if conflict.kind == "race":
        return _race(conflict, times, subjects, classes)
    return _unfenced(conflict, times, subjects)


def _race(conflict: Conflict, times: int, subjects: Subjects, classes: Classes) -> Finding:
    before, after = conflict.before, conflict.after
    first, second = subjects.access(before), subjects.access(after)
    rule = classes.of(conflict)
    if before.who is after.who:
        message = f"{second.role}: {second.doing} while its own {subjects.doing(before.op)} may still be under way"
    elif before.blank and rule == "async-not-waited":
        message = f"{first.role}: {first.doing}, to which nothing has been written, and {second.role}: {second.doing}"
        first, second = second, first
    else:
        other = f" of CTA {before.who.cta}" if before.who.cta != after.who.cta else ""
        message = f"{second.role}: {second.doing}, and {first.role}{other}: {first.doing}, in any order"
    why, advice = tuple(_why(conflict, subjects)), _advice(conflict, rule, subjects)
    places = (*_first_places(conflict, rule, subjects), second, first, *_waits(conflict, subjects))
    return Finding(rule, Severity.ERROR, subjects.kernel, message, tuple(dict.fromkeys(places)), why, advice, times)


def _first_places(conflict: Conflict, rule: str, subjects: Subjects) -> Iterator[Place]:
    """Where to look before the accesses: the wait that goes on too early, or the reader that does not wait."""
    if rule == "parity":
        yield from _waits(conflict, subjects)
    if rule == "named-barrier":
        for meeting in named_barriers(conflict):
            yield from subjects.users(meeting)


def _waits(conflict: Conflict, subjects: Subjects) -> Iterator[Place]:
    """The waits that could have ordered two accesses."""
    meeting, _, acquire = ordering(conflict)
    if meeting is None or meeting.array < 0:
        return
    name, array, slot = subjects.barrier(meeting), subjects.array(meeting), meeting.slot
    vain = conflict.before.who.vain.get(meeting.component)
    if vain is not None:
        yield subjects.event(f"waits for {name}", conflict.before.who, vain.op, vain.at, array, slot)
    if acquire is not None:
        yield subjects.event(f"waits for {name}", conflict.after.who, acquire.op, acquire.at, array, slot)


def _why(conflict: Conflict, subjects: Subjects) -> Iterator[str]:
    before, release = conflict.before, conflict.release
    role = subjects.role(before.who)
    meeting, phase, acquire = ordering(conflict)
    if conflict.told is not None:
        name = subjects.barrier(conflict.told)
        yield f"the {subjects.doing(before.op)} is over when phase {phase} of {name} is complete"
    elif release is not None:
        name, line = subjects.barrier(release.barrier), subjects.place(release.op).line
        yield f"{role} says that it is done by phase {phase} of {name} (line {line})"
    if meeting is not None:
        yield _acquired(conflict, meeting, phase, acquire, subjects)
    elif before.queue:
        yield f"the {subjects.doing(before.op)} is asynchronous, and nobody waits for it in between"
    else:
        yield f"{role} tells nobody that it is done: it arrives on no barrier afterwards"
    if conflict.released_early and conflict.earlier is not None:
        name, line = subjects.barrier(conflict.earlier.barrier), subjects.place(conflict.earlier.op).line
        yield f"its arrival on {name} (line {line}) comes before the access"


def _acquired(conflict: Conflict, meeting: Meeting, phase: int, acquire: Acquire | None, subjects: Subjects) -> str:
    role, name = subjects.role(conflict.after.who), subjects.barrier(meeting)
    if acquire is None:
        return f"{role} has not waited for {name}"
    line = subjects.place(acquire.op).line
    phases = f"{acquire.completed} phase{'s' if acquire.completed != 1 else ''}"
    return (
        f"{role} waited for {name} (line {line}), which goes on as soon as {phases} of it are complete, "
        f"and phase {phase} takes {phase + 1}"
    )


def _advice(conflict: Conflict, rule: str, subjects: Subjects) -> str:
    before, after = conflict.before, conflict.after
    memory, first, second = subjects.memory(before), subjects.role(before.who), subjects.role(after.who)
    if rule == "async-not-waited" and before.blank:
        return f"Let {first} wait for the barrier that says {memory} is full, and not for that of another slot."
    if rule == "async-not-waited":
        return f"Wait for the {subjects.doing(before.op)} before {memory} is touched again."
    meeting, _, _ = ordering(conflict)
    if rule == "parity" and meeting is not None:
        return f"Derive the parity from how often {subjects.barrier(meeting)} completes."
    if rule == "tmem-alias":
        return f"{memory} and {subjects.memory(after)} overlap: let their users wait for each other."
    if conflict.released_early:
        return f"Arrive after the last access to {memory}."
    if meeting is not None:
        return f"Let {second} wait for {subjects.barrier(meeting)} first."
    return f"Let {first} arrive on a barrier after it, and {second} wait there."


def _unfenced(conflict: Conflict, times: int, subjects: Subjects) -> Finding:
    before, after = conflict.before, conflict.after
    first, second = subjects.access(before), subjects.access(after)
    doing = subjects.doing(after.op)
    covered = conflict.kind == "covered"
    why = (
        f"only {second.role} fences, which PTX allows: a fence anywhere between the two orders them"
        if covered
        else f"{first.role} goes through the generic proxy, the {doing} through the asynchronous one, and only a fence "
        "orders what goes through both"
    )
    return Finding(
        "proxy-fence",
        Severity.NOTE if covered else Severity.ERROR if before.writes else Severity.WARNING,
        subjects.kernel,
        f"{first.role}: {first.doing}, and {second.role}: {second.doing} later, with no fence of {first.role} between",
        (first, second),
        (why,),
        f'Put tlx.fence("async_shared") behind the {subjects.doing(before.op)}, before {first.role} arrives.',
        times,
    )


def _lost(lost: Lost, times: int, subjects: Subjects) -> Finding:
    written, over, read = (subjects.access(each) for each in (lost.written, lost.over, lost.read))
    return Finding(
        "tmem-alias",
        Severity.ERROR,
        subjects.kernel,
        f"{read.role}: {read.doing}, of which {over.role} has written over part since {written.role} wrote it: "
        f"{over.doing}",
        (read, written, over),
        (f"{subjects.through(lost.read)} and {subjects.through(lost.over)} lie over each other in {over.variable}",),
        f"Give {subjects.through(lost.read)} memory of its own, or read it before {over.role} writes.",
        times,
    )


# ---------------------------------------------------------------------- arrivals


def _early(early: Early, times: int, subjects: Subjects) -> Finding:
    meeting, name = early.meeting, subjects.barrier(early.meeting)
    role, doing = subjects.role(early.who), subjects.doing(early.op)
    sends = early.op.name in _INTO_OTHERS or meeting.cta != early.who.cta
    rule = "cluster" if sends else "arrive-count" if meeting.array >= 0 else "named-barrier"
    array, slot = subjects.array(meeting), meeting.slot
    here = subjects.event(f"{doing} on {name}", early.who, early.op, early.at, array, slot)
    others = subjects.users(slot) if rule == "named-barrier" else ()
    return Finding(
        rule,
        Severity.ERROR,
        subjects.kernel,
        f"{role}: {doing} on {name} is meant for phase {early.phase}, and may count for phase {early.known}: "
        f"{role} does not know that it is complete",
        (here, *others),
        (f"what {role} has waited for says that {early.known} phases of {name} are complete, and not {early.phase}",),
        f"Let {role} wait for a barrier that completes after phase {early.phase - 1} of {name}.",
        times,
    )


def _leaving(leaving: Leaving, times: int, subjects: Subjects) -> Finding:
    role, doing, target = subjects.role(leaving.who), subjects.doing(leaving.op), f"CTA {leaving.target}"
    return Finding(
        "cluster",
        Severity.ERROR,
        subjects.kernel,
        f"{role} of CTA {leaving.who.cta}: {doing} reaches {target}, which does not wait for it and may have ended",
        (subjects.event(doing, leaving.who, leaving.op, leaving.at),),
        (f"no barrier that {target} waits for comes after it",),
        f"Let {target} wait for it, or all CTAs of the cluster meet (tlx.cluster_barrier()) at the end.",
        times,
    )


def _outside(outside: Outside, times: int, subjects: Subjects) -> Finding:
    role, doing = subjects.role(outside.who), subjects.doing(outside.op)
    name = subjects.descriptor(outside.op)
    return Finding(
        "descriptor",
        Severity.WARNING,
        subjects.kernel,
        f"{role}: {doing} by {name} at {list(outside.corner)}, which is outside of its tensor of {list(outside.shape)}",
        (subjects.event(f"{doing} by {name}", outside.who, outside.op, outside.at, name),),
        ("what lies outside reads as zeros, and is not written",),
        "Coordinates are elements, in the order of the tensor's dimensions: see whether two are swapped.",
        times,
    )


def _life(life: Life, times: int, subjects: Subjects) -> Finding:
    role, array = subjects.role(life.who), subjects.barriers(life.array)
    name, busy = f"{array}[{life.slot}]", life.bytes or life.arrivals
    under_way = f"{life.bytes:,} bytes" if life.bytes else f"{life.arrivals} arrivals"
    return Finding(
        "barrier-lifetime",
        Severity.ERROR if busy else Severity.WARNING,
        subjects.kernel,
        f"{role} initialises {name} again"
        + (f" while {under_way} of its phase are under way" if busy else ", which is an mbarrier already"),
        (subjects.event(f"initialises {name}", life.who, life.op, life.at, array, life.slot),),
        ("what comes for the phase before counts for the new one, or is lost",) if busy else (),
        "Make the barriers once, before the loop, and count phases through.",
        times,
    )


def _unmade(unmade: Unmade, times: int, subjects: Subjects) -> Finding:
    role, doing, name = subjects.role(unmade.who), subjects.doing(unmade.op), subjects.barrier(unmade.meeting)
    cta = unmade.meeting.cta
    there = f" of CTA {cta}" if cta != unmade.who.cta else ""
    array, slot = subjects.array(unmade.meeting), unmade.meeting.slot
    return Finding(
        "barrier-lifetime",
        Severity.ERROR,
        subjects.kernel,
        f"{role}: {doing} on {name}{there}, which may not be initialised yet",
        (subjects.event(f"{doing} on {name}", unmade.who, unmade.op, unmade.at, array, slot),),
        (f"nothing that {role} has waited for comes after the initialisation",),
        "Let all CTAs of the cluster meet once their barriers are initialised: tlx.cluster_barrier()."
        if there
        else "Make the barriers before the async tasks begin.",
        times,
    )


# ---------------------------------------------------------------------- contents


def _unwritten(access: Access, times: int, subjects: Subjects) -> Finding:
    place, memory = subjects.access(access), subjects.memory(access)
    # sums that are rescaled before the first product, which overwrites them, are common and harmless
    tensor = isinstance(access.view, TensorMemoryView)
    return Finding(
        "uninitialised",
        Severity.WARNING if tensor else Severity.ERROR,
        subjects.kernel,
        f"{place.role}: {place.doing}, which nobody has written in this CTA",
        (place,),
        (f"no store, copy or product into {memory} comes before it",),
        f"Fill {memory} first, or leave the read out where there is nothing to read.",
        times,
    )


def _stale(access: Access, times: int, subjects: Subjects) -> Finding:
    place, memory = subjects.access(access), subjects.memory(access)
    return Finding(
        "slot-reuse",
        Severity.WARNING,
        subjects.kernel,
        f"{place.role}: {place.doing} in iteration {place.inner} with no new fill since the iteration before",
        (place,),
        ("in other iterations the same operation finds a new fill each time",),
        f"Wait for the next fill of {memory.partition('[')[0]} in each iteration that reads one.",
        times,
    )
