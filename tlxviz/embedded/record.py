"""`tlxviz.record`: a block of a program whose kernels are recorded."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

from tlxviz._errors import TlxvizError, UsageError

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.patching import Scope
    from tlxviz.sim.recording import Recording
    from tlxviz.trace.model import Trace

VARIABLE = "TLXVIZ_RECORD"
"""Environment variable with the path of the trace, for blocks that name none."""
DEFAULT_DEVICE = "h200"

_FROM_ENVIRONMENT = "\0"
_hosts: list[Host] = []
"""The recorders that execute launches now, the innermost last. Blocks tell it what they want to see."""


class Host(Protocol):
    """Who executes launches, and keeps what recordings ask for."""

    recordings: list[Recording]


class NothingRecorded(UserWarning):
    """A block ended in which no launch was recorded."""


@contextmanager
def hosting(recorder: Host) -> Generator[None]:
    """A block in which `recorder` executes all launches, so that `record` need not bring another."""
    _hosts.append(recorder)
    try:
        yield
    finally:
        _hosts.remove(recorder)


def record(
    output: str | PathLike[str] | None = _FROM_ENVIRONMENT,
    *,
    kernel: str | Sequence[str] | None = None,
    launches: int | Iterable[int] | None = 0,
    ctas: Iterable[int] | None = None,
    values: bool = True,
    device: str | None = None,
    force: bool = False,
) -> Recorded:
    """Record kernels that are launched in a `with` block: `with tlxviz.record("out.tlxtrace") as r:`.

    Without a GPU, a simulated one takes its place in the block: tensors on "cuda" and kernels work as on that device.
    On a machine with a GPU the program runs as it does, and each launch that is recorded is simulated as well, from
    copies of those arguments that steer it. Inside `tlxviz run` or another block, launches are those of the outer one,
    and so are `values` and `device`.

    Args:
        output: Where the trace goes; None keeps it in memory. If left out, the environment variable TLXVIZ_RECORD says
            where: the first block of a process that records something is saved there, under a number if the name is
            taken, and without the variable the block does nothing at all.
        kernel: A name, or several, of kernels to record; `*` and `?` stand for any characters. All by default.
        launches: Which launches of each kernel, counted from 0 in the block; None for all.
        ctas: Linear numbers of the CTAs on the timeline; by default those that `tlxviz run` shows.
        values: Whether the simulated device computes outputs. Without, they hold what was in memory before.
        device: The simulated device, "h100" or "h200"; by default that of the machine, or the H200.
        force: Overwrite a file that exists.

    Raises:
        UsageError: When the block begins: there is such a file already, it cannot be written, or no such device.
        TlxvizError: Then, too: triton or torch is missing, or the machine's GPU is none that can be simulated.
    """
    from_environment = output == _FROM_ENVIRONMENT
    named = os.environ.get(VARIABLE) or None if from_environment else output
    wanted = _Wanted(
        (kernel,) if isinstance(kernel, str) else tuple(kernel or ()),
        (launches,) if isinstance(launches, int) else None if launches is None else tuple(launches),
        None if ctas is None else tuple(ctas),
    )
    if from_environment and named is None:
        return Recorded(None, wanted, None)
    path = None if named is None else Path(named).absolute()
    return Recorded(_Output(path, force=force, numbered=from_environment), wanted, _Simulation(device, values=values))


@dataclass(frozen=True, slots=True)
class _Wanted:
    patterns: tuple[str, ...]
    launches: tuple[int, ...] | None
    ctas: tuple[int, ...] | None

    def has(self, kernel: str) -> bool:
        return not self.patterns or any(fnmatchcase(kernel, pattern) for pattern in self.patterns)

    def __str__(self) -> str:
        kernels = f" of {', '.join(self.patterns)}" if self.patterns else ""
        late = self.launches is not None and min(self.launches, default=0) > 0
        return f"launch{kernels}" + (f" with the number {', '.join(map(str, self.launches or ()))}" if late else "")


@dataclass(frozen=True, slots=True)
class _Output:
    path: Path | None
    force: bool
    numbered: bool
    """It gets a number where the name is taken, and is the process's only one."""

    def check(self) -> None:
        """Before anything is recorded: hours of training must not end in this message."""
        from tlxviz.trace.file import SUFFIX

        path = self.path
        if path is None:
            return
        if path.suffix != SUFFIX:
            raise UsageError(f"cannot write {path}: the name of a trace ends in {SUFFIX}.")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: {path.parent} is no folder.")
        if not os.access(path.parent, os.W_OK):
            raise UsageError(f"cannot write {path}: no permission to write into {path.parent}.")
        if path.exists() and not self.force and not self.numbered:
            raise UsageError(f"{path} exists. Give record() force=True to overwrite it, or another name.")

    def save(self, trace: Trace) -> Path | None:
        from tlxviz.trace.file import numbered_path, save_trace

        path = self.path
        if path is None:
            return None
        if self.numbered:
            path = numbered_path(path)
            os.environ.pop(VARIABLE, None)
        save_trace(trace, path, force=self.force)
        print(f"tlxviz: trace {path}; next: tlxviz report {path}", file=sys.stderr)
        return path


