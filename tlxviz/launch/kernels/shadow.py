"""Beside a real GPU: the program's launches run as they do, and those to be recorded are simulated as well."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import Any, Protocol

import torch

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.launch.kernels.describe import Describer, padded
from tlxviz.launch.model import Executed, HostDescriptor, Launch
from tlxviz.launch.patching import Scope


class NotSimulated(UserWarning):
    """A launch on a GPU could not be simulated beside."""


class Executor(Protocol):
    """Who simulates launches."""

    def expects(self, kernel: str) -> bool:
        """Is the next launch of the kernel one to record?"""
        ...

    def pass_over(self, kernel: str) -> None:
        """Count a launch that is not executed."""
        ...

    def execute(self, launch: Launch) -> Executed | None: ...


class Shadow:
    """Watches launches on a real GPU.

    Args:
        executor: Simulates the launches that it expects, from copies of their arguments: integers as they are before
            the launch, since they may steer it, and other tensors with their shapes alone.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._describer = Describer()
        self._lock = threading.RLock()
        self._trials = threading.local()

    def install(self, scope: Scope) -> None:
        jit_function, tuner = _triton.jit_function_class(), _triton.autotuner_class()
        launch, bench = jit_function.run, tuner._bench

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            if not (warmup or getattr(self._trials, "on", False) or torch.cuda.is_current_stream_capturing()):
                with self._lock:
                    self._watch(launch, function, args, grid, options)
            return launch(function, *args, grid=grid, warmup=warmup, **options)

        def bench_quietly(tuner: Any, *args: Any, **options: Any) -> Any:
            self._trials.on = True
            try:
                return bench(tuner, *args, **options)
            finally:
                self._trials.on = False

        scope.set_attr(jit_function, "run", run)
        scope.set_attr(tuner, "_bench", bench_quietly)
        for owner, name, value in _triton.bypasses():
            scope.set_attr(owner, name, value)
        for namespace, name in _triton.knobs_of_bypasses():
            scope.set_item(namespace, name, False)

    def _watch(self, launch: Any, function: Any, args: tuple[Any, ...], grid: Any, options: dict[str, Any]) -> None:
        name = function.__name__
        if not self._executor.expects(name):
            self._executor.pass_over(name)
            return
        with _triton.recorded_ranges():
            kernel = _triton.finished(launch(function, *args, grid=grid, warmup=True, **options))
        if kernel is None:
            return
        arguments = _triton.bound(function, args, options)
        sizes = padded(grid(arguments) if callable(grid) else grid)
        described = self._describer.describe(kernel, function, sizes, arguments, 0.0)
        copied = [(key, _copy(value)) for key, value in described.parameters]
        try:
            with torch.no_grad():
                self._executor.execute(replace(described, parameters=copied))
        except TlxvizError as error:  # a fault of the kernel, or a gap of the simulator: the program goes on
            warnings.warn(f"tlxviz: simulating kernel {name} failed: {error}", NotSimulated, stacklevel=3)


def _copy(value: Any) -> Any:
    match value:
        case torch.Tensor():
            return _on_host(value)
        case HostDescriptor():
            return replace(value, base=_on_host(value.base))
        case _:
            return value


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape in the host's memory; floats are not copied."""
    # "cpu" is said, because the program may have set another default device.
    storage = torch.empty(tensor.untyped_storage().nbytes(), dtype=torch.uint8, device="cpu")
    host = torch.empty(0, dtype=tensor.dtype, device="cpu")
    host.set_(storage.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    if not tensor.dtype.is_floating_point:
        _once(host).copy_(_once(tensor))
    return host


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """Each element once: torch does not copy into a tensor that repeats some (an expanded one)."""
    sizes = [1 if stride == 0 and size else size for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return tensor.as_strided(sizes, tensor.stride())
