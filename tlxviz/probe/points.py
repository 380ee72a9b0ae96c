"""Where a kernel is probed: points between operations, each of which ends some sites and begins others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import takewhile

from tlxviz.ir.operation import Block, Operation, Region
from tlxviz.ir.program import Agent, Program, Site, SiteKind
from tlxviz.ir.types import TensorType

WAITS = frozenset(
    {
        SiteKind.WAIT,
        SiteKind.MMA_WAIT,
        SiteKind.NAMED_WAIT,
        SiteKind.TMA_STORE_WAIT,
        SiteKind.ASYNC_COPY_WAIT,
        SiteKind.CLUSTER_WAIT,
    }
)
"""Sites whose beginning is a point as well: a warp group may stand there for long."""
_FREE = ("arith.", "ttg.memdesc_", "ub.")
_FREE_OPERATIONS = frozenset(
    {"tt.addptr", "tt.get_program_id", "tt.get_num_programs", "gpu.thread_id", "ttg.warp_id", "nvg.cluster_id"}
)


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the TTGIR where a warp group reads the clock."""

    number: int
    """Its number in the marked text: points are numbered in the order of the text."""
    line: int
    """1-based line of the TTGIR before which the marker is put."""
    begins: tuple[int, ...]
    """Sites that begin here, by number."""
    ends: tuple[int, ...]
    """Sites that end here."""
    starts: bool = False
    """A warp group starts here."""
    finishes: bool = False
    """A warp group ends here."""
    heading: bool = False
    """Parts of a recording are aligned by it: in the body of a loop the first point behind a wait, else the first."""
    opening: bool = False
    """The CTA itself starts here."""
    closing: bool = False
    """The CTA itself ends here."""

    @property
    def in_header(self) -> bool:
        """Whether the CTA's header says when it is passed. Nothing is recorded then: code that has to be fetched for it
        shows in the time of a kernel of a few microseconds."""
        return self.opening or self.closing

    @property
    def framing(self) -> bool:
        """Whether a warp group starts or ends here: such a point is never left out."""
        return self.starts or self.finishes

    def place(self, program: Program) -> tuple[object, ...]:
        """Where it is in the kernel's source: the same for the points of warp groups that do the same."""
        sites = [program.sites[site] for site in (*self.ends, *self.begins)]
        return len(self.ends), *((site.agent.role, site.kind, site.location) for site in sites)


@dataclass(slots=True)
class _Draft:
    line: int
    begins: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    starts: bool = False
    finishes: bool = False
    heading: bool = False
    opening: bool = False
    closing: bool = False


def place_points(program: Program, sites: Collection[int]) -> list[Point]:
    """The points of a kernel at which the sites with the numbers `sites`, and every warp group, begin and end.

    Where one site follows another with nothing between that takes time, one point serves both. What issues work
    (an arrival, a copy, an MMA) has a point at its end; its beginning is a point where that costs none.
    """
    return _Placer(program, sites).place()


class _Placer:
    def __init__(self, program: Program, sites: Collection[int]) -> None:
        self._program = program
        self._sites = sites
        self._lines = program.module.text.split("\n")
        self._regions = {agent.region: agent for agent in program.agents}
        self._whole = {function.regions[0] for function in program.module.functions.values()}
        self._drafts: dict[int, _Draft] = {}

    def place(self) -> list[Point]:
        for function in self._program.module.functions.values():
            region = function.regions[0]
            self._region(region, self._regions.get(region))
        drafts = sorted(self._drafts.values(), key=lambda draft: draft.line)
        return [
            Point(
                number,
                draft.line,
                tuple(draft.begins),
                tuple(draft.ends),
                draft.starts,
                draft.finishes,
                draft.heading,
                draft.opening,
                draft.closing,
            )
            for number, draft in enumerate(drafts)
        ]

    def _at(self, line: int) -> _Draft:
        return self._drafts.setdefault(line, _Draft(line))

    def _region(self, region: Region, agent: Agent | None) -> None:
        for number, block in enumerate(region.blocks):
            self._block(block, agent if number == 0 else None, agent)

    def _block(self, block: Block, starting: Agent | None, ending: Agent | None) -> None:
        if not block.operations:
            return
        if starting is not None:
            first = self._at(block.operations[0].line)
            first.starts = True
            first.opening = starting.region in self._whole
        pending = self._operations(block.body, [])
        terminator = block.terminator
        end = terminator.line if terminator is not None else self._after(block.operations[-1])
        if ending is not None and (terminator is None or terminator.name in ("tt.return", "ttg.warp_return")):
            last = self._at(end)
            last.finishes = True
            last.closing = ending.region in self._whole
        self._end(pending, end)

    def _operations(self, operations: Iterable[Operation], pending: list[int]) -> list[int]:
        """Places the points of operations in a row; gives the sites that have not been ended when it is over."""
        for operation in operations:
            site = self._site(operation)
            if site is None and _takes_no_time(operation):
                continue
            if site is None:
                self._end(pending, operation.line)
                pending = []
                before = set(self._drafts)
                for region in operation.regions:
                    self._region(region, self._regions.get(region))
                if operation.name in ("scf.for", "scf.while") and len(self._drafts) > len(before):
                    self._heading(self._drafts.keys() - before).heading = True
                continue
            if site.kind in WAITS or pending:
                draft = self._at(operation.line)
                draft.begins.append(site.index)
                draft.ends += pending
            pending = [site.index]
        return pending

    def _heading(self, lines: Collection[int]) -> _Draft:
        """The point that heads a loop with points before these lines.

        Behind a wait nothing is in flight that a timestamp could hold up; in front of the first one, arithmetic of the
        iteration before it may be.
        """
        drafts = [self._drafts[line] for line in sorted(lines)]
        own = list(takewhile(lambda draft: not draft.heading, drafts)) or drafts
        waited = (draft for draft in own if any(self._program.sites[site].kind in WAITS for site in draft.ends))
        return next(waited, own[0])

    def _end(self, pending: list[int], line: int) -> None:
        if pending:
            self._at(line).ends += pending

    def _site(self, operation: Operation) -> Site | None:
        site = self._program.site_of.get(operation)
        return site if site is not None and site.index in self._sites else None

    def _after(self, operation: Operation) -> int:
        """The line behind an operation, which ends where a bracket stands as deep as it does."""
        line = operation.line
        if operation.regions:
            text = self._lines[line - 1]
            indent = len(text) - len(text.lstrip())
            while not (
                self._lines[line][indent : indent + 1] in ("}", ")")
                and not self._lines[line][:indent].strip()
                and not self._lines[line].rstrip().endswith("{")
            ):
                line += 1
            line += 1
        return line + 1


def _takes_no_time(operation: Operation) -> bool:
    """Whether an operation is a matter of a few scalar instructions, if any."""
    if operation.regions or not (operation.name.startswith(_FREE) or operation.name in _FREE_OPERATIONS):
        return False
    return not any(isinstance(value.type, TensorType) for value in (*operation.results, *operation.operands))
