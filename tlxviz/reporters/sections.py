"""Sections of the text report that are printed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.account import Account
from tlxviz.analysis.attribution import Item
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.findings import Finding, Severity, findings
from tlxviz.analysis.links import ACTIVITY_WORDS
from tlxviz.analysis.phases import Phase
from tlxviz.reporters.compiler_section import write_compiled
from tlxviz.reporters.layout import HEADING, SIDE, glyphs, percent, place, say, size, whole

Section = Callable[[Console, Account], None]
SECTIONS: dict[str, Section] = {}
"""By name, in the order in which they are printed; filled by `_section`."""

CAUSE_WORDS = {
    Cause.TENSOR_CORE: "tensor core, own products",
    Cause.TENSOR_CORE_OTHER: "tensor core, others' products",
    Cause.COPY_LATENCY: "copy latency",
    Cause.COPY_BANDWIDTH: "copy bandwidth",
    Cause.RING_FULL: "ring full: consumers late",
    Cause.RING_EMPTY: "ring empty: producer late",
    Cause.NEXT_TILE: "next tile not known yet (CLC)",
    Cause.PARTNER: "partner at a named barrier",
    Cause.ARITHMETIC: "arithmetic, plain loads",
    Cause.TENSOR_MEMORY: "tensor memory, read and written",
    Cause.ISSUE: "issuing work",
    Cause.SYNCHRONIZATION: "synchronization",
    Cause.PROLOGUE: "prologue",
    Cause.EPILOGUE: "epilogue",
    Cause.OTHER: "not recorded",
}
_MARKS = {Severity.PROBLEM: ("!", "bold red"), Severity.HINT: ("*", "yellow"), Severity.NOTE: ("-", "dim")}
_MOST = 12
_LEAST = 0.005
_BAR = 20
_LABEL, _PERCENT = 34, 7
"""Columns of a bar's label and of its figure."""


def _section(name: str) -> Callable[[Section], Section]:
    def register(function: Section) -> Section:
        SECTIONS[name] = function
        return function

    return register


def say_findings(console: Console, found: Sequence[Finding]) -> None:
    """Each with a mark for its severity, its place and what to do."""
    for each in found:
        mark, style = _MARKS[each.severity]
        where = place(each.file, each.line)
        head = Text.assemble((f"{mark} ", style), (each.id, style or "bold"), "  ", (where, SIDE))
        say(console, head)
        say(console, each.text, indent=2)
        say(console, f"{each.advice[:1].upper()}{each.advice[1:]}.", indent=2, style=SIDE)


@_section("findings")
def _findings(console: Console, account: Account) -> None:
    found = findings(account)
    say(console, "Findings", style=HEADING)
    say_findings(console, found)
    if not found:
        say(console, "none", indent=2)


@_section("causes")
def _causes(console: Console, account: Account) -> None:
    say(console, "Where the time of each warp group goes", style=HEADING)
    for group in account.attribution:
        if not group.cycles:
            continue
        say(console, Text.assemble((group.name, "bold"), f", {whole(group.cycles)} cycles"))
        for cause, share in group.shares.items():
            if share < _LEAST:
                continue
            console.print(_bar_line(console, f"  {CAUSE_WORDS[cause]}", share))
            for item in _items(group.items, cause):
                say(console, _said(item), indent=6, style=SIDE)
    if not account.attribution:
        say(console, "nothing was traced", indent=2)


def _items(items: Sequence[Item], cause: Cause) -> Iterator[Item]:
    """The longest two of a cause, if they say more than the cause does."""
    phase = {Cause.PROLOGUE: Phase.PROLOGUE, Cause.EPILOGUE: Phase.EPILOGUE}.get(cause, Phase.LOOP)
    mine = [
        item for item in items if item.phase is phase and (phase is not Phase.LOOP or item.cause is cause) and item.line
    ]
    yield from (item for item in mine[:2] if item.share >= 2 * _LEAST)


