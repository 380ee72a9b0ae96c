"""A figure of lanes, drawn by matplotlib's objects alone: no pyplot, and nothing that outlives the call."""

# pyright: reportUnknownMemberType=false
# matplotlib does not say what keyword arguments its methods take.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from tlxviz.analysis.clusters import clusters_of
from tlxviz.exports.figure import margins
from tlxviz.exports.figure.arrows import Arrow, arrows
from tlxviz.exports.figure.brackets import Bracket, Brackets, brackets
from tlxviz.exports.figure.lanes import Lane
from tlxviz.exports.figure.looks import APPEARANCES, INK, Look
from tlxviz.exports.figure.page import POINTS, TEXT, WIDTH, Page, page
from tlxviz.exports.figure.wording import fitted, label, width
from tlxviz.exports.model import Cut

_PALE = "#9aa1ab"
_NARROWEST = 1 / 1500
"""Width of what takes no time, as a share of what is shown."""
_OUTLINED = 3.0
"""Points from which on a slice has an outline, which would hide a narrower one."""
_PADDING = 4.0
"""Points that a label has less than its slice."""
_BESIDE = 3.0
"""Points to either side of an arrow that labels leave free."""
_CROWDED = 5.0
"""Points below which iterations are not bracketed one by one."""


def drawn(cut: Cut, shown: list[Lane]) -> Figure:
    """The figure, as wide as a page's text and as high as its lanes need."""
    found = brackets(cut)
    laid = page(shown, bracketed=bool(found.brackets))
    figure = Figure(figsize=(WIDTH, laid.height))
    axes = figure.add_axes((laid.left / WIDTH, laid.bottom / laid.height, laid.inside / WIDTH, laid.body / laid.height))
    span = max(cut.end - cut.begin, 1)
    axes.set_xlim(cut.begin, cut.begin + span)
    axes.set_ylim(laid.body, 0)
    sheet = _Sheet(cut, shown, laid, axes, span)
    sheet.slices()
    sheet.names()
    if found.brackets:
        sheet.brackets(found)
    released = arrows(cut, shown)
    sheet.arrows(released)
    sheet.labels(released)
    margins.times(axes, cut)
    margins.heading(figure, cut, shown, laid)
    margins.legend(figure, shown, arrowed=bool(released), laid=laid)
    if not any(len(lane.boxes.begin) for lane in shown):
        said = "nothing was recorded here"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", va="center", fontsize=TEXT)
    return figure


