"""A launch as plain data for the page: everything but its events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from tlxviz.analysis.account import Account
from tlxviz.analysis.kinds import site_wait_kinds
from tlxviz.analysis.places import base_name
from tlxviz.analysis.summary import Summary, summarise
from tlxviz.exports.html.hanging import hang_facts
from tlxviz.exports.model import Cut
from tlxviz.trace.model import LaunchTrace
from tlxviz.trace.vocabulary import MEANINGS

_WAITS = 8
"""Worst waits that are listed."""


class Texts:
    """Sources, which launches of one kernel share."""

    def __init__(self) -> None:
        self.held: list[str] = []

    def place(self, text: str) -> int:
        """Where a text is held."""
        if text not in self.held:
            self.held.append(text)
        return self.held.index(text)


def vocabulary() -> dict[str, dict[str, list[str]]]:
    """Label and kind of time of each event, by kind of track and kind of site."""
    words: dict[str, dict[str, list[str]]] = {}
    for (kind, track), meaning in MEANINGS.items():
        words.setdefault(str(track), {})[kind] = [meaning.label, meaning.work.name.lower()]
    return words


def described(cut: Cut, texts: Texts) -> dict[str, Any]:
    """What is shown of a launch. Figures are of the whole launch, of which the page may hold a part."""
    launch, whole = cut.launch, cut.whole or cut.launch
    account = Account(whole)
    summary = summarise(account, worst=_WAITS)
    strip = summary.strip
    return {
        "number": cut.number,
        "kernel": launch.kernel,
        "begin": cut.begin,
        "end": cut.end,
        "clock": launch.clock_mhz,
        "tracks": [
            [str(each.kind), each.name, each.cta, each.sm, each.agent, each.begin, each.end] for each in launch.tracks
        ],
        "sites": [
            [each.kind, each.agent, each.file, each.line, each.variable, each.text, each.bytes] for each in launch.sites
        ],
        "source": texts.place(launch.source),
        "file": base_name(launch.source_file),
        "line": launch.source_line,
        "lines": _line_shares(account),
        "stretch": None if strip is None else [strip.cta, strip.begin, strip.end, strip.agent, strip.iterations],
        "hang": hang_facts(whole),
        "facts": _facts(summary) | {"partial": _is_part(launch, whole)},
    }


def _facts(summary: Summary) -> dict[str, Any]:
    used = summary.utilisation
    return plain(
        {
            "grid": summary.grid,
            "config": summary.config,
            "device": summary.device,
            "recorder": summary.recorder,
            "cycles": summary.cycles,
            "ns": summary.time_ns,
            "tflops": summary.tflops,
            "complete": summary.complete,
            "verdict": summary.verdict.sentence if summary.verdict else None,
            "findings": [asdict(each) for each in summary.findings],
            "coverage": asdict(summary.coverage),
            "groups": [asdict(each) for each in summary.groups],
            "waits": [asdict(each) for each in summary.waits],
            "ranges": [asdict(each) for each in summary.ranges],
            "busy": {"tensor core": used.tensor_core, "TMA": used.tma, "load/store": used.load_store},
            "slow_down": summary.probing.slow_down if summary.probing else None,
        }
    )


def _is_part(launch: LaunchTrace, whole: LaunchTrace) -> bool:
    return len(launch.events) < len(whole.events) or len(launch.tracks) < len(whole.tracks)


def _line_shares(account: Account) -> list[list[float]]:
    """Lines of the kernel's own file, each with the share of the warp groups' time that its events take, and of all
    waiting. Work between events belongs to no line."""
    launch = account.launch
    cycles = account.totals.cycles.sum(axis=0)
    life = sum(int(account.lives[list(group.tracks)].sum()) for group in account.groups)
    waits = np.where(site_wait_kinds(launch) >= 0, cycles, 0)
    found: dict[int, list[int]] = {}
    for number, site in enumerate(launch.sites):
        if site.file and base_name(site.file) == base_name(launch.source_file):
            of_line = found.setdefault(site.line, [0, 0])
            of_line[0] += int(cycles[number])
            of_line[1] += int(waits[number])
    waited = max(1, int(waits.sum()))
    return [
        [line, round(time / max(1, life), 4), round(waiting / waited, 4)]
        for line, (time, waiting) in sorted(found.items())
        if time
    ]


def plain(value: object) -> Any:
    """What JSON can hold: what is no number, which an argument may be, as text."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return float(f"{value:.6g}") if math.isfinite(value) else str(value)
        case Mapping():
            return {str(key): plain(each) for key, each in cast(Mapping[object, object], value).items()}
        case list() | tuple():
            return [plain(each) for each in cast(Sequence[object], value)]
        case _:
            return str(value)
