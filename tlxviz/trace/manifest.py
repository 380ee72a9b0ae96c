"""A trace's manifest: everything but the events, as plain JSON data, and back with every type checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from tlxviz.trace.errors import TraceFileError, TraceReadError
from tlxviz.trace.model import (
    COLUMNS,
    LATER_COLUMNS,
    AgentRow,
    BarrierRow,
    BufferRow,
    LaunchTrace,
    SiteRow,
    Trace,
    Track,
    TrackKind,
)

FORMAT = "tlxtrace"
VERSION = (1, 1)
"""Major: an older reader would misread the file. Minor: something was added that it may ignore."""

_ROWS: dict[str, type] = {
    "tracks": Track,
    "agents": AgentRow,
    "sites": SiteRow,
    "barriers": BarrierRow,
    "buffers": BufferRow,
}
_TEXTS = ("ttgir", "source")
"""Fields that stand in the manifest's table of texts: launches of one kernel share them."""

_FIGURES = ("device", "provenance", "statistics", "hang")
"""Fields of which views take numbers; arguments are shown as they are and may be any."""
_FROM_ZERO = ("clock_mhz", "cycles", "flop")
_LARGEST = (1 << 63) - 1
_CLOCKS = (1e-3, 1e9)
"""MHz, beyond which times in ns are no numbers that a file can hold."""
_COUNTS = ("registers", "shared", "spilled_bytes")
"""What the compiler counts, where the metadata have it."""

_Row = TypeVar("_Row")


class ManifestError(ValueError):
    """The manifest is not what the format says. The text names the entry."""


def encode_manifest(trace: Trace) -> bytes:
    """The manifest as JSON text; equal traces give equal bytes."""
    texts: dict[str, int] = {}
    launches: list[dict[str, Any]] = []
    for launch in trace.launches:
        entry: dict[str, Any] = {
            "events": {"rows": len(launch.events), "columns": {name: kind.str for name, kind in COLUMNS.items()}}
        }
        for field in fields(LaunchTrace):
            value = getattr(launch, field.name)
            if field.name in _ROWS:
                columns = [column.name for column in fields(_ROWS[field.name])]
                entry[field.name] = [{name: _plain(getattr(row, name), name) for name in columns} for row in value]
            elif field.name in _TEXTS:
                entry[field.name] = texts.setdefault(value, len(texts))
            elif field.name != "events":
                entry[field.name] = _plain(value, field.name)
        launches.append(entry)
    document = {"format": FORMAT, "version": list(VERSION), "texts": list(texts), "launches": launches}
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")


@dataclass(frozen=True, slots=True)
class LaunchEntry:
    """What a manifest says of a launch."""

    values: dict[str, Any]
    """The arguments of its `LaunchTrace` but the events."""
    rows: int
    """Events that it has."""
    columns: tuple[str, ...]
    """Columns of `COLUMNS` that the file has of them."""


def decode_manifest(data: bytes, path: str) -> list[LaunchEntry]:
    """What the manifest says of each launch."""
    try:
        document: object = json.loads(data, parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"manifest.json is not JSON: {error}") from error
    except MemoryError as error:
        raise ManifestError("manifest.json does not fit into memory") from error
    manifest = _object(document, "manifest.json")
    if manifest.get("format") != FORMAT:
        raise TraceReadError(
            f"{path} is not a trace of tlxviz: its manifest says format {manifest.get('format')!r}, not {FORMAT!r}."
        )
    _check_version(manifest.get("version"), path)
    texts = _list(manifest.get("texts"), "texts", _text)
    launches = _list(manifest.get("launches"), "launches", _object)
    return [_launch(entry, f"launches[{number}]", texts) for number, entry in enumerate(launches)]


def _check_version(version: object, path: str) -> None:
    numbers = _list(version, "version", _integer)
    if len(numbers) != 2:
        raise ManifestError("version must be two integers")
    major, minor = numbers
    if major > VERSION[0]:
        raise TraceFileError(
            f"{path} has trace format {major}.{minor}, which is newer than this tlxviz reads "
            f"({VERSION[0]}.{VERSION[1]}). Upgrade tlxviz: pip install --upgrade tlxviz."
        )
    if major < VERSION[0]:
        raise TraceFileError(
            f"{path} has trace format {major}.{minor}, which is older than this tlxviz reads "
            f"({VERSION[0]}.{VERSION[1]}). Record it again."
        )


def _launch(entry: dict[str, Any], where: str, texts: list[str]) -> LaunchEntry:
    values: dict[str, Any] = {}
    for field in fields(LaunchTrace):
        name, at = field.name, f"{where}.{field.name}"
        if name == "events":
            continue
        if name not in entry:
            if field.default is MISSING and field.default_factory is MISSING:
                raise ManifestError(f"{at} is missing")
        elif name in _ROWS:
            values[name] = _list(entry[name], at, partial(_row, _ROWS[name]))
        elif name in _TEXTS:
            number = _integer(entry[name], at)
            if not 0 <= number < len(texts):
                raise ManifestError(f"{at} names text {number} of {len(texts)}")
            values[name] = texts[number]
        else:
            values[name] = _CHECKS[str(field.type)](entry[name], at)
            if name in _FIGURES:
                _check_figures(values[name], at)
            elif name in _FROM_ZERO and values[name] < 0:
                raise ManifestError(f"{at} is {values[name]}")
    _check_facts(values, where)
    events = _object(entry.get("events"), f"{where}.events")
    rows = _integer(events.get("rows"), f"{where}.events.rows")
    if rows < 0:
        raise ManifestError(f"{where}.events.rows is {rows}")
    columns = _object(events.get("columns"), f"{where}.events.columns")
    there = tuple(name for name in COLUMNS if name in columns or name not in LATER_COLUMNS)
    for name in there:
        if columns.get(name) != COLUMNS[name].str:
            raise ManifestError(f"{where}.events.columns.{name} is {columns.get(name)!r}, not {COLUMNS[name].str!r}")
    return LaunchEntry(values, rows, there)


