"""Which warp group and which place of one kernel is which of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tlxviz.analysis.groups import WarpGroup
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is done: equal for operations of one kind that one line does with one variable."""

    agent: str
    kind: str
    """Kind of the site; empty for a warp group's own arithmetic."""
    variable: str
    file: str
    line: int
    doing: str = ""
    """What; empty where that does not matter."""


_Key = Callable[[Place], tuple[object, ...]]


Lines = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class PlaceMap:
    """Places and roles of a second kernel in terms of a first."""

    agents: Mapping[str, str]
    """Name in the first kernel by name in the second, of warp groups that correspond."""
    roles: Mapping[str, str]
    firsts: Mapping[Place, Place]
    """Place of the first by that of the second, without `doing`."""
    known: Mapping[Place, Lines]
    """Lines in both by place in terms of the first."""

    def first(self, place: Place) -> Place:
        """The first kernel's place that corresponds, or the second's own with the first's name of its warp group."""
        found = self.firsts.get(replace(place, doing=""))
        if found is not None:
            return replace(found, doing=place.doing)
        return replace(place, agent=self.agents.get(place.agent, place.agent))

    def first_role(self, role: str) -> str:
        return self.roles.get(role, role)

    def lines(self, place: Place) -> Lines:
        """Source lines in both kernels of a place in terms of the first; None in one that does not have it."""
        line = place.line or None
        return self.known.get(replace(place, doing=""), (line, line))


def align_groups(a: Sequence[WarpGroup], b: Sequence[WarpGroup]) -> list[tuple[int | None, int | None]]:
    """Pairs of positions in `a` and `b`, in the order of `a`: warp groups of one name, else of one role, in order.

    A group that has no counterpart is paired with None.
    """
    left = list(range(len(b)))
    of: dict[int, int] = {}
    keys: tuple[Callable[[WarpGroup], str | None], ...] = (
        lambda group: group.agent.name,
        lambda group: group.agent.role or None,
    )
    for key in keys:
        for number, group in enumerate(a):
            wanted = key(group)
            match = next((other for other in left if key(b[other]) == wanted), None)
            if number not in of and wanted is not None and match is not None:
                of[number] = match
                left.remove(match)
    return [*((number, of.get(number)) for number in range(len(a))), *((None, number) for number in left)]


def align_places(a: LaunchTrace, b: LaunchTrace, groups: Sequence[tuple[str, str]]) -> PlaceMap:
    """Places of `b` in terms of `a`: by line where the source is the same, else by variable and order, else by order.

    Args:
        groups: Names in `a` and in `b` of warp groups that correspond.
    """
    agents = {second: first for first, second in groups}
    roles_a = {agent.name: agent.role or agent.name for agent in a.agents}
    roles_b = {agent.name: agent.role or agent.name for agent in b.agents}
    roles = {roles_b.get(second, second): roles_a.get(first, first) for first, second in groups}
    firsts: dict[Place, Place] = {}
    known: dict[Place, Lines] = {}
    for first, second in groups:
        of_a, of_b = _places(a, first), _places(b, second)
        if a.source == b.source:
            _match(firsts, of_a, of_b, lambda place: (place.kind, place.variable, place.file, place.line))
        _match(firsts, of_a, of_b, lambda place: (place.kind, place.variable))
        _match(firsts, of_a, of_b, lambda place: (place.kind,))
    made = PlaceMap(agents, roles, firsts, known)
    for launch, side in ((a, 0), (b, 1)):
        for agent in launch.agents:
            for place in _places(launch, agent.name):
                first = made.first(place) if side else place
                before = known.get(first, (None, None))
                known[first] = (before[0], place.line or None) if side else (place.line or None, None)
    return made


def _match(firsts: dict[Place, Place], a: list[Place], b: list[Place], key: _Key) -> None:
    """Pair what is left of both by `key`, in order, and take it out of the lists."""
    for second in list(b):
        first = next((place for place in a if key(place) == key(second)), None)
        if first is not None:
            firsts[second] = first
            a.remove(first)
            b.remove(second)


def _places(launch: LaunchTrace, name: str) -> list[Place]:
    """The places of a warp group in the program's order."""
    return list(
        dict.fromkeys(
            Place(name, site.kind, site.variable, site.file, site.line)
            for site in launch.sites
            if 0 <= site.agent < len(launch.agents) and launch.agents[site.agent].name == name
        )
    )
