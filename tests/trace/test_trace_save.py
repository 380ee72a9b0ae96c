"""Saving: equal bytes, whole or not at all, a clear message for each failure."""

from __future__ import annotations

import errno
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_samples import assert_same, sample_launch, sample_trace

from tlxviz._errors import ExitCode, UsageError
from tlxviz.trace import Events, Trace, TraceFileError, load_trace, numbered_path, save_trace
from tlxviz.trace.whole import write_whole


def failing(number: int) -> Any:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_equal_traces_give_equal_bytes(tmp_path: Path) -> None:
    save_trace(sample_trace(), tmp_path / "a.tlxtrace")
    save_trace(sample_trace(), tmp_path / "b.tlxtrace")
    assert (tmp_path / "a.tlxtrace").read_bytes() == (tmp_path / "b.tlxtrace").read_bytes()
    save_trace(load_trace(tmp_path / "a.tlxtrace"), tmp_path / "c.tlxtrace")
    assert (tmp_path / "a.tlxtrace").read_bytes() == (tmp_path / "c.tlxtrace").read_bytes()


def test_members_say_nothing_of_when_and_where(tmp_path: Path) -> None:
    save_trace(sample_trace(), tmp_path / "a.tlxtrace")
    with zipfile.ZipFile(tmp_path / "a.tlxtrace") as archive:
        members = archive.infolist()
    assert [member.filename for member in members][:3] == [
        "manifest.json",
        "launches/0/track.npy",
        "launches/0/site.npy",
    ]
    assert {(member.date_time, member.external_attr >> 16, member.create_system) for member in members} == {
        ((1980, 1, 1, 0, 0, 0), 0o100644, 3)
    }


def test_launches_of_one_kernel_share_its_texts(tmp_path: Path) -> None:
    sizes: list[int] = []
    for launches in (1, 20):
        path = tmp_path / f"{launches}.tlxtrace"
        save_trace(Trace([sample_launch(ttgir=os.urandom(40_000).hex()) for _ in range(1)] * launches), path)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 2.5 * sizes[0]


