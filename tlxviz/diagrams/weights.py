"""How shares of time are drawn: as figures, shades and widths, so that greys tell them apart."""

from __future__ import annotations

from html import escape

from tlxviz.diagrams.looks import HEADING
from tlxviz.diagrams.model import Cluster, EdgeKind, Node, Weight

LEAST = 0.01
"""Shares below it are not drawn."""
_LOST, _NOT_LOST, _FAINT = "#c0322b", "#4b5563", "#c3c8d0"
_LOST_GROUND, _GROUND = ("#fde3e1", "#f9b9b3", "#f0857c"), ("#f3f4f6", "#e5e7eb", "#d1d5db")
_STEPS = (0.1, 0.25)
"""Shares at which the ground of a figure gets darker."""
_WORK, _ISSUE, _WAIT = "#2f7d4f", "#e3bd72", "#f3f4f6"
_BAR = 150
"""Points that the bar of a warp group is wide."""
_THICKEST = 9.0
"""Points of an edge on which all of a warp group's time is."""
_SPACE = 2.5
"""Points that a space of a label is wide."""
LEGEND = (
    (_LOST, "waits: as thick as their share, full diamond"),
    (_NOT_LOST, "the same while the tensor core works or a producer is ahead: hollow diamond"),
    ("#9a6b00", "dashed: what ends them"),
)


def percent(share: float) -> str:
    return f"{share * 100:.0f}%"


def beside(share: float) -> str:
    """The share as a label of its edge, which begins where the edge's stroke ends: a label stands next to the middle of
    the edge, however thick that is."""
    return "\N{NO-BREAK SPACE}" * int(_thick(share) / _SPACE) + percent(share)


def figure(node: Node, port: str) -> str:
    """The cell of a row that says its share; empty where that is small. Edges from the right end at `port`."""
    weight = node.weight
    if weight is None or weight.share < LEAST:
        return f'<td port="{port}"></td>'
    shades = _LOST_GROUND if weight.lost else _GROUND
    ground = shades[sum(weight.share >= step for step in _STEPS)]
    return (
        f'<td port="{port}" align="right" bgcolor="{ground}"><b>{percent(weight.share)}</b> {escape(weight.text)}</td>'
    )


def bar(cluster: Cluster) -> str:
    """The rows under a warp group's name: what it works, issues and waits. Empty where that is not known."""
    if cluster.shares is None:
        return ""
    work, issue, wait = cluster.shares
    words = f"works {percent(work)}, issues {percent(issue)}, waits {percent(wait)}"
    parts = "".join(
        f'<td width="{max(1, round(share * _BAR))}" height="7" bgcolor="{color}"></td>'
        for share, color in ((work, _WORK), (issue, _ISSUE), (wait, _WAIT))
        if share >= LEAST / 2
    )
    inner = f'<table border="1" cellborder="0" cellspacing="0" cellpadding="0"><tr>{parts}</tr></table>'
    return (
        f'<tr><td colspan="2" bgcolor="{HEADING}" align="left">{words}</td></tr>'
        f'<tr><td colspan="2" bgcolor="{HEADING}" align="left">{inner}</td></tr>'
    )


def stroke(kind: EdgeKind, weight: Weight | None, color: str, head: str) -> dict[str, str]:
    """Colour, width and arrow of an edge where weights are what counts: `color` and `head` are those of its kind."""
    if weight is None or weight.share < LEAST:
        return {"color": _FAINT, "fontcolor": _NOT_LOST, "penwidth": "1", "head": head}
    if kind is EdgeKind.WAIT:
        color = _LOST if weight.lost else _NOT_LOST
        head = "diamond" if weight.lost else "odiamond"
    width = _thick(weight.share)
    return {
        "color": color,
        "fontcolor": color,
        "penwidth": f"{width:.1f}",
        "arrowsize": f"{max(0.8, width / 5):.1f}",
        "head": head,
    }


def _thick(share: float) -> float:
    return 1 + (_THICKEST - 1) * min(share, 1.0)
