"""The part of the CUDA runtime that `torch.cuda`'s own Python asks, answered for the simulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Never

import torch
import torch.cuda.nvtx
import torch.cuda.profiler

from tlxviz._errors import TlxvizError
from tlxviz.launch import torch_internals
from tlxviz.launch.cuda.properties import Properties
from tlxviz.launch.errors import check_ordinal
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors.places import DEVICE_MEMORY

if TYPE_CHECKING:
    from tlxviz.launch.device.gpu import Gpu

_ARCHITECTURES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
"""What torch's own CUDA build of version 2.11 is compiled for."""


def not_simulated(name: str) -> TlxvizError:
    return TlxvizError(
        f"the script calls torch.cuda.{name}, which a simulated device does not answer. Leave the call out where "
        "tlxviz runs the script"
    )


class Cudart:
    """What `torch.cuda.cudart()` returns."""

    class cudaError:
        success = 0

    def __init__(self, gpu: Gpu) -> None:
        self._total = gpu.device.memory.capacity_bytes

    def cudaMemGetInfo(self, _device: int) -> tuple[int, int]:
        return self._total - DEVICE_MEMORY.reserved, self._total

    def cudaProfilerStart(self) -> int:
        return 0

    def cudaProfilerStop(self) -> int:
        return 0

    def cudaHostRegister(self, *_memory: int) -> int:
        return 0

    def cudaHostUnregister(self, *_memory: int) -> int:
        return 0

    def cudaGetErrorString(self, _error: int) -> str:
        return "no error"

    def __getattr__(self, name: str) -> Never:
        raise not_simulated(f"cudart().{name}")


class _Ranges:
    """NVTX, which marks ranges for a profiler that is not there."""

    def __init__(self) -> None:
        self._depth = 0
        self._started = 0

    def rangePushA(self, _message: str) -> int:
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:
        self._depth = max(self._depth - 1, 0)
        return self._depth

    def rangeStartA(self, _message: str) -> int:
        self._started += 1
        return self._started

    def rangeEnd(self, _identifier: int) -> None:
        """Nobody looks."""

    def markA(self, _message: str) -> None:
        """Nobody looks."""

    def deviceRangeStart(self, _message: str, _stream: int) -> object:
        return object()

    def deviceRangeEnd(self, _handle: object, _stream: int) -> None:
        """Nobody looks."""


def install(scope: Scope, gpu: Gpu) -> None:
    """Put it into force until `scope` ends."""
    properties = Properties(gpu.device)
    DEVICE_MEMORY.begin()
    for name, value in _functions(gpu).items():
        scope.set_attr(torch_internals.C, f"_cuda_{name}", value)
    cudart = Cudart(gpu)
    for name, value in {
        # torch._dynamo refuses one function under two names.
        "_exchange_device": lambda device: _select(device),
        "_maybe_exchange_device": lambda device: _select(device),
        "_get_device_properties": lambda _device: properties,
        "_initialized": True,
        "cudart": lambda: cudart,
        "check_error": lambda _result: None,
    }.items():
        scope.set_attr(torch.cuda, name, value)
    scope.set_attr(torch.cuda.profiler, "cudart", lambda: cudart)
    scope.set_attr(torch.cuda.profiler, "check_error", lambda _result: None)
    for module in (torch.cuda, torch.cuda.memory, torch.cuda.random):
        for name, value in (("is_initialized", lambda: True), ("_lazy_init", lambda: None)):
            if hasattr(module, name):
                scope.set_attr(module, name, value)
    scope.set_attr(torch.cuda.nvtx, "_nvtx", _Ranges())


def _select(device: int) -> int:
    check_ordinal(device)
    return 0


def _functions(gpu: Gpu) -> dict[str, Callable[..., Any]]:
    """By what stands behind `torch._C._cuda_`."""
    settings = {"fraction": 1.0, "sync_debug": 0}

    def setter(name: str) -> Callable[..., None]:
        def store(value: Any, *_device: int) -> None:
            settings[name] = value

        return store

    return {
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "setDevice": lambda device: _select(device),
        "memoryStats": lambda _device: DEVICE_MEMORY.stats(),
        "resetPeakMemoryStats": lambda _device: DEVICE_MEMORY.reset_peaks(),
        "resetAccumulatedMemoryStats": lambda _device: DEVICE_MEMORY.reset_totals(),
        "emptyCache": DEVICE_MEMORY.empty_cache,
        "setMemoryFraction": setter("fraction"),
        "getMemoryFraction": lambda *_device: settings["fraction"],
        "getAllocatorBackend": lambda: "native",
        "canDeviceAccessPeer": lambda *_devices: False,
        "ipc_collect": lambda: None,
        "getArchFlags": lambda: _ARCHITECTURES,
        "set_sync_debug_mode": setter("sync_debug"),
        "get_sync_debug_mode": lambda: settings["sync_debug"],
        "getCurrentRawStream": lambda _device: gpu.stream,
    }
