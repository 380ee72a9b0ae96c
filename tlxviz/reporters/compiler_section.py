"""The section of the text report about the compiler."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.barriers import AddedBarrier
from tlxviz.analysis.compiled import Compiled
from tlxviz.analysis.spilled import GroupSpills
from tlxviz.reporters.layout import HEADING, SIDE, place, say, size, whole

_NOBODY = "several, or where tasks begin and end"
_UNKNOWN = "unknown"
_MOST_LINES = 5
"""Lines of spills that are named."""


def write_compiled(console: Console, made: Compiled) -> None:
    """Registers, memory and occupancy; notes of the compiler; what it added."""
    for group in made.groups:
        asked = "asks for none" if group.requested is None else f"asks for {group.requested}"
        has = "not known" if group.registers is None else str(group.registers)
        say(console, Text.assemble((group.name, "bold"), f": {group.warps} warps, registers {has} ({asked})"))
    registers, memory = made.registers, made.memory
    if registers.at_launch is not None:
        unused = f", {whole(registers.unused)} of the SM's unused" if registers.unused is not None else ""
        say(console, f"{registers.at_launch} registers a thread at launch{unused}", indent=2, style=SIDE)
    if made.spills is not None:
        say(console, f"{whole(made.spills.frame)} bytes of a thread's registers are in local memory", indent=2)
        _spilled(console, made.spilled)
    say(console, f"{size(memory.shared)} of shared memory out of {size(memory.limit)}", indent=2, style=SIDE)
    fit = (
        f"{made.occupancy.ctas_per_sm} CTA an SM"
        if made.occupancy.ctas_per_sm == 1
        else (f"{made.occupancy.ctas_per_sm} CTAs an SM")
    )
    say(console, f"{fit}, limited by {' and '.join(made.occupancy.limited_by)}", indent=2, style=SIDE)
    for need in made.occupancy.needed_for_next:
        if need.at_most:
            say(
                console,
                f"one more needs {need.resource} down from {whole(need.now)} to {whole(need.at_most)}",
                indent=4,
                style=SIDE,
            )
    for note in made.notes:
        head = Text.assemble(
            (note.id, "bold"), "  ", (", ".join(note.agents), ""), "  ", (place(note.file, note.line), SIDE)
        )
        say(console, head)
        say(console, f"{note.text}: {note.evidence}" if note.evidence else note.text, indent=2, style=SIDE)
    _added(console, made.added)


def _spilled(console: Console, groups: Sequence[GroupSpills] | None) -> None:
    if groups is None:
        say(console, "whose they are is not known: the trace has no machine code", indent=4, style=SIDE)
    for group in groups or ():
        who = ", ".join(group.agents) or _NOBODY
        repeated = f"{whole(group.stores_in_loops)} and {whole(group.loads_in_loops)} in loops"
        sums = f"{whole(group.stores)} bytes stored, {whole(group.loads)} loaded by instructions, {repeated}"
        say(console, Text.assemble((who, "bold"), f": {sums}"), indent=4)
        places = [
            f"line {each.line or _UNKNOWN}: {whole(each.stores)} and {whole(each.loads)}"
            + (" in a loop" if each.in_loops else "")
            for each in group.lines[:_MOST_LINES]
        ]
        more = len(group.lines) - _MOST_LINES
        say(
            console,
            "; ".join(places) + (f"; {more} more line{'s' if more > 1 else ''}" if more > 0 else ""),
            indent=6,
            style=SIDE,
        )


def _added(console: Console, added: Sequence[AddedBarrier] | None) -> None:
    """By warp groups, instruction and loop: how many at which lines."""
    alike: dict[tuple[tuple[str, ...], str, int, str], list[AddedBarrier]] = {}
    for each in added or ():
        alike.setdefault((each.agents, each.operation, each.threads, _loop(each)), []).append(each)
    if alike:
        say(console, "Added after the TTGIR", style=HEADING)
    for (agents, operation, threads, where), found in alike.items():
        counts: dict[int, int] = {}
        for each in found:
            counts[each.line] = counts.get(each.line, 0) + each.count
        meet = f" of {threads} threads" if threads else ""
        who = ", ".join(agents) or _NOBODY
        head = f": {whole(sum(counts.values()))} {operation}{meet}{where}"
        say(console, Text.assemble((who, "bold"), head))
        lines = [
            f"{line or _UNKNOWN} ({count})" if count > 1 else f"{line or _UNKNOWN}"
            for line, count in sorted(counts.items())
        ]
        say(console, f"at line{'s' if len(counts) > 1 else ''} {', '.join(lines)}", indent=2, style=SIDE)


def _loop(added: AddedBarrier) -> str:
    """Where in loops it is; empty outside of all."""
    if not added.loops:
        return ""
    kind = "innermost loop" if added.innermost else "loop"
    return f" in the {kind} at line {added.loop}" if added.loop else f" in a{'n' if added.innermost else ''} {kind}"
