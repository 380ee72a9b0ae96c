"""What stands around the lanes: axes in two units, the title, and the legend."""

# pyright: reportUnknownMemberType=false
# matplotlib does not say what keyword arguments its methods take.

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from tlxviz.exports.figure.lanes import COLUMNS, Lane
from tlxviz.exports.figure.looks import APPEARANCES, INK
from tlxviz.exports.figure.page import POINTS, TEXT, TITLE, WIDTH, Page
from tlxviz.exports.figure.wording import fitted, subtitle, title
from tlxviz.exports.model import Cut


def times(axes: Axes, cut: Cut) -> None:
    """SM cycles below, ns above."""
    axes.set_yticks([])
    for side in ("left", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("SM cycles from the start of the launch", fontsize=TEXT, labelpad=2)
    axes.tick_params(axis="x", labelsize=TEXT, length=3, pad=2)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(_number))
    clock = cut.launch.clock_mhz
    if clock <= 0:
        return
    above = axes.secondary_xaxis("top", functions=(_times_of(1e3 / clock), _times_of(clock / 1e3)))
    above.set_xlabel(f"ns, at {clock:,.0f} MHz", fontsize=TEXT, labelpad=3)
    above.tick_params(axis="x", labelsize=TEXT, length=3, pad=1)
    above.xaxis.set_major_locator(MaxNLocator(nbins=7))
    above.xaxis.set_major_formatter(FuncFormatter(_number))


def _times_of(factor: float) -> Callable[[ArrayLike], ArrayLike]:
    return lambda values: np.multiply(np.asarray(values, np.float64), factor)


def _number(value: float, _: object) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 else f"{value:,.6g}"


def heading(figure: Figure, cut: Cut, shown: list[Lane], laid: Page) -> None:
    """Which launch, and what of it."""
    room = (WIDTH - 0.3) * POINTS
    said = subtitle(cut, shown)
    if any(lane.coarse for lane in shown):
        said += f"; each {(cut.end - cut.begin) / COLUMNS:,.0f} cycles show what prevails in them"
    for text, size, below in ((title(cut), TITLE, 0.16), (said, TEXT, 0.32)):
        figure.text(
            0.15 / WIDTH,
            1 - below / laid.height,
            fitted(text, size, room),
            fontsize=size,
            va="baseline",
            color=INK,
        )


def legend(figure: Figure, shown: Sequence[Lane], *, arrowed: bool, laid: Page) -> None:
    """Below all: what there is of slices, and arrows."""
    present = {look for lane in shown for look in lane.boxes.look.tolist()}
    handles: list[Patch | Line2D] = [
        Patch(
            facecolor=seen.fill,
            edgecolor=seen.line if seen.line != "#ffffff" else seen.fill,
            hatch=seen.hatch or None,
            linewidth=0.5,
            label=seen.word,
        )
        for look, seen in APPEARANCES.items()
        if look in present
    ]
    if arrowed:
        handles.append(
            Line2D([], [], color=INK, linewidth=0.8, marker=">", markersize=3.5, markevery=[1], label="releases")
        )
    if handles:
        figure.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, 0.04 / laid.height),
            ncols=len(handles),
            fontsize=TEXT,
            frameon=False,
            handlelength=2.2,
            handleheight=1.1,
            columnspacing=1.4,
            borderpad=0,
            borderaxespad=0,
        )
