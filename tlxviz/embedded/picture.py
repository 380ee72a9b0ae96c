"""A trace that shows itself in a notebook."""

from __future__ import annotations

from tlxviz.trace.model import Trace


class PicturedTrace(Trace):
    """A trace whose display is the report of its launches."""

    def _repr_svg_(self) -> str:
        from tlxviz.analysis.summary import summarise
        from tlxviz.reporters.picture import STRIP_COLUMNS, svg
        from tlxviz.reporters.text import TextReporter

        launches = self.launches
        reporter = TextReporter([summarise(launch, strip_columns=STRIP_COLUMNS) for launch in launches])
        return svg(reporter, ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "no launch")
