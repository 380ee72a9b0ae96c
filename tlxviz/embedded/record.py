"""`tlxviz.record`: a block of a program whose kernels are recorded."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from operator import index
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.embedded.kernel_filter import KernelFilter

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.patching import Scope
    from tlxviz.sim.recording import Recording
    from tlxviz.trace.model import Trace

VARIABLE = "TLXVIZ_RECORD"
"""Environment variable with the path of the trace, for blocks that name none."""
DEFAULT_DEVICE = "h200"

_hosts: list[Host] = []
"""The recorders that execute launches now, the innermost last. Blocks tell it what they want to see."""
_lock = threading.RLock()
"""Held while a block begins or ends."""


class _Source(Enum):
    ENVIRONMENT = VARIABLE


class Host(Protocol):
    """Who executes launches, and keeps what recordings ask for."""

    @property
    def recordings(self) -> list[Recording]: ...


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
    output: str | PathLike[str] | _Source | None = _Source.ENVIRONMENT,
    *,
    kernel: str | Sequence[str] | None = None,
    launches: int | Iterable[int] | None = 0,
    ctas: int | Iterable[int] | None = None,
    values: bool = True,
    device: str | None = None,
    force: bool = False,
) -> Recorded:
    """Record kernels that are launched in a `with` block: `with tlxviz.record("out.tlxtrace") as r:`.

    Without a GPU, a simulated one takes its place in the block: tensors on "cuda" and kernels work as on that device.
    On a machine with a GPU the program runs as it does, and each launch that is recorded is simulated as well, from
    copies of those arguments that steer it. Inside `tlxviz run` or another block, launches are those of the outer one,
    and so are `values` and `device`. Blocks that overlap without nesting, as those of asyncio do, share the device of
    the first until the last of them ends; a thread has to be started in such a block to have one of its own.

    Args:
        output: Where the trace goes; None keeps it in memory. If left out, the environment variable TLXVIZ_RECORD says
            where: the first block of a process that records something is saved there, under a number if the name is
            taken, and without the variable the block does nothing at all.
        kernel: A name, or several, of kernels to record; `*` and `?` stand for any characters. All by default.
        launches: Which launches of each kernel, counted from 0 in the block; None for all.
        ctas: Linear numbers of the CTAs on the timeline; by default those that `tlxviz run` shows.
        values: Whether the simulated device computes outputs. Without, they hold what was in memory before.
        device: The simulated device, such as "h200" or "b200", or a data file that `tlxviz calibrate` wrote; by default
            that of the machine, or the H200.
        force: Overwrite a file that exists.

    Raises:
        UsageError: An argument is not of its kind. When the block begins: there is such a file already, it cannot be
            written, there is no such device, or another thread has brought one.
        TlxvizError: Then, too: triton or torch is missing, or the machine's GPU is none that can be simulated.
    """
    from_environment = output is _Source.ENVIRONMENT
    named = os.environ.get(VARIABLE) or None if isinstance(output, _Source) else output
    wanted = _Wanted(
        KernelFilter(_names(kernel)),
        None if launches is None else _numbers(launches, "launches"),
        None if ctas is None else _numbers(ctas, "ctas"),
    )
    if device is not None and not isinstance(device, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"device takes a name, such as 'h100', and not {device!r}.")
    if from_environment and named is None:
        return Recorded(None, wanted, None)
    path = None if named is None else _absolute(Path(named))
    return Recorded(_Output(path, force=force, numbered=from_environment), wanted, _Simulation(device, values=values))


def _names(kernel: str | Sequence[str] | None) -> tuple[str, ...]:
    given = (kernel,) if isinstance(kernel, str) else () if kernel is None else kernel
    # A kernel itself can be indexed with any number, so that a tuple of it would have no end.
    names = tuple(given) if isinstance(given, Iterable) else (given,)  # pyright: ignore[reportUnnecessaryIsInstance]
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(name).__name__
            raise UsageError(f"kernel takes names, such as 'gemm*', and not a {kind}: give the name of the function.")
    return names


def _numbers(given: int | Iterable[int], parameter: str) -> tuple[int, ...]:
    try:
        numbers = tuple(map(index, given if isinstance(given, Iterable) else (given,)))
    except TypeError:
        raise UsageError(f"{parameter} takes a number, or several, and not {given!r}.") from None
    if min(numbers, default=0) < 0:
        raise UsageError(f"{parameter} counts from 0, and {min(numbers)} is less.")
    return numbers


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except OSError as error:
        raise UsageError(f"cannot write {path}: the current folder is gone.") from error


@dataclass(frozen=True, slots=True)
class _Wanted:
    kernels: KernelFilter
    launches: tuple[int, ...] | None
    ctas: tuple[int, ...] | None

    def __str__(self) -> str:
        kernels = f" of {', '.join(self.kernels.patterns)}" if self.kernels.patterns else ""
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
        if self.path is None:
            return
        try:
            reason = self._obstacle(self.path)
        except OSError as error:  # a name that is too long, say
            reason = error.strerror or str(error)
        if reason:
            named = f", which {VARIABLE} names" if self.numbered else ""
            raise UsageError(f"cannot write {self.path}{named}: {reason}.")

    def _obstacle(self, path: Path) -> str:
        """Why nothing can be written there; empty if it can."""
        from tlxviz.trace.file import SUFFIX

        if "\0" in str(path):
            return "a name has no null characters"
        if path.suffix != SUFFIX:
            return f"the name of a trace ends in {SUFFIX}"
        target = path
        if not self.numbered:
            if path.is_symlink():  # its target is what is written
                target = Path(os.path.realpath(path))
            if path.is_dir():
                return "it is a folder"
            if path.exists() and not self.force:
                return "it exists. Give record() force=True to overwrite it, or another name"
        if not target.parent.is_dir():
            return f"{target.parent} is no folder"
        if not os.access(target.parent, os.W_OK):
            return f"no permission to write into {target.parent}"
        return ""

    def save(self, trace: Trace) -> Path | None:
        from tlxviz.trace.file import numbered_path, save_trace

        path = self.path
        if path is None:
            return None
        if self.numbered:
            path = numbered_path(path)
            os.environ.pop(VARIABLE, None)
        save_trace(trace, path, force=self.force)
        name = shlex.quote(str(path))
        _say(f"trace {path}; next: tlxviz report {name}, tlxviz view {name}")
        return path


def _say(text: str) -> None:
    """To stderr, unless the program has none or has closed it."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] # it is None where descriptor 2 is closed
        with suppress(OSError, ValueError):
            print(f"tlxviz: {text}", file=sys.stderr)


