"""One launch, as the timeline looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tlxviz.analysis.account import Account
from tlxviz.trace.model import LaunchTrace
from tlxviz.tui.lanes import Lanes
from tlxviz.tui.window import Window


@dataclass(eq=False)
class Seen:
    """One launch, with what is worked out from it when it is asked for."""

    launch: LaunchTrace
    number: int = 0

    @cached_property
    def lanes(self) -> Lanes:
        return Lanes(self.launch)

    @cached_property
    def account(self) -> Account:
        return Account(self.launch)

    @cached_property
    def whole(self) -> Window:
        """From the first thing that happened to the last."""
        begins = [track.begin for track in self.launch.tracks]
        ends = [track.end for track in self.launch.tracks]
        events = self.launch.events
        if len(events):
            begins.append(int(events["begin"].min()))
            ends.append(int(events["end"].max()))
        begin = min(begins, default=0)
        return Window(begin, max(begin + 1, max(ends, default=0)))
