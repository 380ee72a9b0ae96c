"""The process in which `tlxviz check --explore` runs a script with other sizes.

Compilers end their process where a size makes no sense to them, and scripts may take forever: neither is to end the
check. One process runs one shape after the other, so that torch and Triton are imported once.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tlxviz.check.explore import Tried
    from tlxviz.check.shapes import Shape
    from tlxviz.check.source import Source

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class Job:
    """What is the same for all shapes."""

    target: Path | str
    """The script, or the name of a module."""
    device: str
    """Name of the GPU to simulate."""
    first_config: bool
    kernels: tuple[str, ...]
    """Patterns of the kernels to check; none for all."""
    seconds: float
    """As `--seconds` says."""
    schedules: int | None
    """As `--schedules` says."""


Answer = tuple["Tried", dict[str, "Source"]]
"""What came of a shape, and the sources of the kernels."""


class Worker:
    """Runs shapes in a process of its own, and begins another one where that has ended."""

    def __init__(self, job: Job, deadline: float) -> None:
        self._job = job
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, shape: Shape) -> Answer | str:
        """What came of a shape, or why nothing did."""
        if self._process is None:
            code = f"import sys; sys.path[:0] = {sys.path!r}; from tlxviz.commands.shape_worker import serve; serve()"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (self._job, shape))
            if not select([process.stdout], [], [], max(0.0, self._deadline - time.monotonic()))[0]:
                self.end()
                return "the time was over"
            return _receive(process.stdout)
        except (EOFError, BrokenPipeError):
            self.end()
            return "its process ended"

    def end(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Answers to shapes that come on standard input, until it ends. What scripts print is lost."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    from tlxviz.commands.shapes import run_shape

    while True:
        try:
            job, shape = _receive(sys.stdin.buffer)
        except EOFError:
            return
        _send(answers, run_shape(job, shape))


def _send(to: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    to.write(_LENGTH.pack(len(data)) + data)
    to.flush()


def _receive(source: IO[bytes]) -> Any:
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    return pickle.loads(source.read(_LENGTH.unpack(head)[0]))
