"""A launch that never ends: who waits, the state of the barriers, and what is missing."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import OptionList

from tlxviz.analysis.hang import Hang, Waiter, hang_of
from tlxviz.analysis.hang_words import reason
from tlxviz.analysis.standstill import standstill
from tlxviz.reporters.text_hang import say_head, say_waiter
from tlxviz.tui.lookup import last_of
from tlxviz.tui.panels import Panel, panel
from tlxviz.tui.panels.lists import Choices, printed
from tlxviz.tui.panels.said import Said


@panel
class HangPanel(Panel):
    """Enter on a waiter goes to its last event."""

    title = "Hang"
    order = 8
    DEFAULT_CSS = """
    HangPanel { layout: vertical; height: 1fr; }
    HangPanel #hang-head { height: auto; max-height: 50%; }
    """

    def compose(self) -> ComposeResult:
        yield Said("hang-head")
        yield Choices(id="hang-list")

    def show_state(self) -> None:
        launch, width = self.state.launch, self.size.width
        hang = hang_of(launch)
        head, waiters = self.query_one("#hang-head", Said), self.query_one("#hang-list", Choices)
        waiters.display = hang is not None
        if hang is None:
            text = "The launch ended: nothing hangs." if launch.complete else "Nothing hung as far as was recorded."
            head.say(Text(text))
            return
        said = printed(width, lambda console: say_head(console, hang))
        if (why := standstill(launch, hang)) is not None:
            said = said.append(f"\n{reason(why, hang)}")
        head.say(said)
        rows: list[tuple[Text | str, object]] = [(_waiter(hang, each, width - 2), each) for each in hang.waiters]
        rows.append((f"ended: {', '.join(hang.ended) or 'no warp group'}", None))
        waiters.show(rows)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        chosen = self.query_one("#hang-list", Choices).payload(message.option_index)
        if isinstance(chosen, Waiter):
            hang = hang_of(self.state.launch)
            cta = chosen.cta if chosen.cta is not None or hang is None else hang.cta
            self.jump(last_of(self.state.launch, chosen.agent, cta))


def _waiter(hang: Hang, waiter: Waiter, width: int) -> Text:
    return printed(width, lambda console: say_waiter(console, waiter, hang))