def _said(item: Item) -> str:
    who = f"{item.culprit}: " if item.culprit else ""
    what = item.variable or item.kind
    return f"{percent(item.share)} {what} {place(item.file, item.line)}, {who}{ACTIVITY_WORDS[item.doing]}"


def _bar_line(console: Console, label: str, share: float) -> Text:
    wide = console.width >= 64
    room = min(_LABEL, console.width - _PERCENT)
    line = Text(f"{label[:room]:<{room}}{percent(share):>{_PERCENT}}", no_wrap=True)
    bar = glyphs(console).busy * round(share * _BAR)
    return line.append(f"  {bar}", "cyan") if wide and bar else line


@_section("path")
def _path(console: Console, account: Account) -> None:
    path = account.path
    say(console, "Critical path", style=HEADING)
    if path is None or not path.cycles:
        say(console, "nothing was traced", indent=2)
        return
    ctas = ", ".join(map(str, path.ctas[:6])) + (", ..." if len(path.ctas) > 6 else "")
    say(console, f"{whole(path.cycles)} cycles, through CTA {ctas}", style=SIDE)
    parts = [(ACTIVITY_WORDS[each], cycles) for each, cycles in path.activities.items()]
    parts += [("before the first CTA", path.start), ("between CTAs", path.between), ("after the last CTA", path.rest)]
    for name, cycles in sorted(parts, key=lambda each: -each[1]):
        if cycles:
            console.print(_bar_line(console, f"  {name}", cycles / path.cycles))
    say(console, "By warp group and line", style=HEADING)
    for each in path.shares[:_MOST]:
        if each.share < _LEAST:
            break
        where = f"{each.variable or each.kind}  {place(each.file, each.line)}" if each.line else ""
        label = Text.assemble((each.agent, "bold"), f"  {ACTIVITY_WORDS[each.activity]}  ", (where, SIDE))
        _numbered(console, label, f"{percent(each.share):>8}{whole(each.cycles):>12}")


def _numbered(console: Console, label: Text, numbers: str) -> None:
    """A label with numbers at the right edge, or below it where they do not fit."""
    room = console.width - len(numbers)
    if len(label) < room:
        label.pad_right(room - len(label))
        console.print(label.append(numbers), no_wrap=True)
    else:
        say(console, label)
        say(console, numbers.strip(), indent=2)


@_section("slack")
def _slack(console: Console, account: Account) -> None:
    columns = f"{'critical':>9}{'least':>9}{'median':>9}"
    title = "Slack of barriers (cycles)"
    say(console, f"{title:<{max(len(title), console.width - len(columns))}}{columns}", style=HEADING)
    for each in account.slack:
        label = Text.assemble((each.barrier, "bold"), f"  {each.waiter} ", (f"line {each.line}", SIDE))
        _numbered(console, label, f"{percent(each.critical):>9}{whole(each.least):>9}{whole(each.median):>9}")
    if not account.slack:
        say(console, "no barrier was waited for", indent=2)


@_section("steady")
def _steady(console: Console, account: Account) -> None:
    say(console, "Steady state (cycles)", style=HEADING)
    states = [each for each in account.steady.values() if each is not None]
    for state in states:
        interval = state.intervals
        say(
            console,
            Text.assemble(
                (state.agent, "bold"),
                f" in CTA {state.cta}: {whole(state.iterations)} iterations of {whole(interval.median)}, "
                f"prologue {whole(state.prologue)}, epilogue {whole(state.epilogue)}",
            ),
        )
        say(
            console,
            f"mean {interval.mean:,.1f}, p95 {interval.p95:,.0f}, {whole(interval.min)} to {whole(interval.max)}, "
            f"jitter {interval.jitter:.3g}; busy {state.busy:,.0f}, issue {state.issue:,.0f}, wait {state.wait:,.0f}",
            indent=2,
            style=SIDE,
        )
        for odd in state.odd[:3]:
            why = "; ".join(
                f"{reason.cycles:+,.0f} at {reason.variable or reason.kind} {place(reason.file, reason.line)}"
                for reason in odd.reasons[:2]
            )
            say(console, f"iteration {odd.inner} takes {whole(odd.cycles)}: {why}", indent=2, style=SIDE)
        if state.odd_count > 3:
            say(console, f"and {whole(state.odd_count - 3)} more", indent=2, style=SIDE)
    if not states:
        say(console, "no warp group has a loop with a steady state", indent=2)


