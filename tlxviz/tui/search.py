"""Searching events: `wait a_full[2]`, `line:104`, `>1000`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.model import LaunchTrace
from tlxviz.trace.vocabulary import meaning

_LENGTH = re.compile(r"([<>]=?)([\d,_]*\.?\d+)(cycles|ns|us|ms)?", re.IGNORECASE)
_FIELD = re.compile(r"(line|slot|phase|cta|i|iteration|outer):(.*)", re.IGNORECASE)
_WORD = re.compile(r"(role|kind|var|variable):(.+)", re.IGNORECASE)
_SLOT = re.compile(r"(.+)\[(\d+)\]")
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6}

Mask = NDArray[np.bool_]


class SearchError(Exception):
    """The words cannot be understood. The text says which."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What a search has found."""

    query: str
    events: NDArray[np.int64]
    """Rows, by CTA, then by begin."""
    cta: NDArray[np.int64]
    """CTA of each."""
    begin: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.events)

    def after(self, cta: int, cycle: int, event: int | None, direction: int) -> int | None:
        """The place of the next hit (1) or the one before (-1), around the end; None if there is none."""
        if not len(self):
            return None
        own = np.flatnonzero(self.events == (-1 if event is None else event))
        if len(own):
            return (int(own[0]) + direction) % len(self)
        before = (self.cta < cta) | ((self.cta == cta) & (self.begin < cycle))
        place = int(np.count_nonzero(before))
        return (place if direction > 0 else place - 1) % len(self)


def find(launch: LaunchTrace, query: str) -> Hits:
    """The events for which all words of the query hold.

    Args:
        query: Words with spaces between. A plain word is looked for in what an event is called (`wait a_full`), in
            its variable, its kind, its warp group and its file and line; `a_full[2]` is one slot. `role:`, `kind:` and
            `var:` look in one of these, `line:`, `slot:`, `phase:`, `cta:` and `i:` compare a number, and `>1000`,
            `<=2us` the duration.

    Raises SearchError.
    """
    events = launch.events
    mask = np.ones(len(events), bool)
    for word in query.split():
        mask &= _holds(launch, word)
    rows = np.flatnonzero(mask)
    ctas = np.array([track.cta for track in launch.tracks], np.int64)
    cta = ctas[events["track"][rows]] if len(rows) else np.empty(0, np.int64)
    begin = events["begin"][rows]
    order = np.lexsort((rows, begin, cta))
    return Hits(query, rows[order], cta[order], begin[order])


def _holds(launch: LaunchTrace, word: str) -> Mask:
    events = launch.events
    if length := _LENGTH.fullmatch(word):
        return _longer(launch, length)
    if named := _FIELD.fullmatch(word):
        return _equal(launch, named[1].lower(), named[2])
    if one := _WORD.fullmatch(word):
        return _called(launch, one[2], {"variable": "var"}.get(one[1].lower(), one[1].lower()))
    if word[0] in "<>":
        raise SearchError(f"{word} is no duration: write >1000 or <2us")
    if slot := _SLOT.fullmatch(word):
        return _called(launch, slot[1], "") & (events["slot"] == int(slot[2]))
    return _called(launch, word, "")


def _longer(launch: LaunchTrace, found: re.Match[str]) -> Mask:
    comparison, number, unit = found[1], float(found[2].replace(",", "").replace("_", "")), (found[3] or "").lower()
    if unit in _NS:
        number *= _NS[unit] * launch.clock_mhz / 1000
    cycles = launch.events["end"] - launch.events["begin"]
    return {"<": cycles < number, "<=": cycles <= number, ">": cycles > number, ">=": cycles >= number}[comparison]


def _equal(launch: LaunchTrace, name: str, text: str) -> Mask:
    try:
        wanted = int(text.replace(",", ""))
    except ValueError:
        raise SearchError(f"{name}:{text} wants a number, as in {name}:104") from None
    events = launch.events
    if name == "line":
        lines = np.array([site.line for site in launch.sites] + [-1])
        return lines[events["site"]] == wanted
    if name == "cta":
        ctas = np.array([track.cta for track in launch.tracks] + [-1])
        return ctas[events["track"]] == wanted
    column = {"i": "inner", "iteration": "inner"}.get(name, name)
    return events[column] == wanted


def _called(launch: LaunchTrace, word: str, where: str) -> Mask:
    """Whether a word is in what an event is called; `where` is `role`, `kind` or `var`, or empty for anywhere."""
    word = word.casefold()
    track, site = launch.events["track"], launch.events["site"]
    kinds = sorted({each.kind for each in launch.tracks})
    table = np.zeros((len(kinds) + 1, len(launch.sites) + 1), bool)
    for row, kind in enumerate(kinds):
        for column, each in enumerate(launch.sites):
            known = meaning(each.kind, kind)
            label = known.label if known else each.kind
            said = {
                "": f"{label} {each.variable} {each.kind} {PurePath(each.file).name}:{each.line}",
                "kind": f"{label} {each.kind}",
                "var": each.variable,
                "role": "",
            }[where]
            table[row, column] = word in said.casefold()
    number = np.array([kinds.index(each.kind) for each in launch.tracks] + [len(kinds)])
    names = np.array([where in ("", "role") and word in each.name.casefold() for each in launch.tracks] + [False], bool)
    return table[number[track], site] | names[track]
