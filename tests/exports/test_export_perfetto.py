"""Perfetto files, read back by the official package's own classes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from exports.export_samples import all_of, awkward, copies, measured, ring
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    Trace,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)

from tlxviz.exports.model import Cut
from tlxviz.exports.perfetto_trace import ANNOTATIONS, perfetto
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, meaning

BEGIN, END, COUNTER = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_COUNTER


class Read:
    """A Perfetto file, and what its packets refer to."""

    def __init__(self, cuts: list[Cut]) -> None:
        self.trace = Trace.FromString(bytes(perfetto(cuts)))
        [self.first, *rest] = self.trace.packet
        self.tracks = {
            packet.track_descriptor.uuid: packet.track_descriptor
            for packet in rest
            if packet.HasField("track_descriptor")
        }
        self.events = [packet for packet in rest if packet.HasField("track_event")]
        data = self.first.interned_data
        self.names = {each.iid: each.name for each in data.event_names}
        self.categories = {each.iid: each.name for each in data.event_categories}
        self.annotations = {each.iid: each.name for each in data.debug_annotation_names}
        self.sources = {each.iid: (each.file_name, each.line_number) for each in data.source_locations}

    def of_type(self, kind: int) -> list[TracePacket]:
        return [packet for packet in self.events if packet.track_event.type == kind]

    def path(self, uuid: int) -> tuple[str, ...]:
        track = self.tracks[uuid]
        above = self.path(track.parent_uuid) if track.parent_uuid else ()
        return (*above, track.name)

    def told(self, packet: TracePacket) -> dict[str, int]:
        return {self.annotations[each.name_iid]: each.uint_value for each in packet.track_event.debug_annotations}

    def slices(self) -> list[dict[str, Any]]:
        """As a viewer has them: events of a track by time, those of one time as they stand; ends close the last one."""
        found: list[dict[str, Any]] = []
        open_: dict[int, list[dict[str, Any]]] = {}
        for packet in sorted(self.events, key=lambda each: each.timestamp):
            event = packet.track_event
            if event.type == BEGIN:
                made = {
                    "track": event.track_uuid,
                    "name": self.names[event.name_iid],
                    "category": self.categories[event.category_iids[0]],
                    "begin": packet.timestamp,
                    "out": list(event.flow_ids),
                    "in": list(event.terminating_flow_ids),
                    "source": self.sources.get(event.source_location_iid),
                    **self.told(packet),
                }
                open_.setdefault(event.track_uuid, []).append(made)
                found.append(made)
            elif event.type == END:
                made = open_[event.track_uuid].pop()
                made["end"] = packet.timestamp
                made["in"] += event.terminating_flow_ids
        assert not any(open_.values())
        return found


ALL = [pipeline(3), copies(), awkward(), hung(), measured(), launch()]
IDS = ["pipeline", "copies", "awkward", "hung", "measured", "empty"]


@pytest.mark.parametrize("made", ALL, ids=IDS)
def test_slices_are_the_events(made: LaunchTrace) -> None:
    read = Read([all_of(made)])
    slices = [each for each in read.slices() if each["category"] != "never ends"]
    assert len(slices) == len(made.events)
    for each in slices:
        row = each["event"]
        event = {name: int(column[row]) for name, column in made.events.columns.items()}
        track = made.tracks[event["track"]]
        assert each["begin_cycles"] == event["begin"]
        assert each["duration_cycles"] == event["end"] - event["begin"]
        assert each["begin"] == round(event["begin"] * 1000 / made.clock_mhz)
        assert each["end"] == round(event["end"] * 1000 / made.clock_mhz)
        for name in ("outer", "inner", "slot", "phase", "released_by"):
            assert each.get(name, -1) == event[name]
        assert each.get("bytes", 0) == event["bytes"]
        lane = read.path(each["track"])[-1]
        assert lane == track.name or (lane.startswith(track.name) and lane.removeprefix(track.name)[1:].isdecimal())
        site = made.sites[event["site"]] if event["site"] >= 0 else None
        assert each["source"] == ((site.file, site.line) if site is not None and site.file else None)
        known = meaning(site.kind, track.kind) if site is not None else None
        assert each["category"] == (known.work.name.lower() if known else "busy")


@pytest.mark.parametrize("made", ALL, ids=IDS)
def test_nothing_overlaps_on_a_track(made: LaunchTrace) -> None:
    by_track: dict[int, list[tuple[int, int]]] = {}
    for each in Read([all_of(made)]).slices():
        by_track.setdefault(each["track"], []).append((each["begin"], each["end"]))
    for spans in by_track.values():
        spans.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("made", ALL[:4], ids=IDS[:4])
def test_flows_are_the_causes(made: LaunchTrace) -> None:
    slices = Read([all_of(made)]).slices()
    sources = {flow: each["event"] for each in slices for flow in each["out"]}
    assert sum(len(each["out"]) for each in slices) == len(sources)
    targets = {flow: each["event"] for each in slices for flow in each["in"]}
    assert sources.keys() == targets.keys()
    by = made.events["released_by"]
    expected = {(int(by[row]), row) for row in np.flatnonzero(by >= 0).tolist()}
    assert {(sources[flow], targets[flow]) for flow in sources} == expected


def test_a_flow_ends_when_a_wait_is_over_and_when_an_engine_begins() -> None:
    read = Read([all_of(pipeline(2))])
    ends = [packet for packet in read.of_type(END) if packet.track_event.terminating_flow_ids]
    assert {read.tracks[packet.track_event.track_uuid].name for packet in ends} == {"load", "mma"}
    read = Read([all_of(copies())])
    begins = [packet for packet in read.of_type(BEGIN) if packet.track_event.terminating_flow_ids]
    assert {read.path(packet.track_event.track_uuid)[-1] for packet in begins} == {"TMA", "TMA 2", "TMA 3"}
    assert not any(packet.track_event.terminating_flow_ids for packet in read.of_type(END))


def test_flows_never_lead_back_in_time() -> None:
    made = measured()  # a wait is over before the copy that released it
    slices = {each["event"]: each for each in Read([all_of(made)]).slices()}
    by = made.events["released_by"]
    [late] = [row for row in np.flatnonzero(by >= 0).tolist() if slices[row]["name"] == "wait full"]
    assert slices[late]["in"] == slices[by[late]]["out"] == []
    assert sum(len(each["in"]) for each in slices.values()) == (by >= 0).sum() - 1 > 0


def test_an_arrival_that_releases_two_waits_has_two_flows() -> None:
    made = pipeline(3)
    rows = np.flatnonzero(made.events["released_by"] >= 0)[:2]
    made.events["released_by"][rows] = 0
    [first] = [each for each in Read([all_of(made)]).slices() if each["event"] == 0]
    assert len(first["out"]) == len(set(first["out"])) == 2


def test_tracks_in_order() -> None:
    read = Read([all_of(copies(), 2), all_of(awkward(), 3)])
    assert [read.path(uuid) for uuid in read.tracks] == [
        ("launch 2: kernel",),
        ("launch 2: kernel", "CTA 0 on SM 0"),
        ("launch 2: kernel", "CTA 0 on SM 0", "load"),
        ("launch 2: kernel", "CTA 0 on SM 0", "TMA"),
        ("launch 2: kernel", "CTA 0 on SM 0", "TMA 2"),
        ("launch 2: kernel", "CTA 0 on SM 0", "TMA 3"),
        ('launch 3: k"er,nel☃',),
        ('launch 3: k"er,nel☃', "CTA 2"),
        ('launch 3: k"er,nel☃', "CTA 7 on SM 3"),
        ('launch 3: k"er,nel☃', "CTA 2", "läd\nß"),
        ('launch 3: k"er,nel☃', "CTA 7 on SM 3", 'load, "left"'),
        ('launch 3: k"er,nel☃', "CTA 7 on SM 3", 'load, "left" ranges'),
        ('launch 3: k"er,nel☃', "CTA 7 on SM 3", 'load, "left" ranges 2'),
    ]
    ranks = [track.sibling_order_rank for track in read.tracks.values()]
    assert ranks == sorted(ranks)
    parents = {track.parent_uuid for track in read.tracks.values() if track.parent_uuid}
    assert {read.tracks[uuid].child_ordering for uuid in parents} == {TrackDescriptor.EXPLICIT}


def test_launches_follow_each_other() -> None:
    read = Read([all_of(pipeline(1)), all_of(pipeline(1), 1)])
    begins = [packet.timestamp for packet in read.of_type(BEGIN)]
    # The first one lasts 1250 cycles at 1000 MHz.
    assert [second - first for first, second in zip(begins[:9], begins[9:], strict=True)] == [1250] * 9
    flows = [flow for packet in read.of_type(BEGIN) for flow in packet.track_event.flow_ids]
    assert len(flows) == len(set(flows)) == 2


def counted(read: Read) -> dict[str, list[tuple[int, int]]]:
    """By name of the counter, times and values."""
    found: dict[str, list[tuple[int, int]]] = {}
    for packet in read.of_type(COUNTER):
        name = read.tracks[packet.track_event.track_uuid].name
        found.setdefault(name, []).append((packet.timestamp, packet.track_event.counter_value))
    return found


def units(read: Read) -> dict[str, int]:
    return {track.name: track.counter.unit for track in read.tracks.values() if track.HasField("counter")}


def test_bytes_in_flight() -> None:
    made = copies()
    made.events["bytes"][:] = 4096
    read = Read([all_of(made)])
    # Three copies overlap, and the fourth begins as the first ends.
    assert counted(read) == {
        "TMA bytes in flight": [
            (10, 4096),
            (20, 8192),
            (30, 12288),
            (70, 8192),
            (80, 4096),
            (110, 0),
        ]
    }
    assert units(read) == {"TMA bytes in flight": CounterDescriptor.UNIT_SIZE_BYTES}


def test_filled_slots_of_a_ring() -> None:
    read = Read([all_of(ring())])
    assert counted(read) == {"a[0:2] filled": [(50, 1), (60, 2), (94, 1), (134, 0), (150, 1)]}
    assert units(read) == {"a[0:2] filled": CounterDescriptor.UNIT_COUNT}


def test_a_ring_counts_what_is_not_shown() -> None:
    chosen = cut(ring(), 0, Selection(roles=("mma",), cycles=(70, 140)))
    assert counted(Read([chosen])) == {"a[0:2] filled": [(70, 2), (94, 1), (134, 0)]}
    assert counted(Read([cut(ring(), 0, Selection(roles=("TMA",)))])) == {}


def test_a_wait_that_never_ends() -> None:
    read = Read([all_of(hung())])
    [waiting] = [each for each in read.slices() if each["category"] == "never ends"]
    assert (waiting["name"], waiting["begin_cycles"], waiting["end"]) == ("wait full", 300, 5000)
    assert (waiting["slot"], waiting["phase"], waiting["inner"]) == (1, 1, 3)
    assert waiting["source"] == ("/somewhere/pipeline.py", 43)
    assert "event" not in waiting
    assert read.path(waiting["track"])[-1] == "mma"
    assert "it hung" in next(iter(read.tracks.values())).description


def test_waits_that_began_when_all_else_had_ended() -> None:
    made = hung()
    made.hang = {**(made.hang or {}), "waiters": [{"agent": "mma", "operation": "join", "since": 330}]}
    [waiting] = [each for each in Read([all_of(made)]).slices() if each["category"] == "never ends"]
    assert (waiting["name"], waiting["begin"], waiting["end"]) == ("join", 330, 5000)
    # What nobody chose is not there.
    for chosen in (Selection(roles=("load",)), Selection(cycles=(0, 100))):
        assert not [each for each in Read([cut(made, 0, chosen)]).slices() if each["category"] == "never ends"]


def test_what_is_known_of_a_launch() -> None:
    [track, *_] = Read([all_of(measured(complete=False))]).tracks.values()
    assert track.description == (
        "pipeline, grid 132 x 1 x 1; measured NVIDIA H200 SXM at 1000 MHz; 1250 SM cycles; "
        "its recording was interrupted; a=f16[8192, 8192], M=8192, BLOCK_M=128, scale=0.5, persistent=True"
    )


def test_packets_are_what_the_official_classes_write() -> None:
    """The hand-assembled packets, one by one, against the same built as objects."""
    made = pipeline(3)
    read = Read([all_of(made)])
    iid = {name: number for number, name in read.annotations.items()}
    by_event = {read.told(packet)["event"]: packet for packet in read.of_type(BEGIN)}
    for row in (0, 3, 5, 13):
        found = by_event[row]
        event = {name: int(column[row]) for name, column in made.events.columns.items()}
        values = {"begin_cycles": event["begin"], "duration_cycles": event["end"] - event["begin"]}
        values |= {name: event[name] for name in ("outer", "inner", "slot", "phase")}
        values |= {"bytes": event["bytes"] or -1, "event": row, "released_by": event["released_by"]}
        values["peer_cta"] = event["peer"]
        expected = TracePacket(timestamp=event["begin"], trusted_packet_sequence_id=1)
        expected.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        expected.track_event.type = BEGIN
        expected.track_event.track_uuid = found.track_event.track_uuid
        expected.track_event.name_iid = found.track_event.name_iid
        expected.track_event.category_iids.append(found.track_event.category_iids[0])
        expected.track_event.source_location_iid = found.track_event.source_location_iid
        for name in ANNOTATIONS:
            if values[name] >= 0:
                expected.track_event.debug_annotations.add(name_iid=iid[name], uint_value=values[name])
        expected.track_event.flow_ids.extend(found.track_event.flow_ids)
        assert found == expected


def test_every_packet_is_of_one_sequence_whose_state_begins_first() -> None:
    read = Read([all_of(pipeline(3))])
    assert read.first.sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in read.trace.packet} == {1}
    flags = Counter(packet.sequence_flags for packet in read.of_type(BEGIN))
    assert flags == {TracePacket.SEQ_NEEDS_INCREMENTAL_STATE: 27}


def test_a_clock_before_the_launch_moves_everything() -> None:
    made = pipeline(1)
    made.events["begin"][0] = -30
    read = Read([all_of(made)])
    assert min(packet.timestamp for packet in read.of_type(BEGIN)) == 0
    [second] = [each for each in read.slices() if each["event"] == 1]
    assert second["begin"] == made.events["begin"][1] + 30


def test_large_numbers() -> None:
    made = pipeline(1)
    made.events["begin"][:] += 1 << 50
    made.events["end"][:] += 1 << 50
    [*slices] = Read([all_of(made)]).slices()
    assert min(each["begin"] for each in slices) == 1 << 50


def test_equal_traces_give_equal_bytes() -> None:
    assert perfetto([all_of(awkward()), all_of(hung(), 1)]) == perfetto([all_of(awkward()), all_of(hung(), 1)])


def test_no_field_is_unknown_to_the_official_package() -> None:
    data = bytes(perfetto([all_of(pipeline(2)), all_of(awkward(), 1), all_of(hung(), 2)]))
    trace = Trace.FromString(data)
    before = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == before > 0
