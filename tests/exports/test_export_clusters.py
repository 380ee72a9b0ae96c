"""What files of other tools say of CTAs that form clusters."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow.parquet
from exports.export_samples import all_of
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from tui.cluster_scene import rings
from tui.ring_scene import ring

from tlxviz.exports.formats import FORMATS
from tlxviz.trace import LaunchTrace


def written(name: str, made: LaunchTrace) -> bytes:
    return b"".join(_pieces(FORMATS[name].load()([all_of(made)])))


def _pieces(content: Any) -> list[bytes]:
    return [bytes(content)] if isinstance(content, bytes | memoryview) else [bytes(each) for each in content]


def test_rows_say_cluster_rank_and_peer() -> None:
    made = rings()
    rows = list(csv.DictReader(io.StringIO(written("csv", made).decode())))
    where = {(row["cta"], row["cluster"], row["rank"]) for row in rows}
    assert where == {("0", "0", "0"), ("1", "0", "1"), ("2", "1", "0"), ("3", "1", "1")}
    told = {(row["cta"], row["kind"], row["peer_cta"]) for row in rows if row["peer_cta"] != "-1"}
    assert told == {("1", "arrive", "0"), ("3", "arrive", "2")}
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet", made)))
    assert [str(table.schema.field(name).type) for name in ("cluster", "rank", "peer_cta")] == ["int32"] * 3
    assert table["peer_cta"].to_pylist() == [int(row["peer_cta"]) for row in rows]


def test_without_clusters_they_say_nothing() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv", ring(ctas=2)).decode())))
    assert {(row["cluster"], row["rank"], row["peer_cta"]) for row in rows} == {("-1", "-1", "-1")}


def test_chrome_flows_lead_to_other_processes() -> None:
    made = rings(1)
    events = json.loads(written("chrome", made))["traceEvents"]
    names = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert list(names.values()) == [
        "launch 0: kernel, CTA 0 (rank 0 of cluster 0) on SM 0",
        "launch 0: kernel, CTA 1 (rank 1 of cluster 0) on SM 1",
    ]
    starts = {each["id"]: each["pid"] for each in events if each["ph"] == "s"}
    ends = {each["id"]: each["pid"] for each in events if each["ph"] == "f"}
    crossing = [(starts[number], ends[number]) for number in starts if starts[number] != ends[number]]
    first, second = names
    # four copies that CTA 0 issues for CTA 1, and two slots that CTA 1 frees for CTA 0
    assert sorted(crossing) == [(first, second)] * 4 + [(second, first)] * 2
    peers = [each["args"]["peer_cta"] for each in events if "peer_cta" in each.get("args", {})]
    assert peers == [0] * 4


def test_perfetto_names_and_orders_ctas_by_cluster() -> None:
    """In a grid of two rows clusters are columns, and CTAs of one stand together."""
    made = rings()
    made.grid, made.cluster = (2, 2, 1), (1, 2, 1)
    found = Trace.FromString(written("perfetto", made))
    names = [each.track_descriptor.name for each in found.packet if each.HasField("track_descriptor")]
    assert [name for name in names if name.startswith("CTA")] == [
        "CTA 0 (rank 0 of cluster 0) on SM 0",
        "CTA 2 (rank 1 of cluster 0) on SM 2",
        "CTA 1 (rank 0 of cluster 1) on SM 1",
        "CTA 3 (rank 1 of cluster 1) on SM 3",
    ]
