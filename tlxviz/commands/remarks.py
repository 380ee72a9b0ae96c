"""What `run` says about launches beside the trace: those that were not recorded, and those that ran differently."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz.commands.choices import KernelFilter

if TYPE_CHECKING:
    from tlxviz.launch.model import LaunchLog
    from tlxviz.trace.model import LaunchTrace


def remarks(
    log: LaunchLog, launches: Sequence[LaunchTrace], kernels: KernelFilter, number: int, ctas: Sequence[int] | None
) -> list[str]:
    """Lines for the person at the terminal.

    Args:
        log: What the script launched.
        launches: What was recorded of it.
        kernels: Which kernels were to be recorded.
        number: Which launch of each.
        ctas: The CTAs asked for.
    """
    lines: list[str] = []
    recorded = list(dict.fromkeys(launch.kernel for launch in launches))
    more = {name: log.executed[name] for name in recorded if log.executed.get(name, 0) > 1}
    if len(more) == 1:
        [(name, count)] = more.items()
        lines.append(f"recorded launch {number} of {count:,} of kernel {name}; --launch picks another")
    elif more:
        counts = ", ".join(f"{name} ({count:,} launches)" for name, count in more.items())
        lines.append(f"recorded launch {number} of each kernel: {counts}; --launch picks another")
    few = {name: count for name, count in log.executed.items() if kernels(name) and count <= number}
    if few and launches:
        counts = ", ".join(f"{name} ({_times(count)})" for name, count in few.items())
        lines.append(f"not recorded, because launched too seldom for --launch {number}: {counts}")
    lines += [f"kernel {name} is autotuned: its first configuration ran" for name in recorded if name in log.tuned]
    lines += [
        f"kernel {name} was launched with an empty grid{'' if count == 1 else f' {count:,} times'}, which runs nothing"
        for name, count in log.empty.items()
        if kernels(name)
    ]
    if any(launch.provenance.get("options", {}).get("values") == "off" for launch in launches):
        lines.append("values were off: outputs hold what was in memory before, so a script that checks them complains")
    seen: set[str] = set()
    for launch in launches:
        line = missing_ctas(launch, ctas or ())
        if line is not None and line not in seen:
            seen.add(line)
            lines.append(line)
    return lines


def missing_ctas(launch: LaunchTrace, ctas: Sequence[int]) -> str | None:
    """That CTAs which were asked for do not exist; None where all do."""
    total = prod(launch.grid)
    missing = [number for number in ctas if number >= total]
    if not missing:
        return None
    has = "only CTA 0" if total == 1 else f"CTAs 0 to {total - 1}"
    are = "is" if len(missing) == 1 else "are"
    return f"kernel {launch.kernel} has {has}: --ctas {_listed(missing)} {are} not among them"


def nothing_recorded(script: Path, log: LaunchLog, kernels: KernelFilter, number: int) -> str | None:
    """What to change so that something is recorded; None where there was nothing to record, which `remarks` says."""
    if not log.names():
        return f"{script} launched no kernel, so there is nothing to show."
    launched = ", ".join(log.names())
    matching = [name for name in log.names() if kernels(name)]
    if not matching:
        return f"no kernel matches --kernel {' '.join(kernels.patterns)}. {script} launched: {launched}."
    if not any(name in log.executed for name in matching):
        return None
    return f"no kernel was launched {number + 1} times, so there is no launch {number}. {script} launched: {launched}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _listed(numbers: Sequence[int]) -> str:
    """As `--ctas` takes them: `4,7,100:200`."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        parts.append(f"{first}" if first == last else f"{first}:{last + 1}")
        if number is not None:
            first = last = number
    return ",".join(parts)
