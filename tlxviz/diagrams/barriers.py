"""The table of barriers: who arrives, who waits with which parity, and what each guards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tlxviz.analysis.guards import guard_of
from tlxviz.diagrams.model import EdgeKind, Table
from tlxviz.diagrams.uses import NamedBarrier, Reach, Use, named_barriers, parity, uses
from tlxviz.diagrams.wording import bytes_text, counts_text, name_of
from tlxviz.ir.accesses import accesses
from tlxviz.ir.program import BarrierArray, Buffer, Program, SiteKind

_COLUMNS = ("barrier", "slots", "count", "who arrives", "who waits", "expected bytes", "guards")


def barriers(program: Program) -> Table:
    """A row for each array of mbarriers, in the order in which they are allocated, and then for each named barrier."""
    used = uses(program)
    guarded = _guarded(program, used)
    rows = [_row(program, each, used, guarded.get(each.index, ())) for each in program.barriers]
    rows += [_row(program, each, used, ()) for each in named_barriers(used)]
    return Table(f"Barriers of {program.name}", _COLUMNS, tuple(rows))


def _row(
    program: Program, barrier: BarrierArray | NamedBarrier, used: Sequence[Use], guarded: Iterable[str]
) -> tuple[tuple[str, ...], ...]:
    mine = [use for use in used if use.of == barrier]
    arrivals = [f"{_place(use)}{_how(use)}" for use in mine if use.kind in (EdgeKind.ARRIVE, EdgeKind.COMPLETE)]
    waits = [f"{_place(use)}{_awaited(use)}" for use in mine if use.kind is EdgeKind.WAIT]
    expected = sorted({use.bytes for use in mine if use.kind is EdgeKind.ARRIVE} - {0})
    if isinstance(barrier, NamedBarrier):
        slots = ""
        count = f"{barrier.threads} threads" if barrier.threads is not None else ""
    else:
        slots, count = str(barrier.slots), counts_text(barrier.counts)
    return (
        (name_of(program, barrier),),
        (slots,),
        (count,),
        _once(arrivals),
        _once(waits),
        tuple(map(bytes_text, expected)),
        _once(guarded),
    )


_WHOSE = {Reach.OWN: "", Reach.OTHER: ", of another CTA", Reach.BOTH: ", also of another CTA"}
"""Whose arrivals come to a CTA's barrier: what it does to another, another does to it."""


def _place(use: Use) -> str:
    return f"{use.agent.name}, line {use.line}" if use.line else use.agent.name


def _how(use: Use) -> str:
    """From which CTA, and what arrives where that is not one arrival of a thread."""
    whose = _WHOSE[use.reach]
    if use.kind is EdgeKind.COMPLETE:
        return f"{whose}: bytes of a copy"
    return f"{whose}: {use.count} arrivals" if use.count > 1 else whose


def _awaited(use: Use) -> str:
    if isinstance(use.of, NamedBarrier):
        return ""
    expression = parity(use.operation)
    return f": {expression}" if expression == "phase" else f": phase {expression}"


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Each text once, in the order in which they come, with how often it came."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return tuple(text if count == 1 else f"{text} ({count}x)" for text, count in counts.items())


def _guarded(program: Program, used: Sequence[Use]) -> dict[int, list[str]]:
    """By the number of a barrier array: the buffers that copies into them complete it for, and that it keeps free."""
    found: dict[int, dict[str, None]] = {}
    filled = {use.place: use.of for use in used if use.kind is EdgeKind.FILL and isinstance(use.of, Buffer)}
    for use in used:
        buffer = filled.get(use.place)
        if use.kind is EdgeKind.COMPLETE and isinstance(use.of, BarrierArray) and buffer is not None:
            found.setdefault(use.of.index, {})[f"{name_of(program, buffer)} is full"] = None
    for access in accesses(program):
        site = program.site_of.get(access.operation)
        copies = access.writes and site is not None and site.kind in (SiteKind.TMA_LOAD, SiteKind.ASYNC_COPY)
        wait = guard_of(program, access) if copies else None
        if wait is not None:
            barrier = program.roots.get(wait.operation.groups["barrier"][0])
            if isinstance(barrier, BarrierArray):
                found.setdefault(barrier.index, {})[f"{name_of(program, access.buffer)} is free"] = None
    return {index: list(texts) for index, texts in found.items()}
