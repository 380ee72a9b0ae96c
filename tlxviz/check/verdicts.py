"""What kind of fault keeps a waiter waiting, as far as that shows at its barrier alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tlxviz.check.brings import Kind
from tlxviz.check.control import RANK, THREAD, depends, guards, loops, precedes
from tlxviz.check.standstill import Chance, Standstill, State, Waiter
from tlxviz.ir.program import SiteKind


class Strength(IntEnum):
    """How sure it is that this is what has to be mended; the surest first."""

    CERTAIN = 0
    MISSED = 1
    """The waiter asks for another phase than the next one."""
    GONE = 2
    """Who would act has ended."""
    REPEATED = 3
    """The waiter has gone on twice for one phase, which can be right."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a waiter waits forever."""

    strength: Strength
    rule: str
    reason: str
    """What is missing, as half a sentence."""
    advice: str
    concerned: tuple[Chance, ...] = ()
    """The operations that should have acted, or act wrongly."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a waiter can hope for."""

    verdict: Verdict | None
    """None where nothing but others keeps it waiting."""
    waits_for: tuple[int, ...]
    """Positions of the waiters that would have to go on first."""
    through: tuple[Chance, ...] = ()
    """What they would bring, in the same order."""


def outlook(still: Standstill, number: int) -> Outlook:
    """What keeps one of the waiters."""
    waiter = still.waiters[number]
    match waiter.operation:
        case "join":
            others = tuple(each for each in still.of_cta(waiter.cta) if each != number)
            return Outlook(None, others)
        case "poll":
            return Outlook(_polling(still), ())
        case "cluster_wait":
            return _meeting(still, waiter)
        case "named_wait":
            return _named(still, waiter)
        case _:
            return _mbarrier(still, waiter)


# ---------------------------------------------------------------------- mbarriers


def _mbarrier(still: Standstill, waiter: Waiter) -> Outlook:
    if still.history.renewed(waiter.array):
        advice = "Make the barriers once, before the loop, and count phases through."
        reason = f"{waiter.variable} was initialised again while it was in use"
        return Outlook(Verdict(Strength.CERTAIN, "barrier-lifetime", reason, advice), ())
    if waiter.missing_bytes < 0:
        verdict = _too_many_bytes(still, waiter)
    elif waiter.missing_bytes and not waiter.pending:
        return _with_parity(still, waiter, _missing_bytes(still, waiter))
    else:
        verdict = None
    if verdict is not None:
        return Outlook(verdict, ())
    return _with_parity(still, waiter, _missing_arrivals(still, waiter))


def _with_parity(still: Standstill, waiter: Waiter, found: Outlook) -> Outlook:
    """What the waiter has seen of its barrier can explain more than what the barrier misses."""
    if found.verdict is not None and found.verdict.strength is Strength.CERTAIN:
        return found
    verdict = _missed(still, waiter)
    if verdict is None and found.verdict is None:
        verdict = _repeated(still, waiter)
    return found if verdict is None else Outlook(verdict, found.waits_for, found.through)


def _missed(still: Standstill, waiter: Waiter) -> Verdict | None:
    known = still.history.known(waiter.who, waiter.array, waiter.slot)
    if known is None or known >= waiter.phase:
        return None
    completed, next_ = f"{waiter.barrier} has completed {_phases(waiter.phase)}", waiter.phase - known
    who = still.name(*waiter.who)
    if next_ % 2:
        reason = f"{who} knows of {known} of them, so that its next one is phase {known}, of the other parity"
        advice = f"Derive the parity from how often {waiter.barrier} completes: flip it once per wait."
        return Verdict(Strength.MISSED, "parity", f"{completed}, and {reason}", advice)
    reason = (
        f"{who} has seen {known} of them: the others came before it could ask, and it asks for the next of its parity"
    )
    advice = f"Let whoever completes {waiter.barrier} wait until {waiter.role} has seen the phase before."
    rule = "cluster" if still.clustered else "slot-reuse"
    return Verdict(Strength.MISSED, rule, f"{completed}, and {reason}", advice)


def _repeated(still: Standstill, waiter: Waiter) -> Verdict | None:
    if not still.history.waits_again(waiter.who, waiter.array, waiter.slot):
        return None
    reason = (
        f"{still.name(*waiter.who)} has gone on twice for one phase of {waiter.barrier}: "
        "its parity did not change between two waits"
    )
    advice = f"Derive the parity from how often {waiter.barrier} completes: flip it once per wait."
    return Verdict(Strength.REPEATED, "parity", reason, advice)


