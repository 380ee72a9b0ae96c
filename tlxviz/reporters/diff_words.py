"""What a comparison says in words."""

from __future__ import annotations

from collections.abc import Sequence

from tlxviz.analysis.causes import Cause
from tlxviz.analysis.difference import Difference
from tlxviz.analysis.difference_causes import CauseDifference, PathCause
from tlxviz.reporters.layout import duration, percent, plural, whole

CAUSES = {
    PathCause.TENSOR_CORE: "tensor core",
    PathCause.COPY_LATENCY: "copy latency",
    PathCause.COPY_BANDWIDTH: "copy bandwidth",
    PathCause.ARITHMETIC: "arithmetic of {role}",
    PathCause.TENSOR_MEMORY: "tensor memory",
    PathCause.NEXT_TILE: "next tile (CLC)",
    PathCause.ISSUE: "issue",
    PathCause.HAND_OFF: "hand-offs",
    PathCause.BETWEEN: "between CTAs",
    PathCause.LAUNCH: "launch",
    PathCause.WAVES: "rest of the waves",
    PathCause.UNKNOWN: "waits, cause unknown",
    PathCause.REST: "other SMs",
}
ROLE_CAUSES = {
    Cause.TENSOR_CORE: "tensor core",
    Cause.TENSOR_CORE_OTHER: "tensor core, for others",
    Cause.COPY_LATENCY: "copy latency",
    Cause.COPY_BANDWIDTH: "copy bandwidth",
    Cause.RING_FULL: "ring full",
    Cause.RING_EMPTY: "ring empty",
    Cause.NEXT_TILE: "next tile (CLC)",
    Cause.PARTNER: "partner",
    Cause.ARITHMETIC: "arithmetic",
    Cause.TENSOR_MEMORY: "tensor memory",
    Cause.ISSUE: "issue",
    Cause.SYNCHRONIZATION: "synchronization",
    Cause.PROLOGUE: "prologue",
    Cause.EPILOGUE: "epilogue",
    Cause.OTHER: "not recorded",
}
UNITS = {
    "launch": "whole launch",
    "tensor_core": "tensor core busy",
    "tma": "TMA busy",
    "arithmetic": "arithmetic of all warps",
    "issue": "issue of all warps",
    "waiting": "waiting of all warps",
    "prologue": "prologue",
    "main_loop": "main loop",
    "epilogue": "epilogue",
    "tma_load_bytes": "loaded by TMA",
    "tma_store_bytes": "stored by TMA",
    "global_load_bytes": "loaded by warps",
    "global_store_bytes": "stored by warps",
}
_SITES = {
    "wait": "wait",
    "mma_wait": "MMA wait",
    "named_wait": "named barrier",
    "tma_store_wait": "TMA store wait",
    "async_copy_wait": "copy wait",
    "cluster_wait": "cluster wait",
    "tma_load": "TMA load",
    "tma_store": "TMA store",
    "tma_reduce": "TMA reduce",
    "async_copy": "copy",
    "mma": "MMA",
    "mma_commit": "MMA commit",
    "tmem_load": "TMEM read",
    "tmem_store": "TMEM write",
    "tmem_copy": "copy to TMEM",
    "clc": "next tile (CLC)",
}
_MUCH = 0.2
"""Of the difference: causes that differ by so much are named."""
_MOST = 3
_SCALING = 0.02
"""FLOP of a launch that was simulated in part are scaled from what ran: they are equal if they differ by no more."""


def signed(number: float) -> str:
    text = f"{number:+,.0f}"
    return "0" if text in ("+0", "-0") else text


def ratio(fraction: float) -> str:
    return f"{100 * fraction:+.1f}%"


def site_words(kind: str, variable: str) -> str:
    """`wait full`, `MMA`."""
    words = _SITES.get(kind, kind.replace("_", " "))
    return f"{words} {variable}" if variable and not variable.startswith("%") else words


def verdict(found: Difference) -> str:
    """How much faster or slower the second is."""
    a, b = found.a, found.b
    cycles = f"{whole(b.cycles)} cycles against {whole(a.cycles)} ({signed(found.cycles)}"
    if found.time_ns is not None:
        cycles += f", {'-' if found.time_ns < 0 else '+'}{duration(abs(found.time_ns))}"
    cycles += ")"
    before, after = (a.time_ns, b.time_ns) if a.time_ns and b.time_ns else (a.cycles, b.cycles)
    if not before:
        return f"B takes {cycles}."
    if before == after:
        return f"B takes as long as A: {whole(b.cycles)} cycles."
    change = (after - before) / before
    text = f"B takes {percent(abs(change))} {'less' if change < 0 else 'more'} time than A: {cycles}."
    if a.flop and b.flop and abs(b.flop - a.flop) > _SCALING * a.flop:
        each = (after / b.flop - before / a.flop) / (before / a.flop)
        text += f" For a FLOP, it takes {percent(abs(each))} {'less' if each < 0 else 'more'}."
    return text


def headline(found: Difference) -> list[str]:
    """The causes that explain most of the difference, and how much of it has a cause with a name."""
    total = found.cycles
    if not total or found.explained is None:
        return []
    causes = [each for each in found.causes if each.named]
    helping = [each for each in causes if each.difference * total > 0][:_MOST]
    main = [each for each in helping if abs(each.difference) >= _MUCH * abs(total)] or helping[:1]
    against = [each for each in causes if each.difference * total < 0 and abs(each.difference) >= _MUCH * abs(total)][
        :_MOST
    ]
    said = f"Most of it: {_listed(main)}." if main else ""
    if against:
        said += f" Against it: {_listed(against)}."
    said += f" Causes with a name explain {percent(found.explained, 0)} of the difference."
    sentences = [said.strip()]
    for letter, side in (("A", found.a), ("B", found.b)):
        if side.waves is not None and side.rounds < side.waves:
            sentences.append(
                f"Of {letter}, {plural(side.rounds, 'CTA')} of an SM {'was' if side.rounds == 1 else 'were'} traced "
                f"where {plural(side.waves, 'wave')} of CTAs run: the others are taken to be as long."
            )
    return sentences


def _listed(causes: Sequence[CauseDifference]) -> str:
    each = [
        f"{CAUSES[cause.cause].format(role=cause.role)} {signed(cause.difference)} ({percent(cause.share or 0.0, 0)})"
        for cause in causes
    ]
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