def test_numbers_of_numpy_become_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.tlxtrace"
    statistics = {"bytes": np.int64(7), "rate": np.float32(0.5), "hit": np.bool_(True), "ctas": (np.int32(1), 2)}
    save_trace(Trace([sample_launch(statistics=statistics)]), path)
    assert load_trace(path).launches[0].statistics == {"bytes": 7, "rate": 0.5, "hit": True, "ctas": [1, 2]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [object()]}, r"^statistics\.a\[0\]: a trace cannot hold a object$"),
        ({1: 2}, "^statistics: the keys of a table in a trace must be text$"),
    ],
)
def test_values_that_json_does_not_have(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        save_trace(Trace([sample_launch(statistics=value)]), tmp_path / "a.tlxtrace")
    assert names(tmp_path) == []


def test_columns_of_another_type(tmp_path: Path) -> None:
    launch = sample_launch()
    launch.events = Events(launch.events.columns | {"slot": np.zeros(3)})
    with pytest.raises(ValueError, match=r"column slot is float64\[3\], which is not its type or length"):
        save_trace(Trace([launch]), tmp_path / "a.tlxtrace")


def test_permissions_are_what_the_umask_leaves(tmp_path: Path) -> None:
    save_trace(sample_trace(), tmp_path / "a.tlxtrace")
    (tmp_path / "other").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "a.tlxtrace").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    path = tmp_path / "a.tlxtrace"
    path.write_bytes(b"mine")
    with pytest.raises(UsageError) as caught:
        save_trace(sample_trace(), path)
    assert str(caught.value) == f"{path} already exists. Give another path, or overwrite it with --force."
    assert caught.value.exit_code == ExitCode.USAGE
    assert path.read_bytes() == b"mine"
    save_trace(sample_trace(), path, force=True)
    assert_same(load_trace(path), sample_trace())
    assert names(tmp_path) == ["a.tlxtrace"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tlxtrace"

    def write(_file: int) -> None:
        path.write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", write)
    with pytest.raises(UsageError, match="already exists"):
        save_trace(sample_trace(), path)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.tlxtrace"]


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    save_trace(sample_trace(), tmp_path / "a.tlxtrace")
    assert_same(load_trace(tmp_path / "a.tlxtrace"), sample_trace())
    assert names(tmp_path) == ["a.tlxtrace"]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "target.tlxtrace").write_bytes(b"old")
    (tmp_path / "link.tlxtrace").symlink_to("target.tlxtrace")
    save_trace(sample_trace(), tmp_path / "link.tlxtrace", force=True)
    assert (tmp_path / "link.tlxtrace").is_symlink()
    assert_same(load_trace(tmp_path / "target.tlxtrace"), sample_trace())


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space is left on the disk. Free some, or give a path on another disk."),
        (errno.EDQUOT, "your disk quota is used up. Free some space, or give a path on another disk."),
        (errno.EIO, "Input/output error. Give another path."),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str, force: bool
) -> None:
    path = tmp_path / "a.tlxtrace"
    if force:
        path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", failing(number))
    with pytest.raises(TraceFileError) as caught:
        save_trace(sample_trace(), path, force=force)
    assert str(caught.value) == f"cannot write {path}: {reason}"
    assert caught.value.exit_code == ExitCode.CANNOT_RUN
    assert names(tmp_path) == (["a.tlxtrace"] if force else [])
    assert not force or path.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_pieces_are_written_one_after_the_other_or_not_at_all(tmp_path: Path) -> None:
    def pieces(fail: bool) -> Iterator[bytes]:
        yield b"one, "
        yield b"two"
        if fail:
            raise TraceFileError("no third one.")

    write_whole(tmp_path / "x", pieces(False))
    with pytest.raises(TraceFileError, match="no third one"):
        write_whole(tmp_path / "x", pieces(True), force=True)
    with pytest.raises(TraceFileError, match="no third one"):
        write_whole(tmp_path / "y", pieces(True))
    assert names(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"one, two"


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    for force in (False, True):
        with pytest.raises(TraceFileError) as caught:
            save_trace(sample_trace(), "/dev/full", force=force)
        assert str(caught.value) == "cannot write /dev/full: it is not a regular file. Give another path."
    assert Path("/dev/full").is_char_device()


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_trace(sample_trace(), tmp_path / "a.tlxtrace")
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    path = tmp_path / "a.tlxtrace"
    monkeypatch.setattr("builtins.open", failing(number))
    with pytest.raises(TraceFileError) as caught:
        save_trace(sample_trace(), path)
    folder = tmp_path.resolve()
    assert str(caught.value) == (
        f"cannot write {path}: you may not write to the folder {folder}. Give a path in another folder."
    )


def test_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tlxtrace"
    monkeypatch.setattr("builtins.open", failing(errno.EROFS))
    with pytest.raises(TraceFileError) as caught:
        save_trace(sample_trace(), path)
    assert str(caught.value) == (
        f"cannot write {path}: the file system is read-only. Give a path in a folder that you may write to."
    )


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    (tmp_path / "file").write_bytes(b"")
    long = "n" * 300
    for path, reason in [
        (tmp_path, "it is a folder. Give the path of a file."),
        (
            tmp_path / "no" / "a.tlxtrace",
            f"the folder {tmp_path / 'no'} does not exist. Create it, or give another path.",
        ),
        (tmp_path / "file" / "a.tlxtrace", f"{tmp_path / 'file'} is not a folder. Give another path."),
        (tmp_path / long, "the name is too long. Give a shorter one."),
    ]:
        with pytest.raises(TraceFileError) as caught:
            save_trace(sample_trace(), path)
        assert str(caught.value) == f"cannot write {path}: {reason}"
    assert names(tmp_path) == ["file"]


def test_numbered_path(tmp_path: Path) -> None:
    path = tmp_path / "run.v2.tlxtrace"
    assert numbered_path(path) == path
    path.write_bytes(b"")
    assert numbered_path(path) == tmp_path / "run.v2.1.tlxtrace"
    (tmp_path / "run.v2.1.tlxtrace").symlink_to("nowhere")
    assert numbered_path(str(path)) == tmp_path / "run.v2.2.tlxtrace"
