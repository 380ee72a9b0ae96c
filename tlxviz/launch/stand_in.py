"""Everything that stands in for a GPU, put into force together and taken back together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tlxviz.launch.cuda import install as cuda
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.kernels.catch import Catcher, Execute
from tlxviz.launch.threads import Threads
from tlxviz.launch.timing import benchmark, reports, tuning

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.model import LaunchLog
    from tlxviz.launch.patching import Scope


class StandIn:
    """A simulated device in place of CUDA.

    Args:
        device: What scripts are told about the GPU, and what their kernels are compiled for.
        execute: Called for each launch, one at a time.
        log: Where it is written down what the script does with its kernels.
        first_config: Whether tuned kernels run with their first configuration, without trials.
    """

    def __init__(self, device: Device, execute: Execute, log: LaunchLog, *, first_config: bool = False) -> None:
        self._gpu = Gpu(device, log)
        self._first_config = first_config
        self._catcher = Catcher(self._gpu, execute)
        self._threads = Threads()

    def install(self, scope: Scope, thread_failed: Callable[[threading.ExceptHookArgs], object]) -> None:
        """Put it into force until `scope` ends; `thread_failed` is told what ended a thread."""
        self._catcher.install(scope)
        benchmark.install(scope, self._gpu)
        reports.install(scope, self._gpu.log)
        tuning.install(scope, self._gpu, self._gpu.log, self._catcher.lock, first_config=self._first_config)
        self._gpu.deferred.install(scope)
        mode = cuda.install(scope, self._gpu)
        self._threads.install(scope, mode, thread_failed)

    def join(self) -> None:
        self._threads.join()

    @property
    def compile_failure(self) -> tuple[BaseException, Any] | None:
        return self._catcher.compile_failure

    @property
    def failure(self) -> BaseException | None:
        return self._catcher.execute_failure

    def explain_refusal(self, error: BaseException) -> None:
        self._catcher.explain_refusal(error)
