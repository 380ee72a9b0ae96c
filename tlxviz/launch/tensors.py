"""Tensors "on cuda" in CPU memory: a mode that sees every torch function that the script calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tlxviz.launch.deferred import Deferred

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")


def names_cuda(device: Any) -> bool:
    """Is it a way of naming a CUDA device?"""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and (device == "cuda" or device.startswith("cuda:"))


def on_cpu(device: Any) -> Any:
    """CPU memory in place of a CUDA device; anything else as it is."""
    return CPU if names_cuda(device) else device


def _copied(function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A transfer: never the tensor itself, because on a GPU host and device would not share memory."""
    result = function(*arguments, **options)
    return result.clone() if result is arguments[0] else result


def _to(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
    moved = any(map(names_cuda, arguments)) or "cpu" in map(str, arguments) or options.get("device") is not None
    arguments = (tensor, *map(on_cpu, arguments))
    options = {name: on_cpu(value) for name, value in options.items()}
    return _copied(torch.Tensor.to, arguments, options) if moved else torch.Tensor.to(*arguments, **options)


def _cuda(tensor: torch.Tensor, *_arguments: Any, **_options: Any) -> torch.Tensor:
    return tensor.clone()


def _cpu(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
    return _copied(torch.Tensor.cpu, (tensor, *arguments), options)


def _itself(tensor: torch.Tensor, *_arguments: Any, **_options: Any) -> torch.Tensor:
    return tensor


# Every tensor answers as one on the GPU would: which of them a script means to keep on the host is not followed.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.to: _to,
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.pin_memory: _itself,
    torch.Tensor.record_stream: lambda *_: None,
    torch.Tensor.get_device: lambda *_: 0,
    torch.Tensor.device.__get__: lambda *_: CUDA,  # pyright: ignore[reportAttributeAccessIssue]
    torch.Tensor.is_cuda.__get__: lambda *_: True,  # pyright: ignore[reportAttributeAccessIssue]
    torch.Tensor.is_cpu.__get__: lambda *_: False,  # pyright: ignore[reportAttributeAccessIssue]
}


class CudaInCpuMemory(TorchFunctionMode):
    """While it is on, CUDA devices are CPU memory and tensors say that they are on `cuda:0`."""

    def __init__(self, deferred: Deferred) -> None:
        super().__init__()
        self._deferred = deferred

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if self._deferred:
            self._deferred.before(func, args, options)
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **options)
        if func is torch.device:  # naming a device is no use of it
            return func(*args, **options)
        if options:
            options = {name: on_cpu(value) for name, value in options.items() if name != "pin_memory"}
        return func(*map(on_cpu, args), **options)
