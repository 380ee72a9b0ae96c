"""The selected event."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tlxviz.tui.panels import Panel, panel
from tlxviz.tui.words import event_name, time_text


@panel
class EventPanel(Panel):
    """Names, slot, phase, iteration, bytes and duration of the selected event."""

    title = "Event"
    order = 1

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="event-text")

    def follow(self) -> None:
        self.query_one("#event-text", Static).update(self._said())

    def _said(self) -> RenderableType:
        state = self.state
        if state.event is None:
            return "No event is selected: . and , go from one to the next."
        launch, event = state.launch, state.event
        column = {name: int(values[event]) for name, values in launch.events.columns.items()}
        track = launch.tracks[column["track"]]
        table = Table.grid(padding=(0, 2))
        table.add_row(f"[b]{event_name(launch, event)}[/b]", f"{track.name} of CTA {track.cta}, SM {track.sm}")
        length = column["end"] - column["begin"]
        table.add_row("time", f"{column['begin']:,} to {column['end']:,}")
        table.add_row("takes", f"{time_text(length, 0, 'cycles')} = {time_text(length, launch.clock_mhz, 'ns')}")
        return table
