"""`tlxviz.record` inside a program, with no GPU."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import warnings
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
import triton
import triton.language as tl

import tlxviz
from tlxviz._errors import UsageError
from tlxviz.embedded.record import VARIABLE, NothingRecorded
from tlxviz.trace import load_trace

ROOT = Path(__file__).resolve().parents[2]


@triton.jit
def scale(x_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1.0, mask=at < n)


def work(times: int = 1) -> torch.Tensor:
    x = torch.ones(1000, device="cuda")
    for _ in range(times):
        scale[(4,)](x, 1000, 2.0, BLOCK=256)
        shift[(4,)](x, 1000, BLOCK=256)
    return x


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_block_records_and_saves(tmp_path: Path):
    path = tmp_path / "out.tlxtrace"
    with tlxviz.record(path) as r:
        x = work()
        assert torch.equal(x, torch.full((1000,), 3.0, device="cuda"))
        assert not path.exists()
    assert [launch.kernel for launch in r.trace.launches] == ["scale", "shift"]
    assert r.path == path
    assert [launch.kernel for launch in load_trace(path).launches] == ["scale", "shift"]
    assert not torch.cuda.is_available()


def test_kernels_and_launches_are_chosen():
    with tlxviz.record(None, kernel="sc*", launches=[1, 2]) as r:
        work(4)
    assert [launch.kernel for launch in r.trace.launches] == ["scale", "scale"]
    assert r.path is None
    with tlxviz.record(None, kernel=["shift"], launches=None) as r:
        work(3)
    assert [launch.kernel for launch in r.trace.launches] == ["shift"] * 3


def test_ctas_values_and_device_are_chosen():
    with tlxviz.record(None, kernel="scale", ctas=[2, 3], values=False, device="h100") as r:
        x = work()
        assert torch.equal(x, torch.ones(1000, device="cuda"))
        assert torch.cuda.get_device_name() == "NVIDIA H100 80GB HBM3"
    [launch] = r.trace.launches
    assert {track.cta for track in launch.tracks} == {2, 3}
    assert launch.provenance["options"] == {"values": "off", "ctas": [2, 3]}


def test_blocks_nest():
    with tlxviz.record(None, kernel="scale") as outer, tlxviz.record(None, kernel="shift") as inner:
        work()
    assert [launch.kernel for launch in outer.trace.launches] == ["scale"]
    assert [launch.kernel for launch in inner.trace.launches] == ["shift"]


def test_blocks_that_overlap_share_the_device_until_the_last_ends():
    first, second = tlxviz.record(None, launches=None), tlxviz.record(None, launches=None)
    first.__enter__()
    second.__enter__()
    work()
    first.__exit__(None, None, None)
    work()
    second.__exit__(None, None, None)
    assert (len(first.trace.launches), len(second.trace.launches)) == (2, 4)
    assert not torch.cuda.is_available()


def test_blocks_of_tasks():
    async def task(seconds: float) -> int:
        with tlxviz.record(None, launches=None) as r:
            await asyncio.sleep(seconds)
            work()
        return len(r.trace.launches)

    async def both() -> list[int]:
        return await asyncio.gather(task(0.0), task(0.1))

    assert asyncio.run(both()) == [2, 4]
    assert not torch.cuda.is_available()


def test_a_thread_of_its_own_has_no_device_of_the_block():
    said: list[str] = []
    begin, end = threading.Event(), threading.Event()

    def other() -> None:
        begin.wait()
        try:
            with tlxviz.record(None):
                raise AssertionError
        except UsageError as error:
            said.append(str(error))
        end.set()

    thread = threading.Thread(target=other)
    thread.start()
    with tlxviz.record(None, kernel="scale") as r:
        begin.set()
        end.wait()
        thread.join()

        def within() -> None:
            with tlxviz.record(None, kernel="shift") as inner:
                work()
            said.append(inner.trace.launches[0].kernel)

        thread = threading.Thread(target=within)
        thread.start()
        thread.join()
    assert "another thread is in a block of record()" in said[0]
    assert said[1] == "shift"
    assert len(r.trace.launches) == 1
    assert not torch.cuda.is_available()


def test_a_block_can_be_used_again_but_not_within_itself():
    block = tlxviz.record(None)
    with block:
        work()
        with pytest.raises(UsageError, match="has not ended yet"):
            block.__enter__()
    with block as r:
        work()
    assert len(r.trace.launches) == 2


def test_an_error_keeps_what_was_recorded(tmp_path: Path):
    path = tmp_path / "out.tlxtrace"

    def broken() -> None:
        with tlxviz.record(path):
            work()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert len(load_trace(path).launches) == 2
    assert not torch.cuda.is_available()


def test_what_was_compiled_in_a_block_is_forgotten_after_it():
    before = scale.device_caches
    with tlxviz.record(None):
        work()
        assert scale.device_caches is not before
    assert scale.device_caches is before


def test_a_trace_that_cannot_be_saved_does_not_hide_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "folder"
    folder.mkdir()

    def broken() -> None:
        with tlxviz.record(folder / "out.tlxtrace"):
            work()
            folder.rmdir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert "tlxviz: error: cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [False, True])
def test_a_program_without_stderr(closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stream = StringIO() if closed else None
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    with tlxviz.record(tmp_path / "out.tlxtrace") as r:
        work()
    assert r.path is not None


def test_without_the_variable_a_block_without_a_path_is_inert():
    with tlxviz.record() as r:
        assert not torch.cuda.is_available()
    with pytest.raises(UsageError, match="TLXVIZ_RECORD is not set"):
        _ = r.trace


def test_the_variable_names_the_file_and_is_used_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "out.tlxtrace"
    path.write_bytes(b"taken")
    monkeypatch.setenv(VARIABLE, str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingRecorded)
        with tlxviz.record():
            pass
    with tlxviz.record(kernel="scale") as r:
        work()
    with tlxviz.record():
        assert not torch.cuda.is_available()
    assert r.path == tmp_path / "out.1.tlxtrace"
    assert path.read_bytes() == b"taken"


def test_nothing_recorded_is_said(tmp_path: Path):
    path = tmp_path / "out.tlxtrace"
    with (
        pytest.warns(NothingRecorded, match="there was no launch of scael in the block"),
        tlxviz.record(path, kernel="scael"),
    ):
        work()
    assert not path.exists()
    with pytest.warns(NothingRecorded, match="no launch with the number 7 in"), tlxviz.record(path, launches=7):
        work()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("out.json", "ends in .tlxtrace"),
        ("no/out.tlxtrace", "is no folder"),
        ("taken.tlxtrace", "force=True"),
        ("folder.tlxtrace", "it is a folder"),
        ("link.tlxtrace", "nowhere is no folder"),
        ("\0.tlxtrace", "null character"),
        (f"{'long' * 80}.tlxtrace", "name too long"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_runs(name: str, says: str, tmp_path: Path):
    (tmp_path / "taken.tlxtrace").touch()
    (tmp_path / "folder.tlxtrace").mkdir()
    (tmp_path / "link.tlxtrace").symlink_to(tmp_path / "nowhere" / "out.tlxtrace")
    with pytest.raises(UsageError, match=says), tlxviz.record(tmp_path / name):
        raise AssertionError


def test_that_the_variable_named_the_path_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "out"))
    with pytest.raises(UsageError, match=r"out, which TLXVIZ_RECORD names: the name of a trace"), tlxviz.record():
        raise AssertionError


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="the current folder is gone"):
        tlxviz.record("out.tlxtrace")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kernel": scale}, "kernel takes names, such as 'gemm\\*', and not a JITFunction"),
        ({"kernel": [shift]}, "not a JITFunction"),
        ({"launches": -1}, "launches counts from 0, and -1 is less"),
        ({"launches": "3"}, "launches takes a number, or several, and not '3'"),
        ({"launches": 1.5}, "launches takes a number"),
        ({"ctas": [0, -2]}, "ctas counts from 0"),
        ({"ctas": "0"}, "ctas takes a number"),
        ({"device": 3}, "device takes a name"),
    ],
)
def test_arguments_of_another_kind(options: dict[str, Any], says: str):
    with pytest.raises(UsageError, match=says):
        tlxviz.record(None, **options)


def test_an_unknown_device():
    with (
        pytest.raises(UsageError, match="there is no device 'h300'"),
        tlxviz.record(None, device="h300"),
    ):
        raise AssertionError


def test_the_trace_shows_itself_as_a_picture():
    with tlxviz.record(None, kernel="scale") as r:
        work()
    picture = r.trace._repr_svg_()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "scale" in picture
    assert "cycles" in "".join(root.itertext())


def test_inside_a_run_the_launches_are_those_of_the_run(tmp_path: Path):
    (tmp_path / "kernels_of_mine.py").write_text(
        Path(__file__).read_text(encoding="utf-8").partition("@pytest.fixture")[0], encoding="utf-8"
    )
    (tmp_path / "script.py").write_text(
        "import tlxviz\nfrom kernels_of_mine import work\n"
        "with tlxviz.record('inner.tlxtrace', kernel='shift') as r:\n    x = work()\n"
        "print(len(r.trace.launches), x[0].item())\nwork()\n"
    )
    command = [sys.executable, str(ROOT / "cli.py"), "run", "-q", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 3.0\n")
    assert [launch.kernel for launch in load_trace(tmp_path / "inner.tlxtrace").launches] == ["shift"]
    assert [launch.kernel for launch in load_trace(tmp_path / "script.tlxtrace").launches] == ["scale", "shift"]
