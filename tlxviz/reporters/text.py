"""The report for people: plain text that fits the terminal, with colour where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import Severity
from tlxviz.analysis.probing import Probing
from tlxviz.analysis.shares import GroupShares, Shares
from tlxviz.analysis.summary import Summary
from tlxviz.analysis.waits import Release, Wait
from tlxviz.reporters.across import across_words
from tlxviz.reporters.layout import (
    HEADING,
    SIDE,
    STYLES,
    Glyphs,
    duration,
    glyphs,
    make_console,
    percent,
    place,
    plural,
    say,
    size,
    whole,
)
from tlxviz.reporters.sections import SECTIONS, say_findings
from tlxviz.reporters.text_hang import say_hang
from tlxviz.reporters.text_strip import say_strip, strip_columns

_WAIT_WORDS = {
    "wait": "barrier",
    "mma_wait": "MMA",
    "named_wait": "named barrier",
    "tma_store_wait": "TMA store",
    "async_copy_wait": "async copy",
    "cluster_wait": "cluster",
}
_ENGINE_WORK = {"tma": "TMA copy", "tensor_core": "MMA"}
_BAR = 24


_FINDINGS = 3
"""Findings that the short report has."""


@dataclass(frozen=True, slots=True)
class TextReporter:
    summaries: Sequence[Summary]
    missing: Sequence[str | None] = ()
    """For each launch, that CTAs which were asked for are not in its grid; None where all are."""
    accounts: Sequence[Account] = ()
    """For each launch, where sections are wanted that the summary does not have."""
    sections: Sequence[str] = ()
    """Names of sections to print rather than the short report: `NAMES` has all."""

    @staticmethod
    def strip_columns(stream: TextIO | None) -> int:
        """Columns of the steady-state strip that fit what `stream` writes to."""
        return strip_columns(make_console(stream).width)

    def render(self, stream: TextIO) -> None:
        self.print_on(make_console(stream))

    def print_on(self, console: Console) -> None:
        """The same on a console of the caller's."""
        for index, summary in enumerate(self.summaries):
            if index:
                console.print()
            if len(self.summaries) > 1:
                say(console, f"Launch {index}", style=HEADING)
            missing = self.missing[index] if self.missing else None
            _say_head(console, summary)
            if missing is not None:
                say(console, missing)
            if self.sections:
                self._say_sections(console, index)
            else:
                _say_summary(console, summary, missing)

    def _say_sections(self, console: Console, index: int) -> None:
        for name in (each for each in NAMES if each in self.sections):
            console.print()
            if name in _OF_SUMMARY:
                _OF_SUMMARY[name](console, self.summaries[index])
            else:
                SECTIONS[name](console, self.accounts[index])


def _say_summary(console: Console, summary: Summary, missing: str | None) -> None:
    if summary.hang is not None:
        console.print()
        say_hang(console, summary.hang)
    if summary.verdict is not None:
        console.print()
        say(console, summary.verdict.sentence, style=HEADING)
        matter = [each for each in summary.findings if each.severity is not Severity.NOTE] or list(summary.findings)
        say_findings(console, matter[:_FINDINGS])
    console.print()
    none_exists = missing is not None and not summary.coverage.ctas_traced
    _say_groups(console, summary.groups, "no such CTA" if none_exists else "not traced")
    if summary.hang is not None:
        console.print()
        _say_waits(console, summary)
    if summary.across is not None:
        console.print()
        say(console, across_words(summary.across))
    if summary.ranges or summary.ranges_amiss.ends:
        console.print()
        _say_ranges(console, summary)
    if summary.strip is not None:
        console.print()
        say_strip(console, summary.strip)


def _say_head(console: Console, summary: Summary) -> None:
    say(console, Text.assemble((summary.kernel, HEADING), f" on {summary.device}, {summary.recorder}"))
    if summary.hang is not None:
        cost = f"{whole(summary.cycles)} cycles until it hung"
    elif not summary.complete and not (summary.probing and summary.probing.missing):
        cost = f"{whole(summary.cycles)} cycles until recording was interrupted; all figures are of this part"
    else:
        cost = f"{whole(summary.cycles)} cycles"
        if summary.time_ns is not None:
            cost += f" = {duration(summary.time_ns)} at {whole(summary.clock_mhz)} MHz"
        if summary.tflops is not None:
            cost += f", {summary.tflops:.4g} TFLOP/s"
    say(console, cost, style=HEADING)
    say(console, _extent(summary))
    if summary.probing is not None:
        _say_probing(console, summary.probing)
    if summary.config:
        say(console, "  ".join(f"{name}={value}" for name, value in summary.config.items()), style=SIDE)


