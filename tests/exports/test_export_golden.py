"""What each format writes of a small trace, as it lies in `golden/`."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet
import pytest
from analysis.synthetic_traces import hung
from exports.export_samples import all_of, awkward, ring
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from tlxviz.commands.export import SUFFIXES
from tlxviz.exports.formats import FORMATS

GOLDEN = Path(__file__).parent / "golden"


def written(name: str) -> bytes:
    return bytes(FORMATS[name].load()([all_of(ring()), all_of(awkward(), 1), all_of(hung(), 2)]))


@pytest.mark.parametrize("name", ["csv", "chrome"])
def test_texts(name: str) -> None:
    assert written(name).decode() == (GOLDEN / f"launches{FORMATS[name].suffix}").read_bytes().decode()


def test_parquet_by_content_and_schema() -> None:
    found = pyarrow.parquet.read_table(io.BytesIO(written("parquet")))
    expected = pyarrow.parquet.read_table(GOLDEN / "launches.parquet")
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.to_pylist() == expected.to_pylist()
    assert len(found) > 40


def test_perfetto_packet_by_packet() -> None:
    # Bytes of what the official package writes may change with its version.
    found, expected = Trace.FromString(written("perfetto")), Trace()
    expected.ParseFromString((GOLDEN / "launches.perfetto-trace").read_bytes())
    assert len(found.packet) == len(expected.packet) > 100
    for one, other in zip(found.packet, expected.packet, strict=True):
        assert one == other


def test_the_command_knows_the_suffix_of_every_format() -> None:
    assert {name: each.suffix for name, each in FORMATS.items()} == SUFFIXES
