"""The kinds of diagrams. A new one is a module with a function from a program, and a line here."""

from __future__ import annotations

from collections.abc import Callable

from tlxviz.diagrams.barriers import barriers
from tlxviz.diagrams.model import Diagram, Table
from tlxviz.diagrams.pipeline import pipeline
from tlxviz.ir.program import Program

KINDS: dict[str, Callable[[Program], Diagram | Table]] = {"pipeline": pipeline, "barriers": barriers}
