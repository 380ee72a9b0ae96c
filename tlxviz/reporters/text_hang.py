"""The section of the text report on a launch that never ends."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.hang import Hang, Waiter
from tlxviz.analysis.hang_words import arrives, missing, rank_words, waiting, when_and_where, who
from tlxviz.reporters.layout import SIDE, place, say, whole


def say_hang(console: Console, hang: Hang) -> None:
    """Who waits on what since when, what is missing, and who could still bring it."""
    say_head(console, hang)
    for waiter in hang.waiters:
        console.print()
        say_waiter(console, waiter, hang)
    console.print()
    say(console, "ended: " + (", ".join(hang.ended) if hang.ended else "no warp group"))


def say_head(console: Console, hang: Hang) -> None:
    """Where and when, and how many wait."""
    say(console, f"HANG{when_and_where(hang)}", style="bold red")


def say_waiter(console: Console, waiter: Waiter, hang: Hang) -> None:
    """One of them, with the state of its barrier and who arrives there."""
    rank = rank_words(waiter.cta, hang)
    said = (who(waiter.agent, waiter.cta, hang), "bold"), f" ({rank})" if rank else "", f" {waiting(waiter)}"
    say(console, Text.assemble(*said))
    _say_place(console, "", waiter.file, waiter.line, waiter.text)
    if what := missing(waiter):
        say(console, what, indent=4)
    last = waiter.last_arrival
    if last is not None:
        when = "" if last.cycle is None else f" at cycle {whole(last.cycle)}"
        _say_place(console, f"last arrival: {who(last.agent, last.cta, hang)}{when}", last.file, last.line, last.text)
    elif waiter.operation == "wait":
        say(console, "no arrival yet", indent=4)
    _say_arrivers(console, waiter)


def _say_arrivers(console: Console, waiter: Waiter) -> None:
    if waiter.arrivers is None or waiter.operation not in ("wait", "named_wait"):
        return
    for each in waiter.arrivers:
        _say_place(console, arrives(each), each.file, each.line, each.text)
    if not waiter.arrivers:
        say(console, "nothing in the kernel arrives on it", indent=4, style="red")
    elif all(each.ended for each in waiter.arrivers):
        say(console, "every warp group that arrives on it has ended", indent=4, style="red")


def _say_place(console: Console, what: str, file: str, line: int, text: str) -> None:
    """Who and where; the source's own words on a line below."""
    where = place(file, line)
    if what or where:
        say(console, ", ".join(part for part in (what, where) if part), indent=4)
    if text:
        say(console, text, indent=8, style=SIDE)
