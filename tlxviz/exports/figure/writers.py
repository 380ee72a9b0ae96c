"""The figure as SVG and as PNG."""

# pyright: reportUnknownMemberType=false
# matplotlib does not say what keyword arguments its methods take.

from __future__ import annotations

import io
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG

from tlxviz.exports.errors import CannotExport
from tlxviz.exports.figure.drawing import drawn
from tlxviz.exports.figure.lanes import Lane, lanes
from tlxviz.exports.model import Cut

DOTS_PER_INCH = 200
"""Of a PNG: 1400 pixels wide."""
MOST_LANES = 150


def svg(cuts: Sequence[Cut]) -> bytes:
    """The first launch. Text stays text; equal input gives equal bytes.

    Raises CannotExport where there are more lanes than a page can hold.
    """
    cut, shown = _lanes(cuts)
    out = io.BytesIO()
    with _style():
        FigureCanvasSVG(drawn(cut, shown)).print_svg(out, metadata={"Date": None, "Creator": "tlxviz"})
    return out.getvalue()


def png(cuts: Sequence[Cut]) -> bytes:
    """Likewise, 1400 pixels wide."""
    cut, shown = _lanes(cuts)
    out = io.BytesIO()
    with _style():
        figure = drawn(cut, shown)
        figure.set_dpi(DOTS_PER_INCH)
        FigureCanvasAgg(figure).print_png(out, metadata={"Software": "tlxviz"})
    return out.getvalue()


@contextmanager
def _style() -> Generator[None]:
    """What the user's own settings of matplotlib say is left aside."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A box stands for what the font lacks, and nobody can do anything about it.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        matplotlib.rcdefaults()
        settings = matplotlib.rcParams
        settings["font.family"] = ["sans-serif"]
        settings["font.sans-serif"] = ["DejaVu Sans"]
        settings["hatch.linewidth"] = 0.6
        settings["svg.fonttype"] = "none"
        settings["svg.hashsalt"] = "tlxviz"
        settings["text.parse_math"] = False
        yield


def _lanes(cuts: Sequence[Cut]) -> tuple[Cut, list[Lane]]:
    cut = cuts[0]
    shown = lanes(cut)
    if len(shown) > MOST_LANES:
        raise CannotExport(
            f"a figure has at most {MOST_LANES} lanes, and these are {len(shown)}: choose some by --ctas and --roles."
        )
    return cut, shown