@dataclass(eq=False, slots=True)
class _Session:
    """What blocks have brought: a simulated device, or a watch over the real one. It ends with the last of them."""

    recorder: Host
    scope: Scope
    thread: int | None
    """The one in which the simulated device holds, beside those that are started there; None for a real one, which is
    there for all."""
    blocks: set[Recorded] = field(default_factory=set["Recorded"])

    def join(self, block: Recorded) -> None:
        """A block of this thread begins.

        Raises:
            UsageError: The simulated device is not there in this thread.
        """
        if self.thread in (None, threading.get_ident()):
            self.blocks.add(block)
        elif not _has_device():
            raise UsageError(
                "another thread is in a block of record(), and its simulated device is not there in this one. Start "
                "this thread in that block, or let one record after the other."
            )

    def leave(self, block: Recorded) -> None:
        """A block ends, and with the last one what the first has brought."""
        self.blocks.discard(block)
        if not self.blocks and self in _sessions:
            _sessions.remove(self)
            self.scope.close()


_sessions: list[_Session] = []


def _has_device() -> bool:
    """Is a simulated device there in this thread?"""
    from tlxviz.launch.tensors.mode import CudaInCpuMemory
    from tlxviz.launch.torch_internals import active_modes

    return any(isinstance(mode, CudaInCpuMemory) for mode in active_modes())


