"""The kernel's source with the time that each line takes, and the TTGIR that became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rich.syntax import Syntax
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal

from tlxviz.analysis.account import Account
from tlxviz.analysis.kinds import site_wait_kinds
from tlxviz.analysis.places import base_name
from tlxviz.ir import TtgirError, load_program
from tlxviz.reporters.layout import place
from tlxviz.tui.keys import bindings
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.lookup import next_at, sites_at
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.panels.said import Said
from tlxviz.tui.state import State

_HEIGHTS = " ▁▂▃▄▅▆▇█"
_NARROW = 50
"""Columns below which there is no room for shares."""
_SHALLOW = 100
"""Columns below which indentation is half as deep."""
_BESIDE = 120
"""Columns from which TTGIR stands beside the source."""


@dataclass(frozen=True, slots=True)
class LineShares:
    """Of one line of the kernel's file, over all traced CTAs."""

    time: float
    """Share of the warp groups' time that events of the line take."""
    waiting: float
    """Share of all their waiting."""


def line_shares(account: Account) -> dict[int, LineShares]:
    """By line, of the kernel's own file. Work between events belongs to no line."""
    launch = account.launch
    cycles = account.totals.cycles.sum(axis=0)
    life = sum(int(account.lives[list(group.tracks)].sum()) for group in account.groups)
    waits = np.where(site_wait_kinds(launch) >= 0, cycles, 0)
    waited = int(waits.sum())
    found: dict[int, tuple[int, int]] = {}
    for number, site in enumerate(launch.sites):
        if base_name(site.file) == base_name(launch.source_file):
            time, waiting = found.get(site.line, (0, 0))
            found[site.line] = time + int(cycles[number]), waiting + int(waits[number])
    return {line: LineShares(time / max(1, life), waiting / max(1, waited)) for line, (time, waiting) in found.items()}


def _lines_of_sites(account: Account) -> dict[int, int]:
    """The line of the TTGIR at which each site's operation stands; empty where it cannot be read."""
    launch = account.launch
    try:
        program = load_program(launch.ttgir, f"TTGIR of {launch.kernel}") if launch.ttgir else None
    except TtgirError:
        return {}
    return {site.index: site.operation.line for site in program.sites} if program is not None else {}


