"""What the tests of clusters share."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from kernel_runner import Run, compile_kernel, execute, h200

from tlxviz.trace.model import LaunchTrace

PAIR = {"ctas_per_cga": (2, 1, 1)}
CLUSTER = h200().cluster
WAKE = round(h200().sync.mbarrier_wake)


def line_of(function: Any, text: str) -> int:
    """The line of this file on which `text` first stands in a kernel."""
    lines, first = inspect.getsourcelines(function.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


def events(trace: LaunchTrace, kind: str, cta: int, *, engine: bool = False) -> list[dict[str, int]]:
    """The events of one kind in a CTA, in order, each with the number of its row."""
    tracks = [track.cta == cta and (track.agent < 0) is engine for track in trace.tracks]
    table = trace.events
    found = [
        row for row in range(len(table)) if tracks[table["track"][row]] and trace.sites[table["site"][row]].kind == kind
    ]
    return [{name: int(table[name][row]) for name in table.columns} | {"row": row} for row in found]


def both(function: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> Run:
    """Runs with values and without, which has to give equal events; the run with values."""
    launch = compile_kernel(function, grid, *args, **options)
    with_values, without = execute(launch), execute(launch, values=False)
    assert with_values.cycles == without.cycles
    assert len(with_values.trace.events) == len(without.trace.events) > 0
    for name, column in with_values.trace.events.columns.items():
        assert np.array_equal(column, without.trace.events[name]), name
    return with_values


def descriptor(x: torch.Tensor, rows: int) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(x, [64, 64], [64, 1], [rows, 64])
