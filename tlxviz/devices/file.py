"""Reads a GPU's data file; a figure that is missing, unknown, in the wrong unit or without a source is an error."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.devices.model import (
    Alu,
    Clock,
    ClusterCosts,
    Device,
    LaunchControl,
    LaunchCosts,
    Limits,
    Memory,
    Sync,
    Tcgen05,
    TensorCore,
    TensorMemory,
    Tma,
)

FOLDER = Path(__file__).parent

SECTIONS: dict[str, type] = {
    "limits": Limits,
    "clock": Clock,
    "tensor_core": TensorCore,
    "tma": Tma,
    "memory": Memory,
    "sync": Sync,
    "cluster": ClusterCosts,
    "alu": Alu,
    "launch": LaunchCosts,
}

BLACKWELL_SECTIONS: dict[str, type] = {
    "tensor_memory": TensorMemory,
    "tcgen05": Tcgen05,
    "launch_control": LaunchControl,
}
"""What a data file has all of, or nothing."""

UNITS: dict[str, str] = {
    "limits.sms": "SMs",
    "limits.threads_per_block": "threads",
    "limits.blocks_per_sm": "blocks",
    "limits.warps_per_sm": "warps",
    "limits.registers_per_sm": "registers",
    "limits.registers_per_thread": "registers",
    "limits.shared_memory_per_block": "bytes",
    "limits.shared_memory_per_sm": "bytes",
    "limits.shared_memory_reserved": "bytes",
    "limits.named_barriers": "barriers",
    "limits.cluster": "CTAs",
    "clock.boost_mhz": "MHz",
    "clock.sustained_mhz": "MHz",
    "clock.published_mhz": "MHz",
    **{f"tensor_core.{name}": "FLOP/cycle/SM" for name in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8")},
    "tensor_core.mma_sync_fraction": "fraction",
    "tensor_core.queue": "instructions",
    "tma.bytes_per_cycle": "bytes/cycle",
    "tma.store_bytes_per_cycle": "bytes/cycle",
    "memory.hbm_bytes_per_second": "bytes/s",
    "memory.hbm_write_bytes_per_second": "bytes/s",
    "memory.l2_bytes": "bytes",
    "memory.l2_resident_bytes": "bytes",
    "memory.l2_distinct_bytes_per_cycle": "bytes/cycle",
    "memory.l2_load_bytes_per_cycle": "bytes/cycle",
    "memory.l2_store_bytes_per_cycle": "bytes/cycle",
    "memory.store_bytes_per_cycle": "bytes/cycle",
    "memory.shared_beside_products": "bytes/cycle",
    "memory.capacity_bytes": "bytes",
    "memory.l2_bytes_per_cycle": "bytes/cycle",
    "memory.load_bytes_per_cycle": "bytes/cycle",
    "memory.copy_bytes_per_cycle": "bytes/cycle",
    "memory.shared_bytes_per_cycle": "bytes/cycle",
    "cluster.groups": "SMs",
    "cluster.copy_bytes_per_cycle": "bytes/cycle",
    "alu.schedulers": "schedulers",
    **{
        f"alu.{name}": "results/cycle/SM"
        for name in ("fp32", "fp16", "fp64", "int32", "mufu", "convert", "minmax", "compare", "shuffle")
    },
    **{f"alu.{name}_beside_products": "results/cycle/SM" for name in ("fp32", "compare", "mufu")},
    "alu.serial_fraction": "fraction",
    "launch.kernel_ns": "ns",
    "tensor_memory.lanes": "lanes",
    "tensor_memory.columns": "columns",
    "tensor_memory.allocation_columns": "columns",
    "tensor_memory.load_bytes_per_cycle": "bytes/cycle",
    "tensor_memory.store_bytes_per_cycle": "bytes/cycle",
    **{f"tcgen05.{name}": "FLOP/cycle/SM" for name in ("fp6", "fp4", "mxf4", "nvf4")},
    "tcgen05.shared_bytes_per_cycle": "bytes/cycle",
}
"""Unit of each figure; a figure that is not listed is in cycles."""


class DeviceFileError(TlxvizError):
    """A data file of `tlxviz/devices` is wrong."""


SUFFIX = ".toml"


def known_devices() -> list[str]:
    """Names that `load_device` takes, sorted; it takes the path of a data file as well."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_device(name: str) -> Device:
    """The GPU of that name (`h200`), or of that data file (`mine.toml`). Raises UsageError for any other."""
    if name.endswith(SUFFIX):
        if not Path(name).is_file():
            raise UsageError(f"there is no data file {name}.")
        return read_device(Path(name))
    return _shipped(name)


@cache
def _shipped(name: str) -> Device:
    known = known_devices()
    if name not in known:
        raise UsageError(f"there is no device {name!r} to simulate. Known devices: {', '.join(known)}.")
    return read_device(FOLDER / f"{name}.toml")