def _say_probing(console: Console, probing: Probing) -> None:
    if probing.slow_down is None:
        say(console, "what the timestamps cost is not known", style=SIDE)
    else:
        cost = f"timestamps slow the kernel down by {percent(probing.slow_down)}"
        if probing.kernel_ms is not None and probing.probed_ms is not None:
            cost += f" ({probing.kernel_ms:.4g} to {probing.probed_ms:.4g} ms)"
        if probing.recorded_cta_slow_down is not None:
            cost += f", traced CTAs by {percent(probing.recorded_cta_slow_down)}"
            cost += f"; corrected by {percent(probing.correction)}" if probing.correction else "; not corrected"
        if probing.parts > 1:
            cost += f"; in {probing.parts} parts"
        say(console, cost, style=SIDE)
    if probing.left_out:
        lines = ", ".join(map(str, probing.left_out_lines))
        not_measured = f"{probing.left_out} of {plural(probing.points, 'point')} would slow it down by more"
        say(console, f"{not_measured} and were left out: times at lines {lines} are simulated between measured ones")
    if probing.missing:
        lost = f"{plural(probing.missing, 'record')} missing beside {whole(probing.records)}"
        say(console, f"{lost}: the trace does not hold all that the traced CTAs did")


def _extent(summary: Summary) -> str:
    seen = summary.coverage
    parts = ["grid " + " x ".join(str(extent) for extent in summary.grid)]
    if seen.ctas is not None:
        ctas = plural(seen.ctas, "CTA")
        if seen.waves is not None:
            ctas += f" in {plural(seen.waves, 'wave')}"
        if seen.ctas_per_sm is not None:
            ctas += f", {whole(seen.ctas_per_sm)} per SM"
        parts.append(ctas)
    if seen.ctas_simulated is not None:
        parts.append(f"{whole(seen.ctas_simulated)} simulated")
    traced = seen.ctas_traced
    if not traced:
        parts.append("none traced")
    elif len(traced) <= 4:
        parts.append(f"traced: CTA {', '.join(map(str, traced))} ({plural(seen.events, 'event')})")
    else:
        parts.append(f"traced: {plural(len(traced), 'CTA')} ({plural(seen.events, 'event')})")
    return "; ".join(parts)


def _say_groups(console: Console, groups: Sequence[GroupShares], untraced: str) -> None:
    shapes = glyphs(console)
    name = min(16, max([len("Warp groups"), *(len(group.name) for group in groups)]))
    wide = console.width >= 64
    head = f"{'Warp groups':<{name}}" + ("  warps  regs" if wide else "") + "    busy   issue    wait"
    bar = min(_BAR, console.width - len(head) - 2)
    say(console, head, style=HEADING)
    if not groups:
        say(console, "none", indent=2)
    for group in groups:
        line = Text(f"{group.name[:name]:<{name}}", no_wrap=True)
        if wide:
            line.append(f"  {group.warps:>5}  {'-' if group.registers is None else group.registers:>4}")
        if group.shares is None:
            console.print(line.append(f"  {untraced}", SIDE))
            continue
        for share, cell in ((group.shares.busy, "b"), (group.shares.issue, "i"), (group.shares.wait, "w")):
            line.append(f"  {percent(share):>6}", STYLES[cell])
        if bar >= 8:
            line.append("  ").append_text(_bar(group.shares, shapes, bar))
        console.print(line)
        if len(group.shares.waits) > 1:
            split = (f"{_WAIT_WORDS.get(kind, kind)} {percent(share)}" for kind, share in group.shares.waits.items())
            say(console, "waits: " + ", ".join(split), indent=2, style=SIDE)


def _bar(shares: Shares, shapes: Glyphs, width: int) -> Text:
    busy = round(shares.busy * width)
    issue = round((shares.busy + shares.issue) * width) - busy
    bar = Text(shapes.busy * busy, STYLES["b"])
    bar.append(shapes.issue * issue, STYLES["i"])
    return bar.append(shapes.wait * (width - busy - issue), STYLES["w"])


