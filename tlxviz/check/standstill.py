"""The picture of a hang: who waits for what, and what could bring it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

from tlxviz.check.brings import Bringing, Kind, bringings
from tlxviz.check.control import reaches
from tlxviz.ir.location import Location
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Program

Who = tuple[str, int]
"""Name of a warp group, and number of its CTA."""


class History(Protocol):
    """What happened before."""

    def known(self, who: Who, array: int, slot: int) -> int | None:
        """Phases of a barrier of its own CTA that a warp group knows to be complete; None if nobody can tell."""
        ...

    def waits_again(self, who: Who, array: int, slot: int) -> bool:
        """Whether it has waited there twice for one phase."""
        ...

    def arrived(self, array: int, slot: int, cta: int, phase: int) -> frozenset[Who]:
        """Who has arrived in a phase."""
        ...

    def overtaken(self, number: int) -> bool:
        """Whether somebody arrived at a named barrier without knowing that its last phase was complete."""
        ...

    def renewed(self, array: int) -> bool:
        """Whether barriers of an allocation were initialised while they were in use."""
        ...


@dataclass(frozen=True, slots=True)
class Waiter:
    """A warp group that waits forever."""

    role: str
    cta: int
    operation: str
    """`wait`, `named_wait`, `cluster_wait`, `join` or `poll`."""
    at: Operation | None
    location: Location
    array: int
    """Position in `program.barriers`; -1 for other barriers."""
    variable: str
    slot: int
    """Of the array; the number of a named barrier."""
    phase: int
    """Number of the phase that does not complete."""
    count: int
    pending: int
    missing_bytes: int
    outer: int
    inner: int
    absent: tuple[int, ...]
    """At the barrier of a cluster: CTAs whose warps have not all arrived."""

    @property
    def who(self) -> Who:
        return self.role, self.cta

    @property
    def barrier(self) -> str:
        """`full[1]`, or words for what has no name."""
        match self.operation:
            case "wait":
                return f"{self.variable}[{self.slot}]"
            case "named_wait":
                return f"named barrier {self.slot}"
            case "cluster_wait":
                return "the cluster's barrier"
            case "join":
                return "the other tasks"
            case _:
                return "memory that nobody writes any more"


class State(StrEnum):
    """What is to be expected of a warp group that could bring something."""

    BROUGHT = "brought"
    """It has arrived in this phase."""
    PAST = "past"
    """It has ended, or stands where it never comes back to the operation."""
    STUCK = "stuck"
    """It waits, and could come to the operation."""


@dataclass(frozen=True, slots=True)
class Chance:
    """An operation of a warp group that could bring what somebody waits for."""

    bringing: Bringing
    role: str
    cta: int
    state: State
    waiter: int
    """Position of its own wait in `Standstill.waiters`; -1 if it has ended."""


class Standstill:
    """The hang of a CTA, or of the CTAs of a cluster.

    Args:
        report: Facts of the hang, as docs/trace.md describes them.
        program: The kernel.
        history: What happened before.
    """

    def __init__(self, report: Mapping[str, Any], program: Program, history: History) -> None:
        self.program = program
        self.history = history
        self.clustered = len(report["cluster"]) > 1
        self.queued = int(report["queued"])
        self._ctas: Sequence[int] = report["cluster"] or [report["cta"]]
        self._arrays = {each.name: each.index for each in program.barriers}
        self._joins = next((op for op in program.module.walk() if op.name == "ttg.warp_specialize"), None)
        self.left = {(each["agent"], each["cta"]) for each in report["left"]}
        self.waiters = tuple(map(self._waiter, report["waiters"]))
        self._of = {each.who: number for number, each in enumerate(self.waiters)}

    @cached_property
    def _bringings(self) -> tuple[Bringing, ...]:
        return bringings(self.program)

    def _waiter(self, facts: Mapping[str, Any]) -> Waiter:
        operation, site = str(facts["operation"]), int(facts["site"])
        at = self.program.sites[site].operation if site >= 0 else self._joins if operation == "join" else None
        return Waiter(
            facts["agent"],
            facts["cta"],
            operation,
            at,
            self.program.sites[site].location if site >= 0 else Location(facts["file"], facts["line"]),
            self._arrays[facts["variable"]] if operation == "wait" else -1,
            facts["variable"],
            facts["slot"],
            facts["completed_phases"],
            facts["count"],
            facts["pending"],
            facts["missing_bytes"],
            facts["outer"],
            facts["inner"],
            tuple(each["cta"] for each in facts.get("absent", ())),
        )

    def chances(self, waiter: Waiter, kind: Kind) -> list[Chance]:
        """All operations that could bring what a barrier misses, the order of the kernel."""
        found: list[Chance] = []
        rank = self._ctas.index(waiter.cta)
        arrived = self.history.arrived(waiter.array, waiter.slot, waiter.cta, waiter.phase)
        for each in self._bringings:
            fits = each.array == waiter.array and each.slot in (-1, waiter.slot)
            if each.kind is not kind or not fits or each.rank not in (-1, rank):
                continue
            for cta in self._ctas if each.remote else (waiter.cta,):
                role = each.site.agent.name
                state, number = self._state(each, (role, cta))
                if (role, cta) in arrived and kind is not Kind.BYTES:
                    state = State.BROUGHT
                found.append(Chance(each, role, cta, state, number))
        return found

    def _state(self, bringing: Bringing, who: Who) -> tuple[State, int]:
        if who in self.left:
            return State.PAST, -1
        number = self._of.get(who, self._of.get((self.program.agents[0].name, who[1]), -1))
        if number < 0:
            return State.PAST, -1
        at = self.waiters[number].at
        if who in self._of and at is not None and not reaches(at, bringing.site.operation):
            return State.PAST, number
        return State.STUCK, number

    def of_cta(self, cta: int) -> list[int]:
        """Positions of the waiters of a CTA."""
        return [number for number, each in enumerate(self.waiters) if each.cta == cta]

    def name(self, role: str, cta: int) -> str:
        """`load`, or `load of CTA 1` in a cluster."""
        return f"{role} of CTA {cta}" if self.clustered else role
