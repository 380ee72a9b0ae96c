"""What of a kernel is recorded, and in how many parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlxviz._errors import UsageError
from tlxviz.ir.program import Program, SiteKind
from tlxviz.probe.points import Point, place_points
from tlxviz.probe.ptx import Selection
from tlxviz.sim.warps import first_threads

_GROUPS: dict[str, frozenset[SiteKind]] = {
    "barriers": frozenset(
        {
            SiteKind.WAIT,
            SiteKind.ARRIVE,
            SiteKind.EXPECT,
            SiteKind.NAMED_WAIT,
            SiteKind.NAMED_ARRIVE,
            SiteKind.CLUSTER_ARRIVE,
            SiteKind.CLUSTER_WAIT,
        }
    ),
    "tma": frozenset(
        {
            SiteKind.TMA_LOAD,
            SiteKind.TMA_STORE,
            SiteKind.TMA_REDUCE,
            SiteKind.TMA_STORE_WAIT,
            SiteKind.ASYNC_COPY,
            SiteKind.ASYNC_COPY_WAIT,
        }
    ),
    "mma": frozenset({SiteKind.MMA, SiteKind.MMA_WAIT, SiteKind.MMA_COMMIT}),
    "all": frozenset(SiteKind),
}


_ALWAYS = frozenset({SiteKind.RANGE_BEGIN, SiteKind.RANGE_END})
"""What somebody wrote into a kernel to see it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sites are probed: `--probes`."""

    groups: tuple[str, ...] = ("all",)
    numbers: frozenset[int] = frozenset()

    @staticmethod
    def parse(text: str) -> Choice:
        """`barriers`, `tma`, `mma`, `all`, numbers of sites (`3`, `5:9`), or several of these with commas between.

        Raises:
            UsageError: it is none of these.
        """
        groups: list[str] = []
        numbers: set[int] = set()
        for part in (each.strip() for each in text.split(",")):
            first, colon, last = part.partition(":")
            if part in _GROUPS:
                groups.append(part)
            elif first.isdecimal() and (last.isdecimal() and int(first) < int(last) if colon else True):
                numbers.update(range(int(first), int(last) if colon else int(first) + 1))
            else:
                known = ", ".join(_GROUPS)
                raise UsageError(f"there are no probes {part!r}: write {known}, or numbers of sites such as 3,5:9")
        return Choice(tuple(sorted(set(groups))), frozenset(numbers))

    def sites(self, program: Program) -> frozenset[int]:
        """Numbers of the chosen sites."""
        kinds = _ALWAYS.union(*(_GROUPS[name] for name in self.groups))
        return frozenset(site.index for site in program.sites if site.kind in kinds or site.index in self.numbers)


@dataclass(frozen=True, slots=True)
class Share:
    """The places of a kernel whose points one launch records: every `of`-th, from number `first` on."""

    first: int = 0
    of: int = 1
    alone: bool = False
    """Whether heads of loops, which else are in all launches, are shared out as well, behind the other places."""

    def has(self, place: int) -> bool:
        """Whether the place with this number is one of them."""
        return place % self.of == self.first


WHOLE = (Share(),)
"""All places in one launch."""


HEADS = (Share(-1),)
"""No places: heads of loops alone, in one launch."""


def equal_shares(parts: int) -> tuple[Share, ...]:
    """All places, spread over so many launches."""
    return tuple(Share(first, parts) for first in range(parts))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is recorded of a kernel. A plan of several shares takes as many launches, each with some of the points."""

    choice: Choice = Choice()
    ctas: tuple[int, ...] = (0,)
    """Linear numbers of the recorded CTAs."""
    all_warps: bool = False
    """Whether every warp of a warp group is recorded, or its first."""
    shares: tuple[Share, ...] = WHOLE
    """The places that each part records; what is in none is left out."""
    everywhere: bool = False
    """Whether all CTAs record, for kernels of one wave: where some record and some do not, the kernel takes as long as
    the slower ones."""

    @property
    def parts(self) -> int:
        """Launches that it takes."""
        return len(self.shares)

    def key(self, part: int) -> object:
        """What the build of a part depends on."""
        choice = self.choice.groups, sorted(self.choice.numbers)
        return choice, () if self.everywhere else self.ctas, self.all_warps, self.shares[part], self.everywhere

    def points(self, program: Program) -> list[Point]:
        """All points of the kernel, of which each part records some."""
        return place_points(program, self.choice.sites(program))

    def selection(self, program: Program, points: Sequence[Point], part: int) -> Selection:
        """What the build of a part records."""
        active = self.active(program, points, part)
        return Selection(active, self.ctas, self.warps(program), everywhere=self.everywhere)

    def active(self, program: Program, points: Sequence[Point], part: int) -> frozenset[int]:
        """Numbers of the points of a part. Those where warp groups start and end, and one of each loop, are in all, so
        that the parts can be aligned.

        Warp groups that do the same have the same points in a part: two that take turns, of which one alone is held
        up, fall out of step, and lose more time than all the points together take (attention on an H200: a fifth).
        """
        share = self.shares[part]
        return frozenset(
            number
            for number, place, heads in self._numbered(program, points)
            if place is None or (heads and not share.alone) or share.has(place)
        )

    def places(self, program: Program, points: Sequence[Point]) -> int:
        """How many places of the source there are to share out, heads of loops aside."""
        return len({place for _, place, heads in self._numbered(program, points) if place is not None and not heads})

    def alone(self, program: Program, points: Sequence[Point]) -> tuple[Share, ...]:
        """Shares of one place each, those of heads of loops among them."""
        places = {place for _, place, _ in self._numbered(program, points) if place is not None}
        return tuple(Share(place, len(places), alone=True) for place in sorted(places))

    def left_out(self, program: Program, points: Sequence[Point]) -> frozenset[int]:
        """Numbers of the points that no part records."""
        parts = [self.active(program, points, part) for part in range(self.parts)]
        return frozenset(point.number for point in points if not point.in_header).difference(*parts)

    def _numbered(self, program: Program, points: Sequence[Point]) -> Iterator[tuple[int, int | None, bool]]:
        """Each point that is recorded, the number of its place in the source, and whether it heads a loop. No number:
        it is in all parts.
        """
        places: dict[tuple[object, ...], int] = {}
        told = [point for point in points if not point.in_header]
        for point in sorted(told, key=lambda each: each.heading):
            if point.framing:
                yield point.number, None, False
            else:
                place = places.setdefault((point.heading, *point.place(program)), len(places))
                yield point.number, place, point.heading

    def warps(self, program: Program) -> frozenset[int]:
        """Warps of a CTA that are recorded."""
        starts = first_threads(program)
        chosen: set[int] = set()
        for agent in program.agents:
            first = starts[agent.index] // 32
            chosen.update(range(first, first + agent.warps) if self.all_warps else (first,))
        return frozenset(chosen)
