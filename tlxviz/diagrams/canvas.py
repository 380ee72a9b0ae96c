"""An empty picture with its heading: title, notes, and what the strokes mean."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Protocol, cast

from graphviz import Digraph
from graphviz import escape as literal

from tlxviz._texts import printable
from tlxviz.diagrams.looks import FONT, LINES


class Graph(Protocol):
    """What is used of `graphviz.Digraph`, which has no types of its own."""

    @property
    def source(self) -> str: ...
    def attr(self, kw: str | None = None, **attrs: str) -> None: ...
    def node(self, name: str, label: str | None = None, **attrs: str) -> None: ...
    def edge(self, tail_name: str, head_name: str, label: str | None = None, **attrs: str) -> None: ...
    def subgraph(self, graph: Graph) -> object: ...


class _Digraph(Digraph):  # pyright: ignore[reportUntypedBaseClass]
    """A graph whose text can be drawn, whatever is in names and in lines of source."""

    @property
    def source(self) -> str:
        return printable(super().source)


def plain(text: str) -> str:
    """A label that says this, also where DOT has a meaning for it: for backslashes, entities, and `<` with `>`."""
    return literal(text.replace("&", "&amp;"))


def graph(title: str, notes: Iterable[str], legend: Iterable[tuple[str, str]]) -> Graph:
    """A picture with a heading.

    Args:
        legend: Colour and text of each entry.
    """
    made = cast("Graph", _Digraph("tlxviz"))
    samples = "  |  ".join(f'<font color="{color}">{escape(text)}</font>' for color, text in legend)
    lines = [*map(escape, filter(None, notes)), *([samples] if samples else [])]
    rows = "".join(f'<tr><td><font point-size="10">{each}</font></td></tr>' for each in lines)
    heading = f'<<table border="0" cellpadding="3"><tr><td><b>{escape(title)}</b></td></tr>{rows}</table>>'
    made.attr(label=heading, labelloc="t", fontname=FONT, fontsize="14", bgcolor="white")
    made.attr("node", fontname=FONT, fontsize="11", color=LINES)
    made.attr("edge", fontname=FONT, fontsize="10")
    return made
