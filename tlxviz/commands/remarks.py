"""What `run` says about launches beside the trace: those that were not recorded, and those that ran differently."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tlxviz.commands.choices import Launches, listed
from tlxviz.embedded.kernel_filter import KernelFilter

if TYPE_CHECKING:
    from tlxviz.launch.model import LaunchLog, Tuning
    from tlxviz.trace.model import LaunchTrace


def remarks(
    log: LaunchLog,
    launches: Sequence[LaunchTrace],
    kernels: KernelFilter,
    chosen: Launches,
    ctas: Sequence[int] | None,
    *,
    values_off: bool,
) -> list[str]:
    """Lines for the person at the terminal.

    Args:
        log: What the script launched.
        launches: What was recorded of it.
        kernels: Which kernels were to be recorded.
        chosen: Which launches of each.
        ctas: The CTAs asked for.
        values_off: Whether outputs were not computed.
    """
    lines: list[str] = []
    recorded = list(dict.fromkeys(launch.kernel for launch in launches))
    more = {name: log.executed[name] for name in recorded if chosen.fewer_than(log.executed.get(name, 0))}
    which = f"launch{'' if chosen.single else 'es'} {chosen}"
    if len(more) == 1:
        [(name, count)] = more.items()
        lines.append(f"recorded {which} of {count:,} of kernel {name}; --launch picks another")
    elif more:
        counts = ", ".join(f"{name} ({count:,} launches)" for name, count in more.items())
        lines.append(f"recorded {which} of each kernel: {counts}; --launch picks another")
    few = {name: count for name, count in log.executed.items() if kernels(name) and count <= chosen.first}
    if few and launches:
        counts = ", ".join(f"{name} ({_times(count)})" for name, count in few.items())
        lines.append(f"not recorded, because launched too seldom for --launch {chosen}: {counts}")
    lines += [_tuned(name, log.tuned[name]) for name in recorded if name in log.tuned]
    lines += [
        f"kernel {name} was launched with an empty grid{'' if count == 1 else f' {count:,} times'}, which runs nothing"
        for name, count in log.empty.items()
        if kernels(name)
    ]
    lines += [
        f"kernel {name} was launched {_times(count)} while a CUDA graph was captured; replays are not recorded on a GPU"
        for name, count in log.captured.items()
        if kernels(name)
    ]
    spilled = {
        launch.kernel: launch.metadata.get("spilled_bytes", 0)
        for launch in launches
        if launch.provenance.get("recorder") != "measured"
    }
    lines += [
        f"kernel {name} spills {count:,} bytes a thread of its registers, which the simulated time leaves out"
        for name, count in spilled.items()
        if count
    ]
    if log.estimated:
        lines.append("operators of torch itself were timed by an estimate from their bytes and FLOP")
    if log.plots_need:
        lines.append(f"perf_report's tables were not plotted, which needs {' and '.join(log.plots_need)}")
    if values_off:
        lines.append("values were off: outputs hold what was in memory before, so a script that checks them complains")
    seen: set[str] = set()
    for launch in launches:
        for line in (missing_ctas(launch, ctas or ()), taken_over(launch)):
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
    return f"kernel {launch.kernel} has {has}: --ctas {listed(missing)} {are} not among them"


def taken_over(launch: LaunchTrace) -> str | None:
    """Which CTAs did the work of those that were asked for and never started; None where all did."""
    pairs: list[tuple[int, int]] = launch.statistics.get("taken_over", [])
    if not pairs:
        return None
    said = ", ".join(f"CTA {by} that of CTA {number}" for number, by in pairs)
    others = listed(sorted({by for _, by in pairs}))
    return f"kernel {launch.kernel} takes over CTAs that have not started: {said}; to see that, --ctas {others}"


def _tuned(name: str, tuning: Tuning) -> str:
    if not tuning.timed:
        return f"kernel {name} is autotuned: the first of its {tuning.configurations:,} configurations ran"
    failed = f" ({tuning.failed:,} do not run here)" if tuning.failed else ""
    return f"kernel {name} is autotuned: {tuning.timed:,} configurations timed{failed}; fastest: {tuning.chosen}"


def nothing_recorded(script: str, log: LaunchLog, kernels: KernelFilter, chosen: Launches) -> str | None:
    """What to change so that something is recorded; None where there was nothing to record, which `remarks` says."""
    if not log.names():
        return f"{script} launched no kernel, so there is nothing to show."
    launched = ", ".join(log.names())
    matching = [name for name in log.names() if kernels(name)]
    if not matching:
        return f"no kernel matches --kernel {' '.join(kernels.patterns)}. {script} launched: {launched}."
    if not any(name in log.executed for name in matching):
        return None
    number = chosen.first
    if any(log.executed.get(name, 0) > number for name in matching):
        return f"no launch that was to be recorded could be executed. {script} launched: {launched}."
    return f"no kernel was launched {number + 1} times, so there is no launch {number}. {script} launched: {launched}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
