"""Chrome JSON: valid by the documented format, and what the trace holds."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import hung, launch, pipeline
from exports.export_samples import all_of, awkward, copies, measured, ring
from exports.trace_event_format import problems

from tlxviz.exports.chrome_json import chrome
from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace

ALL = [pipeline(3), copies(), ring(), awkward(), hung(), measured(), launch()]
IDS = ["pipeline", "copies", "ring", "awkward", "hung", "measured", "empty"]


def read(*cuts: Cut) -> dict[str, Any]:
    return json.loads(bytes(chrome(cuts)))


def events(document: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == phase]


@pytest.mark.parametrize("made", ALL, ids=IDS)
def test_it_is_valid(made: LaunchTrace) -> None:
    assert problems(read(all_of(made), all_of(made, 1))) == []


@pytest.mark.parametrize("made", ALL, ids=IDS)
def test_spans_are_the_events(made: LaunchTrace) -> None:
    document = read(all_of(made))
    spans = {each["args"]["event"]: each for each in events(document, "X") if each["cat"] != "never ends"}
    assert list(spans) == list(range(len(made.events)))
    for row, span in spans.items():
        event = {name: int(column[row]) for name, column in made.events.columns.items()}
        begin, end = (round(event[name] * 1000 / made.clock_mhz) for name in ("begin", "end"))
        assert (round(span["ts"] * 1000), round(span["dur"] * 1000)) == (begin, end - begin)
        arguments = span["args"]
        assert (arguments["begin_cycles"], arguments["duration_cycles"]) == (
            event["begin"],
            event["end"] - event["begin"],
        )
        for name in ("outer", "inner", "slot", "phase", "released_by"):
            assert arguments.get(name, -1) == event[name]
        assert arguments.get("bytes", 0) == event["bytes"]


@pytest.mark.parametrize("made", ALL[:4], ids=IDS[:4])
def test_flows_are_the_causes(made: LaunchTrace) -> None:
    document = read(all_of(made))
    by = made.events["released_by"]
    assert len(events(document, "s")) == len(events(document, "f")) == (by >= 0).sum()
    places = {}
    for span in events(document, "X"):
        for flow in (*events(document, "s"), *events(document, "f")):
            same = (flow["pid"], flow["tid"]) == (span["pid"], span["tid"])
            if same and span["ts"] <= flow["ts"] <= span["ts"] + span["dur"] + 1e-9:
                places.setdefault((flow["ph"], flow["id"]), set()).add(span["args"]["event"])
    found = [(places["s", number], places["f", number]) for number in {each["id"] for each in events(document, "s")}]
    for row in np.flatnonzero(by >= 0).tolist():
        assert any(by[row] in sources and row in targets for sources, targets in found)


def test_what_one_line_says() -> None:
    lines = bytes(chrome([all_of(ring())])).decode().splitlines()
    assert lines[0].startswith('{"displayTimeUnit":"ns","otherData":{"launches":[{"launch":0,"kernel":"kernel",')
    [span] = [line for line in lines if '"event":8' in line]
    # Numbers stand below each other.
    assert span == (
        '{"ph":"X","name":"wait empty","cat":"wait",   "pid":1,"tid":1,"ts":   0.012,"dur":   0.083,"args":'
        '{"source":"scene.py:2","begin_cycles":  12,"duration_cycles":  83,"slot":0,"phase":0,"event":8 ,'
        '"released_by":7 }},'
    )
    assert {len(line) for line in lines if '"ph":"X"' in line} == {len(span)}
    assert '{"ph":"C","name":"a[0:2] filled","pid":1,"tid":0,"ts":   0.094,"args":{"slots":   1}},' in lines


def test_times_before_the_launch() -> None:
    made = pipeline(1)
    made.events["begin"][0] = -30
    document = read(all_of(made))
    assert problems(document) == []
    first, second = events(document, "X")[:2]
    assert (first["ts"], first["args"]["begin_cycles"]) == (0, -30)
    assert second["ts"] == 0.03


def test_processes_are_ctas_and_threads_are_lanes_in_order() -> None:
    document = read(all_of(copies(), 2), all_of(awkward(), 3))
    names = {
        (each["pid"], each["tid"]): each["args"]["name"]
        for each in events(document, "M")
        if each["name"] in ("process_name", "thread_name")
    }
    assert names == {
        (1, 0): "launch 2: kernel, CTA 0 on SM 0",
        (1, 1): "load",
        (1, 2): "TMA",
        (1, 3): "TMA 2",
        (1, 4): "TMA 3",
        (2, 0): 'launch 3: k"er,nel☃, CTA 2',
        (2, 1): "läd\nß",
        (3, 0): 'launch 3: k"er,nel☃, CTA 7 on SM 3',
        (3, 1): 'load, "left"',
        (3, 2): 'load, "left" ranges',
        (3, 3): 'load, "left" ranges 2',
    }


def test_a_wait_that_never_ends() -> None:
    document = read(all_of(hung()))
    [waiting] = [each for each in events(document, "X") if each["cat"] == "never ends"]
    assert (waiting["name"], waiting["ts"], waiting["dur"]) == ("wait full", 0.3, 4.7)
    assert waiting["args"]["source"] == "pipeline.py:43"
    assert "event" not in waiting["args"]
    assert document["otherData"]["launches"][0]["state"] == "hung"


def test_counters_of_copies() -> None:
    made = copies()
    made.events["bytes"][:] = 4096
    counted = [(each["ts"], each["args"]) for each in events(read(all_of(made)), "C")]
    assert counted[:2] == [(0.01, {"bytes": 4096}), (0.02, {"bytes": 8192})]
    assert counted[-1] == (0.11, {"bytes": 0})


def test_answers_of_the_block_scheduler_and_slots_of_tensor_memory() -> None:
    document = read(all_of(tiles(2, 4, asks=True)))
    assert problems(document) == []
    names = Counter(each["name"] for each in events(document, "X"))
    assert [name for name in names if name.startswith("answer:")] == [
        "answer: CTA 148",
        "answer: CTA 296",
        "answer: CTA 444",
        "answer: none is left",
    ]
    assert names["read TMEM acc"] == 4
    counted = [(each["name"], each["ts"], each["args"]) for each in events(document, "C")]
    # the first sum is complete at 305, and given back with the arrival at 374; see `tiles`
    assert counted[:3] == [
        ("acc[0:2] filled", 0.305, {"slots": 1}),
        ("acc[0:2] filled", 0.374, {"slots": 0}),
        ("acc[0:2] filled", 0.605, {"slots": 1}),
    ]


def test_a_cut() -> None:
    made = pipeline(3)
    document = read(cut(made, 0, Selection(roles=("mma",), cycles=(100, 200))))
    assert problems(document) == []
    spans = events(document, "X")
    assert {each["tid"] for each in spans} == {1}
    # By the numbers of the whole launch, also of a cause that is not here.
    by = made.events["released_by"]
    assert all(each["args"].get("released_by", -1) == by[each["args"]["event"]] for each in spans)
    assert Counter(each["cat"] for each in spans)["wait"] == 2


def test_numbers_beyond_those_that_are_looked_up() -> None:
    made = pipeline(1)
    made.events["inner"][:] = 2047
    made.events["outer"][:] = 123_456
    made.events["slot"][0] = 2048
    spans = events(read(all_of(made)), "X")
    assert [(each["args"]["inner"], each["args"]["outer"]) for each in spans] == [(2047, 123_456)] * 9
    assert [each["args"].get("slot") for each in spans] == [
        2048 if row == 0 else slot if slot >= 0 else None for row, slot in enumerate(made.events["slot"].tolist())
    ]


def test_equal_traces_give_equal_bytes() -> None:
    first, second = (bytes(chrome([all_of(awkward()), all_of(hung(), 1)])) for _ in range(2))
    assert first == second


def _first(document: dict[str, Any], phase: str) -> dict[str, Any]:
    return events(document, phase)[0]


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (lambda made: made.pop("traceEvents"), "no object"),
        (lambda made: made.update(displayTimeUnit="s"), "displayTimeUnit"),
        (lambda made: _first(made, "X").pop("dur"), "no duration"),
        (lambda made: _first(made, "X").update(ts=-1), "no time"),
        (lambda made: _first(made, "X").update(pid="1"), "no integer pid"),
        (lambda made: _first(made, "X").update(ph="Z"), "unknown phase"),
        (lambda made: _first(made, "X").update(name=""), "no name"),
        (lambda made: _first(made, "X").update(dur=0.006), "overlap"),
        (lambda made: _first(made, "X").update(ph="B"), "a begin without an end"),
        (lambda made: _first(made, "X").update(ph="E"), "an end without a begin"),
        (lambda made: _first(made, "s").update(id=10**6), "alone"),
        (lambda made: _first(made, "s").update(ts=10**6), "is in no event"),
        (lambda made: _first(made, "f").update(tid=77), "is in no event"),
        (lambda made: _first(made, "f").pop("id"), "a flow without id"),
        (lambda made: _first(made, "s").update(bp="e"), "bp"),
        (lambda made: _first(made, "C").update(args={"slots": "two"}), "a counter without numbers"),
        (lambda made: _first(made, "M").update(name="proces_name"), "metadata proces_name"),
    ],
)
def test_the_rules_find_what_is_wrong(breaks: Any, says: str) -> None:
    document = copy.deepcopy(read(all_of(ring())))
    breaks(document)
    assert any(says in problem for problem in problems(document))
