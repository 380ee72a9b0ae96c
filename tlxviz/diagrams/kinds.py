"""The kinds of diagrams. A new one is a module with a function, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tlxviz._errors import UsageError
from tlxviz.diagrams.barriers import barriers
from tlxviz.diagrams.deadlock import deadlock
from tlxviz.diagrams.deadlock_dot import deadlock_dot
from tlxviz.diagrams.dot import dot_text
from tlxviz.diagrams.iteration import iteration
from tlxviz.diagrams.memory import memory
from tlxviz.diagrams.memory_dot import memory_dot
from tlxviz.diagrams.pipeline import pipeline
from tlxviz.diagrams.stalls import stalls
from tlxviz.diagrams.timeline import timeline
from tlxviz.ir.program import Program
from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class Subject:
    """What is drawn."""

    program: Program
    launch: LaunchTrace | None = None
    """None for a bare TTGIR file, of which nothing ran."""
    cta: int | None = None
    """Linear number of the CTA to show, for kinds that show one; None for the traced one that took longest."""
    iterations: tuple[int, int] | None = None
    """Iterations of the innermost loop to show: the first, and the one behind the last. None for typical ones."""
    allocation: Mapping[str, Any] | None = None
    """Without a launch: where memory is, as `allocation` of a trace's metadata has it; None where that is not known."""

    @property
    def happened(self) -> LaunchTrace:
        """The launch, of kinds that need one."""
        if self.launch is None:
            raise UsageError("nothing ran, of which this could be drawn.")
        return self.launch


@dataclass(frozen=True, slots=True)
class Kind:
    dot: Callable[[Subject], str]
    """DOT text: the same for the same input. Raises UsageError where there is nothing of the kind to be seen."""
    needs_launch: bool = False
    """Whether it shows what happened, and not only what the TTGIR says."""


KINDS: dict[str, Kind] = {
    "pipeline": Kind(lambda subject: dot_text(pipeline(subject.program))),
    "barriers": Kind(lambda subject: dot_text(barriers(subject.program))),
    "iteration": Kind(lambda subject: iteration(subject.happened, subject.cta, subject.iterations), needs_launch=True),
    "stalls": Kind(lambda subject: dot_text(stalls(subject.program, subject.happened)), needs_launch=True),
    "timeline": Kind(lambda subject: timeline(subject.happened, subject.cta, subject.iterations), needs_launch=True),
    "deadlock": Kind(lambda subject: deadlock_dot(deadlock(subject.happened)), needs_launch=True),
    "memory": Kind(lambda subject: memory_dot(memory(subject.program, subject.launch, subject.allocation))),
}
