"""Runs benchmarks in processes of their own: a fault ends what is left of one, and a hang is killed."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tlxviz.calibrate.driver import NoGpu
from tlxviz.calibrate.results import Calibration, from_json

PATIENCE = 120.0
"""Seconds without a word after which a benchmark counts as hanging."""

PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tlxviz.calibrate.worker import work
sys.exit(work(sys.argv[2:]))
"""


def calibrate(
    names: Sequence[str],
    told: Callable[[str], None],
    kept: Callable[[Calibration], None],
    *,
    patience: float = PATIENCE,
    program: str = PROGRAM,
) -> Calibration:
    """Runs the benchmarks `names`; `told` gets a line for each, `kept` all that is known after each.

    `program` is what measures; it is given `sys.path` and the names.

    Raises:
        NoGpu: there is nothing to measure.
    """
    found = Calibration()
    left = list(names)
    while left:
        left = _run(left, found, told, kept, patience, program)
    return found


def _run(
    names: list[str],
    found: Calibration,
    told: Callable[[str], None],
    kept: Callable[[Calibration], None],
    patience: float,
    program: str,
) -> list[str]:
    """Runs benchmarks in one process. Returns those that are left when it has ended."""
    left = list(names)
    worker = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(sys.path), *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    current: str | None = None
    count = 0
    try:
        for line in _lines(worker, patience):
            if "device" in line:
                found.device.update(line["device"])
                kept(found)
            elif "cannot" in line:
                raise NoGpu(line["cannot"])
            elif "begin" in line:
                current, count = line["begin"], 0
                left.remove(line["begin"])
            elif "measurement" in line:
                found.measurements.append(from_json(line["measurement"]))
                count += 1
            elif "failed" in line:
                found.failures[line["failed"]] = line["error"]
                told(f"{line['failed']}: FAILED: {line['error']}")
                kept(found)
            elif "end" in line:
                told(f"{line['end']}: {count} figures, {line['seconds']} s")
                current = None
                kept(found)
        if current is not None and current not in found.failures:
            found.failures[current] = _death(worker)
            told(f"{current}: FAILED: {found.failures[current]}")
            kept(found)
        elif current is None and left == names:
            raise NoGpu(f"calibrating cannot start: {_death(worker)}.")
    except TimeoutError:
        stuck = current or left.pop(0)
        found.failures[stuck] = f"it did not answer for {patience:.0f} s"
        told(f"{stuck}: FAILED: {found.failures[stuck]}")
        kept(found)
    finally:
        if worker.poll() is None:
            worker.kill()
        worker.wait()
    return left


def _lines(worker: subprocess.Popen[str], patience: float) -> Iterator[dict[str, Any]]:
    """What the process tells. Raises TimeoutError where it falls silent."""
    assert worker.stdout is not None
    stream = worker.stdout
    told: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            told.put(line)
        told.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = told.get(timeout=patience)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        if line.startswith("{"):
            yield json.loads(line)


def _death(worker: subprocess.Popen[str]) -> str:
    """Why the process ended."""
    try:
        _, err = worker.communicate(timeout=10)
    except (subprocess.TimeoutExpired, ValueError):
        err = ""
    last = err.strip().splitlines()[-1:] or [f"the process ended with status {worker.returncode}"]
    return last[0]