def read_device(path: Path) -> Device:
    """The GPU that a data file describes, checked figure by figure."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeviceFileError(f"cannot read {path}: {error.strerror}.") from error
    except ValueError as error:
        raise DeviceFileError(f"{path} is not a TOML file: {error}.") from error
    described = dict(SECTIONS)
    if any(section in data for section in BLACKWELL_SECTIONS):
        described |= BLACKWELL_SECTIONS
    _same_names(f"{path}", data, ["name", "title", "cuda_name", "capability", *described])
    if data["name"] != path.stem:
        raise DeviceFileError(f"{path}: name is {data['name']!r}, but the file is {path.name}.")
    for name in ("title", "cuda_name"):
        if not isinstance(data[name], str) or not data[name]:
            raise DeviceFileError(f"{path}: {name} must be text that is not empty.")
    capability = data["capability"]
    if not _is_capability(capability):
        raise DeviceFileError(f"{path}: capability must be two integers, such as [9, 0].")
    sources: dict[str, str] = {}
    sections: dict[str, Any] = {}
    for section, cls in described.items():
        table: object = data[section]
        if not isinstance(table, dict):
            raise DeviceFileError(f"{path}: {section} must be a table.")
        figures = cast("dict[str, object]", table)
        _same_names(f"{path}: section {section}", figures, [field.name for field in fields(cls)])
        values: dict[str, float | tuple[int, ...]] = {}
        for field in fields(cls):
            figure = f"{section}.{field.name}"
            values[field.name], sources[figure] = _figure(f"{path}: {figure}", figure, figures[field.name], field.type)
        sections[section] = cls(**values)
    return Device(
        name=data["name"],
        title=data["title"],
        cuda_name=data["cuda_name"],
        capability=(capability[0], capability[1]),
        sources=sources,
        **sections,
    )


def device_from_manifest(data: Mapping[str, Any]) -> Device:
    """The device that a trace was recorded on, from what `Device.to_manifest` gave; it has no sources.

    Figures that this version does not know are ignored, so that a trace of a newer minor version can be read; those
    that older versions did not write have defaults.
    """
    try:
        sections = {
            section: cls(
                **{
                    field.name: _frozen(data[section][field.name])
                    for field in fields(cls)
                    if field.name in data[section] or field.default is MISSING
                }
            )
            for section, cls in (SECTIONS | BLACKWELL_SECTIONS).items()
            if section in SECTIONS or section in data
        }
        major, minor = data["capability"]
        return Device(
            name=data["name"],
            title=data["title"],
            cuda_name=data.get("cuda_name", data["title"]),
            capability=(major, minor),
            sources={},
            **sections,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DeviceFileError(
            f"the trace does not describe its device in full: {error} is missing or wrong."
        ) from error


def _frozen(value: object) -> object:
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _same_names(where: str, found: Mapping[str, object], expected: Iterable[str]) -> None:
    expected = list(expected)
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing:
        raise DeviceFileError(f"{where} lacks {', '.join(missing)}.")
    if extra:
        raise DeviceFileError(f"{where} has {', '.join(extra)}, which tlxviz does not know.")


def _is_capability(value: object) -> bool:
    if not isinstance(value, list):
        return False
    numbers = cast("list[object]", value)
    return len(numbers) == 2 and all(type(number) is int for number in numbers)


def _figure(where: str, figure: str, entry: object, kind: object) -> tuple[float | tuple[int, ...], str]:
    """Value and source of one entry such as `{ value = 48, unit = "cycles", source = "..." }`."""
    if not isinstance(entry, dict):
        raise DeviceFileError(f"{where} must be a table of value, unit and source.")
    table = cast("dict[str, object]", entry)
    _same_names(where, table, ["value", "unit", "source"])
    unit = UNITS.get(figure, "cycles")
    if table["unit"] != unit:
        raise DeviceFileError(f"{where} is in {table['unit']!r}; its unit is {unit!r}.")
    source = table["source"]
    if not isinstance(source, str) or not source.strip() or source.strip() == "assumed:":
        raise DeviceFileError(f"{where} has no source.")
    value = table["value"]
    # Annotations are text here: `from __future__ import annotations` in the model.
    if kind == "tuple[int, ...]":
        if not isinstance(value, list) or not all(
            type(each) is int and each > 0 for each in cast("list[object]", value)
        ):
            raise DeviceFileError(f"{where} must be a list of positive integers, not {value!r}.")
        return tuple(cast("list[int]", value)), source
    whole = kind == "int"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise DeviceFileError(f"{where} must be {'an integer' if whole else 'a number'}, not {value!r}.")
    if not math.isfinite(value) or value < 0:
        raise DeviceFileError(f"{where} must be finite and not negative, not {value!r}.")
    return (value if whole else float(value)), source
