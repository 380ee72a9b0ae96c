"""Compiles a kernel with timestamps: what is done to Triton's stages while a launch that is recorded compiles."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tlxviz import _triton
from tlxviz.ir import load_program
from tlxviz.ir.markers import is_marker_line, probe_marker
from tlxviz.probe.plan import Plan
from tlxviz.probe.points import Point
from tlxviz.probe.ptx import add_timestamps


def marked(text: str, points: Sequence[Point]) -> str:
    """TTGIR with a marker at each point."""
    lines = text.split("\n")
    for point in reversed(points):
        # a place, since the parser would give it one in its own temporary file
        lines.insert(point.line - 1, f"{probe_marker(point.number)} loc(unknown)")
    return "\n".join(lines)


@cache
def _forms() -> str:
    """What builds look like: a digest of the sources that decide it."""
    here = Path(__file__).parent
    text = b"".join((here / name).read_bytes() for name in ("points.py", "plan.py", "ptx.py", "buffer.py"))
    return hashlib.sha256(text).hexdigest()


class ProbingStages(_triton.RangesHook):
    """A stage hook of Triton's: markers after the stage `ttgir`, timestamps after `ptx`. Ranges are compiled in.

    Args:
        plan: What is recorded. It is part of the key under which the compiled kernel is kept.
        part: Which part of the plan this build records.
        outer: A hook that was there before; it goes first.
    """

    def __init__(self, plan: Plan, part: int, outer: Callable[..., Any] | None = None) -> None:
        super().__init__(outer)
        self._plan = plan
        self._part = part
        key = hashlib.sha256(repr((_forms(), plan.key(part))).encode()).hexdigest()[:16]
        self._key = f"tlxviz-{key}"

    def __call__(self, *stages: Any) -> Any:
        if stages:
            super().__call__(*stages)
            return self._wrap(stages[1])
        key, digest = super().__call__()
        return f"{key} {self._key}", f"{digest} {self._key}"

    def _wrap(self, stages: dict[str, Any]) -> None:
        to_ttgir, to_ptx = stages["ttgir"], stages["ptx"]
        selected: list[Any] = []

        def ttgir(source: Any, metadata: dict[str, Any]) -> Any:
            module = to_ttgir(source, metadata)
            text = str(module)
            program = load_program(text, "<TTGIR>")
            points = self._plan.points(program)
            selected.append(self._plan.selection(program, points, self._part))
            return _triton.parsed(marked(text, points), module)

        def ptx(source: Any, metadata: dict[str, Any]) -> str:
            # The launcher asks for scratch memory only where a kernel has some; how much is up to who answers.
            metadata["profile_scratch_size"], metadata["profile_scratch_align"] = 1, 1
            return add_timestamps(to_ptx(source, metadata), selected[-1])

        stages["ttgir"], stages["ptx"] = ttgir, ptx


def unmarked(text: str) -> str:
    """Marked TTGIR as it was before."""
    return "\n".join(line for line in text.split("\n") if not is_marker_line(line))
