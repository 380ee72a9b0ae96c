"""CSV and Parquet: one table, which a reader of each gives back."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from analysis.synthetic_traces import hung, launch, pipeline
from exports.export_samples import all_of, awkward, measured

from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut
from tlxviz.exports.table_csv import csv as write_csv
from tlxviz.exports.table_parquet import parquet as write_parquet
from tlxviz.trace import LaunchTrace


def rows_of_csv(cuts: list[Cut]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(bytes(write_csv(cuts)).decode(), newline="")))


def read_parquet(cuts: list[Cut]) -> pyarrow.Table:
    return pyarrow.parquet.read_table(io.BytesIO(write_parquet(cuts)))


def test_an_event_of_the_csv() -> None:
    [*_, sixth] = rows_of_csv([all_of(pipeline(3))])[:6]
    assert sixth == {
        "launch": "0",
        "kernel": "pipeline",
        "event": "5",
        "cta": "0",
        "sm": "0",
        "cluster": "-1",
        "rank": "-1",
        "track": "tensor core",
        "track_kind": "tensor_core",
        "kind": "mma",
        "work": "busy",
        "file": "/somewhere/pipeline.py",
        "line": "45",
        "variable": "",
        "begin_cycles": "35",
        "end_cycles": "85",
        "duration_cycles": "50",
        "begin_ns": "35.000",
        "duration_ns": "50.000",
        "outer_iteration": "0",
        "inner_iteration": "0",
        "slot": "0",
        "phase": "0",
        "bytes": "0",
        "released_by_event": "-1",
        "peer_cta": "-1",
    }


def test_names_that_csv_quotes_and_events_without_a_site() -> None:
    rows = rows_of_csv([all_of(awkward())])
    assert [row["track"] for row in rows][:3] == ['load, "left"', "läd\nß", "läd\nß"]
    assert {row["kernel"] for row in rows} == {'k"er,nel☃'}
    first, siteless, future = rows[:3]
    assert (first["file"], first["line"], first["variable"]) == ("/a dir/ker,nel.py", "3", "vollè")
    assert [siteless[name] for name in ("kind", "file", "line", "variable", "work")] == ["", "", "-1", "", "busy"]
    assert (future["kind"], future["work"], future["line"]) == ("of_the_future", "busy", "-1")
    assert siteless["sm"] == "-1"


def test_times_at_the_clock_of_the_launch() -> None:
    rows = rows_of_csv([all_of(awkward())])  # at 1500 MHz
    assert [row["begin_cycles"] for row in rows] == ["5", "10", "12", "0", "30", "20"]
    assert [row["begin_ns"] for row in rows] == ["3.333", "6.667", "8.000", "0.000", "20.000", "13.333"]


def test_times_of_long_launches_are_exact() -> None:
    made = pipeline(1, clock_mhz=1000.0)
    made.events["begin"][:] = 3_000_000_000_001
    made.events["end"][:] = 3_000_000_000_002
    assert {row["begin_ns"] for row in rows_of_csv([all_of(made)])} == {"3000000000001.000"}


@pytest.mark.parametrize("made", [pipeline(3), awkward(), hung(), measured(), launch()], ids=lambda made: made.kernel)
def test_parquet_is_the_same_table_with_types(made: LaunchTrace) -> None:
    cuts = [all_of(made, 4)]
    table, rows = read_parquet(cuts), rows_of_csv(cuts)
    assert table.num_rows == len(rows) == len(made.events)
    assert table.column_names == bytes(write_csv(cuts)).decode().splitlines()[0].split(",")
    for name in table.column_names:
        values: list[Any] = table[name].to_pylist()
        texts = [f"{value:.3f}" if name.endswith("_ns") else str(value) for value in values]
        assert texts == [row[name] for row in rows], name


def test_types_of_parquet() -> None:
    schema = read_parquet([all_of(pipeline(1))]).schema
    texts = {"kernel", "track", "track_kind", "kind", "work", "file", "variable"}
    assert {field.name for field in schema if pyarrow.types.is_dictionary(field.type)} == texts
    assert {field.name for field in schema if pyarrow.types.is_floating(field.type)} == {"begin_ns", "duration_ns"}
    assert {str(schema.field(name).type) for name in ("event", "released_by_event", "bytes", "begin_cycles")} == {
        "int64"
    }
    assert {str(schema.field(name).type) for name in ("launch", "cta", "sm", "line", "slot")} == {"int32"}


def test_parquet_says_what_the_launches_are() -> None:
    table = read_parquet([all_of(pipeline(1)), all_of(hung(), 2)])
    first, second = json.loads(table.schema.metadata[b"tlxviz"])
    assert first == {
        "launch": 0,
        "kernel": "pipeline",
        "grid": [132, 1, 1],
        "arguments": {
            "a": "f16[8192, 8192]",
            "M": "8192",
            "BLOCK_M": "128",
            "scale": "0.5",
            "persistent": "True",
        },
        "device": "NVIDIA H200 SXM",
        "recorder": "simulated",
        "clock_mhz": 1000.0,
        "duration_cycles": 1250,
        "begin_cycles": 0,
        "end_cycles": 130,
        "state": "ended",
    }
    assert (second["launch"], second["state"]) == (2, "hung")


def test_launches_follow_each_other() -> None:
    cuts = [all_of(pipeline(1)), all_of(launch(), 1), all_of(awkward(), 2)]
    assert [row["launch"] for row in rows_of_csv(cuts)] == ["0"] * 9 + ["2"] * 6
    table = read_parquet(cuts)
    assert table["kernel"].to_pylist() == ["pipeline"] * 9 + ['k"er,nel☃'] * 6


def test_events_keep_the_numbers_of_the_whole_launch() -> None:
    whole = {row["event"]: row for row in rows_of_csv([all_of(pipeline(3))])}
    rows = rows_of_csv([cut(pipeline(3), 0, Selection(roles=("mma",), cycles=(100, None)))])
    assert rows
    for row in rows:
        assert row == whole[row["event"]]
    # Also where what it names was left out: a copy, which the trace of the whole launch has.
    waits = [row for row in rows if row["variable"] == "full"]
    assert {whole[row["released_by_event"]]["kind"] for row in waits} == {"tma_load"}


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_equal_traces_give_equal_bytes(write: Any) -> None:
    first, second = (bytes(write([all_of(awkward()), all_of(pipeline(9), 1)])) for _ in range(2))
    assert first == second


def test_a_clock_that_is_unknown_gives_no_times() -> None:
    rows = rows_of_csv([all_of(pipeline(1, clock_mhz=0.0))])
    assert {row["begin_ns"] for row in rows} == {"0.000"}
    assert np.unique([row["end_cycles"] for row in rows]).size > 1


def test_texts_that_utf_8_does_not_have() -> None:
    made = pipeline(1, kernel="half \ud800\0")
    assert {row["kernel"] for row in rows_of_csv([all_of(made)])} == {"half ?"}
    assert set(read_parquet([all_of(made)])["kernel"].to_pylist()) == {"half ?"}
