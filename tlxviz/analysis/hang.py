"""A recorder's account of a hang, as typed facts with the source lines that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tlxviz.analysis.places import base_name
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Arrival:
    agent: str
    cycle: int | None
    file: str
    line: int
    text: str
    """The source line; empty where the source is not at hand."""
    cta: int | None = None
    """Number of the CTA that it came from; None where the recorder does not know."""


@dataclass(frozen=True, slots=True)
class Arriver:
    """A place that arrives on a barrier."""

    agent: str
    variable: str
    slot: int | None
    """None for a place that reaches every slot."""
    file: str
    line: int
    text: str
    ended: bool
    """The warp group has ended, in all CTAs of the cluster: it will never arrive again."""
    remote: bool = False
    """It can arrive on barriers of other CTAs of the cluster."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A CTA whose warps have not all arrived at the barrier of its cluster."""

    cta: int
    pending: int
    """Warps that have not."""
    count: int
    """Warps that have to."""


@dataclass(frozen=True, slots=True)
class Waiter:
    """A warp group that waits forever."""

    agent: str
    operation: str
    variable: str
    slot: int | None
    phase: int | None
    """Parity that it waits for."""
    file: str
    line: int
    text: str
    since: int | None
    """SM cycle."""
    pending: int | None
    """Arrivals that the barrier's phase still misses."""
    count: int | None
    """Arrivals that complete a phase."""
    missing_bytes: int
    completed_phases: int | None
    last_arrival: Arrival | None
    outer: int | None
    """Iteration of the outermost loop; None outside one."""
    inner: int | None
    """Iteration of the innermost loop; None outside one."""
    arrivers: tuple[Arriver, ...] | None
    """Every place of the kernel that arrives on this barrier; None where the recorder did not look."""
    cta: int | None = None
    """Number of the CTA of the warp group; None where the recorder does not say."""
    absent: tuple[Absent, ...] = ()
    """At the barrier of a cluster: the CTAs whose warps have not all arrived."""
    remote_arrivals: tuple[Arrival, ...] = ()
    """What `remote` places of the cluster's CTAs have brought in the phase that does not complete, arrivals or bytes,
    in the order of time; empty also where the recorder did not look."""


@dataclass(frozen=True, slots=True)
class Hang:
    cycle: int | None
    cta: int | None
    waiters: tuple[Waiter, ...]
    ended: tuple[str, ...]
    """Warp groups that have run to their end; in a cluster, each with its CTA."""
    cluster: tuple[int, ...] = ()
    """The CTAs of the cluster that hangs, by rank; empty for a kernel without clusters."""


def hang_of(launch: LaunchTrace) -> Hang | None:
    """The hang of a launch; None for one that ended."""
    facts = launch.hang
    if facts is None:
        return None
    arrivers = [_arriver(launch, each) for each in facts["arrivers"]] if "arrivers" in facts else None
    return Hang(
        cycle=_number(facts, "cycle"),
        cta=_number(facts, "cta"),
        waiters=tuple(_waiter(launch, each, arrivers) for each in facts.get("waiters", ())),
        ended=tuple(str(name) for name in facts.get("ended", ())),
        cluster=tuple(int(number) for number in facts.get("cluster", ())),
    )


def source_line(launch: LaunchTrace, file: str, line: int) -> str:
    """Text of a line of the kernel, without indentation; empty where the trace does not have it."""
    lines = launch.source.splitlines()
    index = line - launch.source_line
    same = bool(file) and base_name(file) == base_name(launch.source_file)
    return lines[index].strip() if same and 0 <= index < len(lines) else ""


def _waiter(launch: LaunchTrace, facts: Mapping[str, Any], arrivers: list[Arriver] | None) -> Waiter:
    last = facts.get("last_arrival")
    variable, slot = _text(facts, "variable"), _number(facts, "slot")
    file, line = _text(facts, "file"), _number(facts, "line") or 0
    return Waiter(
        agent=_text(facts, "agent"),
        operation=_text(facts, "operation"),
        variable=variable,
        slot=slot,
        phase=_number(facts, "phase"),
        file=file,
        line=line,
        text=source_line(launch, file, line),
        since=_number(facts, "since"),
        pending=_number(facts, "pending"),
        count=_number(facts, "count"),
        missing_bytes=int(facts.get("missing_bytes") or 0),
        completed_phases=_number(facts, "completed_phases"),
        last_arrival=_arrival(launch, last) if last else None,
        outer=_number(facts, "outer"),
        inner=_number(facts, "inner"),
        arrivers=None
        if arrivers is None
        else tuple(each for each in arrivers if each.variable == variable and each.slot in (None, slot)),
        cta=_number(facts, "cta"),
        absent=tuple(Absent(int(e["cta"]), int(e["pending"]), int(e["count"])) for e in facts.get("absent", ())),
        remote_arrivals=tuple(_arrival(launch, each) for each in facts.get("remote_arrivals", ())),
    )


def _arrival(launch: LaunchTrace, facts: Mapping[str, Any]) -> Arrival:
    file, line = _text(facts, "file"), _number(facts, "line") or 0
    text = source_line(launch, file, line)
    return Arrival(_text(facts, "agent"), _number(facts, "cycle"), file, line, text, _number(facts, "cta"))


def _arriver(launch: LaunchTrace, facts: Mapping[str, Any]) -> Arriver:
    file, line = _text(facts, "file"), _number(facts, "line") or 0
    return Arriver(
        agent=_text(facts, "agent"),
        variable=_text(facts, "variable"),
        slot=_number(facts, "slot"),
        file=file,
        line=line,
        text=source_line(launch, file, line),
        ended=bool(facts.get("ended", False)),
        remote=bool(facts.get("remote", False)),
    )


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    return "" if value is None else str(value)


def _number(facts: Mapping[str, Any], key: str) -> int | None:
    """A whole number; recorders write -1 for one that does not apply."""
    value = facts.get(key)
    return int(value) if isinstance(value, int | float) and value >= 0 else None