@_section("rings")
def _rings(console: Console, account: Account) -> None:
    say(console, "Rings of slots, in the steady state", style=HEADING)
    for ring in account.rings:
        who = f"{', '.join(ring.producers)} to {', '.join(ring.consumers)}"
        slots = f"{ring.depth} slot{'' if ring.depth == 1 else 's'} of {size(ring.bytes)}"
        if ring.memory == "tensor":
            slots += " in tensor memory"
        else:
            slots += f", needs {'?' if ring.needed is None else ring.needed}"
        say(console, Text.assemble((ring.buffer, "bold"), f"  {who}: {slots}"))
        say(
            console,
            f"filling {ring.filling:.1f}, unread {ring.unread:.1f}, being read {ring.reading:.1f}; "
            f"nothing to read {percent(ring.nothing_unread, 0)}, full {percent(ring.full_share, 0)} of the time"
            + (f"; nothing can be filled {percent(ring.stalled_share, 0)}" if ring.memory == "tensor" else ""),
            indent=2,
            style=SIDE,
        )
        if ring.fill_cycles is not None and ring.hold_cycles is not None and ring.pace_cycles is not None:
            say(
                console,
                f"filled in {whole(ring.fill_cycles)} cycles, held {whole(ring.hold_cycles)}, "
                f"one every {whole(ring.pace_cycles)}",
                indent=2,
                style=SIDE,
            )
    if not account.rings:
        say(console, "no ring is filled by TMA, and no slot of tensor memory is read", indent=2)


@_section("roofline")
def _roofline(console: Console, account: Account) -> None:
    say(console, "Roofline", style=HEADING)
    roofs = account.roofline
    if roofs is None:
        say(console, "the trace does not say enough", indent=2)
        return
    for roof in roofs.roofs:
        console.print(_bar_line(console, f"  {ROOF_WORDS.get(roof.name, roof.name)}", roof.share))
    lines: list[str] = []
    if roofs.flops_per_s is not None and roofs.peak and roofs.mfu is not None:
        types = "/".join(roofs.mma_types)
        lines.append(
            f"{roofs.flops_per_s / 1e12:,.4g} TFLOP/s of {roofs.peak / 1e12:,.4g} dense {types} at this clock "
            f"({percent(roofs.mfu)})"
        )
        if roofs.mfu_published is not None and roofs.peak_published:
            lines.append(f"{percent(roofs.mfu_published)} of the published {roofs.peak_published / 1e12:,.4g} TFLOP/s")
    if roofs.intensity_l2 is not None:
        lines.append(f"{roofs.intensity_l2:,.4g} FLOP per byte from L2")
    if roofs.intensity_compulsory is not None:
        lines.append(f"{roofs.intensity_compulsory:,.4g} FLOP per byte that it has to move")
    if roofs.wave_efficiency is not None:
        lines.append(f"waves filled to {percent(roofs.wave_efficiency)}")
    for line in lines:
        say(console, line, indent=2, style=SIDE)


ROOF_WORDS = {
    "peak": "dense peak",
    "l2": "L2 bandwidth",
    "dram": "DRAM bandwidth",
    "tensor_core": "tensor core (SM)",
    "tma": "TMA loads (SM)",
    "tma_store": "TMA stores (SM)",
    "load_store": "plain loads and stores (SM)",
    "issue": "issue slots (SM)",
    "logic": "logic pipe (SM)",
    "mufu": "MUFU (SM)",
    "shared_memory": "shared memory (SM)",
}


@_section("compiler")
def _compiler(console: Console, account: Account) -> None:
    say(console, "What the compiler made of it", style=HEADING)
    made = account.compiled
    if made is None:
        say(console, "the trace does not say enough", indent=2)
    else:
        write_compiled(console, made)
