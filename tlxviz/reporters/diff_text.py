"""A comparison for people: what differs, in two sentences, and then cause by cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.difference import Accuracy, Difference
from tlxviz.analysis.difference_causes import CauseDifference, PathCause
from tlxviz.analysis.difference_iterations import IterationDifference
from tlxviz.analysis.difference_roles import RoleDifference, SiteDifference
from tlxviz.analysis.difference_units import Units
from tlxviz.reporters.diff_words import CAUSES, ROLE_CAUSES, UNITS, headline, ratio, signed, site_words, verdict
from tlxviz.reporters.layout import (
    HEADING,
    SIDE,
    glyphs,
    make_console,
    percent,
    place,
    say,
    size,
    whole,
)

_FASTER, _SLOWER = "green", "red"
_NUMBERS = f"{'A':>10}{'B':>10}{'B - A':>10}"
_LABEL = 16
"""Columns that a label needs in front of its numbers."""
_BAR = 15
_PARTS = 2
_ROLE_CAUSES = 4
_SITES = 8


@dataclass(frozen=True, slots=True)
class DiffTextReporter:
    differences: Sequence[Difference]
    names: tuple[str, str]
    """What the user calls the two."""
    numbers: Sequence[tuple[int, int]] = ()
    """Of the launches in their traces, where these hold several."""

    def render(self, stream: TextIO) -> None:
        self.print_on(make_console(stream))

    def print_on(self, console: Console) -> None:
        """The same on a console of the caller's."""
        for index, each in enumerate(self.differences):
            if index:
                console.print()
            if self.numbers:
                one, other = self.numbers[index]
                say(console, f"Launch {one}" if one == other else f"Launches {one} and {other}", style=HEADING)
            _say_difference(console, each, self.names)


def _say_difference(console: Console, found: Difference, names: tuple[str, str]) -> None:
    for letter, name, side in (("A", names[0], found.a), ("B", names[1], found.b)):
        line = Text.assemble((f"{letter}  ", HEADING), f"{name}: ", (side.kernel, HEADING))
        say(console, line.append(f" on {side.device}, {side.recorder}"))
        if not side.ended:
            say(console, "it hangs or was interrupted: its cycles are those until then", indent=3)
    if found.a.kernel == found.b.kernel and found.changed:
        changes = (f"{name} {one} -> {other}" for name, (one, other) in found.changed.items())
        say(console, "changed: " + ", ".join(changes), style=SIDE)
    console.print()
    say(console, verdict(found), style=HEADING)
    for sentence in headline(found):
        say(console, sentence)
    console.print()
    _say_causes(console, found)
    if not found.aligned or found.a.kernel != found.b.kernel:
        console.print()
        _say_units(console, found.units)
    console.print()
    _say_roles(console, found.roles)
    if found.accuracy is not None:
        console.print()
        _say_accuracy(console, found.accuracy)
    elif sites := [each for each in found.sites if abs(each.difference) >= 1 and (found.aligned or _in_both(each))]:
        console.print()
        _say_sites(console, sites[:_SITES])
    if found.iterations:
        console.print()
        _say_iterations(console, found.iterations)


def _say_row(
    console: Console, label: str, numbers: str, style: str = "", colour: str = "", more: Text | None = None
) -> None:
    """A label and numbers behind it, or below it where the line is too short for both."""
    width = len(numbers) + (len(more) if more is not None else 0)
    left = console.width - width
    indented = f"{' ' * (len(label) - len(label.lstrip()))}"
    if left < _LABEL:
        say(console, label.strip(), indent=len(indented), style=style)
        if label.strip() and numbers.strip():
            say(console, " ".join(numbers.split()), indent=len(indented) + 2, style=colour or style)
        return
    if len(label) >= left:
        label = label[: left - 2] + glyphs(console).ellipsis
    line = Text(f"{label:<{left}}", style, no_wrap=True).append(numbers, colour)
    if more is not None:
        line.append_text(more)
    line.rstrip()
    console.print(line)


def _colour(difference: float) -> str:
    return _SLOWER if difference > 0 else _FASTER if difference < 0 else ""


def _say_causes(console: Console, found: Difference) -> None:
    bars = console.width >= 78
    blank = Text(" " * (_BAR + 2)) if bars else None
    _say_row(console, "Causes (cycles)", f"{_NUMBERS}{'of it':>8}", HEADING, HEADING, blank)
    widest = max((abs(cause.difference) for cause in found.causes), default=0)
    for cause in found.causes:
        share = "-" if cause.share is None else percent(cause.share + 0.0)
        numbers = f"{_values(cause.a, cause.b)}{share:>8}"
        label = CAUSES[cause.cause].format(role=cause.role)
        bar = _bar(console, cause.difference, widest) if bars else None
        _say_row(console, label, numbers, colour=_colour(cause.difference), more=bar)
        if cause.cause != PathCause.TENSOR_CORE and 10 * abs(cause.difference) >= abs(found.cycles or 1):
            _say_parts(console, cause)
    if found.like_traced:
        say(console, "waves that were not traced count as those that were, cause by cause", indent=2, style=SIDE)


def _say_parts(console: Console, cause: CauseDifference) -> None:
    for part in cause.parts[:_PARTS]:
        if 10 * abs(part.difference) < abs(cause.difference) or not part.agent:
            continue
        where = place(part.file, part.line_a or part.line_b or 0) if part.kind else ""
        words = [part.agent, *([site_words(part.kind, part.variable)] if part.kind else []), where]
        say(console, f"{'  '.join(word for word in words if word)}  {signed(part.difference)}", indent=2, style=SIDE)


