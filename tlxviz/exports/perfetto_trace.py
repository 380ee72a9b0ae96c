"""Perfetto's own format: tracks, slices, flows and counters, as protobuf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from tlxviz.exports.model import Cut
from tlxviz.exports.perfetto_tracks import SEQUENCE, Interned, Tracks, packets
from tlxviz.exports.spans import Spans, spans
from tlxviz.exports.wire import Atom, Fixed64, Varint, length, nested, put, tagged

# Made when it is imported, and so without types.
_proto: Any = perfetto_trace_pb2

ANNOTATIONS = (
    "begin_cycles",
    "duration_cycles",
    "outer",
    "inner",
    "slot",
    "phase",
    "bytes",
    "event",
    "released_by",
    "peer_cta",
)
"""Of a slice, those that say something, in this order."""


@dataclass(frozen=True, slots=True, eq=False)
class _Messages:
    """Packets of one or several forms."""

    size: int
    """Bytes of all of them."""
    forms: list[tuple[list[Atom], NDArray[Any], NDArray[Any]]]
    """Their fields, which rows of these, and at which byte each is put."""


def perfetto(cuts: Sequence[Cut]) -> memoryview:
    """Launches one after the other, each a track with a track for each CTA; the order of packets is that of events."""
    shown: list[Spans] = []
    at_ns = 0
    for each in cuts:
        shown.append(spans(each, at_ns))
        at_ns = shown[-1].over_ns
    tracks, interned = Tracks(), Interned(ANNOTATIONS)
    parts: list[_Messages] = []
    flows = 0
    for cut, each in zip(cuts, shown, strict=True):
        lanes, counters = tracks.of(cut, each)
        names, sources = interned.of(each)
        parts += [_slices(each, lanes, names, sources, flows), *_counters(each, counters)]
        flows += len(each.flows.target)
    head = packets(tracks, interned)
    out = np.empty(len(head) + sum(part.size for part in parts), dtype=np.uint8)
    at = len(head)
    out[:at] = np.frombuffer(head, dtype=np.uint8)
    for part in parts:
        for atoms, rows, places in part.forms:
            put(atoms, rows, out[at : at + part.size], places)
        at += part.size
    return out.data


def _number(message: Any, field: str) -> int:
    return message.DESCRIPTOR.fields_by_name[field].number


_PACKET = _number(_proto.Trace, "packet")
_TIMESTAMP = _number(_proto.TracePacket, "timestamp")
_EVENT = _number(_proto.TracePacket, "track_event")
_ON_SEQUENCE = tagged(_number(_proto.TracePacket, "trusted_packet_sequence_id"), SEQUENCE)
_WITH_NAMES = tagged(_number(_proto.TracePacket, "sequence_flags"), int(_proto.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE))
_TYPE = _number(_proto.TrackEvent, "type")
_TRACK = _number(_proto.TrackEvent, "track_uuid")
_NAME = _number(_proto.TrackEvent, "name_iid")
_CATEGORY = _number(_proto.TrackEvent, "category_iids")
_SOURCE = _number(_proto.TrackEvent, "source_location_iid")
_FLOW = _number(_proto.TrackEvent, "flow_ids")
_LAST_OF_FLOW = _number(_proto.TrackEvent, "terminating_flow_ids")
_VALUE = _number(_proto.TrackEvent, "counter_value")
_ANNOTATION = _number(_proto.TrackEvent, "debug_annotations")
_ANNOTATION_NAME = _number(_proto.DebugAnnotation, "name_iid")
_ANNOTATION_VALUE = _number(_proto.DebugAnnotation, "uint_value")
_BEGIN, _END, _COUNTER = (
    tagged(_TYPE, int(getattr(_proto.TrackEvent, name)))
    for name in ("TYPE_SLICE_BEGIN", "TYPE_SLICE_END", "TYPE_COUNTER")
)


@dataclass(frozen=True, slots=True, eq=False)
class _Optional:
    """Fields of a slice that not all have: in which it has them, as a bit of its form, and what they are."""

    there: NDArray[np.bool_]
    atoms: list[Atom]


def _slices(
    shown: Spans, lanes: NDArray[np.int64], names: NDArray[np.int64], sources: NDArray[np.int64], flows: int
) -> _Messages:
    """Two packets for each span, the one where it begins and the one where it ends.

    Spans whose packets have the same fields are written together, each at its place.
    """
    count = len(shown)
    track = Varint.of(lanes[shown.lane]) if count else Varint(lanes, 1)
    optional = [*_annotations(shown), _Optional((found := sources[shown.launch.events["site"]]) > 0, [])]
    optional[-1].atoms.extend(tagged(_SOURCE, Varint.of(found)))
    incoming = np.full(count, -1, dtype=np.int64)
    incoming[shown.flows.target] = np.arange(len(shown.flows.target)) + flows + 1
    ended = np.zeros(count, dtype=np.bool_)
    ended[shown.flows.target[shown.flows.at_end]] = True
    arriving = tagged(_LAST_OF_FLOW, Fixed64(incoming))
    optional += [_Optional((incoming >= 0) & ~ended, arriving), _Optional(ended, arriving)]
    outgoing = np.bincount(shown.flows.source, minlength=count)
    first = np.cumsum(outgoing) - outgoing + flows + 1
    form = outgoing << len(optional)
    for bit, each in enumerate(optional):
        form += each.there.astype(np.int64) << bit
    category = Varint.of(shown.category + 1)
    begin, end = Varint.of(shown.begin_ns), Varint.of(shown.end_ns)
    name = Varint.of(names[shown.name]) if count else Varint(names, 1)
    begins_with = [
        *_BEGIN,
        *tagged(_TRACK, track),
        *tagged(_NAME, name),
        *tagged(_CATEGORY, category),
    ]
    messages: dict[int, list[Atom]] = {}
    lengths = np.zeros(int(form.max(initial=0)) + 1, dtype=np.int64)
    for each in np.flatnonzero(np.bincount(form)).tolist():
        fields = [atom for bit, part in enumerate(optional[:-1]) if each >> bit & 1 for atom in part.atoms]
        for number in range(each >> len(optional)):
            fields += tagged(_FLOW, Fixed64(first + number))
        last = arriving if each >> len(optional) - 1 & 1 else []
        messages[each] = [
            *_packet(begin, [*_ON_SEQUENCE, *_WITH_NAMES], [*begins_with, *fields]),
            *_packet(end, _ON_SEQUENCE, [*_END, *tagged(_TRACK, track), *last]),
        ]
        lengths[each] = length(messages[each])
    size = lengths[form]
    place = np.cumsum(size) - size
    forms = [(atoms, rows := np.flatnonzero(form == each), place[rows]) for each, atoms in messages.items()]
    return _Messages(int(size.sum()), forms)


def _packet(time: Varint, head: list[Atom], event: list[Atom]) -> list[Atom]:
    return nested(_PACKET, tagged(_TIMESTAMP, time), head, nested(_EVENT, event))


def _annotations(shown: Spans) -> list[_Optional]:
    events = shown.launch.events
    values = {
        "begin_cycles": events["begin"],
        "duration_cycles": events["end"] - events["begin"],
        "outer": events["outer"],
        "inner": events["inner"],
        "slot": events["slot"],
        "phase": events["phase"],
        "bytes": events["bytes"] - (events["bytes"] == 0),
        "event": shown.event,
        "released_by": shown.released_by,
        "peer_cta": events["peer"],
    }
    return [
        _Optional(
            values[name] >= 0,
            nested(
                _ANNOTATION,
                tagged(_ANNOTATION_NAME, iid),
                tagged(_ANNOTATION_VALUE, Varint.of(values[name])),
            ),
        )
        for iid, name in enumerate(ANNOTATIONS, start=1)
    ]


def _counters(shown: Spans, tracks: NDArray[np.int64]) -> list[_Messages]:
    parts: list[_Messages] = []
    for (counter, times), track in zip(shown.counters, tracks.tolist(), strict=True):
        event = [*_COUNTER, *tagged(_TRACK, track), *tagged(_VALUE, Varint.of(counter.values))]
        atoms = _packet(Varint.of(times), _ON_SEQUENCE, event)
        rows = np.arange(len(times))
        parts.append(_Messages(len(times) * length(atoms), [(atoms, rows, rows * length(atoms))]))
    return parts