def _check_facts(values: dict[str, Any], where: str) -> None:
    """What views take from the objects that no class describes."""
    cluster, grid = values.get("cluster", (1, 1, 1)), values["grid"]
    if not all(part > 0 and size % part == 0 for size, part in zip(grid, cluster, strict=True)):
        raise ManifestError(f"{where}.cluster is {list(cluster)}, which does not divide the grid {list(grid)}")
    clock = values["clock_mhz"]
    if clock and not _CLOCKS[0] <= clock <= _CLOCKS[1]:
        raise ManifestError(f"{where}.clock_mhz is {clock}")
    metadata = values.get("metadata", {})
    for name in _COUNTS:
        if metadata.get(name) is not None:
            _integer(metadata[name], f"{where}.metadata.{name}")
    hang: dict[str, Any] = values.get("hang") or {}
    _list(hang.get("arrivers", []), f"{where}.hang.arrivers", _object)
    _list(hang.get("cluster", []), f"{where}.hang.cluster", _integer)
    _list(hang.get("ended", []), f"{where}.hang.ended", _text)
    _list(hang.get("waiters", []), f"{where}.hang.waiters", _waiter)


def _waiter(entry: object, where: str) -> None:
    waiter = _object(entry, where)
    if waiter.get("last_arrival") is not None:
        _object(waiter["last_arrival"], f"{where}.last_arrival")
    _integer(waiter.get("missing_bytes") or 0, f"{where}.missing_bytes")
    for number, absent in enumerate(_list(waiter.get("absent", []), f"{where}.absent", _object)):
        for name in ("cta", "pending", "count"):
            _integer(absent.get(name), f"{where}.absent[{number}].{name}")


def _row(cls: type[_Row], entry: object, where: str) -> _Row:
    found = _object(entry, where)
    values: dict[str, Any] = {}
    for field in fields(cast("type[Any]", cls)):
        if field.name in found:
            values[field.name] = _CHECKS[str(field.type)](found[field.name], f"{where}.{field.name}")
        elif field.default is MISSING:
            raise ManifestError(f"{where}.{field.name} is missing")
    return cls(**values)


def _plain(value: Any, where: str) -> Any:
    """The same as JSON data: tuples become lists, numpy's numbers Python's, and inf and nan `{"$float": text}`."""
    if isinstance(value, np.generic):
        value = cast("Any", value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(items)]
    if isinstance(value, dict):
        table = cast("dict[Any, Any]", value)
        if not all(isinstance(key, str) for key in table):
            raise TypeError(f"{where}: the keys of a table in a trace must be text")
        return {str(key): _plain(item, f"{where}.{key}") for key, item in table.items()}
    raise TypeError(f"{where}: a trace cannot hold a {type(value).__name__}")


def _unplain(value: Any) -> Any:
    if isinstance(value, list):
        return [_unplain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        if len(table) == 1 and table.get("$float") in ("inf", "-inf", "nan"):
            return float(table["$float"])
        return {key: _unplain(item) for key, item in table.items()}
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ManifestError(f"{where} is not text")
    return value


def _integer(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ManifestError(f"{where} is not an integer")
    if not -_LARGEST <= value <= _LARGEST:
        raise ManifestError(f"{where} is an integer of more than 64 bits")
    return value


def _number(value: object, where: str) -> float:
    value = _unplain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ManifestError(f"{where} is not a number")
    _check_figures(value, where)
    return value


def _check_figures(value: object, where: str) -> None:
    """Refuse what no calculation can go on with, in whatever lists and tables it stands."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ManifestError(f"{where} is {value}, which is no figure")
    if isinstance(value, int):
        if not -_LARGEST <= value <= _LARGEST:
            raise ManifestError(f"{where} is an integer of more than 64 bits")
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            _check_figures(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            _check_figures(item, f"{where}.{key}")


def _no_json(constant: str) -> float:
    raise ValueError(f"{constant} is no number there")


def _truth(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ManifestError(f"{where} is not true or false")
    return value


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ManifestError(f"{where} is not an object")
    return cast("dict[str, Any]", value)


def _list(value: object, where: str, check: Callable[[object, str], _Row]) -> list[_Row]:
    if not isinstance(value, list):
        raise ManifestError(f"{where} is not a list")
    return [check(item, f"{where}[{index}]") for index, item in enumerate(cast("list[object]", value))]


def _grid(value: object, where: str) -> tuple[int, ...]:
    numbers = tuple(_list(value, where, _integer))
    if len(numbers) != 3:
        raise ManifestError(f"{where} is not three integers")
    return numbers


def _track_kind(value: object, where: str) -> TrackKind:
    if value not in list(TrackKind):
        raise ManifestError(f"{where} is {value!r}, which is no kind of track")
    return TrackKind(cast("str", value))


# Keys are the annotations of the model's fields, which are text there.
_CHECKS: dict[str, Callable[[object, str], Any]] = {
    "str": _text,
    "int": _integer,
    "int | None": lambda value, where: None if value is None else _integer(value, where),
    "float": _number,
    "bool": _truth,
    "tuple[int, int, int]": _grid,
    "tuple[int, ...]": lambda value, where: tuple(_list(value, where, _integer)),
    "TrackKind": _track_kind,
    "dict[str, Any]": lambda value, where: _object(_unplain(_object(value, where)), where),
    "dict[str, Any] | None": lambda value, where: None if value is None else _object(_unplain(value), where),
}