@panel
class SourcePanel(Panel):
    """Enter on a line lights its events and goes to the next of them."""

    title = "Source"
    order = 2
    BINDINGS: ClassVar[list[BindingType]] = bindings({"ttgir": "ttgir"})
    DEFAULT_CSS = """
    SourcePanel { layout: vertical; height: 1fr; }
    SourcePanel #source-head { height: 1; color: $text-muted; }
    SourcePanel #source-body { height: 1fr; }
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._followed: tuple[object, ...] = ()
        self._highlit: tuple[object, ...] = ()
        self._source: list[Text] = []
        self._ttgir: list[str] = []
        self._in_ttgir = False
        """Whether TTGIR is shown."""

    def compose(self) -> ComposeResult:
        yield Said("source-head")
        with Horizontal(id="source-body"):
            yield Listing("source-lines")
            yield Listing("source-ttgir")

    def show_state(self) -> None:
        state, launch = self.state, self.state.launch
        beside = self.size.width >= _BESIDE
        self._highlight()
        made = self.known("line shares", line_shares)
        shares = made if isinstance(made, dict) else {}
        current = self._line_of_event()
        lit = {launch.sites[site].line for site in state.lit if site < len(launch.sites)}
        lines = self.query_one("#source-lines", Listing)
        ttgir = self.query_one("#source-ttgir", Listing)
        roomy = self.size.width >= _NARROW

        def source_row(number: int) -> Text:
            line = launch.source_line + number
            return _row(line, self._source[number], shares.get(line), roomy, line == current, line in lit)

        lines.show(len(self._source), source_row)
        head = self._head(isinstance(made, dict) or made, current)
        mark = -1
        lines.display, ttgir.display = beside or not self._in_ttgir, self._in_ttgir
        if self._in_ttgir:
            places = self.known("lines of sites", _lines_of_sites)
            known = places if isinstance(places, dict) else {}
            mark = known.get(self._site(), 0) - 1

            def ttgir_row(number: int) -> Text:
                return Text(
                    f"{'▶' if number == mark else ' '}{number + 1:>5} {self._ttgir[number]}",
                    style="bold reverse" if number == mark else "",
                    no_wrap=True,
                )

            ttgir.show(len(self._ttgir), ttgir_row)
            if not self._ttgir:
                head = "The trace has no TTGIR."
            elif places is None:
                head = f"TTGIR {WORKING}"
            elif not known:
                head = "TTGIR, which this version cannot read: it marks no operations"
            elif not beside:
                head = self.keyed("<ttgir>: source   TTGIR")
        self.query_one("#source-head", Said).say(head)
        followed = (launch, state.event, current, mark)
        if followed != self._followed:
            self._followed = followed
            if current is not None:
                lines.put(current - launch.source_line)
            if mark >= 0:
                ttgir.put(mark)

    def _head(self, shares: bool | Failure | None, current: int | None) -> str:
        launch = self.state.launch
        if not launch.source:
            return "The trace has no source."
        head = "   line     time     wait" if self.size.width >= _NARROW else ""
        head += self.keyed("  <ttgir>: TTGIR")
        if shares is None:
            head += f"  {WORKING}"
        elif isinstance(shares, Failure):
            head += f"  {shares.why}"
        site = self._site()
        if current is None and site >= 0:
            head += f"  event at {place(launch.sites[site].file, launch.sites[site].line) or 'no line'}"
        else:
            head += f"  {base_name(launch.source_file)}"
        return head

    def _site(self) -> int:
        """The selected event's site; -1 for none."""
        event, launch = self.state.event, self.state.launch
        site = int(launch.events["site"][event]) if event is not None else -1
        return site if site < len(launch.sites) else -1

    def _line_of_event(self) -> int | None:
        """The line of the source at which the selected event stands."""
        site, launch = self._site(), self.state.launch
        if site < 0 or base_name(launch.sites[site].file) != base_name(launch.source_file):
            return None
        line = launch.sites[site].line
        return line if 0 <= line - launch.source_line < len(self._source) else None

    def _highlight(self) -> None:
        launch, dark, shallow = self.state.launch, self.dark, self.size.width < _SHALLOW
        if self._highlit == (launch, dark, shallow):
            return
        self._highlit = launch, dark, shallow
        syntax = Syntax("", "python", theme="monokai" if dark else "default", background_color="default")
        source = launch.source.replace("\t", "    ")
        if shallow:
            source = "\n".join(_shallow(line) for line in source.split("\n"))
        self._source = list(syntax.highlight(source).split("\n", allow_blank=False)) if source else []
        self._ttgir = launch.ttgir.splitlines()

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        state, launch = self.state, self.state.launch
        if message.listing.id == "source-lines":
            line = launch.source_line + message.line
            sites = sites_at(launch, launch.source_file, line)
        else:
            known = self.known("lines of sites", _lines_of_sites)
            places = known if isinstance(known, dict) else {}
            sites = frozenset(site for site, line in places.items() if line == message.line + 1)
        state.lit = sites
        self.jump_to_next(sites)

    def jump_to_next(self, sites: frozenset[int]) -> None:
        """To the next event of these sites behind the cursor; with none, only the light changes."""
        state = self.state
        event = next_at(state.launch, sites, state.cta, state.cursor, state.event)
        if event is None:
            self.ring()
            state.changed()
        else:
            self.jump(event)

    def show_line(self, line: int) -> None:
        """The cursor on a line of the kernel's file, and its events lit."""
        launch = self.state.launch
        self.state.lit = sites_at(launch, launch.source_file, line)
        self._in_ttgir = False
        self.state.changed()
        lines = self.query_one("#source-lines", Listing)
        lines.focus()
        lines.put(line - launch.source_line)

    def action_ttgir(self) -> None:
        self._in_ttgir = not self._in_ttgir
        self._followed = ()
        self.follow()
        self.query_one("#source-ttgir" if self._in_ttgir else "#source-lines", Listing).focus()


def _row(line: int, code: Text, shares: LineShares | None, roomy: bool, current: bool, lit: bool) -> Text:
    row = Text(no_wrap=True)
    row.append("▶" if current else "*" if lit else " ", "bold")
    row.append(f"{line:>5} ", "bold" if current else "dim")
    if roomy:
        time, waiting = (shares.time, shares.waiting) if shares is not None else (0.0, 0.0)
        row.append(_bar(time), APPEARANCES[Look.ISSUE].dark).append(f"{_percent(time):>5}   ")
        row.append(_bar(waiting), APPEARANCES[Look.WAIT].dark).append(f"{_percent(waiting):>5}  ")
    row.append_text(code)
    if current or lit:
        row.stylize("bold")
    return row


def _shallow(line: str) -> str:
    code = line.lstrip(" ")
    return " " * ((len(line) - len(code)) // 2) + code


def _bar(share: float) -> str:
    """A height in one column: something for anything above nothing."""
    return _HEIGHTS[0] if share <= 0 else _HEIGHTS[max(1, min(8, round(share * 8)))]


def _percent(share: float) -> str:
    return "" if share <= 0 else "<1%" if share < 0.01 else f"{share:.0%}"
