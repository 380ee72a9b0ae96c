"""The stand-in for CUDA: `torch.cuda` answers for the simulated device, and device memory is CPU memory."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from typing import Any, Self, cast

import torch
import torch.utils._device

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.launch import streams
from tlxviz.launch.gpu import Gpu
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors import CPU, CudaInCpuMemory, names_cuda, on_cpu

CUDA_VERSION = "12.8"  # what scripts that ask for `torch.version.cuda` are told; any recent one would do


class Properties:
    """What `torch.cuda.get_device_properties` returns."""

    def __init__(self, device: Device) -> None:
        limits = device.limits
        self.name = device.title
        self.major, self.minor = device.capability
        self.multi_processor_count = limits.sms
        self.warp_size = 32
        self.max_threads_per_block = limits.threads_per_block
        self.max_threads_per_multi_processor = limits.warps_per_sm * 32
        self.regs_per_multiprocessor = limits.registers_per_sm
        self.shared_memory_per_block = 48 * 1024  # what CUDA grants without opting in
        self.shared_memory_per_block_optin = limits.shared_memory_per_block
        self.shared_memory_per_multiprocessor = limits.shared_memory_per_sm
        self.L2_cache_size = device.memory.l2_bytes
        self.clock_rate = int(device.clock.boost_mhz * 1000)
        self.is_integrated = self.is_multi_gpu_board = 0
        self.gcnArchName = ""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"tlxviz does not simulate the device property {name}")

    def __repr__(self) -> str:
        return f"_CudaDeviceProperties(name={self.name!r}, major={self.major}, minor={self.minor})"


class _DeviceGuard:
    """`with torch.cuda.device(0)`: there is one device."""

    def __init__(self, _device: object = None) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass


class _NoGraph:
    """CUDA graphs, of which there are none."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        raise _not_simulated(type(self).__name__)


class CUDAGraph(_NoGraph):
    pass


class graph(_NoGraph):
    pass


class _Generator(torch.Generator):
    """A generator "on cuda" is one of the CPU: the numbers differ from the GPU's, as they do between GPUs."""

    def __new__(cls, device: Any = "cpu") -> Self:
        # The stub of torch gives the constructor no `__new__`.
        return super().__new__(cls, on_cpu(device))  # pyright: ignore[reportCallIssue]


def _not_simulated(name: str) -> TlxvizError:
    return TlxvizError(
        f"the script calls torch.cuda.{name}, which a simulated device does not answer. Leave the call out where "
        "tlxviz runs the script"
    )


def _refusals() -> dict[str, Any]:
    """A function for each function of `torch.cuda` that asks the CUDA runtime, which is not there."""

    def refuse(name: str) -> Callable[..., Any]:
        def refused(*_arguments: Any, **_options: Any) -> Any:
            raise _not_simulated(name)

        return refused

    functions = {name for name in torch.cuda.__all__ if isfunction(getattr(torch.cuda, name, None))}
    return {name: refuse(name) for name in sorted(functions - _WITHOUT_RUNTIME)}


_WITHOUT_RUNTIME = {"get_gencode_flags", "is_tf32_supported"}
"""Functions of `torch.cuda` that ask only functions which are answered."""


def _answers(device: Device) -> dict[str, Any]:
    """Functions and classes of `torch.cuda` by name."""
    properties = Properties(device)

    # torch._dynamo, which optimizers import, refuses one function under two names: each name gets its own.
    def constant(value: Any) -> Callable[..., Any]:
        return lambda *_arguments, **_options: value

    # The CPU's generator is seeded directly, because `torch.manual_seed` itself calls `manual_seed_all`.
    def seeder() -> Callable[[int], None]:
        def seed(value: int) -> None:
            torch.default_generator.manual_seed(value)

        return seed

    def rng_state(_device: object = None) -> torch.Tensor:
        return torch.default_generator.get_state()

    def set_rng_state(state: torch.Tensor, _device: object = None) -> None:
        torch.default_generator.set_state(state)

    answers: dict[str, Any] = {
        "device_count": constant(1),
        "get_device_properties": constant(properties),
        "get_device_capability": constant(device.capability),
        "get_device_name": constant(device.title),
        "get_arch_list": constant([f"sm_{device.capability[0]}{device.capability[1]}"]),
        "manual_seed": seeder(),
        "manual_seed_all": seeder(),
        "get_rng_state": rng_state,
        "set_rng_state": set_rng_state,
        "get_rng_state_all": lambda: [rng_state()],
        "set_rng_state_all": lambda states: set_rng_state(states[0]),
        "initial_seed": lambda: torch.default_generator.initial_seed(),
        "seed": lambda: torch.default_generator.seed(),
        "seed_all": lambda: torch.default_generator.seed(),
        "CUDAGraph": CUDAGraph,
        "graph": graph,
        "device": _DeviceGuard,
    }
    for value, names in (
        (True, ("is_available", "is_initialized", "is_bf16_supported")),
        (False, ("is_current_stream_capturing", "can_device_access_peer")),
        (0, ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")),
        (0, ("memory_cached", "max_memory_cached")),
        (None, ("init", "_lazy_init", "set_device", "empty_cache", "ipc_collect")),
        (None, ("reset_peak_memory_stats", "reset_accumulated_memory_stats", "reset_max_memory_allocated")),
        (None, ("reset_max_memory_cached", "set_per_process_memory_fraction", "set_sync_debug_mode", "check_error")),
    ):
        answers |= {name: constant(value) for name in names}
    return answers


def install(scope: Scope, gpu: Gpu) -> None:
    """Put the stand-in into force until `scope` ends."""
    answers = _refusals() | _answers(gpu.device)
    for name, value in answers.items():
        scope.set_attr(torch.cuda, name, value)
    streams.install(scope, gpu)
    for module in (torch.cuda.memory, torch.cuda.random):
        for name in set(module.__all__) & set(answers):
            scope.set_attr(module, name, _again(answers[name]))
    scope.set_attr(torch.version, "cuda", CUDA_VERSION)
    scope.set_attr(torch, "Generator", _Generator)
    for name, value in (
        ("is_available", lambda: True),
        ("device_count", lambda: 1),
        ("current_accelerator", lambda *_, **__: torch.device("cuda")),
        ("current_device_index", lambda: 0),
        ("empty_cache", lambda: None),
        ("get_memory_info", answers["mem_get_info"]),
    ):
        if hasattr(torch.accelerator, name):
            scope.set_attr(torch.accelerator, name, value)
    _redirect_default_device(scope)
    scope.enter_context(CudaInCpuMemory(gpu.deferred))


def _again(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same under another name, which is to be a function of its own."""
    return lambda *arguments, **options: answer(*arguments, **options)


def _redirect_default_device(scope: Scope) -> None:
    """`torch.set_default_device("cuda")` and `with torch.device("cuda")` act below every mode: they are caught here."""
    context = cast("Any", torch.utils._device.DeviceContext)
    prepare = context.__init__

    def __init__(self: Any, device: Any) -> None:
        prepare(self, CPU if names_cuda(device) else device)

    default = cast("Any", torch)._GLOBAL_DEVICE_CONTEXT  # thread-local; the attribute is absent until it is first set
    before = getattr(default, "device_context", None)

    def restore() -> None:
        if getattr(default, "device_context", None) is not before:
            torch.set_default_device(None if before is None else before.device)

    scope.callback(restore)
    scope.set_attr(context, "__init__", __init__)
