"""The selected event: what it is and works on, where its data are from, what it waited for and released. Or what a
selected range adds up to."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.widgets import OptionList

from tlxviz.analysis.account import Account
from tlxviz.analysis.hang import source_line
from tlxviz.analysis.links import Dependencies
from tlxviz.analysis.operands import Operands
from tlxviz.reporters.layout import place, size, whole
from tlxviz.trace.model import TrackKind
from tlxviz.tui.flowing import FLOW, flow_work
from tlxviz.tui.legend import lane_text
from tlxviz.tui.looks import APPEARANCES, Look
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Choices
from tlxviz.tui.panels.related import Line, Row, came_rows, cause_rows, heading, operand_rows, went_rows
from tlxviz.tui.panels.said import Said
from tlxviz.tui.state import State
from tlxviz.tui.totals import stalls, totals
from tlxviz.tui.window import Window
from tlxviz.tui.words import event_name, time_text

_NOTHING = (
    "No event is selected: <next> and <previous> go from one to the next, <next_wait> to the next wait of the lane, "
    "<worst_wait> to the longest of the launch."
)
OPERANDS = "operands"
"""The fact's name."""


@panel
class EventPanel(Panel):
    """Facts of the selected event, and beside them its causes and consequences to jump to."""

    title = "Event"
    order = 1
    DEFAULT_CSS = """
    EventPanel { layout: vertical; height: 1fr; }
    EventPanel #event-body { layout: vertical; height: 1fr; }
    EventPanel #event-facts { height: auto; max-height: 60%; }
    EventPanel.flat #event-body { layout: horizontal; }
    EventPanel.flat #event-facts { width: 44%; height: 1fr; max-height: 100%; }
    EventPanel.alone #event-facts { width: 1fr; height: 1fr; max-height: 100%; }
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._listed: tuple[object, ...] = ()
        self._before: tuple[int | None, Window | None] | None = None
        self._of_range = False
        """Whether a range is shown though an event is selected: it came later."""

    def compose(self) -> ComposeResult:
        with Container(id="event-body"):
            with VerticalScroll(id="event-facts", can_focus=False):
                yield Said("event-text")
            yield Choices(id="event-chain")

    def show_state(self) -> None:
        state = self.state
        self.set_class(self.size.height < 16 and self.size.width >= 60, "flat")
        before, self._before = self._before, (state.event, state.span)
        if before is not None and before != self._before:
            self._of_range = state.span is not None and state.span != before[1]
        chain, facts = self.query_one("#event-chain", Choices), self.query_one("#event-facts")
        of_event = state.event is not None and not self._of_range
        chain.display = of_event
        self.set_class(not of_event, "alone")
        facts.can_focus = not of_event
        if state.event is not None and of_event:
            self.query_one("#event-text", Said).say(_facts(state, state.event))
            self._list(chain, state.event)
        elif state.span is not None:
            self.query_one("#event-text", Said).say(_of_range(state))
        else:
            lane = state.current()
            of_lane = f"{lane.label}: {lane_text(state.launch, lane)}\n" if lane is not None else ""
            text = f"{of_lane}{_NOTHING}"
            self.query_one("#event-text", Said).say(Text(self.keyed(text)))

    def _list(self, chain: Choices, event: int) -> None:
        made = self.known("dependencies", lambda account: account.dependencies)
        known = self.known(OPERANDS, _operands)
        flow = self.known(FLOW, flow_work)
        key = (self.state.launch, event, made, known, flow, self.state.units)
        if key == self._listed:
            return
        self._listed = key
        rows: list[Row] = list(operand_rows(self.state, known, event)) if isinstance(known, Operands) else []
        rows += came_rows(self.state, event)
        rows.append(heading("waited for"))
        if isinstance(made, Dependencies):
            rows += cause_rows(self.state, made, event)
        else:
            rows.append((made.why if isinstance(made, Failure) else WORKING, None))
        first = next((at for at, (_, row) in enumerate(rows) if isinstance(row, int) and row != event), None)
        rows += went_rows(self.state, event)
        chain.show(rows, first)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        chosen = self.query_one("#event-chain", Choices).payload(message.option_index)
        if isinstance(chosen, Line):
            self.post_message(self.LineWanted(chosen.number))
        elif isinstance(chosen, int):
            self.jump(chosen)


def _operands(account: Account) -> Operands | Failure:
    return account.operands or Failure("the trace has no TTGIR that this version can read")


def _facts(state: State, event: int) -> Text:
    launch = state.launch
    column = {name: int(values[event]) for name, values in launch.events.columns.items()}
    track = launch.tracks[column["track"]]
    length = column["end"] - column["begin"]
    rank = state.seen.lanes.clusters.where(track.cta)
    at = ", ".join(filter(None, (track.name, f"CTA {track.cta}", rank, f"SM {track.sm}")))
    lines = [Text.assemble((event_name(launch, event), "bold"), f"  {at}")]
    takes = f"{whole(column['begin'])} to {whole(column['end'])}: {whole(length)} cycles"
    if launch.clock_mhz > 0:
        takes += f" = {time_text(length, launch.clock_mhz, 'ns')}"
    lines.append(Text(takes))
    found: list[str] = []
    if column["inner"] >= 0:
        outer = f" of outer {column['outer']}" if column["outer"] not in (-1, column["inner"]) else ""
        found.append(f"iteration {column['inner']}{outer}")
    elif column["outer"] >= 0:
        found.append(f"outer iteration {column['outer']}")
    # of an answer of the block scheduler, the slot is a CTA, which its name says
    said = ("phase",) if track.kind is TrackKind.LAUNCH_CONTROL else ("slot", "phase")
    found += [f"{name} {column[name]}" for name in said if column[name] >= 0]
    if column["bytes"] > 0:
        found.append(size(column["bytes"]))
    if column["peer"] >= 0:
        found.append(f"reaches CTA {column['peer']}")
    if found:
        lines.append(Text(", ".join(found)))
    if 0 <= column["site"] < len(launch.sites):
        site = launch.sites[column["site"]]
        where = Text.assemble((place(site.file, site.line), "bold"), f"  {source_line(launch, site.file, site.line)}")
        lines += [each for each in (where, Text(site.text, "dim")) if each.plain.strip()]
    return Text("\n").join(lines)


def _of_range(state: State) -> Text:
    span, launch = state.span, state.launch
    if span is None:
        return Text()
    length = f"{whole(span.cycles)} cycles"
    if launch.clock_mhz > 0:
        length += f" = {time_text(span.cycles, launch.clock_mhz, 'ns')}"
    lines = [Text.assemble(("range ", "bold"), f"{whole(span.begin)} to {whole(span.end)}: {length}")]
    lanes = state.seen.lanes.of(state.cta).lanes if state.seen.lanes.ctas else []
    for each in totals(lanes, span):
        kinds = ", ".join(
            f"{APPEARANCES[look].word} {whole(cycles)} ({cycles / max(1, each.alive):.0%})"
            for look, cycles in each.cycles.items()
        )
        lines.append(Text.assemble((f"{each.label}  ", "bold"), kinds or "nothing"))
        waited = stalls(launch, each.lane, span)
        if waited:
            shares = ", ".join(f"{name} {cycles / each.cycles[Look.WAIT]:.0%}" for name, cycles in waited)
            lines.append(Text(f"  waits: {shares}", "dim"))
    return Text("\n").join(lines)
