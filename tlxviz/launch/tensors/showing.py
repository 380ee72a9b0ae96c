"""What tensors say about themselves: their device, and how they print."""

from __future__ import annotations

from typing import Any

import torch

from tlxviz.launch import torch_internals
from tlxviz.launch.tensors.mode import Answer, CudaInCpuMemory, answering, getter
from tlxviz.launch.tensors.places import CUDA, ON_HOST, Place, place_of

ANSWERS: dict[Any, Answer] = {}
answer = answering(ANSWERS)


def _on_gpu(tensor: torch.Tensor) -> bool:
    """Does it count as on the GPU? Not: on the host, or without values, as on `meta`."""
    return tensor.device.type == "cpu" and place_of(tensor) not in ON_HOST


@answer(torch.device)
def _name_device(_mode: CudaInCpuMemory, *args: Any, **options: Any) -> torch.device:
    return torch.device(*args, **options)  # naming one is no use of it


@answer(torch_internals.PARSE_TO)
def _parse_to(_mode: CudaInCpuMemory, *args: Any, **options: Any) -> Any:
    if args and isinstance(args[0], int):
        args = (torch.device("cuda", args[0]), *args[1:])
    return torch_internals.PARSE_TO(*args, **options)  # what modules ask before they move their parameters


@answer(getter("device"))
def _device(_mode: CudaInCpuMemory, tensor: torch.Tensor, *_owner: Any) -> torch.device:
    return CUDA if _on_gpu(tensor) else tensor.device


@answer(getter("is_cuda"))
def _is_cuda(_mode: CudaInCpuMemory, tensor: torch.Tensor, *_owner: Any) -> bool:
    return _on_gpu(tensor)


@answer(getter("is_cpu"))
def _is_cpu(_mode: CudaInCpuMemory, tensor: torch.Tensor, *_owner: Any) -> bool:
    return tensor.is_cpu and not _on_gpu(tensor)


@answer(torch.Tensor.get_device, torch.get_device)
def _get_device(_mode: CudaInCpuMemory, tensor: torch.Tensor) -> int:
    return 0 if _on_gpu(tensor) else tensor.get_device()


@answer(torch.Tensor.is_pinned)
def _is_pinned(_mode: CudaInCpuMemory, tensor: torch.Tensor, *_device: Any, **_options: Any) -> bool:
    return place_of(tensor) is Place.PINNED


@answer(torch.Tensor.type)
def _type(mode: CudaInCpuMemory, tensor: torch.Tensor, dtype: Any = None, *args: Any, **options: Any) -> Any:
    if dtype is None:
        name = tensor.type()
        return name.replace("torch.", "torch.cuda.", 1) if _on_gpu(tensor) else name
    if isinstance(dtype, torch.dtype):
        return mode.call(torch.Tensor.type, (tensor, dtype, *args), options)
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    target = "cuda" if name.startswith("torch.cuda.") else "cpu"
    kind = torch.empty(0).type(name.replace("torch.cuda.", "torch.")).dtype
    with mode:
        return tensor.to(target, kind)


@answer(torch.Tensor.__repr__)
def _repr(mode: CudaInCpuMemory, tensor: torch.Tensor, *, tensor_contents: Any = None) -> str:
    with mode:
        return torch_internals.text_of(tensor, tensor_contents)


@answer(torch.Tensor.__format__)
def _format(mode: CudaInCpuMemory, tensor: torch.Tensor, format_spec: str) -> str:
    if tensor.dim() == 0 and not tensor.is_meta and type(tensor) is torch.Tensor:
        mode.host_waits(tensor)
        return tensor.detach().item().__format__(format_spec)
    with mode:
        return format(repr(tensor), format_spec) if not format_spec else object.__format__(tensor, format_spec)


@answer(torch.Tensor.__getitem__)
def _getitem(mode: CudaInCpuMemory, tensor: torch.Tensor, index: Any) -> Any:
    indices = [each for each in (index if isinstance(index, tuple) else (index,)) if isinstance(each, torch.Tensor)]
    if indices:
        if place_of(tensor) in ON_HOST and any(place_of(each) is Place.CUDA for each in indices):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        mode.host_waits(*(each for each in indices if each.dtype in (torch.bool, torch.uint8)))
    return mode.call(torch.Tensor.__getitem__, (tensor, index), {})


def _needs_values(function: Any) -> Answer:
    def wait_and_call(mode: CudaInCpuMemory, *args: Any, **options: Any) -> Any:
        mode.host_waits(*(each for each in args if isinstance(each, torch.Tensor)))
        return mode.call(function, args, options)

    return wait_and_call


def _needs_host(function: Any) -> Answer:
    def refuse_and_call(mode: CudaInCpuMemory, tensor: torch.Tensor, *args: Any, **options: Any) -> Any:
        forced = options.get("force", bool(args and args[0] is True))
        if place_of(tensor) is Place.CUDA and not forced:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first."
            )
        return mode.call(function, (tensor, *args), options)

    return refuse_and_call


_WITH_VALUES = """
item tolist __bool__ __int__ __float__ __complex__ __index__ nonzero masked_select equal allclose is_nonzero unique
unique_consecutive bincount argwhere __contains__
"""
for _name in _WITH_VALUES.split():
    for _owner in (torch, torch.Tensor):
        if hasattr(_owner, _name):
            answer(getattr(_owner, _name))(_needs_values(getattr(_owner, _name)))
for _name in ("numpy", "__array__"):
    answer(getattr(torch.Tensor, _name))(_needs_host(getattr(torch.Tensor, _name)))
