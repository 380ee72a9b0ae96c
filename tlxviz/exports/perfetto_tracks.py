"""What stands at the beginning of a Perfetto trace: its tracks, and the texts that packets refer to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from tlxviz.exports.about import about, sentence
from tlxviz.exports.model import Cut
from tlxviz.exports.spans import Spans, cta_name
from tlxviz.exports.texts import clean

# Made when it is imported, and so without types.
_proto: Any = perfetto_trace_pb2

SEQUENCE = 1
"""Number of the one sequence of packets of the file."""

_Int64 = NDArray[np.int64]


class Tracks:
    """Descriptors of all tracks: launches, in each of them CTAs, in these lanes and counters, all in a fixed order."""

    def __init__(self) -> None:
        self.descriptors: list[Any] = []

    def of(self, cut: Cut, shown: Spans) -> tuple[_Int64, _Int64]:
        """Numbers of the tracks of this launch's lanes, and of those of its counters."""
        launch = self._add(f"launch {cut.number}: {cut.launch.kernel}", description=sentence(about(cut)))
        ctas: dict[int, Any] = {}
        for lane in shown.lanes:
            if lane.cta not in ctas:
                ctas[lane.cta] = self._add(cta_name(lane), launch)
        lanes = [self._add(lane.name, ctas[lane.cta], ordered=False).uuid for lane in shown.lanes]
        counters: list[int] = []
        for counter, _ in shown.counters:
            track = self._add(counter.name, ctas[counter.cta], ordered=False)
            unit = "UNIT_SIZE_BYTES" if counter.unit == "bytes" else "UNIT_COUNT"
            track.counter.unit = getattr(_proto.CounterDescriptor, unit)
            counters.append(track.uuid)
        return np.array(lanes, dtype=np.int64), np.array(counters, dtype=np.int64)

    def _add(self, name: str, parent: Any = None, *, ordered: bool = True, description: str = "") -> Any:
        """A track; `ordered`: the tracks in it stand in the order in which they are added."""
        track = _proto.TrackDescriptor(uuid=len(self.descriptors) + 1, name=clean(name))
        if ordered:
            track.child_ordering = _proto.TrackDescriptor.EXPLICIT
        if parent is not None:
            track.parent_uuid = parent.uuid
        if description:
            track.description = clean(description)
        # Lanes of one name would be taken for one track.
        track.sibling_merge_behavior = _proto.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        track.sibling_order_rank = len(self.descriptors)
        self.descriptors.append(track)
        return track


class Interned:
    """Texts that packets name by a number from 1."""

    def __init__(self, annotations: Sequence[str]) -> None:
        self.data = _proto.InternedData()
        for iid, name in enumerate(annotations, start=1):
            self.data.debug_annotation_names.add(iid=iid, name=name)
        self._names: dict[str, int] = {}
        self._sources: dict[tuple[str, int], int] = {}

    def of(self, shown: Spans) -> tuple[_Int64, _Int64]:
        """Number of each of the spans' names, and of the source line of each site: 0 where none is known.

        A category's number is its place among the spans' categories and one.
        """
        if not self.data.event_categories:
            for iid, name in enumerate(shown.categories, start=1):
                self.data.event_categories.add(iid=iid, name=name)
        names = [self._name(name) for name in shown.names]
        sources = [self._source(site.file, site.line) for site in shown.launch.sites]
        return np.array(names, dtype=np.int64), np.array([*sources, 0], dtype=np.int64)

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            self.data.event_names.add(iid=self._names[name], name=clean(name))
        return self._names[name]

    def _source(self, file: str, line: int) -> int:
        if not file or line < 0:
            return 0
        if (file, line) not in self._sources:
            iid = self._sources[file, line] = len(self._sources) + 1
            self.data.source_locations.add(iid=iid, file_name=clean(file), line_number=line)
        return self._sources[file, line]


def packets(tracks: Tracks, interned: Interned) -> bytes:
    """The packets that stand before all others."""
    trace = _proto.Trace()
    trace.packet.add(
        trusted_packet_sequence_id=SEQUENCE,
        sequence_flags=_proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED,
        interned_data=interned.data,
    )
    for track in tracks.descriptors:
        trace.packet.add(trusted_packet_sequence_id=SEQUENCE, track_descriptor=track)
    return trace.SerializeToString(deterministic=True)
