"""The JSON of chrome://tracing, which Perfetto and others read as well: the Trace Event Format.

A process is a CTA, a thread is a lane. Times are microseconds, as the format has it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tlxviz.exports.about import about
from tlxviz.exports.model import Cut
from tlxviz.exports.records import Choice, Decimal, Joined, Lines, Piece, Thousandths
from tlxviz.exports.spans import Spans, cta_name, spans

_FEW = 2048
"""Numbers below are written by looking up the whole argument."""


def chrome(cuts: Sequence[Cut]) -> Joined:
    """An object with `traceEvents`, one line for each: names, spans (X), flows (s, f), counters (C)."""
    known = {"launches": [about(each) for each in cuts]}
    parts: list[bytes | Lines] = [b'{"displayTimeUnit":"ns","otherData":' + _json(known) + b',"traceEvents":[\n']
    at_ns = processes = flows = 0
    for each in cuts:
        shown = spans(each, at_ns)
        process = {cta: processes + at for at, cta in enumerate(dict.fromkeys(lane.cta for lane in shown.lanes), 1)}
        parts += [*_names(each, shown, process), _spans(shown, process), _flows(shown, process, flows)]
        parts += _counters(shown, process)
        at_ns, processes, flows = shown.over_ns, processes + len(process), flows + len(shown.flows.target)
    # All other lines end in a comma, and this one is always there.
    parts.append(_json({"name": "process_labels", "ph": "M", "pid": 0, "tid": 0, "args": {"labels": "tlxviz"}}))
    parts.append(b"\n]}\n")
    return Joined(parts)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _names(cut: Cut, shown: Spans, process: dict[int, int]) -> list[bytes]:
    """Names and order of processes and threads."""
    found: list[dict[str, Any]] = []
    lanes = {lane.cta: lane for lane in shown.lanes}

    def add(what: str, pid: int, tid: int, arguments: dict[str, Any]) -> None:
        found.append({"name": what, "ph": "M", "pid": pid, "tid": tid, "args": arguments})

    for cta, pid in process.items():
        add("process_name", pid, 0, {"name": f"launch {cut.number}: {cut.launch.kernel}, {cta_name(lanes[cta])}"})
        add("process_sort_index", pid, 0, {"sort_index": pid})
    for lane, tid in zip(shown.lanes, _threads(shown), strict=True):
        add("thread_name", process[lane.cta], tid, {"name": lane.name})
        add("thread_sort_index", process[lane.cta], tid, {"sort_index": tid})
    return [_json(each) + b",\n" for each in found]


def _threads(shown: Spans) -> list[int]:
    """Of each lane its number in its CTA, from 1."""
    counts: dict[int, int] = {}
    threads: list[int] = []
    for lane in shown.lanes:
        counts[lane.cta] = counts.get(lane.cta, 0) + 1
        threads.append(counts[lane.cta])
    return threads


def _places(shown: Spans, process: dict[int, int]) -> list[bytes]:
    """Of each lane the fields that say where it is."""
    return [
        b'"pid":%d,"tid":%d,"ts":' % (process[lane.cta], tid)
        for lane, tid in zip(shown.lanes, _threads(shown), strict=True)
    ]


def _spans(shown: Spans, process: dict[int, int]) -> Lines:
    events = shown.launch.events
    categories = [_json(each) for each in shown.categories]
    # Which name of which category at which line, since few of these differ.
    sites = [*shown.launch.sites, None]
    code = (shown.name * len(categories) + shown.category).astype(np.int64) * len(sites) + events["site"] % len(sites)
    used = np.flatnonzero(np.bincount(code, minlength=1))
    table = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int32)
    table[used] = np.arange(len(used))
    before: list[bytes] = []
    after: list[bytes] = []
    for each in used.tolist():
        what, site = divmod(each, len(sites))
        name, category = divmod(what, len(categories))
        before.append(b'{"ph":"X","name":%s,"cat":%s,' % (_json(shown.names[name]), categories[category]))
        found = sites[site]
        source = b""
        if found is not None and found.file and found.line >= 0:
            source = b'"source":%s,' % _json(f"{PurePosixPath(found.file).name}:{found.line}")
        after.append(b',"args":{%s"begin_cycles":' % source)
    chosen = table[code]
    pieces: list[Piece] = [
        Choice(before, chosen),
        Choice(_places(shown, process), shown.lane),
        Thousandths(shown.begin_ns),
        b',"dur":',
        Thousandths(shown.end_ns - shown.begin_ns),
        Choice(after, chosen),
        Decimal(events["begin"]),
        b',"duration_cycles":',
        Decimal(events["end"] - events["begin"]),
        *_argument("outer", events["outer"]),
        *_argument("inner", events["inner"]),
        *_argument("slot", events["slot"]),
        *_argument("phase", events["phase"]),
        *_argument("bytes", events["bytes"] - (events["bytes"] == 0)),
        *_argument("event", shown.event),
        *_argument("released_by", shown.released_by),
        *_argument("peer_cta", events["peer"]),
        b"}},\n",
    ]
    return Lines(pieces, len(shown), spaced=True)


def _argument(name: str, values: NDArray[Any]) -> list[Piece]:
    """An argument of the spans that have it: those whose number is at least 0."""
    head = b',"%s":' % name.encode()
    most = int(values.max(initial=-1))
    if most < _FEW:
        return [Choice([*(head + b"%d" % value for value in range(most + 1)), b""], np.maximum(values, -1))]
    return [Choice([b"", head], (values >= 0).astype(np.int8)), Decimal(values, blank=True)]


def _flows(shown: Spans, process: dict[int, int], before: int) -> Lines:
    """Two lines for each, in the spans that it leads from and to.

    It starts as its source begins and ends at that time too, or when the target begins if that is later: both lie in
    their spans, as the format wants it.
    """
    flows = shown.flows
    number = np.arange(len(flows.target), dtype=np.int64) + before + 1
    begin = shown.begin_ns[flows.source]
    end = np.maximum(begin, shown.begin_ns[flows.target])
    places = _places(shown, process)
    kind = b'"name":"flow","cat":"flow",'
    same = b'{"ph":"s",' + kind + b'"id":'
    pieces: list[Piece] = [
        same,
        Decimal(number),
        b",",
        Choice(places, shown.lane[flows.source]),
        Thousandths(begin),
        b'},\n{"ph":"f","bp":"e",' + kind + b'"id":',
        Decimal(number),
        b",",
        Choice(places, shown.lane[flows.target]),
        Thousandths(end),
        b"},\n",
    ]
    return Lines(pieces, len(number), spaced=True)


def _counters(shown: Spans, process: dict[int, int]) -> list[Lines]:
    found: list[Lines] = []
    for counter, times in shown.counters:
        head = b'{"ph":"C","name":%s,"pid":%d,"tid":0,"ts":' % (_json(counter.name), process[counter.cta])
        pieces: list[Piece] = [
            head,
            Thousandths(times),
            b',"args":{"%s":' % counter.unit.encode(),
            Decimal(counter.values),
            b"}},\n",
        ]
        found.append(Lines(pieces, len(times), spaced=True))
    return found
