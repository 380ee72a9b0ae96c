"""What Triton's runtime asks the GPU's driver, answered from a device's data file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tlxviz import _triton
from tlxviz.devices.model import Device
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.kernels.cubin import frame_of, registers_of

CompiledLaunch = Callable[[Any, tuple[int, int, int], tuple[Any, ...]], None]
"""Called when a script launches a compiled kernel directly: with its source object, the grid and the arguments."""


_BUS_BITS = 5120
"""Of the memory's bus, which no data file has: with any width, the clock is the one that gives the bandwidth."""


class Utilities:
    """Triton's `driver.utils`: device properties, and the loading of binaries, which stay unloaded here."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def get_device_properties(self, _device: int) -> dict[str, int]:
        limits, clock = self._device.limits, self._device.clock
        return {
            "max_shared_mem": limits.shared_memory_per_block,
            "max_num_regs": limits.registers_per_sm,
            "multiprocessor_count": limits.sms,
            "warpSize": 32,
            "sm_clock_rate": int(clock.boost_mhz * 1000),
            "mem_bus_width": _BUS_BITS,
            "mem_clock_rate": round(self._device.memory.hbm_bytes_per_second * 8 / 2 / _BUS_BITS / 1000),
        }

    def load_binary(self, name: str, binary: bytes, _shared: int, _device: int) -> tuple[object, int, int, int, int]:
        """Module, function, registers a thread, spilled ones of them, threads a block."""
        return (
            object(),
            0,
            registers_of(binary, name),
            frame_of(binary, name) // 4,
            self._device.limits.threads_per_block,
        )

    def unload_module(self, _module: object) -> None:
        """Nothing was loaded."""


class Launcher:
    """Triton's `driver.launcher_cls`: what a kernel compiled by `warmup` is launched with."""

    def __init__(self, source: Any, launch: CompiledLaunch) -> None:
        self._source, self._launch = source, launch

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        __tracebackhide__ = True
        # stream, function, packed metadata, launch metadata, enter hook, exit hook, then the kernel's own arguments
        self._launch(self._source, (x, y, z), rest[6:])


class SimulatedDriver:
    """The driver of one simulated device."""

    def __init__(self, gpu: Gpu, launch: CompiledLaunch) -> None:
        self._gpu = gpu
        self._device = gpu.device
        self.utils = Utilities(gpu.device)
        self.launcher_cls = lambda source, _metadata: Launcher(source, launch)
        self.binary_ext = "cubin"

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_target(self) -> Any:
        return _triton.target(self._device.capability)

    def get_device_capability(self, _device: object = None) -> tuple[int, int]:
        return self._device.capability

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _device: int) -> None:
        """There is one."""

    def get_current_stream(self, _device: int | None = None) -> int:
        return self._gpu.stream

    def map_python_to_cpp_type(self, kind: str) -> str:
        return kind

    def assemble_tensormap_to_arg(self, _tensormaps: object, arguments: Any) -> Any:
        return arguments

    def get_benchmarker(self) -> Callable[..., Sequence[float]]:
        return _triton.testing_module().do_bench

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.empty(1, dtype=torch.int)

    def clear_cache(self, _cache: torch.Tensor) -> None:
        """No cache outlives a simulated launch."""
