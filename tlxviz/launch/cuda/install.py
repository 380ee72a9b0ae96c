"""The stand-in for CUDA: `torch.cuda` answers for the simulated device, and device memory is CPU memory."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from typing import TYPE_CHECKING, Any

import torch

from tlxviz.launch.cuda import compiling, graphs, profiling, runtime, streams
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors import autocasting, generators, libraries, showing, transfers, unseen
from tlxviz.launch.tensors.mode import CudaInCpuMemory

if TYPE_CHECKING:
    from tlxviz.launch.device.gpu import Gpu

CUDA_VERSION = "12.8"  # what scripts that ask for `torch.version.cuda` are told; any recent one would do
_CUDNN_VERSION = 91002

_OWN_NAMES = """
can_device_access_peer current_device device_count empty_cache get_allocator_backend get_arch_list
get_device_capability get_device_name get_device_properties get_gencode_flags get_per_process_memory_fraction
get_sync_debug_mode init ipc_collect is_bf16_supported is_initialized is_tf32_supported make_graphed_callables
max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached
memory_reserved memory_stats memory_stats_as_nested_dict memory_summary reset_accumulated_memory_stats
reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats set_device
set_per_process_memory_fraction set_sync_debug_mode
"""
"""Functions of `torch.cuda` that stay torch's, because they ask only what is answered."""

_ACCELERATOR: dict[str, Callable[..., Any]] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_accelerator": lambda *_, **__: torch.device("cuda"),
    "current_device_index": lambda: 0,
    "current_device_idx": lambda: 0,
    "set_device_index": lambda device: torch.cuda.set_device(device),
    "set_device_idx": lambda device: torch.cuda.set_device(device),
    "empty_cache": lambda: torch.cuda.empty_cache(),
    "get_memory_info": lambda device=None: torch.cuda.mem_get_info(device),
    "memory_stats": lambda device=None: torch.cuda.memory_stats(device),
    "memory_allocated": lambda device=None: torch.cuda.memory_allocated(device),
    "max_memory_allocated": lambda device=None: torch.cuda.max_memory_allocated(device),
    "memory_reserved": lambda device=None: torch.cuda.memory_reserved(device),
    "max_memory_reserved": lambda device=None: torch.cuda.max_memory_reserved(device),
    "reset_accumulated_memory_stats": lambda device=None: torch.cuda.reset_accumulated_memory_stats(device),
    "reset_peak_memory_stats": lambda device=None: torch.cuda.reset_peak_memory_stats(device),
}
_BACKENDS: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (torch.backends.cuda, "is_built", lambda: True),
    (torch.backends.cudnn, "is_available", lambda: True),
    (torch.backends.cudnn, "version", lambda: _CUDNN_VERSION),
    (torch.backends.cudnn, "is_acceptable", lambda _tensor: True),
)


def install(scope: Scope, gpu: Gpu) -> CudaInCpuMemory:
    """Put the stand-in into force until `scope` ends; other threads have to turn on the mode that is returned."""
    mode = CudaInCpuMemory(gpu, transfers.ANSWERS | showing.ANSWERS)
    _refuse_the_rest(scope)
    scope.set_attr(torch.version, "cuda", CUDA_VERSION)
    scope.set_attr(torch.cuda, "is_available", lambda: True)
    scope.set_attr(torch.cuda, "device_count", lambda: 1)
    for name, value in _ACCELERATOR.items():
        if hasattr(torch.accelerator, name):
            scope.set_attr(torch.accelerator, name, value)
    for module, name, value in _BACKENDS:
        scope.set_attr(module, name, value)
    generators.install(scope, mode.random)
    runtime.install(scope, gpu)
    streams.install(scope, gpu)
    graphs.install(scope, gpu, mode)
    libraries.install(scope, mode)
    unseen.install(scope, mode)
    autocasting.install(scope)
    profiling.install(scope)
    compiling.install(scope)
    scope.enter_context(mode)
    return mode


def _refuse_the_rest(scope: Scope) -> None:
    """A function for each function of `torch.cuda` that asks the CUDA runtime, which is not there."""

    def refuse(name: str) -> Callable[..., Any]:
        def refused(*_arguments: Any, **_options: Any) -> Any:
            raise runtime.not_simulated(name)

        return refused

    for module in (torch.cuda, torch.cuda.memory):
        for name in sorted(set(module.__all__) - set(_OWN_NAMES.split())):
            if isfunction(getattr(module, name, None)):
                # torch._dynamo, which optimizers import, refuses one function under two names.
                scope.set_attr(module, name, refuse(name))