class _Sheet:
    """What stands in the axes, whose units are SM cycles and inches from the top."""

    def __init__(self, cut: Cut, shown: list[Lane], laid: Page, axes: Axes, span: int) -> None:
        self._cut = cut
        self._shown = shown
        self._page = laid
        self._axes = axes
        self._span = span
        self._points = laid.inside * POINTS / span
        """Of an SM cycle."""

    def slices(self) -> None:
        """All of one look are one path, so that a million of them are a few elements."""
        for look in Look:
            boxes = [self._boxes(number, look) for number in range(len(self._shown))]
            every = np.concatenate(boxes) if boxes else np.empty((0, 4))
            wide = (every[:, 1] - every[:, 0]) * self._points >= _OUTLINED
            seen = APPEARANCES[look]
            for some, line in ((every[wide], 0.5), (every[~wide], 0.5 if seen.hatch else 0.0)):
                if len(some):
                    # as a patch it would be asked for its extent, rectangle by rectangle
                    self._axes.add_artist(
                        PathPatch(
                            _path(some),
                            facecolor=seen.fill,
                            edgecolor=seen.line,
                            hatch=seen.hatch or None,
                            linewidth=line,
                            zorder=2 + look / 10,
                        )
                    )

    def _boxes(self, number: int, look: Look) -> NDArray[Any]:
        """Begin, end, top and bottom of a lane's slices of one look."""
        row, boxes = self._page.rows[number], self._shown[number].boxes
        of = boxes.look == look
        begin, end, level = boxes.begin[of], boxes.end[of], boxes.level[of]
        top = row.top + row.level * level
        return np.stack((begin, np.maximum(end, begin + self._span * _NARROWEST), top, top + row.level), axis=1)

    def names(self) -> None:
        """To the left: what the lanes are."""
        room, clusters = (self._page.left - 0.15) * POINTS, clusters_of(self._cut.launch)
        for lane, row in zip(self._shown, self._page.rows, strict=True):
            self._aside((row.top + row.bottom) / 2, fitted(lane.label, TEXT + 1, room), TEXT + 1)
        for cta, y in self._page.headings:
            rank = f", rank {clusters.rank_of(cta)}" if clusters.size > 1 else ""
            self._aside(y, f"CTA {cta}{rank}", TEXT, weight="bold")

    def _aside(self, y: float, text: str, size: float, weight: str = "normal") -> None:
        self._axes.annotate(
            text,
            (0, y),
            (-5, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=size,
            fontweight=weight,
            color=INK,
            annotation_clip=False,
            linespacing=1.0,
        )

    def labels(self, crossing: Sequence[Arrow]) -> None:
        """What slices are about, where it fits beside the arrows."""
        for number, lane in enumerate(self._shown):
            row, boxes = self._page.rows[number], lane.boxes
            taken = [found for each in crossing if (found := self._crossed(each, number)) is not None]
            wide = (boxes.end - boxes.begin) * self._points - _PADDING > width("0", TEXT)
            for each in np.flatnonzero((boxes.event >= 0) & wide).tolist():
                begin, end = _widest(float(boxes.begin[each]), float(boxes.end[each]), taken)
                room = (end - begin) * self._points - _PADDING
                text = label(self._cut, lane, int(boxes.event[each]), room, TEXT)
                seen = APPEARANCES[Look(int(boxes.look[each]))]
                if text:
                    self._axes.text(
                        (begin + end) / 2,
                        row.top + row.level * (int(boxes.level[each]) + 0.5),
                        text,
                        ha="center",
                        va="center_baseline",
                        fontsize=TEXT,
                        color=seen.text,
                        zorder=4,
                        bbox={"facecolor": seen.fill, "edgecolor": "none", "pad": 0.8} if seen.hatch else None,
                    )

    def _crossed(self, arrow: Arrow, number: int) -> tuple[float, float] | None:
        """SM cycles of a lane between which an arrow lies; None where it passes by."""
        row, ((x, y), (other_x, other_y)) = self._page.rows[number], self._ends(arrow)
        low, high = min(y, other_y), max(y, other_y)
        if row.bottom <= low or row.top >= high:
            return None
        slope = (other_x - x) / (other_y - y)
        xs = sorted(x + slope * (min(max(each, low), high) - y) for each in (row.top, row.bottom))
        return xs[0] - _BESIDE / self._points, xs[1] + _BESIDE / self._points

    def brackets(self, of: Brackets) -> None:
        """Above the lanes; one for all of them where they are too narrow to be told apart."""
        found: Sequence[Bracket] = of.brackets
        widths = sorted((each.end - each.begin) * self._points for each in found)
        if widths[len(widths) // 2] < _CROWDED:
            first, last = found[0], found[-1]
            whole = f"{first.label} to {last.label}"
            found = [Bracket(first.begin, last.end, whole, first.from_begin, last.to_end)]
        y, leg = self._page.brackets * 0.55, 0.07
        room = (self._page.left - 0.15) * POINTS
        self._aside(y, f"iteration\n{fitted(f'of {of.agent}', TEXT, room)}", TEXT)
        needed = max(width(each.label, TEXT) for each in found) + _PADDING
        step = max(int(-(-needed // max(widths[len(widths) // 2], _CROWDED))), 1) if len(found) > 1 else 1
        between = step == 1
        inset = 1.2 / self._points
        for number, each in enumerate(found):
            left = each.begin + (inset if each.from_begin else 0)
            right = each.end - (inset if each.to_end else 0)
            xs = [left, left, right, right]
            ys = [y + leg if each.from_begin else y, y, y, y + leg if each.to_end else y]
            self._axes.add_line(Line2D(xs, ys, color=INK, linewidth=0.8, solid_joinstyle="miter"))
            if each.from_begin:
                self._axes.axvline(each.begin, color=_PALE, linewidth=0.5, linestyle=(0, (2, 2)), zorder=0.5)
            if number % step == 0 and (right - left) * self._points > (width(each.label, TEXT) + 2) / step:
                self._axes.text(
                    (left + right) / 2,
                    y if between else y - 0.03,
                    each.label,
                    ha="center",
                    va="center" if between else "bottom",
                    fontsize=TEXT,
                    color=INK,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8} if between else None,
                )

    def arrows(self, found: Sequence[Arrow]) -> None:
        """From the end of what released to the end of the wait."""
        for each in found:
            begin, end = self._ends(each)
            self._axes.add_patch(
                FancyArrowPatch(
                    begin,
                    end,
                    arrowstyle="-|>",
                    mutation_scale=6,
                    shrinkA=0,
                    shrinkB=0,
                    linewidth=0.8,
                    color=INK,
                    zorder=5,
                    path_effects=[withStroke(linewidth=2.2, foreground="white")],
                )
            )

    def _ends(self, arrow: Arrow) -> tuple[tuple[float, float], tuple[float, float]]:
        source, target = self._page.rows[arrow.source], self._page.rows[arrow.target]
        down = arrow.source < arrow.target
        level = source.top + source.level * arrow.source_level
        return (
            (arrow.begin, level + source.level if down else level),
            (arrow.end, target.top if down else target.bottom),
        )


def _widest(begin: float, end: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The widest part of a stretch that is not taken."""
    inside = sorted((max(first, begin), min(last, end)) for first, last in taken if first < end and last > begin)
    free: list[tuple[float, float]] = []
    for first, last in inside:
        free.append((begin, first))
        begin = max(begin, last)
    return max([*free, (begin, end)], key=lambda each: each[1] - each[0])


def _path(boxes: NDArray[Any]) -> Path:
    """Rectangles of begin, end, top and bottom as one path."""
    left, right, top, bottom = boxes.T
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    points = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 2)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(points, np.tile(np.array(codes, np.uint8), len(boxes)))
