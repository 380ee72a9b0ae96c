"""The selected event: what it is, what it waited for, what it released. Or what a selected range adds up to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.widgets import OptionList, Static

from tlxviz.analysis.chains import Stretch, stretches
from tlxviz.analysis.hang import source_line
from tlxviz.analysis.links import Activity, Dependencies
from tlxviz.reporters.layout import place, size, whole
from tlxviz.reporters.sections import ACTIVITY_WORDS
from tlxviz.tui.looks import APPEARANCES
from tlxviz.tui.panels import WORKING, Panel, panel
from tlxviz.tui.panels.facts import Failure
from tlxviz.tui.panels.lists import Choices
from tlxviz.tui.state import State
from tlxviz.tui.totals import totals
from tlxviz.tui.words import event_name, time_text

_STEPS = 50
"""Steps of a chain that are shown."""
_COUNTED = 5000
"""Steps of a chain that are followed, so that a key never waits for a long one."""
_RELEASED = 20
"""Events that one released, as shown."""


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
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._listed: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        with Container(id="event-body"):
            with VerticalScroll(id="event-facts", can_focus=False):
                yield Static(id="event-text")
            yield Choices(id="event-chain")

    def show_state(self) -> None:
        state = self.state
        self.set_class(self.size.height < 16 and self.size.width >= 60, "flat")
        chain = self.query_one("#event-chain", Choices)
        chain.display = state.event is not None
        if state.event is not None:
            self.query_one("#event-text", Static).update(_facts(state, state.event))
            self._list(chain, state.event)
        elif state.span is not None:
            self.query_one("#event-text", Static).update(_of_range(state))
        else:
            text = "No event is selected: <next> and <previous> go from one to the next, <next_wait> to the next wait."
            self.query_one("#event-text", Static).update(Text(self.keyed(text)))

    def _list(self, chain: Choices, event: int) -> None:
        made = self.known("dependencies", lambda account: account.dependencies)
        key = (self.state.launch, event, made, self.state.units)
        if key == self._listed:
            return
        self._listed = key
        rows: list[tuple[Text | str, object]] = [(Text("waited for", "bold"), None)]
        if isinstance(made, Dependencies):
            rows += _steps(self.state, made, event)
        else:
            rows.append((made.why if isinstance(made, Failure) else WORKING, None))
        first = next((at for at, (_, row) in enumerate(rows) if row not in (None, event)), None)
        rows += _released(self.state, event)
        chain.show(rows, first)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        chosen = self.query_one("#event-chain", Choices).payload(message.option_index)
        if isinstance(chosen, int):
            self.jump(chosen)


def _facts(state: State, event: int) -> Text:
    launch = state.launch
    column = {name: int(values[event]) for name, values in launch.events.columns.items()}
    track = launch.tracks[column["track"]]
    length = column["end"] - column["begin"]
    lines = [Text.assemble((event_name(launch, event), "bold"), f"  {track.name}, CTA {track.cta}, SM {track.sm}")]
    takes = f"{whole(column['begin'])} to {whole(column['end'])}: {whole(length)} cycles"
    if launch.clock_mhz > 0:
        takes += f" = {time_text(length, launch.clock_mhz, 'ns')}"
    lines.append(Text(takes))
    where: list[str] = []
    if column["inner"] >= 0:
        outer = f" of outer {column['outer']}" if column["outer"] not in (-1, column["inner"]) else ""
        where.append(f"iteration {column['inner']}{outer}")
    elif column["outer"] >= 0:
        where.append(f"outer iteration {column['outer']}")
    where += [f"{name} {column[name]}" for name in ("slot", "phase") if column[name] >= 0]
    if column["bytes"] > 0:
        where.append(size(column["bytes"]))
    if where:
        lines.append(Text(", ".join(where)))
    if 0 <= column["site"] < len(launch.sites):
        site = launch.sites[column["site"]]
        lines.append(Text.assemble(place(site.file, site.line), (f"  {site.text}", "dim")))
        if said := source_line(launch, site.file, site.line):
            lines.append(Text(f"  {said}"))
    return Text("\n").join(lines)


def _steps(state: State, made: Dependencies, event: int) -> Iterator[tuple[Text | str, object]]:
    steps = list(islice(stretches(made, event), _COUNTED + 1))
    for step in steps[:_STEPS]:
        yield _step(state, step), step.row
    if not steps:
        yield "nothing", None
    elif len(steps) > _COUNTED:
        yield f"… and more than {whole(_COUNTED - _STEPS)} more steps", None
    elif len(steps) > _STEPS:
        yield f"… and {whole(len(steps) - _STEPS)} more steps", None


def _step(state: State, step: Stretch) -> Text:
    launch = state.launch
    name = event_name(launch, step.row)
    if step.activity is Activity.ARITHMETIC:
        name = f"before {name}"
    length = time_text(step.end - step.begin, launch.clock_mhz, state.units)
    return Text.assemble(
        (f"{launch.tracks[step.track].name}  ", "bold"), f"{name}  {length}  ", (ACTIVITY_WORDS[step.activity], "dim")
    )


def _released(state: State, event: int) -> Iterator[tuple[Text | str, object]]:
    launch = state.launch
    rows: list[int] = np.flatnonzero(launch.events["released_by"] == event).tolist()
    if not rows:
        return
    yield Text(f"released {whole(len(rows))}", "bold"), None
    for row in rows[:_RELEASED]:
        length = int(launch.events["end"][row] - launch.events["begin"][row])
        track = launch.tracks[int(launch.events["track"][row])]
        took = time_text(length, launch.clock_mhz, state.units)
        yield Text.assemble((f"{track.name}  ", "bold"), f"{event_name(launch, row)}  {took}"), row
    if len(rows) > _RELEASED:
        yield f"… and {whole(len(rows) - _RELEASED)} more", None


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
    return Text("\n").join(lines)