def _bar(console: Console, difference: float, widest: float) -> Text:
    """To the left of an axis for what got faster, to the right of it for what got slower."""
    half = _BAR // 2
    filled = glyphs(console).busy * (round(half * abs(difference) / widest) if widest else 0)
    ahead, behind = (filled, "") if difference < 0 else ("", filled)
    return Text.assemble("  ", (f"{ahead:>{half}}", _FASTER), "|", (f"{behind:<{half}}", _SLOWER))


def _say_units(console: Console, units: Units) -> None:
    per = "for 10^9 FLOP" if units.per_gflop else "of the launch"
    _say_row(console, f"Units ({per})", f"{'A':>12}{'B':>12}{'B - A':>12}", HEADING)
    for each in units.units:
        shown = _bytes if each.unit == "bytes" else whole
        values = ["-" if value is None else shown(value) for value in (each.a, each.b)]
        apart = each.b - each.a if each.a is not None and each.b is not None else None
        change = "-" if apart is None else _more_bytes(apart) if each.unit == "bytes" else signed(apart)
        _say_row(console, UNITS[each.name], f"{values[0]:>12}{values[1]:>12}{change:>12}")


def _bytes(count: float) -> str:
    return size(round(count))


def _more_bytes(apart: float) -> str:
    return ("-" if apart < 0 else "+" if apart else "") + _bytes(abs(apart))


def _say_roles(console: Console, roles: Sequence[RoleDifference]) -> None:
    _say_row(console, "Warp groups (cycles of a CTA)", _NUMBERS, HEADING)
    for role in roles:
        name = role.name_a or role.name_b or ""
        if role.name_a and role.name_b and role.name_a != role.name_b:
            name = f"{role.name_a} / {role.name_b}"
        _say_row(console, name, _values(role.a, role.b))
        span = max(role.a or 0.0, role.b or 0.0)
        causes = [each for each in role.causes if 100 * abs(each.b - each.a) >= span][:_ROLE_CAUSES]
        for each in causes:
            label = f"  {ROLE_CAUSES[each.cause]}"
            _say_row(console, label, _values(each.a, each.b), SIDE)


def _values(a: float | None, b: float | None) -> str:
    apart = "-" if a is None or b is None else signed(b - a)
    return f"{'-' if a is None else whole(a):>10}{'-' if b is None else whole(b):>10}{apart:>10}"


def _say_sites(console: Console, sites: Sequence[SiteDifference]) -> None:
    numbers = f"{'mean A':>10}{'mean B':>10}{'CTA':>10}"
    _say_row(console, "Places (cycles)", numbers, HEADING)
    for each in sites:
        label = _site_label(each.agent, each.kind, each.variable, each.file, each.line_a or each.line_b)
        means = [f"{'-' if mean is None else whole(mean):>10}" for mean in (each.mean_a, each.mean_b)]
        _say_row(console, label, f"{means[0]}{means[1]}{signed(each.difference):>10}")


def _in_both(site: SiteDifference) -> bool:
    return site.mean_a is not None and site.mean_b is not None


def _site_label(agent: str, kind: str, variable: str, file: str, line: int | None) -> str:
    if not kind:
        return f"{agent}  between events"
    return "  ".join(word for word in (agent, site_words(kind, variable), place(file, line or 0)) if word)


def _say_accuracy(console: Console, found: Accuracy) -> None:
    numbers = f"{'measured':>10}{'simulated':>11}{'error':>10}{'':>8}"
    _say_row(console, "Errors of the simulator (cycles)", numbers, HEADING)
    whole_sites = [each for each in found.sites if each.error][:_SITES]
    for each in (*found.roles, *whole_sites):
        label = _site_label(each.agent, each.kind, each.variable, each.file, each.line)
        if each in found.roles:
            label = f"{each.agent}  in a CTA"
        values = ["-" if value is None else whole(value) for value in (each.measured, each.simulated)]
        error = "-" if each.error is None else signed(each.error)
        fraction = "-" if each.fraction is None else ratio(each.fraction)
        _say_row(console, label, f"{values[0]:>10}{values[1]:>11}{error:>10}{fraction:>8}")


def _say_iterations(console: Console, loops: Sequence[IterationDifference]) -> None:
    numbers = f"{'begin after':>18}{'one every':>18}{'count':>12}"
    _say_row(console, "Main loop (cycles)", numbers, HEADING)
    for each in loops:
        name = each.name_a if each.name_a == each.name_b else f"{each.name_a} / {each.name_b}"
        every = _pair(each.interval_a, each.interval_b)
        numbers = f"{_pair(each.before_a, each.before_b):>18}{every:>18}{_pair(each.count_a, each.count_b):>12}"
        _say_row(console, name, numbers)
        if each.differs_from is None:
            continue
        at, number = each.differs_at, each.differs_from
        text = f"differs from iteration {number} on"
        if number < len(each.intervals_a):
            text += f" ({whole(each.intervals_a[number])} -> {whole(each.intervals_b[number])})"
        if at is not None and number < len(at.a):
            where = "  ".join(word for word in (site_words(at.kind, at.variable), place(at.file, at.line_a)) if word)
            text += f", most at {where} ({whole(at.a[number])} -> {whole(at.b[number])})"
        say(console, text, indent=2, style=SIDE)


def _pair(a: float | None, b: float | None) -> str:
    values = ["-" if value is None else whole(value) for value in (a, b)]
    return values[0] if values[0] == values[1] else f"{values[0]} -> {values[1]}"
