"""The process that measures: it tells what it finds at once, a line of JSON each, and may die of a kernel's fault."""

from __future__ import annotations

import ctypes
import datetime
import importlib
import json
import sys
import time
from collections.abc import Iterable
from typing import Any

from tlxviz._errors import TlxvizError
from tlxviz.calibrate.driver import DriverError, Gpu
from tlxviz.calibrate.lab import Entry, registered
from tlxviz.calibrate.results import to_json

SUBJECTS = (
    "launches",
    "mbarriers",
    "named_barriers",
    "shared_memory",
    "wgmma",
    "tma",
    "global_memory",
    "clusters",
    "alu",
    "overlap",
    "sharing",
)
"""Modules with benchmarks, in the order in which they are run."""


def benchmarks() -> dict[str, Entry]:
    """All of them by name, in the order in which they are run."""
    for subject in SUBJECTS:
        importlib.import_module(f"tlxviz.calibrate.{subject}")
    return registered()


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _driver_version() -> str:
    """As nvidia-smi shows it; empty where the library for that is missing."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        text = ctypes.create_string_buffer(96)
        nvml.nvmlInit_v2()
        return text.value.decode() if nvml.nvmlSystemGetDriverVersion(text, 96) == 0 else ""
    except OSError:
        return ""


def work(names: Iterable[str]) -> int:
    """Runs benchmarks; the exit status is 1 where nothing more can be run in this process."""
    try:
        gpu = Gpu()
        known = gpu.describe()
        if known["capability"] != [9, 0]:
            major, minor = known["capability"]
            _tell(
                cannot="the microbenchmarks are written for Hopper (compute capability 9.0), and "
                f"{known['cuda_name']} has {major}.{minor}."
            )
            return 1
        _tell(
            device={
                **known,
                "driver": _driver_version(),
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            }
        )
        begin = time.monotonic()
        while time.monotonic() - begin < 0.5:  # the clock rises from idle
            gpu.flush_l2()
    except (TlxvizError, DriverError) as error:
        _tell(cannot=str(error))
        return 1
    found = benchmarks()
    for name in names:
        _tell(begin=name)
        begin = time.monotonic()
        try:
            for point in found[name].run(gpu):
                _tell(measurement=to_json(point))
        except Exception as error:
            _tell(failed=name, error=f"{type(error).__name__}: {error}")
            if isinstance(error, DriverError) and error.fatal:
                return 1
        _tell(end=name, seconds=round(time.monotonic() - begin, 2))
    return 0


if __name__ == "__main__":
    sys.exit(work(sys.argv[1:]))
