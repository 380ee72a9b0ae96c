"""What the compiler did otherwise than the source asks for, each with the warp groups and the line it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tlxviz.analysis.additions import additions
from tlxviz.analysis.assembler import Report, Spills
from tlxviz.analysis.barriers import RemovedBarrier
from tlxviz.analysis.spilled import GroupSpills
from tlxviz.ir.location import Location
from tlxviz.ir.program import Program
from tlxviz.trace.model import AgentRow, LaunchTrace, SiteRow

_REQUEST = re.compile(r"\basync_task\(.*\b(?:registers|num_regs)\s*=")


@dataclass(frozen=True, slots=True)
class CompilerNote:
    id: str
    """`wgmma-serialized`, `setmaxnreg-ignored`, `ptxas` (other remarks), `registers-not-given`, `spills`,
    `async-mma-made-sync`, `mma-sync`, `mma-by-warps`, `mma-without-tensor-core`, `mma-wait-added`, `copy-wait-added`,
    `store-wait-added`, `fence-added`, `barrier-added`, `barrier-removed`."""
    agents: tuple[str, ...]
    """Names of the warp groups that it is about, in the program's order; empty: nobody says which."""
    file: str
    line: int
    """0 where no place is known."""
    text: str
    """One sentence, without a full stop."""
    evidence: str
    """What says so: a line of ptxas, an operation of the TTGIR with how often it is there, or figures."""


class Spilling(NamedTuple):
    spills: Spills | None
    groups: tuple[GroupSpills, ...]
    """Whose they are, as far as is known."""


def compiler_notes(
    launch: LaunchTrace,
    program: Program | None,
    report: Report,
    spilling: Spilling,
    removed: Iterable[RemovedBarrier] = (),
) -> tuple[CompilerNote, ...]:
    """All notes of a launch: those of the assembler first, then what the compiler added, in the order of the TTGIR.

    Args:
        program: Of the launch's TTGIR; None where the trace has none.
    """
    return (
        *_of_assembler(launch, report),
        *_of_registers(launch),
        *_of_spills(launch, spilling),
        *_of_removed(removed),
        *(_added(launch, program) if program is not None else ()),
    )


def _of_assembler(launch: LaunchTrace, report: Report) -> Iterable[CompilerNote]:
    for remark in report.remarks:
        evidence = remark.line + (f" (and {remark.count - 1} like it)" if remark.count > 1 else "")
        if remark.id == "wgmma-serialized":
            text = f"ptxas lets each wgmma of the kernel wait for the one before: {remark.reason}"
            multiply = [site for site in launch.sites if site.text == "ttng.warp_group_dot"]
            yield _at_sites(launch, remark.id, multiply, text, evidence)
        elif remark.id == "setmaxnreg-ignored":
            text = f"no task gets the registers that it asks for: {remark.reason}"
            yield _at_requests(launch, remark.id, text, evidence)
        else:
            yield CompilerNote(
                remark.id, (), launch.source_file, launch.source_line, f"ptxas: {remark.reason}", evidence
            )


def _of_registers(launch: LaunchTrace) -> Iterable[CompilerNote]:
    """Triton gives up all requests where they leave too little to the default task, and says nothing."""
    asking = _asking(launch)
    if asking and launch.metadata.get("setmaxnreg") == []:
        wanted = ", ".join(f"{agent.name} {agent.registers}" for agent in asking)
        text = "no task gets the registers that it asks for: the requests leave too few to the default task"
        yield _at_requests(launch, "registers-not-given", text, f"registers a thread: {wanted}; no setmaxnreg in PTX")


def _of_spills(launch: LaunchTrace, spilling: Spilling) -> Iterable[CompilerNote]:
    spills, groups = spilling
    if spills is None:
        return
    evidence = f"frame of {spills.frame:,} bytes in the binary"
    if spills.stores is not None and spills.loads is not None:
        evidence = f"ptxas: {spills.stores:,} bytes of spill stores and {spills.loads:,} of loads in the code"
    known = [group for group in groups if group.agents]
    for group in known:
        line = group.lines[0].line or launch.source_line
        yield CompilerNote("spills", group.agents, launch.source_file, line, _spilled(group), evidence)
    if not known:
        text = f"registers are spilled to {spills.frame:,} bytes of local memory a thread"
        yield CompilerNote("spills", (), launch.source_file, launch.source_line, text, evidence)


def _spilled(group: GroupSpills) -> str:
    repeated = group.stores_in_loops + group.loads_in_loops
    stores, loads = f"{group.stores:,} bytes", f"{group.loads:,}"
    where = ", none of it in a loop"
    if repeated:
        where = f", {repeated:,} of these in loops"
    return f"spills registers: instructions store {stores} a thread and load {loads}{where}"


def _of_removed(removed: Iterable[RemovedBarrier]) -> Iterable[CompilerNote]:
    for each in removed:
        stage = "TTGIR" if each.missing == "ttgir" else "PTX"
        text = "the compiler removed this: what it is in never runs, or it has no effect"
        evidence = f"{each.operation} is in the source, and nothing of it in the {stage}"
        yield CompilerNote("barrier-removed", each.agents, each.file, each.line, text, evidence)


def _added(launch: LaunchTrace, program: Program) -> list[CompilerNote]:
    """One note for all that the compiler added for one reason at one line."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for each in additions(program, _line_of(launch)):
        key = each.id, each.place.file, each.place.line, each.text, each.operation
        found.setdefault(key, []).append(each.agent)
    notes: list[CompilerNote] = []
    for (name, file, line, text, operation), agents in found.items():
        times = f", {len(agents)} times" if len(agents) > 1 else ""
        who = tuple(program.agents[agent].name for agent in sorted(set(agents)))
        notes.append(CompilerNote(name, who, file, line, text, f"TTGIR: {operation}{times}"))
    return notes


def _line_of(launch: LaunchTrace) -> Callable[[Location], str]:
    """Source lines, of the kernel's own function alone: a trace has no more."""
    lines = launch.source.splitlines()

    def text(place: Location) -> str:
        number = place.line - launch.source_line
        return lines[number] if place.file == launch.source_file and 0 <= number < len(lines) else ""

    return text


def _asking(launch: LaunchTrace) -> list[AgentRow]:
    return [agent for agent in launch.agents if agent.registers]


def _at_requests(launch: LaunchTrace, name: str, text: str, evidence: str) -> CompilerNote:
    """A note about the tasks that ask for registers: at the first that does in so many words, or at its first site."""
    asking = _asking(launch)
    first = {launch.agents.index(agent) for agent in asking[:1]}
    site = next((site for site in launch.sites if site.agent in first), None)
    file, line = (site.file, site.line) if site is not None else (launch.source_file, launch.source_line)
    for number, written in enumerate(launch.source.splitlines(), launch.source_line):
        if _REQUEST.search(written):
            file, line = launch.source_file, number
            break
    return CompilerNote(name, tuple(agent.name for agent in asking), file, line, text, evidence)


def _at_sites(launch: LaunchTrace, name: str, sites: list[SiteRow], text: str, evidence: str) -> CompilerNote:
    """A note about several operations, at the first."""
    agents = tuple(launch.agents[index].name for index in sorted({site.agent for site in sites}))
    if not sites:
        return CompilerNote(name, agents, launch.source_file, launch.source_line, text, evidence)
    return CompilerNote(name, agents, sites[0].file, sites[0].line, text, evidence)
