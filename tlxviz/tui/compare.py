"""Two traces one above the other, and what they differ by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import OptionList, Static

from tlxviz.analysis.difference import difference
from tlxviz.reporters.diff_words import ratio, signed
from tlxviz.tui import lines, moving
from tlxviz.tui.ask import Ask
from tlxviz.tui.causes import Causes
from tlxviz.tui.jumps import jump
from tlxviz.tui.keys import Keymap, Mode
from tlxviz.tui.linked import NAMES, A, B, Link
from tlxviz.tui.linked_store import LinkStore
from tlxviz.tui.program import Program
from tlxviz.tui.state import State
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.words import fitted, time_text

_FEW = 30
"""Lines below which the causes have few."""


class CompareApp(Program):
    """`tlxviz view A --with B`.

    Args:
        link: The two launches.
        names: What the user calls their traces.
        keymap: The keys of each action, if not the default ones.
        store: Where what is looked at is kept for the next time.
    """

    CSS = """
    .line { height: 1; background: $panel; }
    #body { layout: vertical; height: 1fr; }
    #both { layout: vertical; height: 1fr; width: 1fr; }
    .half { height: 1fr; }
    Causes { height: 8; }
    .low Causes { height: 4; }
    .low Causes #verdict { max-height: 2; }
    .tiny Causes { display: none; }
    .tiny.opened #both { display: none; }
    .tiny.opened Causes { display: block; height: 1fr; }
    .wide #body { layout: horizontal; }
    .wide Causes { height: 1fr; width: 38%; padding-left: 1; }
    .hidden { display: none; }
    """
    MODE: ClassVar[Mode] = Mode.COMPARE

    def __init__(
        self,
        link: Link,
        names: tuple[str, str] = NAMES,
        *,
        keymap: Keymap | None = None,
        store: LinkStore | None = None,
    ) -> None:
        self.link, self.names, self.store = link, names, store
        super().__init__(f"{names[0]} and {names[1]}", link.sides, keymap)
        self.link.listeners.append(self.redraw)
        doing: dict[str, Callable[[], str | None]] = {
            "whole": self.link.whole,
            "pin": self.link.pin,
            "align": self.link.align_here,
            "align_steady": self.link.align_steady,
            "details": self._into_causes,
            "focus": self._next_side,
            "drawer": self._toggle_causes,
            "clear": self._clear,
        }
        self.doing |= doing

    def compose(self) -> ComposeResult:
        yield Static(id="head", classes="line", markup=False)
        with Container(id="body"):
            with Container(id="both"):
                with Container(id="half-a", classes="half"):
                    yield Timeline(self.link.sides[A])
                yield Static(id="between", classes="line", markup=False)
                yield Static(id="second", classes="line", markup=False)
                with Container(id="half-b", classes="half"):
                    yield Timeline(self.link.sides[B])
            yield Causes()
        yield Static(id="foot", classes="line", markup=False)
        yield Ask()

    def on_mount(self) -> None:
        self.run_worker(self._compare, thread=True, exclusive=True)

    def fit(self) -> None:
        super().fit()
        self.main.set_class(self.size.height < _FEW, "low")

    def _compare(self) -> None:
        causes = self.main.query_one(Causes)
        try:
            found = difference(*(each.launch for each in self.link.sides))
        except (ValueError, IndexError, KeyError, ZeroDivisionError) as error:  # of a trace with little in it
            self.call_from_thread(causes.failed, str(error) or type(error).__name__)
        else:
            self.call_from_thread(causes.show, found)

    # ---- what all programs say

    @property
    def state(self) -> State:
        return self.link.sides[self.link.lead]

    def timeline(self) -> Timeline:
        return self._timeline(self.link.lead)

    def _timeline(self, side: int) -> Timeline:
        return self.main.query_one(f"#half-{'ab'[side]}").query_one(Timeline)

    def keep(self) -> None:
        if self.store is not None:
            self.store.write(self.link)

    def panel_titles(self) -> list[str]:
        return [Causes.title]

    def open_panel(self, place: int) -> str | None:
        if place:
            return "there is one panel"
        self._show_causes()
        return None

    def follow(self) -> None:
        main, state, width = self.main, self.state, self.size.width
        main.query_one("#head", Static).update(self._side_line(A), layout=False)
        main.query_one("#second", Static).update(self._side_line(B), layout=False)
        main.query_one("#between", Static).update(self._between(), layout=False)
        aligned = f"aligned at {self.link.alignment.said}"
        foot = lines.foot(state, width, self.keymap, NAMES[self.link.lead], aligned)
        main.query_one("#foot", Static).update(foot, layout=False)
        for side in (A, B):
            self._timeline(side).follow()
        if isinstance(main.focused, Timeline) and main.focused is not self.timeline():
            self.timeline().focus()

    def _side_line(self, side: int) -> Text:
        state = self.link.sides[side]
        style = "bold reverse" if side == self.link.lead else "bold"
        launch = state.launch
        size = time_text(launch.cycles, launch.clock_mhz, state.units)
        words = [
            (1, f"{self.names[side]}: {launch.kernel}"),
            (2, f"CTA {state.cta}"),
            (3, f"launch {size}"),
            (0, "HANG" if launch.hang is not None else ""),
        ]
        return Text.assemble((f" {NAMES[side]} ", style), " ", fitted(words, max(1, self.size.width - 4)))

    def _between(self) -> Text:
        """The difference, the most telling first: a narrow screen cuts it off at the right."""
        link = self.link
        words = [*self._steady_words(), *self._waiting_words()]
        a, b = (each.launch.cycles for each in link.sides)
        if a and b:
            words.append(f"launch {signed(b - a)} ({ratio((b - a) / a)})")
        state = self.state
        window = time_text(state.window.cycles, state.launch.clock_mhz, state.units)
        return Text("  ".join([*words, f"{window} on screen"]), "bold")

    def _steady_words(self) -> Sequence[str]:
        link = self.link
        a, b = (link.steady(side, link.track(side)) for side in (A, B))
        if a is None or b is None:
            return [f"{NAMES[side]} has no steady state" for side, each in ((A, a), (B, b)) if each is None]
        one, other = a.intervals.mean, b.intervals.mean
        name = a.agent if a.agent == b.agent else f"{a.agent}/{b.agent}"
        change = f"{signed(other - one)}, {ratio((other - one) / one)}" if one else signed(other - one)
        return [f"{name} iteration {one:,.0f} -> {other:,.0f} ({change})"]

    def _waiting_words(self) -> Sequence[str]:
        a, b = (self.link.waiting(side) for side in (A, B))
        if a is None and b is None:
            return []
        shares = ["-" if each is None else f"{100 * each:.0f}%" for each in (a, b)]
        change = f" ({100 * (b - a):+.0f} points)" if a is not None and b is not None else ""
        return [f"waits {shares[0]} -> {shares[1]}{change}"]

    # ---- from one part of the screen to another

    def _causes(self) -> Causes:
        return self.main.query_one(Causes)

    def _show_causes(self) -> None:
        self._causes().remove_class("hidden")
        self.main.add_class("opened")

    def _into_causes(self) -> None:
        self._show_causes()
        self._causes().query_one(OptionList).focus()

    def _next_side(self) -> None:
        """From A to B to the causes and back to A."""
        if not self.timeline().has_focus:
            self._take(A)
        elif self.link.lead == A:
            self._take(B)
        elif self._causes().has_class("hidden"):
            self._take(A)
        else:
            self._into_causes()

    def _take(self, side: int) -> None:
        self.main.remove_class("opened")
        self._timeline(side).focus()
        self.link.follow(side)

    def _toggle_causes(self) -> None:
        causes = self._causes()
        if causes.display:
            causes.add_class("hidden")
            self._take(self.link.lead)
        else:
            self._show_causes()
        self.call_after_refresh(self.redraw)

    def _clear(self) -> None:
        """Out of the causes; if that is not where the focus is, away with selection, range and search in both."""
        if self.timeline().has_focus:
            for each in self.link.sides:
                moving.clear(each)
        else:
            self._take(self.link.lead)

    def on_causes_chosen(self, message: Causes.Chosen) -> None:
        if self.main.has_class("tiny"):
            self._take(self.link.lead)
        said = jump(self.link, message.part) if message.part is not None else ""
        self.say(said)
        self.redraw()
