"""One iteration as a dependency graph: tables of what each warp group and engine does, with the critical path."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise

from tlxviz.analysis.cta_view import CtaView
from tlxviz.analysis.iteration_graph import IterationGraph, Link, LinkKind, Passage, Step, iteration_graph
from tlxviz.analysis.links import ACTIVITY_WORDS
from tlxviz.diagrams.canvas import Graph
from tlxviz.diagrams.dot import titled
from tlxviz.diagrams.happenings import (
    chosen_iterations,
    doer_words,
    event_words,
    line_of_event,
    track_name,
    viewed,
)
from tlxviz.diagrams.looks import HEADING, LINES, EdgeLook
from tlxviz.diagrams.order import from_left_to_right
from tlxviz.trace.model import LaunchTrace, TrackKind

_CRITICAL, _GROUND, _FAINT = "#c0322b", "#fde3e1", "#6b7280"
_LOOKS = {
    LinkKind.DATA: EdgeLook("#1f62b8", "solid", "normal", 1.4, "data: full arrow"),
    LinkKind.RELEASE: EdgeLook("#9a6b00", "dashed", "onormal", 1.4, "release: dashed, hollow arrow"),
    LinkKind.ISSUE: EdgeLook("#7544b5", "solid", "vee", 1.0, "issue: thin, open arrow"),
    LinkKind.BEHIND: EdgeLook("#4b5563", "dotted", "vee", 1.4, "behind other work: dotted"),
}
_SMALL = 0.02
"""Share of the iteration: arithmetic that is shorter has no row, unless it is on the critical path."""
_MOST_PARTS = 6
"""Parts of the critical path that the heading names."""
_A_LINE = 3
"""Of these in a line."""


def iteration(launch: LaunchTrace, cta: int | None = None, given: tuple[int, int] | None = None) -> str:
    """The DOT of an iteration of the warp group that sets the pace.

    Args:
        cta: Linear number; None for the traced CTA that took longest.
        given: The iteration and the one behind it; None for one of the steady state.

    Raises UsageError where there is no such iteration.
    """
    _, view = viewed(launch, cta)
    track, number, _ = chosen_iterations(view, given, 1)
    return dot_of_iteration(view, iteration_graph(view, track, number))


def dot_of_iteration(view: CtaView, made: IterationGraph) -> str:
    columns = from_left_to_right(view, [each.track for each in made.passages])
    column = {step.row: columns.index(each.track) for each in made.passages for step in each.steps}
    remarks: dict[int, list[str]] = {}
    edges: list[Link] = []
    for link in made.links:
        if column.get(link.source, column[link.target]) != column[link.target]:
            edges.append(link)
        elif (remark := _remark(view, link, shown=link.source in column)) is not None:
            remarks.setdefault(link.target, []).append(remark)
    used = {link.kind for link in edges}
    legend = [(look.color, look.legend) for kind, look in _LOOKS.items() if kind in used]
    legend.append((_CRITICAL, "critical path: rows in bold, arrows doubled"))
    drawn = titled(_title(view, made), legend, _notes(view, made))
    drawn.attr(ranksep="0.5")
    for position, track in enumerate(columns):
        passages = [each for each in made.passages if each.track == track]
        drawn.node(f"track{position}", f"<{_table(view, made, passages, remarks)}>", shape="plain")
    for left, right in pairwise(range(len(columns))):
        drawn.edge(f"track{left}", f"track{right}", style="invis", weight="10")
    for link in edges:
        _edge(drawn, view, link, column)
    return drawn.source


def _title(view: CtaView, made: IterationGraph) -> str:
    return f"Iteration {made.number} of {view.launch.tracks[made.track].name} in {view.launch.kernel}"


def _notes(view: CtaView, made: IterationGraph) -> list[str]:
    name, length = view.launch.tracks[made.track].name, made.end - made.begin
    known = view.steady.get(name)
    took = f"It took {length:,} cycles (CTA {view.cta}, {made.begin:,} to {made.end:,})"
    if known is not None:
        took += f"; the loop's period is {known.intervals.median:,.0f}, the median of {known.iterations} iterations"
    parts = [
        f"{ACTIVITY_WORDS[each.activity]} of {track_name(view, each.track)}"
        + (f", line {each.line}" if each.line else "")
        + f": {each.cycles:,} ({_percent(each.cycles, length)})"
        for each in made.chain[:_MOST_PARTS]
    ]
    left = sum(each.cycles for each in made.chain[_MOST_PARTS:])
    if left:
        parts.append(f"other: {left:,} ({_percent(left, length)})")
    lines = [parts[first : first + _A_LINE] for first in range(0, len(parts), _A_LINE)]
    bound = ["   ".join(each) for each in lines]
    return [took, *(("What bounds it, along the critical path:", *bound) if bound else ())]


def _percent(cycles: int, length: int) -> str:
    share = 100 * cycles / length if length else 0.0
    return "<1%" if 0 < share < 0.5 else f"{share:.0f}%"


def _table(view: CtaView, made: IterationGraph, passages: list[Passage], remarks: dict[int, list[str]]) -> str:
    on_group = view.launch.tracks[passages[0].track].kind is TrackKind.WARP_GROUP
    head = "".join(
        f'<td bgcolor="{HEADING}" align="{align}">{text}</td>'
        for text, align in (
            (f"<b>{escape(track_name(view, passages[0].track))}</b>", "left"),
            ("cycles", "right"),
        )
    )
    rows: list[str] = []
    for each in passages:
        if on_group:
            title = f"iteration {each.number}" if each.number >= 0 else "outside of the loop"
            begin = each.steps[0].begin - made.begin
            rows.append(f'<tr><td colspan="2" align="left"><i>{title}, from {begin:+,}</i></td></tr>')
        for position, step in enumerate(each.steps):
            gap = step.gap if position or not on_group else 0
            if on_group and position and (gap > _SMALL * (made.end - made.begin) or step.gap_path):
                rows.append(_row("", "arithmetic", gap, step.gap_path))
            rows.append(_step(view, step, on_group, remarks.get(step.row, ())))
        if each.tail_path or each.tail > _SMALL * (made.end - made.begin):
            rows.append(_row("", "arithmetic", each.tail, each.tail_path))
    return (
        f'<table border="1" cellborder="0" cellspacing="0" cellpadding="3" color="{LINES}" bgcolor="white">'
        f"<tr>{head}</tr>{''.join(rows)}</table>"
    )


def _step(view: CtaView, step: Step, on_group: bool, remarks: Iterable[str]) -> str:
    words = event_words(view.launch, step.row)
    doer = view.doer_track(step.row)
    if not on_group and doer >= 0:
        words += f" of {track_name(view, doer)}"
    line = line_of_event(view.launch, step.row)
    return _row(f"{line}  " if line else "", words, step.end - step.begin, step.path, f"r{step.row}", remarks)


def _row(number: str, words: str, cycles: int, path: int, port: str = "", remarks: Iterable[str] = ()) -> str:
    text, figure = f"{number}{escape(words)}", f"{cycles:,}"
    ground = ""
    if path:
        part = figure if path == cycles else f"{path:,} of {figure}"
        text, figure, ground = f"<b>{text}</b>", f"<b>{part}</b>", f' bgcolor="{_GROUND}"'
    left, right = (f' port="{port}w"', f' port="{port}e"') if port else ("", "")
    below = "".join(f'<br align="left"/><font point-size="9">{escape(each)}</font>' for each in remarks)
    return (
        f'<tr><td{left}{ground} align="left" balign="left">{text}{below}</td>'
        f'<td{right}{ground} align="right">{figure}</td></tr>'
    )


def _remark(view: CtaView, link: Link, *, shown: bool) -> str | None:
    """What a row says of a link whose source has no row, or one in the same table; None where that says nothing."""
    took = _took(view, link)
    if link.kind is LinkKind.BEHIND:
        if shown:
            return f"behind the one before: {took}" if link.cycles else None
        return f"behind {doer_words(view, link.source)}: {took}"
    if link.kind is LinkKind.ISSUE:
        number = view.iteration_of(view.doer(link.source))
        return f"of its iteration {number}" if number >= 0 else None
    return f"by {doer_words(view, link.source)}: {took}"


def _took(view: CtaView, link: Link) -> str:
    """How long a wait stood still for a link, or how much earlier its source was."""
    if link.held:
        return f"{link.cycles:,} waited"
    site = int(view.launch.events["site"][link.source])
    # of copies without TMA nobody recorded when they were there
    copies = site >= 0 and view.launch.sites[site].kind == "async_copy" and view.made.on_group[link.source]
    return f"issued {link.cycles:,} before" if copies else f"{link.cycles:,} early"


def _edge(drawn: Graph, view: CtaView, link: Link, column: dict[int, int]) -> None:
    look = _LOOKS[link.kind]
    label = _took(view, link)
    if link.kind is LinkKind.ISSUE:
        label = f"{link.cycles:,} later" if link.held and link.cycles else ""
    style = {"color": look.color, "fontcolor": look.color, "style": look.style, "penwidth": f"{look.width:g}"}
    if link.path:
        style |= {"color": f"{_CRITICAL}:white:{_CRITICAL}", "fontcolor": _CRITICAL, "penwidth": "2", "style": "solid"}
        drawn.edge(*_ends(column, link), f"<<b>{label}</b>>" if label else None, **style, constraint="false")
        return
    before, after = column[link.source], column[link.target]
    # from left to right whichever way it points: ranks are columns
    left, right = sorted((link.source, link.target), key=lambda row: column[row])
    ends = {"arrowhead": look.head} if before < after else {"dir": "back", "arrowtail": look.head}
    tail, head = (f"track{column[row]}:r{row}{side}:{side}" for row, side in ((left, "e"), (right, "w")))
    drawn.edge(tail, head, label or None, **style, **ends)


def _ends(column: dict[int, int], link: Link) -> tuple[str, str]:
    """Where it begins and ends, the way that it points: an arrow on two lines is drawn only at their end."""
    sides = "ew" if column[link.source] < column[link.target] else "we"
    rows = link.source, link.target
    tail, head = (f"track{column[row]}:r{row}{side}:{side}" for row, side in zip(rows, sides, strict=True))
    return tail, head