@dataclass(frozen=True, slots=True)
class _Simulation:
    device: str | None
    values: bool

    def begin(self, recording: Recording) -> Scope:
        """Put a recorder into force; the scope takes it back."""
        from tlxviz import _triton

        _triton.require()
        import torch

        from tlxviz.launch.kernels.shadow import Shadow
        from tlxviz.launch.model import LaunchLog
        from tlxviz.launch.patching import Scope
        from tlxviz.launch.stand_in import StandIn
        from tlxviz.sim.recorder import SimulatedRecorder

        real = torch.cuda.is_available()
        device = _device(self.device, torch.cuda.get_device_name() if real else None)
        recorder = SimulatedRecorder(device, recording, values=self.values and not real)
        scope = Scope()  # the one that is closed at the end: launches add to it what they replace
        try:
            scope.enter_context(hosting(recorder))
            if real:
                Shadow(recorder).install(scope)
            else:
                StandIn(device, recorder.execute, LaunchLog()).install(scope, threading.excepthook)
        except BaseException:
            scope.close()
            raise
        return scope


class Recorded:
    """A block whose kernels are recorded, and what it recorded. `record` makes it."""

    def __init__(self, output: _Output | None, wanted: _Wanted, simulation: _Simulation | None) -> None:
        self._output = output
        self._wanted = wanted
        self._simulation = simulation
        self._recording: Recording | None = None
        self._host: Host | None = None
        self._scope: Scope | None = None
        self.path: Path | None = None
        """Where the trace was saved, once the block has ended."""

    @property
    def trace(self) -> Trace:
        """What has been recorded so far.

        Raises:
            UsageError: The block records nothing, because it names no output and TLXVIZ_RECORD is not set.
        """
        if self._recording is None:
            why = "the block has not begun" if self._output else f"{VARIABLE} is not set"
            raise UsageError(f"nothing was recorded: {why}. Give record() a path, or None to keep the trace in memory.")
        return self._recording.trace

    def __enter__(self) -> Self:
        if self._output is None or self._simulation is None:
            return self
        self._output.check()
        from tlxviz.embedded.picture import PicturedTrace
        from tlxviz.sim.recording import Recording

        wanted = self._wanted
        self._recording = Recording(wanted.has, wanted.launches, wanted.ctas, PicturedTrace())
        if _hosts:
            self._host = _hosts[-1]
            self._host.recordings.append(self._recording)
        else:
            self._scope = self._simulation.begin(self._recording)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        recording, output = self._recording, self._output
        if recording is None or output is None:
            return False
        try:
            if self._host is not None:
                self._host.recordings.remove(recording)
            if self._scope is not None:
                self._scope.close()
        finally:
            if recording.trace.launches:
                self.path = output.save(recording.trace)
        if recording.trace.launches:
            return False
        if error is None:
            warnings.warn(f"tlxviz.record: there was no {self._wanted} in the block", NothingRecorded, stacklevel=2)
        return False


def _device(name: str | None, gpu: str | None) -> Device:
    """The device to simulate: the named one, else the machine's GPU, else the default."""
    from tlxviz.devices import known_devices, load_device

    known = known_devices()
    if name is not None:
        name = name.removeprefix("sim:")
        if name not in known:
            raise UsageError(f"there is no device {name!r}. Devices: {', '.join(known)}.")
        return load_device(name)
    if gpu is None:
        return load_device(DEFAULT_DEVICE)
    words = re.split(r"\W+", gpu.lower())  # an H200, and not a GH200
    found = next((each for each in known if each in words), None)
    if found is None:
        raise TlxvizError(f"this machine has an {gpu}, which tlxviz does not simulate. Name one: {', '.join(known)}.")
    return load_device(found)
