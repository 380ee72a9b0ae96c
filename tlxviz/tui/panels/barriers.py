"""The barriers, those waited for longest first: who arrives, who waits how long, how late an arrival could be."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.widgets import DataTable

from tlxviz.analysis.barrier_use import BarrierUse, barrier_uses
from tlxviz.analysis.slack import BarrierSlack
from tlxviz.reporters.layout import whole
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Table
from tlxviz.tui.panels.said import Said
from tlxviz.tui.state import State

_COLUMNS = ("barrier", "slots", "count", "mean wait", "worst", "slack", "critical")
_ROLES = ("arrivals", "waits")
_WIDE = 110
"""Columns from which there is room for who arrives and waits; else it stands below, for one barrier."""


@panel
class BarriersPanel(Panel):
    """Enter goes to the worst wait of a barrier."""

    title = "Barriers"
    order = 3
    DEFAULT_CSS = """
    BarriersPanel { layout: vertical; height: 1fr; }
    BarriersPanel DataTable { height: 1fr; }
    BarriersPanel #barriers-roles { height: auto; max-height: 40%; background: $panel; }
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._shown: tuple[object, ...] = ()
        self._uses: tuple[BarrierUse, ...] = ()

    def compose(self) -> ComposeResult:
        yield Said("barriers-head")
        yield Table("barriers-table")
        yield Said("barriers-roles")

    def show_state(self) -> None:
        uses = self.known("barrier uses", lambda account: _longest_first(barrier_uses(account.launch)))
        slack = None
        if uses is not None and self.known("dependencies", lambda account: account.dependencies) is not None:
            slack = self.known("slack", lambda account: account.slack, apart=True)
        wide = self.size.width >= _WIDE
        shown = (self.state.launch, uses, slack, wide)
        if shown == self._shown:
            return
        self._shown = shown
        head, table = self.query_one("#barriers-head", Said), self._table()
        head.display = not isinstance(uses, tuple) or not uses
        if not isinstance(uses, tuple):
            head.say(WORKING if uses is None else uses.why)
            uses = ()
        elif not uses:
            head.say("The kernel has no barriers.")
        table.display = bool(uses)
        self._uses = uses
        table.fill(
            (*_COLUMNS, *(_ROLES if wide else ())),
            [(*_row(each, slack), *((_said(each.arrivals), _said(each.waits)) if wide else ())) for each in uses],
        )
        self.query_one("#barriers-roles").display = bool(uses) and not wide

    def _table(self) -> Table:
        return self.query_one("#barriers-table", Table)

    def on_data_table_row_highlighted(self, message: DataTable.RowHighlighted) -> None:
        if message.cursor_row < len(self._uses):
            use = self._uses[message.cursor_row]
            said = f"{use.name}: arrivals {_said(use.arrivals) or 'none'}; waits {_said(use.waits) or 'none'}"
            self.query_one("#barriers-roles", Said).say(said)

    def on_data_table_row_selected(self, message: DataTable.RowSelected) -> None:
        if message.cursor_row < len(self._uses):
            worst = self._uses[message.cursor_row].worst_event
            self.jump(worst if worst >= 0 else None)


def _longest_first(uses: tuple[BarrierUse, ...]) -> tuple[BarrierUse, ...]:
    """By the worst wait; without waits, as they stand in the program."""
    return tuple(sorted(uses, key=lambda use: -use.worst))


def _row(use: BarrierUse, slack: tuple[BarrierSlack, ...] | Failure | None) -> tuple[str, ...]:
    counts = "/".join(map(str, sorted(set(use.counts)))) or "?"
    waits = (f"{use.mean:,.0f}", whole(use.worst)) if use.waits else ("", "")
    return (use.name, str(use.slots), counts, *waits, *_slack(use.name, slack))


def _slack(name: str, slack: tuple[BarrierSlack, ...] | Failure | None) -> tuple[str, str]:
    """The least of all who wait there, and the greatest share of arrivals that have none."""
    if slack is None:
        return "…", "…"
    if isinstance(slack, Failure):
        return "?", "?"
    own = [each for each in slack if each.barrier == name]
    if not own:
        return "", ""
    return whole(min(each.least for each in own)), f"{max(each.critical for each in own):.0%}"


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {whole(count)}" for name, count in counts.items())
