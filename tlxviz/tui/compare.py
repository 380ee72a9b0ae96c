"""Two traces one above the other, and what they differ by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tlxviz.analysis.difference import Difference, difference
from tlxviz.analysis.difference_causes import CauseDifference, PathCause, PathPart
from tlxviz.reporters.diff_words import CAUSES, headline, ratio, signed, site_words, verdict
from tlxviz.reporters.layout import place
from tlxviz.trace.model import Trace
from tlxviz.tui.jumps import jump
from tlxviz.tui.lanes import waits
from tlxviz.tui.linked import NAMES, A, B, Link
from tlxviz.tui.state import State
from tlxviz.tui.timeline import Timeline
from tlxviz.tui.window import Window
from tlxviz.tui.words import event_name, time_text

_WIDE = 160
_PARTS = 2
_TENTH = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the causes."""

    cause: CauseDifference
    part: PathPart | None
    """Where; None for the line of the cause itself."""

    @property
    def target(self) -> PathPart | None:
        """What to show: of a cause, the place that differs most."""
        return self.part if self.part is not None else next(iter(self.cause.parts), None)


class Causes(Widget):
    """The causes of the difference, as `tlxviz diff` lists them; each can be gone to."""

    DEFAULT_CSS = """
    Causes { layout: vertical; }
    Causes #verdict { height: auto; max-height: 4; }
    Causes OptionList, Causes OptionList:focus { height: 1fr; border: none; padding: 0; }
    """

    class Chosen(Message):
        def __init__(self, part: PathPart | None) -> None:
            super().__init__()
            self.part = part

    def __init__(self) -> None:
        super().__init__(id="causes")
        self.found: Difference | None = None
        self.entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield Static("Comparing ...", id="verdict")
        yield OptionList(id="entries")

    def show(self, found: Difference) -> None:
        self.found = found
        self.entries = entries(found)
        said = [verdict(found), *headline(found)]
        self.query_one("#verdict", Static).update(Text(" ".join(said) if self.size.height > 10 else said[0]))
        self._fill()

    def failed(self, reason: str) -> None:
        self.query_one("#verdict", Static).update(Text(f"The two cannot be compared: {reason}"))

    def on_resize(self) -> None:
        if self.found is not None:
            self._fill()

    def _fill(self) -> None:
        listed = self.query_one("#entries", OptionList)
        at = listed.highlighted
        listed.clear_options()
        listed.add_options([Option(entry_text(each, max(12, self.size.width - 4))) for each in self.entries])
        listed.highlighted = at if at is not None else (0 if self.entries else None)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Chosen(self.entries[message.option_index].target))


def entries(found: Difference) -> list[Entry]:
    """Causes, the largest differences first, and under each the places that make most of it."""
    made: list[Entry] = []
    for cause in found.causes:
        made.append(Entry(cause, None))
        if cause.cause != PathCause.TENSOR_CORE and _TENTH * abs(cause.difference) >= abs(found.cycles or 1):
            parts = [each for each in cause.parts[:_PARTS] if each.agent and each.difference]
            made += [Entry(cause, part) for part in parts if _TENTH * abs(part.difference) >= abs(cause.difference)]
    return made


def entry_text(entry: Entry, width: int) -> Text:
    """One line of so many columns."""
    if entry.part is None:
        cause = entry.cause
        label = CAUSES[cause.cause].format(role=cause.role)
        change = signed(cause.difference)
        numbers = f"{cause.a:>10,}{cause.b:>10,}{change:>10}" if width >= 56 else f" {change:>9}"
        style = "red" if cause.difference > 0 else "green" if cause.difference < 0 else ""
        room = max(1, width - len(numbers))
        return Text.assemble(f"{label[:room]:<{room}}", (numbers, style))
    part = entry.part
    where = place(part.file, part.line_a or part.line_b or 0) if part.kind else ""
    words = [part.agent, site_words(part.kind, part.variable) if part.kind else "between events", where]
    number = f" {signed(part.difference)}"
    room = max(1, width - len(number) - 2)
    return Text(f"  {'  '.join(word for word in words if word)[:room]:<{room}}{number}", "dim")


