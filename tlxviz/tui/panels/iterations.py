"""The steady state, and the iterations of one warp group one below the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tlxviz.analysis.iterations import Iterations, loop_iterations
from tlxviz.analysis.steady import SteadyState
from tlxviz.reporters.layout import whole
from tlxviz.trace.model import TrackKind
from tlxviz.tui.draw import cells
from tlxviz.tui.lane import Lane
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Listing
from tlxviz.tui.panels.said import Said
from tlxviz.tui.state import State
from tlxviz.tui.window import Window

_LONGEST = 2
"""Medians that a line shows at most, so that an odd iteration does not make all others short."""
_ODD = 0.2
"""By so much of the median an iteration is marked as longer or shorter."""
_LABEL = 20
"""Columns of an iteration's number and cycles."""


@panel
class IterationsPanel(Panel):
    """Enter on an iteration goes to its first event."""

    title = "Iterations"
    order = 5
    DEFAULT_CSS = """
    IterationsPanel { layout: vertical; height: 1fr; }
    IterationsPanel #iterations-table { height: auto; max-height: 45%; }
    IterationsPanel #iterations-head { height: 1; color: $text-muted; }
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._steady: object = self
        """What the table shows; the panel itself for nothing yet."""
        self._loop: Iterations | None = None
        self._rows: np.ndarray = np.empty(0, np.int64)
        self._followed: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="iterations-table", can_focus=False):
            yield Static(id="iterations-steady", markup=False)
        yield Said("iterations-head")
        yield Listing("iterations-lines")

    def show_state(self) -> None:
        steady = self.known("steady", lambda account: account.steady)
        if steady is not self._steady:
            self._steady = steady
            said = WORKING if steady is None else steady.why if isinstance(steady, Failure) else _table(steady)
            self.query_one("#iterations-steady", Static).update(said)
        self._overlay()

    def _overlay(self) -> None:
        state = self.state
        head, lines = self.query_one("#iterations-head", Said), self.query_one("#iterations-lines", Listing)
        lane = _warp_group(state)
        self._loop = None
        if lane is None:
            head.say("No warp group is traced.")
            lines.show(0, lambda _: Text())
            return
        occupied = self.known("occupied", lambda account: account.occupied)
        if occupied is None or isinstance(occupied, Failure):
            head.say(WORKING if occupied is None else occupied.why)
            lines.show(0, lambda _: Text())
            return
        track = lane.track
        loop = self.known(f"iterations of track {track}", lambda a: loop_iterations(a.launch, a.occupied, track))
        if not isinstance(loop, Iterations):
            head.say(WORKING if loop is None else loop.why)
            lines.show(0, lambda _: Text())
            return
        self._loop, self._rows = loop, occupied.row
        if not len(loop):
            head.say(f"{lane.label} has no loop.")
            lines.show(0, lambda _: Text())
            return
        lengths = (loop.end - loop.begin)[loop.end >= 0]
        median = float(np.median(lengths)) if len(lengths) else 0.0
        scale = int(min(lengths.max(), round(_LONGEST * median))) if len(lengths) else lane.slices.life[1]
        scale = max(1, scale)
        head.say(f"{lane.label}, {whole(len(loop))} iterations, each from its begin on; {whole(scale)} cycles wide")
        here = int(np.searchsorted(loop.begin, state.cursor, side="right")) - 1
        columns = max(1, self.size.width - _LABEL)
        nested, dark = bool((loop.outer != loop.inner).any()), self.dark
        lines.show(len(loop), lambda row: _line(lane, loop, row, median, scale, columns, nested, row == here, dark))
        followed = (state.launch, lane.key, state.cursor)
        if followed != self._followed:
            self._followed = followed
            lines.put(max(0, here))

    def on_listing_chosen(self, message: Listing.Chosen) -> None:
        loop = self._loop
        if loop is not None and message.line < len(loop):
            self.jump(int(self._rows[loop.first[message.line]]))


def _warp_group(state: State) -> Lane | None:
    """The lane of the warp group under the cursor; else the first."""
    if not state.seen.lanes.ctas:
        return None
    lanes = state.seen.lanes.of(state.cta).lanes
    tracks = state.launch.tracks
    groups = {each.track: each for each in reversed(lanes) if each.track >= 0}
    groups = {number: each for number, each in groups.items() if tracks[number].kind is TrackKind.WARP_GROUP}
    current = state.current()
    if current is not None and current.track in groups:
        return groups[current.track]
    return next(iter(reversed(groups.values())), None)


def _line(
    lane: Lane,
    loop: Iterations,
    row: int,
    median: float,
    scale: int,
    columns: int,
    nested: bool,
    here: bool,
    dark: bool,
) -> Text:
    begin, end = int(loop.begin[row]), int(loop.end[row])
    known = end >= 0
    cycles = end - begin if known else 0
    odd = "!" if known and abs(cycles - median) > _ODD * median else " "
    number = f"{loop.outer[row]}/{loop.inner[row]}" if nested else str(loop.inner[row])
    line = Text(no_wrap=True)
    label = f"{'▶' if here else ' '}{number:>8} {whole(cycles) if known else '?':>7} {odd} "
    line.append(label, "bold red" if odd == "!" else "bold" if here else "")
    # where the last iteration of a pass ends cannot be told: what follows belongs to it for all that is known
    until = min(begin + scale, end if known else lane.slices.life[1])
    window = Window(begin, begin + scale)
    made = cells(lane.slices, window, columns)
    last = max(1, min(columns, window.column(until, columns)))
    for look in made.look[:last].tolist():
        appearance = APPEARANCES[Look(look)]
        line.append(appearance.glyph, Style(color=(appearance.dark if dark else appearance.light) or None))
    if known and cycles > scale:
        line.right_crop(1)
        line.append("…")
    return line


def _table(steady: Mapping[str, SteadyState | None]) -> Table | str:
    states = [each for each in steady.values() if each is not None]
    if not states:
        return "No warp group has a loop with a steady state."
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=False)
    table.add_column(f"CTA {states[0].cta}", no_wrap=True)
    for title in ("prologue", "interval", "mean", "p95", "jitter", "odd", "epilogue"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in states:
        spread = each.intervals
        table.add_row(
            Text(each.agent, "bold"),
            whole(each.prologue),
            f"{spread.median:,.0f}",
            f"{spread.mean:,.1f}",
            f"{spread.p95:,.0f}",
            f"{spread.jitter:,.1f}",
            whole(each.odd_count),
            whole(each.epilogue),
        )
    return table
