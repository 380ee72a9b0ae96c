"""What each script of this folder states about itself, and how it runs.

A script plants one synchronization fault in a kernel that is right otherwise; the constexpr `FIX` mends it. Like any
user's script it runs its kernel once and compares the result with torch: `python x.py` with the fault, `--fixed`
without it. Lines that a finding may name end in `# FAULT`; where an operation is missing, that is the one which waits
for it or which it should have kept back.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RULES = (
    "cluster",
    "slot-reuse",
    "trip-count",
    "tmem-alias",
    "proxy-fence",
    "barrier-lifetime",
    "named-barrier",
    "async-not-waited",
    "arrive-count",
    "circular-wait",
    "parity",
    "expect-bytes",
    "descriptor",
    "lane",
    "registers",
)
"""The classes of faults."""
SHOWS = ("hang", "error", "wrong", "nothing")
"""What a plain simulation of a fault comes to: a report of a hang, a refusal of what hardware leaves undefined, a
result that differs from torch's, or no trace of it."""
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Case:
    """What a checker has to find in a script without `--fixed`."""

    rule: str
    """One of RULES."""
    role: str
    """The task that is at fault, or one of several alike, as reports name it: `mma`, `load.1`."""
    name: str
    """Variable of the barrier, buffer or descriptor; of an alias, that of the memory it lies in; the number of a named
    barrier; empty where there is none."""
    shows: str
    """One of SHOWS."""
    params: Mapping[str, int] = field(default_factory=dict[str, int])
    """Arguments of `launch` that show the fault; the script takes others as `--k 4`."""
    hangs_at: str = ""
    """Barrier that the report of a hang has to name, where that is another than `name`."""

    def __post_init__(self) -> None:
        if self.rule not in RULES or self.shows not in SHOWS:
            raise ValueError(f"{self.rule}, {self.shows}: no such rule, or nothing that a simulation shows")


def fault_lines(script: str | Path) -> tuple[int, ...]:
    """Lines of a script, counted from 1, that are marked `# FAULT`."""
    lines = Path(script).read_text(encoding="utf-8").splitlines()
    return tuple(number for number, line in enumerate(lines, 1) if "# FAULT" in line)


def main(case: Case, launch: Callable[..., tuple[Any, Any]]) -> None:
    """Runs `launch(FIX, **params)`, which returns what a kernel made and what it should have made.

    Ends the process with 1 where the two differ.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="without the fault")
    for name, value in case.params.items():
        parser.add_argument(f"--{name.lower()}", dest=name, type=int, default=value)
    arguments = vars(parser.parse_args())
    got, expected = launch(arguments.pop("fixed"), **arguments)
    error = float((got.double() - expected.double()).norm() / max(float(expected.double().norm()), 1e-9))
    print(f"relative error {error:.2e}")
    if not error <= TOLERANCE:  # written so that a NaN fails
        sys.exit(1)