class CompareApp(App[None]):
    """`tlxviz view A --with B`.

    Args:
        link: The two launches.
        names: What the user calls their traces.
    """

    CSS = """
    .line { height: 1; background: $panel; }
    #body { layout: vertical; height: 1fr; }
    #both { layout: vertical; height: 1fr; width: 1fr; }
    .half { height: 1fr; }
    Causes { height: 8; }
    .low Causes { height: 4; }
    .wide #body { layout: horizontal; }
    .wide Causes { height: 1fr; width: 38%; padding-left: 1; }
    .hidden { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "quit"),
        ("w,plus", "zoom(0.5)", "zoom in"),
        ("s,minus", "zoom(2.0)", "zoom out"),
        ("a,left", "pan(-0.1)", "left"),
        ("d,right", "pan(0.1)", "right"),
        ("A,shift+left", "pan(-0.5)", "half a page left"),
        ("D,shift+right", "pan(0.5)", "half a page right"),
        ("up,k", "lane(-1)", "lane up"),
        ("down,j", "lane(1)", "lane down"),
        ("full_stop", "step(1)", "next slice"),
        ("comma", "step(-1)", "previous slice"),
        ("x", "wait(1)", "next wait"),
        ("X", "wait(-1)", "previous wait"),
        ("f", "fit", "fit the selection"),
        ("0", "whole", "both CTAs"),
        ("equals_sign", "align", "align at the iteration under the cursor"),
        ("S", "steady", "align at the steady state"),
        ("space", "fold", "fold"),
        ("u", "units", "cycles or ns"),
        ("tab", "side", "A, B, causes"),
        ("c", "causes", "show or hide the causes"),
        ("escape", "clear", "clear"),
    ]

    def __init__(self, link: Link, names: tuple[str, str] = NAMES) -> None:
        super().__init__()
        self.title = f"{names[0]} and {names[1]}"
        self.link = link
        self.names = names
        self.said = ""
        """What the last key could not do."""
        self.link.listeners.append(self._follow)

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

    def on_mount(self) -> None:
        self._timeline(A).focus()
        self.run_worker(self._compare, thread=True, exclusive=True)
        self.call_after_refresh(self._follow)

    def on_resize(self) -> None:
        self.set_class(self.size.width >= _WIDE, "wide")
        self.set_class(self.size.height < 30, "low")
        self.call_after_refresh(self._follow)

    def _timeline(self, side: int) -> Timeline:
        return self.query_one(f"#half-{'ab'[side]}").query_one(Timeline)

    def _compare(self) -> None:
        causes = self.query_one(Causes)
        try:
            found = difference(*(each.launch for each in self.link.sides))
        except (ValueError, IndexError, KeyError, ZeroDivisionError) as error:  # of a trace with little in it
            self.call_from_thread(causes.failed, str(error) or type(error).__name__)
        else:
            self.call_from_thread(causes.show, found)

    # ---- what has changed

    def _follow(self) -> None:
        if not self.query("#half-b Timeline"):
            return
        self.query_one("#head", Static).update(self._side_line(A))
        self.query_one("#second", Static).update(self._side_line(B))
        self.query_one("#between", Static).update(self._between())
        state = self._state
        event = event_name(state.launch, state.event) if state.event is not None else ""
        mhz = state.launch.clock_mhz
        at = f"{NAMES[self.link.lead]} at {time_text(state.cursor, mhz, state.units)}"
        aligned = f"aligned at {self.link.alignment.said}"
        self.query_one("#foot", Static).update(self.said or "   ".join(w for w in (at, event, aligned, "q quit") if w))
        self.said = ""
        for side in (A, B):
            self._timeline(side).follow()

    def _side_line(self, side: int) -> Text:
        state = self.link.sides[side]
        letter = NAMES[side]
        style = "bold reverse" if side == self.link.lead else "bold"
        launch = state.launch
        size = time_text(launch.cycles, launch.clock_mhz, state.units)
        return Text.assemble(
            (f" {letter} ", style), f" {self.names[side]}: {launch.kernel}  CTA {state.cta}  launch {size}"
        )

    def _between(self) -> Text:
        """The difference, the most telling first: a narrow screen cuts it off at the right."""
        link = self.link
        words = [*self._steady_words(), *self._waiting_words()]
        a, b = (each.launch.cycles for each in link.sides)
        if a and b:
            words.append(f"launch {signed(b - a)} ({ratio((b - a) / a)})")
        state = self._state
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

    # ---- actions

    @property
    def _state(self) -> State:
        return self.link.sides[self.link.lead]

    def action_zoom(self, factor: float) -> None:
        state = self._state
        inside = state.window.begin <= state.cursor < state.window.end
        about = state.cursor if inside else (state.window.begin + state.window.end) // 2
        state.window = state.window.zoomed(factor, about, state.seen.whole)
        state.changed()

    def action_pan(self, share: float) -> None:
        """Moves the cursor by a share of the window's time, and the window with it."""
        state = self._state
        whole = state.seen.whole
        by = round(state.window.cycles * share) or (1 if share > 0 else -1)
        state.window = state.window.moved(by, whole)
        state.cursor = max(whole.begin, min(state.cursor + by, whole.end - 1))
        state.changed()

    def action_lane(self, by: int) -> None:
        state = self._state
        state.lane = max(0, min(state.lane + by, len(state.visible()) - 1))
        state.changed()

    def action_step(self, direction: int) -> None:
        if not self._state.step(direction):
            self.bell()
        self._state.changed()

    def action_wait(self, direction: int) -> None:
        if not self._state.step(direction, waits(self._state.launch)):
            self.bell()
        self._state.changed()

    def action_fit(self) -> None:
        state = self._state
        if state.event is not None:
            begin, end = (int(state.launch.events[name][state.event]) for name in ("begin", "end"))
            room = max(8, (end - begin) // 4)
            state.window = Window(begin - room, end + room).within(state.seen.whole)
        state.changed()

    def action_whole(self) -> None:
        self.link.whole()

    def action_align(self) -> None:
        self.said = ""
        reason = self.link.align_here()
        if reason is not None:
            self.bell()
            self.said = reason
            self._follow()

    def action_steady(self) -> None:
        self.link.align_steady()

    def action_fold(self) -> None:
        self.link.fold()

    def action_units(self) -> None:
        self._state.units = "ns" if self._state.units == "cycles" else "cycles"
        self._state.changed()

    def action_side(self) -> None:
        """From A to B to the causes and back to A."""
        listed = self.query_one("#entries", OptionList)
        if self.focused is listed:
            self._take(A)
        elif self.link.lead == A:
            self._take(B)
        elif self.query_one(Causes).has_class("hidden"):
            self._take(A)
        else:
            listed.focus()

    def _take(self, side: int) -> None:
        self._timeline(side).focus()
        self.link.follow(side)

    def action_causes(self) -> None:
        causes = self.query_one(Causes)
        causes.toggle_class("hidden")
        if causes.has_class("hidden"):
            self._timeline(self.link.lead).focus()
        self.call_after_refresh(self._follow)

    def action_clear(self) -> None:
        for side in self.link.sides:
            side.event = side.span = side.span_from = None
            side.lit = frozenset()
        self._timeline(self.link.lead).focus()
        self._state.changed()

    def on_causes_chosen(self, message: Causes.Chosen) -> None:
        said = jump(self.link, message.part) if message.part is not None else ""
        if said:
            self.bell()
        self.said = said
        self._follow()


def compare_app(
    trace_a: Trace,
    trace_b: Trace,
    names: tuple[str, str] = NAMES,
    launches: tuple[int, int] = (0, 0),
) -> CompareApp:
    """Two traces one above the other.

    Args:
        trace_a, trace_b: At least one launch each.
        names: What the user calls them.
        launches: Which launch of each.
    """
    return CompareApp(Link(trace_a, trace_b, launches), names)