def _say_waits(console: Console, summary: Summary) -> None:
    waits = summary.waits
    columns = f"{'of role':>9}{'count':>9}{'mean':>9}{'max':>9}"
    if not waits:
        say(console, "Worst waits", style=HEADING)
        say(console, "none", indent=2)
        return
    wide = console.width >= 72
    left = console.width - len(columns)
    title = "Worst waits (cycles)"
    say(console, f"{title:<{left}}{columns}" if wide else title, style=HEADING)
    for wait in waits:
        what = wait.variable or f"{_WAIT_WORDS.get(wait.kind, wait.kind)} wait"
        label = Text.assemble((wait.agent, "bold"), "  ", what, "  ", (place(wait.file, wait.line), SIDE))
        if wide and len(label) < left:
            label.pad_right(left - len(label))
            numbers = f"{percent(wait.share):>9}{whole(wait.count):>9}{whole(wait.mean):>9}{whole(wait.max):>9}"
            console.print(label.append(numbers))
        else:
            say(console, label)
            numbers = (
                f"{percent(wait.share)} of the role's time, {whole(wait.count)} times, "
                f"mean {whole(wait.mean)}, max {whole(wait.max)}"
            )
            say(console, numbers, indent=2)
        released = _released(wait)
        if released:
            say(console, released, indent=2, style=SIDE)


def _released(wait: Wait) -> str:
    """The parties with a hundredth of it or more, at most three; empty if nobody was recorded."""
    if not any(release.engine for release in wait.released_by):
        return ""
    shown = [release for release in wait.released_by if release.share >= 0.005][:3]
    return "released by " + ", ".join(f"{_party(release, wait)} {percent(release.share, 0)}" for release in shown)


def _party(release: Release, wait: Wait) -> str:
    if not release.engine:
        return "not recorded"
    work = _ENGINE_WORK.get(release.engine)
    if work is None:
        return release.agent
    if release.agent == wait.agent:
        return f"its own {work}"
    return f"{work} issued by {release.agent}" if release.agent else work


def _say_ranges(console: Console, summary: Summary) -> None:
    ranges, amiss = summary.ranges, summary.ranges_amiss
    columns = f"{'of role':>9}{'count':>9}{'mean':>9}"
    wide = console.width >= 72
    left = console.width - len(columns)
    title = "Ranges (cycles)"
    say(console, f"{title:<{left}}{columns}" if wide else title, style=HEADING)
    if not ranges and not amiss.ends:
        say(console, "none", indent=2)
    for each in ranges:
        label = Text.assemble((each.agent, "bold"), "  ", each.name, "  ", (place(each.file, each.line), SIDE))
        if wide and len(label) < left:
            label.pad_right(left - len(label))
            console.print(label.append(f"{percent(each.share):>9}{whole(each.count):>9}{whole(each.mean):>9}"))
        else:
            say(console, label)
            numbers = f"{percent(each.share)} of the role's time, {whole(each.count)} times, mean {whole(each.mean)}"
            say(console, numbers, indent=2)
    if amiss.ends:
        say(console, f"passed over: {plural(amiss.ends, 'end')} of ranges that had not begun", indent=2, style=SIDE)
    if amiss.begins:
        say(
            console,
            f"never ended: {plural(amiss.begins, 'range')}, which end here with their warp groups",
            indent=2,
            style=SIDE,
        )


def _say_utilisation(console: Console, summary: Summary) -> None:
    used = summary.utilisation
    say(console, "Utilisation of the traced SM", style=HEADING)
    for name, share, moved in (
        ("tensor core", used.tensor_core, ()),
        ("TMA", used.tma, (("loaded", used.tma_load_bytes), ("stored", used.tma_store_bytes))),
        ("load/store", None, (("loaded", used.global_load_bytes), ("stored", used.global_store_bytes))),
    ):
        parts = [f"{percent(share):>6}"] if share is not None else []
        parts += [f"{size(count)} {what}" for what, count in moved if count]
        if parts:
            say(console, f"{name:<12}" + ", ".join(parts))
    if used.sm_cycles is None:
        say(console, "not counted", indent=2)


_OF_SUMMARY: dict[str, Callable[[Console, Summary], None]] = {
    "waits": _say_waits,
    "ranges": _say_ranges,
    "utilisation": _say_utilisation,
}
NAMES = (*_OF_SUMMARY, *SECTIONS)
"""Sections, in the order in which they are printed."""
