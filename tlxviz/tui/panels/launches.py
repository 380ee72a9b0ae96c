"""The launches of the trace, and the CTAs of the one that is open."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.widgets import DataTable

from tlxviz.analysis.account import Account
from tlxviz.reporters.layout import whole
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import Work, work_of_events
from tlxviz.tui.panels import Panel, panel
from tlxviz.tui.panels.lists import Table
from tlxviz.tui.state import State

_COLUMNS = ("", "kernel or CTA", "SM", "cycles", "waiting", "events")


def waiting_of_ctas(launch: LaunchTrace) -> dict[int, float]:
    """Share of the time of each traced CTA's warp groups that they wait; 0 where they took none."""
    tracks, events = launch.tracks, launch.events
    on_group = np.array([each.kind is TrackKind.WARP_GROUP for each in tracks] or [False])
    waits = np.flatnonzero((work_of_events(launch) == Work.WAIT) & on_group[events["track"]])
    cycles = np.bincount(
        events["track"][waits], weights=events["end"][waits] - events["begin"][waits], minlength=len(tracks)
    )
    life: dict[int, int] = {}
    waited: dict[int, float] = {}
    for number, each in enumerate(tracks):
        life.setdefault(each.cta, 0)
        if each.kind is TrackKind.WARP_GROUP:
            life[each.cta] += each.end - each.begin
            waited[each.cta] = waited.get(each.cta, 0.0) + float(cycles[number])
    return {cta: min(1.0, waited.get(cta, 0.0) / cycles) if cycles > 0 else 0.0 for cta, cycles in life.items()}


def _waiting(account: Account) -> dict[int, float]:
    return waiting_of_ctas(account.launch)


@panel
class LaunchesPanel(Panel):
    """Enter opens a launch or a CTA."""

    title = "Launches"
    order = 6
    DEFAULT_CSS = """
    LaunchesPanel { layout: vertical; height: 1fr; }
    LaunchesPanel DataTable { height: 1fr; }
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._shown: tuple[object, ...] = ()
        self._rows: list[tuple[str, int]] = []

    def compose(self) -> ComposeResult:
        yield Table("launches-table")

    def show_state(self) -> None:
        state = self.state
        waiting = self.known("waiting of CTAs", _waiting)
        shown = (len(state.trace.launches), state.launch, state.cta, waiting)
        if shown == self._shown:
            return
        table = self.query_one("#launches-table", Table)
        self._shown, self._rows = shown, []
        rows: list[tuple[str, ...]] = []
        for number, launch in enumerate(state.trace.launches):
            mark = "▶" if number == state.seen.number else ""
            name = f"{number} {launch.kernel}{_end(launch)}"
            rows.append((mark, name, "", whole(launch.cycles), "", whole(len(launch.events))))
            self._rows.append(("launch", number))
        lives: dict[int, tuple[int, int, int]] = {}
        counts = np.bincount(state.launch.events["track"], minlength=len(state.launch.tracks))
        events: dict[int, int] = {}
        for number, track in enumerate(state.launch.tracks):
            _, begin, end = lives.get(track.cta, (0, track.begin, track.end))
            lives[track.cta] = track.sm, min(begin, track.begin), max(end, track.end)
            events[track.cta] = events.get(track.cta, 0) + int(counts[number])
        lanes = state.seen.lanes
        for cta in sorted(lives):
            sm, begin, end = lives[cta]
            share = f"{waiting.get(cta, 0.0):.0%}" if isinstance(waiting, dict) else "…" if waiting is None else "?"
            mark = "▶" if cta == state.cta else ""
            rows.append((mark, f"  {lanes.heads[cta].label}", str(sm), whole(end - begin), share, whole(events[cta])))
            self._rows.append(("cta", cta))
        table.fill(_COLUMNS, rows)

    def on_data_table_row_selected(self, message: DataTable.RowSelected) -> None:
        if message.cursor_row >= len(self._rows):
            return
        kind, number = self._rows[message.cursor_row]
        if kind == "launch":
            self.state.open_launch(number)
        else:
            self.state.open_cta(number)
        self.state.changed()


def _end(launch: LaunchTrace) -> str:
    return " (hangs)" if launch.hang is not None else "" if launch.complete else " (not to its end)"
