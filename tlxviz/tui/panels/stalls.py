"""What costs time: findings, and the worst waits."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import OptionList

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import Finding, Severity, findings
from tlxviz.analysis.waits import Wait, worst_waits
from tlxviz.reporters.layout import percent, plural, whole
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import MEANINGS
from tlxviz.tui.lookup import longest_at, sites_at
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Choices
from tlxviz.tui.panels.said import Said
from tlxviz.tui.words import place_text

_MARKS = {Severity.PROBLEM: ("!", "bold red"), Severity.HINT: ("*", "yellow"), Severity.NOTE: ("-", "dim")}
_WAITS = 50
_PARTIES = {"tma": "TMA of ", "tensor_core": "MMA of "}

Stalls = tuple[tuple[Finding, ...], tuple[Wait, ...]]


def _stalls(account: Account) -> Stalls:
    waits = worst_waits(
        account.launch, account.groups, account.lives, account.totals, account.sums.releases, limit=_WAITS
    )
    return findings(account), waits


@panel
class StallsPanel(Panel):
    """Enter goes to the longest event of the place; what to do about a finding stands below."""

    title = "Stalls"
    order = 4
    DEFAULT_CSS = """
    StallsPanel { layout: vertical; height: 1fr; }
    StallsPanel #stalls-advice { height: auto; max-height: 40%; background: $panel; }
    """

    def compose(self) -> ComposeResult:
        yield Choices(id="stalls-list")
        with VerticalScroll(id="stalls-advice", can_focus=False):
            yield Said("stalls-text")

    def show_state(self) -> None:
        made = self.known("stalls", _stalls)
        rows: list[tuple[Text | str, object]] = []
        if isinstance(made, tuple):
            rows = list(_rows(self.state.launch, made))
        else:
            rows.append((made.why if isinstance(made, Failure) else WORKING, None))
        self.query_one("#stalls-list", Choices).show(rows)
        self._advise()

    def _advise(self) -> None:
        chosen = self.query_one("#stalls-list", Choices).chosen
        text = ""
        if isinstance(chosen, Finding):
            text = f"{chosen.text}: {chosen.advice}."
        elif isinstance(chosen, Wait):
            text = f"{plural(chosen.count, 'wait')}, mean {whole(chosen.mean)}, worst {whole(chosen.max)} cycles"
            parties = [f"{_PARTIES.get(r.engine, '')}{r.agent} {r.share:.0%}" for r in chosen.released_by if r.agent]
            text += f"; released by {', '.join(parties)}" if parties else ""
        self.query_one("#stalls-advice").display = bool(text)
        self.query_one("#stalls-text", Said).say(text)

    def on_option_list_option_highlighted(self) -> None:
        self._advise()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        launch = self.state.launch
        chosen = self.query_one("#stalls-list", Choices).payload(message.option_index)
        if isinstance(chosen, Finding):
            sites = sites_at(launch, chosen.file, chosen.line)
            self.jump(longest_at(launch, sites, chosen.agent))
        elif isinstance(chosen, Wait):
            sites = frozenset(
                number
                for number in sites_at(launch, chosen.file, chosen.line)
                if (launch.sites[number].kind, launch.sites[number].variable) == (chosen.kind, chosen.variable)
            )
            self.jump(longest_at(launch, sites, chosen.agent))


def _rows(launch: LaunchTrace, made: Stalls) -> Iterator[tuple[Text | str, object]]:
    found, waits = made
    for each in found:
        mark, style = _MARKS[each.severity]
        where = place_text(launch, each.file, each.line)
        yield Text.assemble((f"{mark} ", style), (each.id, "bold"), f"  {each.agent}  {where}".rstrip()), each
    if not found:
        yield "no findings: the launch never ended" if launch.hang is not None else "no findings", None
    yield Text("waits by place" if waits else "no waits", "bold"), None
    for each in waits:
        known = MEANINGS.get((each.kind, TrackKind.WARP_GROUP))
        what = f"{known.label if known else each.kind} {each.variable}".rstrip()
        where = place_text(launch, each.file, each.line)
        figures = f"{percent(each.share)} of its time, {whole(each.cycles)} cycles"
        yield Text.assemble((each.agent, "bold"), f"  {what}  {figures}  {where}"), each
