"""A backend that runs a script with no simulator, and records what the test says."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tlxviz.devices import Device, load_device
from tlxviz.launch.model import LaunchLog
from tlxviz.trace import LaunchTrace, Trace


class FakeRecorder:
    def __init__(self, options: dict[str, Any], recorded: list[str] | None) -> None:
        self.options, self.recorded = options, recorded
        self.trace = Trace()
        self.recordings: list[Any] = []

    def execute(self, launch: Any) -> None:
        """Takes a recorded launch for a launch; an exception instead of one is raised after it is recorded."""
        made, error = launch
        if self.options["kernels"](made.kernel) and (self.recorded is None or made.kernel in self.recorded):
            self.trace.launches.append(made)
        if error is not None:
            raise error


class FakeBackend:
    """Its scripts find a function `launch` that executes the next one of `launches`, and one that launches nothing."""

    def __init__(
        self,
        launches: Sequence[LaunchTrace | tuple[LaunchTrace, BaseException]] = (),
        before: Callable[[], None] | None = None,
        recorded: list[str] | None = None,
    ) -> None:
        self.recorded = recorded
        self.launches = [each if isinstance(each, tuple) else (each, None) for each in launches]
        self.options: dict[str, Any] = {}
        self.device: Device | None = None
        self.before = before

    def known_devices(self) -> list[str]:
        return ["h100", "h200"]

    def load_device(self, name: str) -> Device:
        self.device = load_device(name)
        return self.device

    def make_recorder(self, device: Device, **options: Any) -> FakeRecorder:
        self.options = options
        return FakeRecorder(options, self.recorded)

    def run_script(
        self,
        target: Path | str,
        argv: Sequence[str],
        device: Device,
        execute: Callable[[Any], None],
        log: LaunchLog,
        *,
        first_config: bool,
    ) -> int:
        self.options["first_config"] = first_config
        path = target
        launches = iter(self.launches)

        def launch() -> None:
            made, error = next(launches)
            log.executed[made.kernel] = log.executed.get(made.kernel, 0) + 1
            execute((made, error))

        def launch_empty(kernel: str) -> None:
            log.empty[kernel] = log.empty.get(kernel, 0) + 1

        if self.before is not None:
            self.before()
        old = sys.argv
        sys.argv = [str(path), *argv]
        try:
            found = {"launch": launch, "launch_empty": launch_empty}
            if isinstance(path, str):
                runpy.run_module(path, found, "__main__")
            else:
                runpy.run_path(str(path), found, "__main__")
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            sys.argv = old
        return 0


class FakeGpu:
    """Its scripts find a function `launch` that hands on the next one of `launches`; an exception instead of a trace's
    successor is raised after it was recorded.

    Args:
        obstacle: Why there is none.
        launches: What is recorded.
        stuck: Whether an exception leaves the GPU unusable.
    """

    def __init__(
        self,
        obstacle: str | None = None,
        launches: Sequence[tuple[LaunchTrace, BaseException | None]] = (),
        *,
        stuck: bool = False,
    ) -> None:
        self._obstacle = obstacle
        self.launches = launches
        self.breaks = stuck
        self.options: Any = None
        self.chosen: dict[str, Any] = {}
        self.recorder = FakeGpuRecorder(self)

    def obstacle(self) -> str | None:
        return self._obstacle

    def device(self) -> Device:
        return load_device("h100")

    def make_recorder(self, options: Any, **chosen: Any) -> FakeGpuRecorder:
        self.options, self.chosen = options, chosen
        return self.recorder

    def run_script(
        self, target: Path | str, argv: Sequence[str], handler: Any, log: LaunchLog, *, first_config: bool
    ) -> int:
        self.chosen["first_config"] = first_config
        launches = iter(self.launches)

        def launch() -> None:
            call = next(launches)
            made = call[0]
            log.executed[made.kernel] = log.executed.get(made.kernel, 0) + 1
            assert handler.expects(made.kernel)
            handler.handle(call)

        old = sys.argv
        sys.argv = [str(target), *argv]
        try:
            runpy.run_path(str(target), {"launch": launch}, "__main__")
        finally:
            sys.argv = old
        return 0


class FakeCall(tuple[Any, Any]):
    """A launch of a fake GPU that can be simulated as well: what that gives is `simulated`."""

    simulated: tuple[LaunchTrace, BaseException | None]

    @staticmethod
    def of(
        recorded: tuple[LaunchTrace, BaseException | None], simulated: tuple[LaunchTrace, BaseException | None]
    ) -> FakeCall:
        call = FakeCall(recorded)
        call.simulated = simulated
        return call

    @property
    def name(self) -> str:
        return self[0].kernel

    def compile(self) -> str:
        return "kernel"

    def described(self, kernel: Any) -> Any:
        return self.simulated

    def on_host(self, launch: Any) -> Any:
        return launch


class FakeGpuRecorder:
    def __init__(self, gpu: FakeGpu) -> None:
        self._gpu = gpu
        self.device = load_device("h200")
        self.stuck = False
        self.trace = Trace()
        self.recordings: list[Any] = []

    def expects(self, kernel: str) -> bool:
        return True

    def pass_over(self, kernel: str) -> None:
        raise AssertionError

    def handle(self, call: Any) -> None:
        made, error = call
        self.trace.launches.append(made)
        if error is not None:
            self.stuck = self._gpu.breaks
            raise error