def _too_many_bytes(still: Standstill, waiter: Waiter) -> Verdict | None:
    extra = -waiter.missing_bytes
    copies = still.chances(waiter, Kind.BYTES)
    expects = _of_kind(still.chances(waiter, Kind.ARRIVALS), SiteKind.EXPECT)
    if not waiter.pending:
        reason = f"{extra:,} bytes more than expected have arrived"
        advice = "Expect the bytes of all boxes that complete on it, also of those that other CTAs copy."
        return Verdict(Strength.CERTAIN, "expect-bytes", reason, advice, tuple(expects + copies))
    reason = f"{extra:,} bytes have arrived that nothing announced"
    split = [each for each in expects if _depends(each, RANK)]
    if split and still.clustered:
        line = _line(split[0])
        advice = f"Let every CTA of the cluster expect its bytes: the expectation in line {line} depends on its rank."
        return Verdict(Strength.CERTAIN, "cluster", reason, advice, tuple(split + copies))
    if not expects:
        advice = f"Expect the bytes on {waiter.barrier} before they are copied."
        return Verdict(Strength.CERTAIN, "expect-bytes", reason, advice, tuple(copies))
    return None


def _missing_bytes(still: Standstill, waiter: Waiter) -> Outlook:
    copies = still.chances(waiter, Kind.BYTES)
    expects = _of_kind(still.chances(waiter, Kind.ARRIVALS), SiteKind.EXPECT)
    missing = f"{waiter.missing_bytes:,} bytes"
    coming = [each for each in copies if each.state is State.STUCK and not _is_over(still, each, expects)]
    if coming:
        return _held_up(coming)
    gone = [each for each in copies if each.state is State.PAST and (each.role, each.cta) not in _owners(expects)]
    if gone:
        who = _names(still, gone)
        reason = f"{missing} are still expected, which {who} would copy; {_is_past(still, gone)}"
        return Outlook(_left_out(still, reason, gone), ())
    reason = f"{missing} of those that were expected never come" + ("" if copies else ": nothing copies to it")
    advice = "Expect the bytes of the boxes that complete on it, and no more."
    return Outlook(Verdict(Strength.CERTAIN, "expect-bytes", reason, advice, tuple(expects + copies)), ())


def _is_over(still: Standstill, copy: Chance, expects: Sequence[Chance]) -> bool:
    """Whether who has expected bytes has come by the copies that belong to that."""
    at = still.waiters[copy.waiter].at
    mine = [each for each in expects if (each.role, each.cta) == (copy.role, copy.cta) and each.state is State.BROUGHT]
    if at is None or not mine:
        return False
    return not (precedes(mine[0].bringing.site.operation, at) and precedes(at, copy.bringing.site.operation))


def _missing_arrivals(still: Standstill, waiter: Waiter) -> Outlook:
    chances = still.chances(waiter, Kind.ARRIVALS)
    have = f"it has {waiter.count - waiter.pending} of {waiter.count} arrivals"
    if not chances:
        advice = f"Arrive on {waiter.variable} where its slot is given back or filled."
        reason = f"nothing in the kernel arrives on {waiter.barrier}"
        return Outlook(Verdict(Strength.CERTAIN, "arrive-count", reason, advice), ())
    open_ = [each for each in chances if each.state is not State.BROUGHT]
    single = [each for each in open_ if _depends(each, THREAD)]
    if single:
        reason = f"{have}, and the arrival in line {_line(single[0])} is that of one thread or warp only"
        advice = (
            "Let the whole task arrive: an arrival is made by one of its threads already, and thread numbers "
            "count through all tasks of the CTA."
        )
        return Outlook(Verdict(Strength.CERTAIN, "lane", reason, advice, tuple(single)), ())
    stuck = [each for each in open_ if each.state is State.STUCK]
    past = [each for each in open_ if each.state is State.PAST]
    if _amount(stuck) < waiter.pending:
        if past:
            reason = f"{have}, and waits for those of {_names(still, past)}; {_is_past(still, past)}"
            return Outlook(_left_out(still, reason, past), ())
        brought = [each for each in chances if each.state is State.BROUGHT]
        return Outlook(_too_few(still, waiter, have, brought, chances), ())
    return _held_up(stuck)


def _left_out(still: Standstill, reason: str, gone: Sequence[Chance]) -> Verdict:
    """Who would act is past the operation: has gone round its loop too few times, or left it out."""
    if any(loops(each.bringing.site.operation) for each in gone):
        return Verdict(Strength.GONE, "trip-count", reason, _TRIPS, tuple(gone))
    rule = "cluster" if still.clustered and any(_depends(each, RANK) for each in gone) else "arrive-count"
    lines = ", ".join(dict.fromkeys(str(_line(each)) for each in gone))
    advice = f"See under which condition line {lines} is executed: it was not."
    return Verdict(Strength.GONE, rule, reason, advice, tuple(gone))


def _too_few(
    still: Standstill, waiter: Waiter, have: str, brought: Sequence[Chance], chances: Sequence[Chance]
) -> Verdict:
    who = _names(still, brought) if brought else _names(still, chances)
    reason = f"{have}, and all that arrive on it have done so: {who}"
    if still.clustered:
        advice = f"Let the other CTAs of the cluster arrive on {waiter.variable} as well: remote_cta_rank."
        return Verdict(Strength.CERTAIN, "cluster", reason, advice, tuple(chances))
    advice = f"Let as many arrive on {waiter.variable} in each phase as it counts, or make arrive_count smaller."
    return Verdict(Strength.CERTAIN, "arrive-count", reason, advice, tuple(chances))