@dataclass(frozen=True, slots=True)
class _Simulation:
    device: str | None
    values: bool

    def begin(self, recording: Recording) -> _Session:
        """Put a recorder into force, until the session ends."""
        from tlxviz import _triton

        _triton.require()
        import torch

        from tlxviz.launch.kernels.shadow import Shadow
        from tlxviz.launch.kernels.watch import Watch
        from tlxviz.launch.model import LaunchLog
        from tlxviz.launch.patching import Scope
        from tlxviz.launch.stand_in import StandIn
        from tlxviz.sim.recorder import SimulatedRecorder

        real = torch.cuda.is_available()
        device = device_named(self.device, torch.cuda.get_device_name() if real else None)
        recorder = SimulatedRecorder(device, recording, values=self.values and not real)
        scope = Scope()  # the one that is closed at the end: launches add to it what they replace
        try:
            scope.enter_context(hosting(recorder))
            if real:
                Watch(Shadow(recorder)).install(scope)
            else:
                StandIn(device, recorder.execute, LaunchLog()).install(scope, threading.excepthook)
        except BaseException:
            scope.close()
            raise
        return _Session(recorder, scope, None if real else threading.get_ident())


class Recorded:
    """A block whose kernels are recorded, and what it recorded. `record` makes it."""

    def __init__(self, output: _Output | None, wanted: _Wanted, simulation: _Simulation | None) -> None:
        self._output = output
        self._wanted = wanted
        self._simulation = simulation
        self._recording: Recording | None = None
        self._host: Host | None = None
        """Who records for it, while it lasts."""
        self._session: _Session | None = None
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
        if self._host is not None:
            raise UsageError("this block has not ended yet. To record within it, call record() again.")
        self._output.check()
        from tlxviz.embedded.picture import PicturedTrace
        from tlxviz.sim.recording import Recording

        wanted = self._wanted
        recording = Recording(wanted.kernels, wanted.launches, wanted.ctas, PicturedTrace())
        with _lock:
            if not _hosts:
                session = self._simulation.begin(recording)
                _sessions.append(session)
                session.join(self)
                host = session.recorder
            else:
                host = _hosts[-1]
                session = next((each for each in _sessions if each.recorder is host), None)
                if session is not None:
                    session.join(self)
                host.recordings.append(recording)
            self._recording, self._host, self._session = recording, host, session
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> Literal[False]:
        recording, output, host, session = self._recording, self._output, self._host, self._session
        if recording is None or output is None or host is None:
            return False
        self._host = self._session = None
        try:
            with _lock:
                host.recordings.remove(recording)
                if session is not None:
                    session.leave(self)
        finally:
            if recording.trace.launches:
                self._save(output, recording.trace, error)
        if not recording.trace.launches and error is None:
            warnings.warn(f"tlxviz.record: there was no {self._wanted} in the block", NothingRecorded, stacklevel=2)
        return False

    def _save(self, output: _Output, trace: Trace, error: BaseException | None) -> None:
        try:
            self.path = output.save(trace)
        except TlxvizError as lost:
            if error is None:
                raise
            _say(f"error: {lost}")  # what the program raised says more


def device_named(name: str | None, gpu: str | None) -> Device:
    """The device to simulate: the named one, else the machine's GPU, else the default.

    Raises:
        UsageError: there is no device of that name.
        TlxvizError: the machine's GPU is none that can be simulated.
    """
    from tlxviz.devices import known_devices, load_device

    known = known_devices()
    if name is not None:
        name = name.removeprefix("sim:")
        if name not in known and not name.endswith(".toml"):
            raise UsageError(f"there is no device {name!r}. Devices: {', '.join(known)}.")
        return load_device(name)
    if gpu is None:
        return load_device(DEFAULT_DEVICE)
    words = re.split(r"\W+", gpu.lower())  # an H200, and not a GH200
    found = next((each for each in known if each in words), None)
    if found is None:
        raise TlxvizError(f"this machine has an {gpu}, which tlxviz does not simulate. Name one: {', '.join(known)}.")
    return load_device(found)
