"""Between which lines of the timeline the arrows of the selected event go."""

from __future__ import annotations

from tlxviz.analysis.flow import DataFlow
from tlxviz.tui.arrows import Arrow, Pieces, arrows, pieces
from tlxviz.tui.layout import Layout
from tlxviz.tui.state import State


class Aim:
    """Finds arrows once for each event that is selected."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._found: tuple[object, list[Arrow]] = (None, [])

    def pieces(self, layout: Layout, flow: DataFlow | None) -> Pieces:
        """The arrows' cells, by line; those along which data go once the launch's data flow is known."""
        state = self._state
        if state.event is None or not len(state.launch.events):
            return {}
        selected = state.seen.number, state.event, flow
        if self._found[0] != selected:
            self._found = selected, arrows(state.launch, state.event, flow)
        found = self._found[1]
        numbers = {lane.key: number for number, lane in enumerate(layout.lanes)} if found else {}
        lines: dict[int, int] = {}
        for event in {each for arrow in found for each in (arrow.source, arrow.target)}:
            number = self._number(event, numbers)
            if number is not None:
                lines[event] = layout.line_of(number)
        return pieces(found, lines, state.window, layout.columns)

    def _number(self, event: int, numbers: dict[str, int]) -> int | None:
        """The visible lane of an event: its own, or the one that it is folded into."""
        launch = self._state.launch
        cta = launch.tracks[int(launch.events["track"][event])].cta
        hidden = next((key for key in self._state.seen.lanes.around(cta) if key in self._state.folded), None)
        if hidden is not None:
            return numbers.get(hidden)
        lane = self._state.seen.lanes.lane_of(event)
        return numbers.get(lane.key) if lane else None
