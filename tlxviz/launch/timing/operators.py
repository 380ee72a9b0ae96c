"""How long operators of torch take on the device: an estimate, so that a baseline beside a kernel has a time at all.

An operator takes as long as DRAM takes for the bytes of its arguments and results, or its FLOP at the dense peak of
their type, whichever is longer, and the time of a launch besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.device.gpu import Gpu

_aten = torch.ops.aten

_WITHOUT_KERNEL_NAMES = """
empty empty_strided empty_like new_empty new_empty_strided _unsafe_view _reshape_alias alias detach detach_ lift
lift_fresh resize_ set_ _local_scalar_dense item is_same_size sym_size sym_stride sym_numel view_as
_has_compatible_shallow_copy_type is_pinned _pin_memory record_stream
"""
_WITHOUT_KERNEL: frozenset[Any] = frozenset(
    packet for name in _WITHOUT_KERNEL_NAMES.split() if (packet := getattr(_aten, name, None)) is not None
)
_ONLY_WRITTEN: frozenset[Any] = frozenset(
    (_aten.fill_, _aten.zero_, _aten.copy_, _aten.normal_, _aten.uniform_, _aten.random_, _aten.bernoulli_)
)
"""Operators that do not read the tensor which they write."""

_TENSOR_CORE_RATES = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float64: "fp64",
    torch.int8: "int8",
    **{getattr(torch, name): "fp8" for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)},
}


def _attention_flop(query: Any, key: Any, value: Any, *_args: Any, **_options: Any) -> int:
    return sdpa_flop_count(query.shape, key.shape, value.shape)


# What attention becomes on a CPU only: torch's registry counts the operators that it becomes on a GPU.
_FLOP: dict[Any, Any] = {_aten._scaled_dot_product_flash_attention_for_cpu: _attention_flop}


class OperatorTime(TorchDispatchMode):
    """While it is on, operators take time on the current stream."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        take_time(self._gpu, func, args, kwargs or {}, result)
        return result


def take_time(gpu: Gpu, func: Any, args: tuple[Any, ...], options: dict[str, Any], result: Any) -> None:
    """Let an operator that was executed take its time on the current stream."""
    if launches(func):
        gpu.log.estimated = True
        gpu.time.work(gpu.stream, estimated_ns(gpu.device, func, args, options, result))


def is_written_in_python(func: Any) -> bool:
    """Is it one that a library has registered, and not torch? Its parts are to be seen in its place."""
    return func.namespace not in ("aten", "prims")


def launches(func: Any) -> bool:
    """Does the operator run a kernel on a GPU?"""
    return not is_written_in_python(func) and not func.is_view and func.overloadpacket not in _WITHOUT_KERNEL


def estimated_ns(device: Device, func: Any, args: tuple[Any, ...], options: dict[str, Any], result: Any) -> float:
    """Estimated time of one operator, in ns."""
    read = list(_tensors((*args, *options.values())))
    written = list(_tensors((result,)))
    if func.overloadpacket in _ONLY_WRITTEN:
        read = [tensor for tensor in read if all(tensor is not each for each in written)]
    moving = sum(map(_bytes, (*read, *written))) / device.memory.hbm_bytes_per_second
    computing = 0.0
    count = _FLOP.get(func.overloadpacket) or flop_registry.get(func.overloadpacket)
    if count is not None and read:
        computing = count(*args, **options, out_val=result) / _peak(device, read[0].dtype)
    return max(moving, computing) * 1e9 + device.launch.kernel_ns


def _bytes(tensor: torch.Tensor) -> int:
    """Of the elements that it has; what it repeats (an expanded dimension) lies in memory once."""
    if tensor.layout is not torch.strided:
        return 0
    sizes = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or not size)
    return math.prod(sizes) * tensor.element_size()


def _peak(device: Device, dtype: torch.dtype) -> float:
    """FLOP per second of matrix multiplications."""
    cycles = device.clock.sustained_mhz * 1e6 * device.limits.sms
    rate = _TENSOR_CORE_RATES.get(dtype)
    if rate is None and dtype is torch.float32 and torch.backends.cuda.matmul.allow_tf32:
        rate = "tf32"
    return cycles * (device.alu.fp32 * 2 if rate is None else getattr(device.tensor_core, rate))


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