# ---------------------------------------------------------------------- other barriers


def _named(still: Standstill, waiter: Waiter) -> Outlook:
    chances = still.chances(waiter, Kind.THREADS)
    brought = [each for each in chances if each.state is State.BROUGHT]
    open_ = _once([each for each in chances if each.state is not State.BROUGHT], brought)
    stuck = [each for each in open_ if each.state is State.STUCK]
    have = f"it has {waiter.count - waiter.pending} of {waiter.count} threads"
    everybody = _amount(_once(chances, ()))
    if everybody == waiter.count and still.history.overtaken(waiter.slot):
        reason = f"{have}, since arrivals of two phases came together: somebody arrived for the next one too early"
        advice = "Let those who arrive wait for each other's last phase first, at another named barrier or an mbarrier."
        return Outlook(Verdict(Strength.CERTAIN, "named-barrier", reason, advice, tuple(chances)), ())
    if stuck and _amount(stuck) >= waiter.pending:
        return _held_up(stuck)
    past = [each for each in open_ if each.state is State.PAST]
    if everybody == waiter.count and past:
        reason = f"{have}, and waits for those of {_names(still, past)}; {_is_past(still, past)}"
        return Outlook(_left_out(still, reason, past), ())
    reason = f"{have}, and those who use it have {everybody} threads: {_names(still, chances)}"
    advice = "Give the number of threads of all warps that arrive or wait in one phase, the waiting ones included."
    return Outlook(Verdict(Strength.CERTAIN, "named-barrier", reason, advice, tuple(chances)), ())


def _meeting(still: Standstill, waiter: Waiter) -> Outlook:
    missing = [number for cta in waiter.absent for number in still.of_cta(cta)]
    others = tuple(number for number in missing if still.waiters[number].operation != "cluster_wait")
    if others:
        return Outlook(None, others)
    reason = f"it has the warps of {waiter.count - waiter.pending} of {waiter.count}: those of all tasks have to arrive"
    advice = "Let all tasks of all CTAs arrive at the cluster's barrier, or call it outside of the async tasks."
    return Outlook(Verdict(Strength.CERTAIN, "cluster", reason, advice), ())


def _polling(still: Standstill) -> Verdict:
    if still.queued:
        reason = f"{still.queued} CTAs were never started, since no SM had room for them"
        advice = "Launch no more CTAs than the GPU runs at a time where they wait for each other."
    else:
        reason = "nobody writes what it reads any more"
        advice = "See which CTA should have written it, and whether it does so in every case."
    return Verdict(Strength.GONE, "circular-wait", reason, advice)


# ---------------------------------------------------------------------- words, and what several need

_TRIPS = "Give both the same number of rounds, also for empty and ragged work: count them in one place."


def _held_up(chances: Sequence[Chance]) -> Outlook:
    """Others have to go on first."""
    first: dict[int, Chance] = {}
    for each in chances:
        first.setdefault(each.waiter, each)
    return Outlook(None, tuple(first), tuple(first.values()))


def _of_kind(chances: Iterable[Chance], kind: SiteKind) -> list[Chance]:
    return [each for each in chances if each.bringing.site.kind is kind]


def _owners(chances: Iterable[Chance]) -> set[tuple[str, int]]:
    return {(each.role, each.cta) for each in chances}


def _once(chances: Iterable[Chance], without: Iterable[Chance]) -> list[Chance]:
    """The first of each warp group, but for some groups."""
    gone = _owners(without)
    found: dict[tuple[str, int], Chance] = {}
    for each in chances:
        if (each.role, each.cta) not in gone:
            found.setdefault((each.role, each.cta), each)
    return list(found.values())


def _amount(chances: Iterable[Chance]) -> int:
    """What they bring if each operation is executed once more."""
    return sum(each.bringing.amount or 1 for each in chances)


def _depends(chance: Chance, names: frozenset[str]) -> bool:
    return any(depends(value, names) for value in guards(chance.bringing.site.operation))


def _line(chance: Chance) -> int:
    return chance.bringing.site.location.line


def _names(still: Standstill, chances: Iterable[Chance]) -> str:
    names = list(dict.fromkeys(still.name(each.role, each.cta) for each in chances))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_past(still: Standstill, chances: Sequence[Chance]) -> str:
    said: dict[str, None] = {}
    for each in chances:
        who = still.name(each.role, each.cta)
        if each.waiter < 0:
            said[f"{who} has ended"] = None
        else:
            said[f"{who} is past them, in line {still.waiters[each.waiter].location.line}"] = None
    return ", ".join(said)


def _phases(number: int) -> str:
    return f"{number} phase{'s' if number != 1 else ''}"
