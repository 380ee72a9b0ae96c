"""Loading: every field comes back, and whatever is wrong with a file is one clear message."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import TRACK, damaged, failure, npy, rewrite, rewrite_manifest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_samples import assert_same, sample_launch, sample_trace

from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.trace import COLUMNS, Events, Trace, TraceFileError, load_trace, save_trace


def test_every_field_comes_back(path: Path) -> None:
    assert_same(load_trace(path), sample_trace())


def test_an_empty_trace(tmp_path: Path) -> None:
    save_trace(Trace(), tmp_path / "a.tlxtrace")
    assert_same(load_trace(tmp_path / "a.tlxtrace"), Trace())


LARGEST = 2**63 - 1


def tables_of(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        st.none() | st.booleans() | numbers | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(st.text(), values, max_size=4)


tables = tables_of(st.integers() | st.floats(allow_nan=False))
figures = tables_of(st.integers(-LARGEST, LARGEST) | st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def events(draw: st.DrawFn) -> Events:
    rows = draw(st.integers(0, 20))
    columns: dict[str, Any] = {}
    for name, dtype in COLUMNS.items():
        low, high = {"track": (0, 2), "site": (-1, 1), "released_by": (-1, rows - 1), "peer": (-1, 131)}.get(
            name, (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        )
        columns[name] = np.array(draw(st.lists(st.integers(low, high), min_size=rows, max_size=rows)), dtype)
    return Events(columns)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.builds(
            sample_launch,
            kernel=st.text(),
            arguments=tables,
            statistics=figures,
            hang=st.none() | figures,
            ttgir=st.text(),
            clock_mhz=st.just(0.0) | st.floats(1e-3, 1e9),
            cycles=st.integers(0, LARGEST),
            complete=st.booleans(),
            events=events(),
        ),
        max_size=3,
    )
)
def test_any_trace_comes_back(tmp_path: Path, launches: list[Any]) -> None:
    path = tmp_path / "a.tlxtrace"
    save_trace(Trace(launches), path, force=True)
    assert_same(load_trace(path), Trace(launches))


def test_not_found(tmp_path: Path) -> None:
    assert failure(tmp_path / "a.tlxtrace") == f"there is no file {tmp_path / 'a.tlxtrace'}."


def test_a_folder(tmp_path: Path) -> None:
    assert failure(tmp_path) == f"{tmp_path} is a folder, not a trace."


def test_below_a_file(path: Path) -> None:
    assert failure(path / "b") == f"cannot read {path / 'b'}: Not a directory."


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gemm.py", "It is a script; record a trace of it: tlxviz run {path}"),
        (
            "gemm.ttgir",
            "It is a kernel's IR; a trace is made from the script that launches the kernel: tlxviz run SCRIPT",
        ),
        ("a.json", "If it was exported, open it at https://ui.perfetto.dev; tlxviz reads the .tlxtrace file."),
        ("a.pftrace", "Open it at https://ui.perfetto.dev; tlxviz reads the .tlxtrace file."),
        ("a.txt", "A trace is what tlxviz run writes, usually as .tlxtrace."),
    ],
)
def test_other_files(tmp_path: Path, name: str, hint: str) -> None:
    path = tmp_path / name
    path.write_text("{}")
    assert failure(path) == f"{path} is not a trace of tlxviz. {hint.format(path=path)}"


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.tlxtrace").touch()
    assert failure(tmp_path / "a.tlxtrace") == f"{tmp_path / 'a.tlxtrace'} is empty. Record it again."


def test_a_zip_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "wheel.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    assert damaged(path) == "it has no manifest.json"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: 5 + int(share * (len(data) - 6))])
    assert damaged(path) == "File is not a zip file"


def test_a_flipped_byte_in_a_column(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        data[archive.getinfo(TRACK).header_offset + 30 + len(TRACK) + 20] ^= 0xFF
    path.write_bytes(data)
    damaged(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_bytes_changed_anywhere_never_give_a_traceback(path: Path, data: st.DataObject) -> None:
    whole = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(4, len(whole) - 1), min_size=1, max_size=4)):
        whole[place] = data.draw(st.integers(0, 255))
    other = path.with_name("other.tlxtrace")
    other.write_bytes(whole)
    with contextlib.suppress(TlxvizError):
        load_trace(other)


def test_another_format(path: Path) -> None:
    rewrite_manifest(path, lambda manifest: manifest.update(format="tvz"))
    assert failure(path) == f"{path} is not a trace of tlxviz: its manifest says format 'tvz', not 'tlxtrace'."


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            [2, 3],
            "format 2.3, which is newer than this tlxviz reads (1.1). Upgrade tlxviz: pip install --upgrade tlxviz.",
        ),
        ([0, 9], "format 0.9, which is older than this tlxviz reads (1.1). Record it again."),
    ],
)
def test_other_major_versions(path: Path, version: list[int], message: str) -> None:
    # A version that is not read may look different in everything else.
    rewrite_manifest(path, lambda manifest: (manifest.update(version=version), manifest.pop("launches")))
    with pytest.raises(TraceFileError) as caught:
        load_trace(path)
    assert caught.value.exit_code == ExitCode.CANNOT_RUN
    assert str(caught.value) == f"{path} has trace {message}"


def test_what_a_newer_minor_version_added_is_ignored(path: Path) -> None:
    def change(manifest: Any) -> None:
        manifest.update(version=[1, 7], weather="fine")
        launch = manifest["launches"][0]
        launch.update(mood=1)
        launch["sites"][0].update(colour="red")
        launch["events"]["columns"].update(warp="<i4")

    rewrite_manifest(path, change)
    rewrite(path, lambda members: members.update({"launches/0/warp.npy": npy([0, 0, 0], "<i4")}))
    assert_same(load_trace(path), sample_trace())


def test_a_file_of_format_1_0_knows_nothing_of_clusters(path: Path) -> None:
    def change(manifest: Any) -> None:
        manifest.update(version=[1, 0])
        for launch in manifest["launches"]:
            del launch["cluster"], launch["events"]["columns"]["peer"]

    rewrite_manifest(path, change)
    rewrite(path, lambda members: [members.pop(f"launches/{number}/peer.npy") for number in (0, 1)])
    expected = sample_trace()
    for launch in expected.launches:
        launch.cluster = (1, 1, 1)
        launch.events = Events(launch.events.columns | {"peer": np.full(3, -1, np.int32)})
    assert_same(load_trace(path), expected)


def test_fields_with_a_default_may_be_absent(path: Path) -> None:
    rewrite_manifest(
        path, lambda manifest: [manifest["launches"][0].pop(name) for name in ("source", "hang", "complete")]
    )
    launch = load_trace(path).launches[0]
    assert (launch.source, launch.hang, launch.complete) == ("", None, True)
