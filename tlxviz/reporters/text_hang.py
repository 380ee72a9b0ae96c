"""The section of the text report on a launch that never ends."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.hang import Arriver, Hang, Waiter
from tlxviz.reporters.layout import SIDE, place, plural, say, whole

_WITHOUT_VARIABLE = {
    "named_wait": "named barrier",
    "cluster_wait": "the barrier of the cluster",
    "join": "the other warp groups",
    "poll": "memory that nobody writes",
}


def say_hang(console: Console, hang: Hang) -> None:
    """Who waits on what since when, what is missing, and who could still bring it."""
    say_head(console, hang)
    for waiter in hang.waiters:
        console.print()
        say_waiter(console, waiter, clustered=bool(hang.cluster))
    console.print()
    say(console, "ended: " + (", ".join(hang.ended) if hang.ended else "no warp group"))


def say_head(console: Console, hang: Hang) -> None:
    """Where and when, and how many wait."""
    head = "HANG"
    if hang.cycle is not None:
        head += f" at cycle {whole(hang.cycle)}"
    if hang.cluster:
        head += f" in the cluster of CTAs {', '.join(map(str, hang.cluster))}"
    elif hang.cta is not None:
        head += f" in CTA {hang.cta}"
    number = len(hang.waiters)
    head += f": {plural(number, 'warp group')} {'waits' if number == 1 else 'wait'} forever"
    say(console, head, style="bold red")


_MISSING = {"named_wait": "threads missing", "cluster_wait": "warps missing"}


def waits_on(waiter: Waiter) -> str:
    """`full[1]`, or words for what has no name."""
    barrier = waiter.variable or _WITHOUT_VARIABLE.get(waiter.operation, waiter.operation)
    return barrier if waiter.slot is None else f"{barrier}[{waiter.slot}]"


def say_waiter(console: Console, waiter: Waiter, *, clustered: bool) -> None:
    """One of them, with the state of its barrier and who arrives there."""
    parts = [f" waits on {waits_on(waiter)}"]
    if waiter.phase is not None:
        parts.append(f"phase {waiter.phase}")
    if waiter.since is not None:
        parts.append(f"since cycle {whole(waiter.since)}")
    if waiter.inner is not None:
        outer = "" if waiter.outer in (None, waiter.inner) else f" of outer iteration {waiter.outer}"
        parts.append(f"iteration {waiter.inner}{outer}")
    say(console, Text.assemble((_who(waiter.agent, waiter.cta, clustered), "bold"), ", ".join(parts)))
    _say_place(console, "", waiter.file, waiter.line, waiter.text)
    missing: list[str] = []
    if waiter.pending is not None:
        total = "" if waiter.count is None else f" of {whole(waiter.count)}"
        unit = _MISSING.get(waiter.operation, "arrivals pending")
        missing.append(f"{whole(waiter.pending)}{total} {unit}")
    missing += [f"{each.pending} of {each.count} of CTA {each.cta}" for each in waiter.absent]
    if waiter.missing_bytes > 0:
        missing.append(f"{whole(waiter.missing_bytes)} bytes missing")
    elif waiter.missing_bytes < 0:
        missing.append(f"{whole(-waiter.missing_bytes)} bytes more than were expected")
    if waiter.completed_phases is not None:
        missing.append(f"{plural(waiter.completed_phases, 'phase')} completed so far")
    if missing:
        say(console, ", ".join(missing), indent=4)
    last = waiter.last_arrival
    if last is not None:
        when = "" if last.cycle is None else f" at cycle {whole(last.cycle)}"
        _say_place(
            console, f"last arrival: {_who(last.agent, last.cta, clustered)}{when}", last.file, last.line, last.text
        )
    elif waiter.operation == "wait":
        say(console, "no arrival yet", indent=4)
    _say_arrivers(console, waiter)


def _say_arrivers(console: Console, waiter: Waiter) -> None:
    if waiter.arrivers is None or waiter.operation not in ("wait", "named_wait"):
        return
    for each in waiter.arrivers:
        _say_place(console, _arriver(each), each.file, each.line, each.text)
    if not waiter.arrivers:
        say(console, "nothing in the kernel arrives on it", indent=4, style="red")
    elif all(each.ended for each in waiter.arrivers):
        say(console, "every warp group that arrives on it has ended", indent=4, style="red")


def _arriver(each: Arriver) -> str:
    what = "arrives on it from other CTAs" if each.remote else "arrives on it"
    return f"{what}: {each.agent}" + (" (ended)" if each.ended else "")


def _who(agent: str, cta: int | None, clustered: bool) -> str:
    return f"{agent} of CTA {cta}" if clustered and cta is not None else agent


def _say_place(console: Console, what: str, file: str, line: int, text: str) -> None:
    """Who and where; the source's own words on a line below."""
    where = place(file, line)
    if what or where:
        say(console, ", ".join(part for part in (what, where) if part), indent=4)
    if text:
        say(console, text, indent=8, style=SIDE)
