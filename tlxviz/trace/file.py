"""`.tlxtrace` files: a zip of a JSON manifest and one `.npy` per column of events, as docs/trace.md specifies."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tlxviz.trace.build import DEFAULTS
from tlxviz.trace.errors import TraceReadError
from tlxviz.trace.manifest import LaunchEntry, ManifestError, decode_manifest, encode_manifest
from tlxviz.trace.model import COLUMNS, Events, LaunchTrace, Trace
from tlxviz.trace.whole import write_whole

SUFFIX = ".tlxtrace"

_MANIFEST = "manifest.json"
_MANIFEST_LIMIT = 1 << 30
"""Bytes; no trace comes near it, so a larger one is not read into memory."""
_HEADER_LIMIT = 1024
"""Bytes of an `.npy` header; those of a trace have 128."""
_COMPRESSION = 1
"""zlib's fastest level: a tenth larger than level 6, and five times as fast."""

_OTHER_FILES = {
    ".py": "It is a script; record a trace of it: tlxviz run {path}",
    ".ttgir": "It is a kernel's IR; a trace is made from the script that launches the kernel: tlxviz run SCRIPT",
    ".json": "If it was exported, open it at https://ui.perfetto.dev; tlxviz reads the .tlxtrace file.",
    ".pftrace": "Open it at https://ui.perfetto.dev; tlxviz reads the .tlxtrace file.",
    ".perfetto-trace": "Open it at https://ui.perfetto.dev; tlxviz reads the .tlxtrace file.",
}


def save_trace(trace: Trace, path: str | Path, *, force: bool = False) -> None:
    """Writes the trace, whole or not at all. Equal traces give equal bytes.

    Raises UsageError if the path exists and `force` is not set, TraceFileError if it cannot be written.
    """
    write_whole(Path(path), _encode(trace), force=force)


def load_trace(path: str | Path) -> Trace:
    """Reads a trace. Raises TraceReadError, or TraceFileError for a version that this tlxviz does not read."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                raise TraceReadError(_not_a_trace(path))
            return _decode(file, path)
    except FileNotFoundError as error:
        raise TraceReadError(f"there is no file {path}.") from error
    except IsADirectoryError as error:
        raise TraceReadError(f"{path} is a folder, not a trace.") from error
    except OSError as error:
        raise TraceReadError(f"cannot read {path}: {error.strerror or error}.") from error


def numbered_path(path: str | Path) -> Path:
    """The path itself if nothing is there, else the first free one of `name.1.tlxtrace`, `name.2.tlxtrace`, ..."""
    path = candidate = Path(path)
    number = 0
    while candidate.exists() or candidate.is_symlink():
        number += 1
        candidate = path.with_name(f"{path.stem}.{number}{path.suffix}")
    return candidate


def _encode(trace: Trace) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, _MANIFEST, encode_manifest(trace))
        for number, launch in enumerate(trace.launches):
            for name, dtype in COLUMNS.items():
                column = launch.events[name]
                if column.dtype != dtype or column.shape != (len(launch.events),):
                    raise ValueError(
                        f"column {name} is {column.dtype}{list(column.shape)}, which is not its type or length"
                    )
                data = BytesIO()
                np.lib.format.write_array(data, np.ascontiguousarray(column), version=(1, 0), allow_pickle=False)
                _add(archive, _member(number, name), data.getvalue())
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # Everything that a zip says of a member beyond its bytes is fixed, so that the file depends on the trace alone.
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3
    member.external_attr = 0o100644 << 16
    archive.writestr(member, data, zipfile.ZIP_DEFLATED, _COMPRESSION)


def _member(launch: int, column: str) -> str:
    return f"launches/{launch}/{column}.npy"


def _decode(file: BinaryIO, path: Path) -> Trace:
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _read(archive, _MANIFEST, _MANIFEST_LIMIT)
            launches = [
                LaunchTrace(events=_events(archive, number, entry), **entry.values)
                for number, entry in enumerate(decode_manifest(manifest, str(path)))
            ]
    except ManifestError as error:
        raise _damaged(path, str(error)) from error
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, OverflowError) as error:
        raise _damaged(path, f"{error}") from error
    except MemoryError as error:
        raise TraceReadError(f"{path} does not fit into memory.") from error
    return Trace(launches)


def _read(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """A member's bytes. The zip's own directory says how many, and `limit` is checked before they are unpacked."""
    try:
        member = archive.getinfo(name)
    except KeyError as error:
        raise ManifestError(f"it has no {name}") from error
    if member.file_size > limit:
        raise ManifestError(f"{name} has {member.file_size} bytes, more than the {limit} that it may have")
    return archive.read(member)


def _events(archive: zipfile.ZipFile, launch: int, entry: LaunchEntry) -> Events:
    rows, values = entry.rows, entry.values
    events = Events(
        {
            name: _column(archive, _member(launch, name), rows, dtype)
            if name in entry.columns
            else np.full(rows, DEFAULTS[name], dtype)
            for name, dtype in COLUMNS.items()
        }
    )
    # Views index by these columns, so a wrong number is reported here and not as a traceback there.
    ranges = {
        "track": (0, len(values["tracks"])),
        "site": (-1, len(values["sites"])),
        "released_by": (-1, rows),
        "peer": (-1, math.prod(values["grid"])),
    }
    for name, (low, high) in ranges.items():
        column = events[name]
        if rows and (column.min() < low or column.max() >= high):
            raise ManifestError(f"{_member(launch, name)} has a number outside {low} to {high - 1}")
    return events


def _column(archive: zipfile.ZipFile, name: str, rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    size = rows * dtype.itemsize
    data = _read(archive, name, size + _HEADER_LIMIT)
    stream = BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ManifestError(f"{name} is of version {version[0]}.{version[1]} of the .npy format, not 1.0")
        shape, _, found = np.lib.format.read_array_header_1_0(stream)
    except (SyntaxError, TokenError) as error:
        raise ManifestError(f"{name} has no header of the .npy format") from error
    if found != dtype or shape != (rows,):
        raise ManifestError(f"{name} is {found.str}{list(shape)}, the manifest says {dtype.str}{[rows]}")
    if len(data) - stream.tell() != size:
        raise ManifestError(f"{name} has {len(data) - stream.tell()} bytes of numbers, not {size}")
    return np.frombuffer(data, dtype, rows, stream.tell()).copy()


def _damaged(path: Path, reason: str) -> TraceReadError:
    return TraceReadError(f"{path} is damaged or incomplete: {reason}. Copy it again, or record it again.")


def _not_a_trace(path: Path) -> str:
    if path.stat().st_size == 0:
        return f"{path} is empty. Record it again."
    hint = _OTHER_FILES.get(path.suffix.lower(), "A trace is what tlxviz run writes, usually as .tlxtrace.")
    return f"{path} is not a trace of tlxviz. {hint.format(path=path)}"
