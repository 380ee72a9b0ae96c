"""Moving tensors between host and GPU: always a copy, because there the two do not share memory."""

from __future__ import annotations

from typing import Any

import torch

from tlxviz.launch import torch_internals
from tlxviz.launch.errors import check_ordinal
from tlxviz.launch.tensors.mode import Answer, CudaInCpuMemory, answering
from tlxviz.launch.tensors.places import CPU, CUDA, ON_HOST, Place, names_cuda, note, on_cpu, place_of

ANSWERS: dict[Any, Answer] = {}
answer = answering(ANSWERS)


@answer(torch.Tensor.to)
def _to(mode: CudaInCpuMemory, tensor: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    if args and isinstance(args[0], torch.Tensor):
        options = {"dtype": args[0].dtype, **options}
        args = (_device_of(args[0]), *args[1:])
    elif "other" in options:
        other = options.pop("other")
        options = {"device": _device_of(other), "dtype": other.dtype, **options}
    if args and isinstance(args[0], int):
        args = (torch.device("cuda", args[0]), *args[1:])
    target = _target(args[0] if args else options.get("device"))
    if "dtype" in options and len(args) > 1 and isinstance(args[1], bool):  # .to(other, non_blocking, copy)
        args, options = args[:1], options | dict(zip(("non_blocking", "copy"), args[1:], strict=False))
    args, options = tuple(map(on_cpu, args)), {name: on_cpu(value) for name, value in options.items()}
    if target is None or _is_there(tensor, target):
        return mode.call(torch.Tensor.to, (tensor, *args), options)
    return _move(mode, tensor, target, args, options)


@answer(torch.Tensor.cuda)
def _cuda(
    mode: CudaInCpuMemory, tensor: torch.Tensor, device: Any = None, non_blocking: bool = False, **options: Any
) -> torch.Tensor:
    check_ordinal(device)
    if place_of(tensor) is Place.CUDA:
        return tensor
    return _move(mode, tensor, Place.CUDA, (CPU,), {"non_blocking": non_blocking, **options})


@answer(torch.Tensor.cpu)
def _cpu(mode: CudaInCpuMemory, tensor: torch.Tensor, **options: Any) -> torch.Tensor:
    if place_of(tensor) in ON_HOST:
        return tensor
    return _move(mode, tensor, Place.HOST, (CPU,), options)


@answer(torch.Tensor.pin_memory)
def _pin_memory(mode: CudaInCpuMemory, tensor: torch.Tensor, _device: Any = None) -> torch.Tensor:
    place = place_of(tensor)
    if place is Place.PINNED:
        return tensor
    if place is Place.CUDA:
        kind = tensor.type().replace("torch.", "torch.cuda.")
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    pinned = tensor.detach().clone()
    note(pinned, Place.PINNED)
    return pinned


@answer(torch.as_tensor, torch.asarray)
def _as_tensor(mode: CudaInCpuMemory, data: Any, *args: Any, **options: Any) -> torch.Tensor:
    function = torch.asarray if "copy" in options else torch.as_tensor
    result = mode.call(function, (data, *args), options)
    device = options.get("device", args[1] if len(args) > 1 else torch_internals.default_device())
    target = _target(device)
    shares = not isinstance(data, torch.Tensor) and hasattr(data, "__array__")
    if target is None or (_is_there(result, target) and not (shares and target is Place.CUDA)):
        return result
    moved = result.clone()
    note(moved, target)
    return moved


@answer(torch.Tensor.copy_)
def _copy_into(mode: CudaInCpuMemory, tensor: torch.Tensor, source: Any, *args: Any, **options: Any) -> torch.Tensor:
    if (capture := mode.capture) is not None and isinstance(source, torch.Tensor):
        places = place_of(tensor), place_of(source)
        if Place.HOST in places and places != (Place.HOST, Place.HOST):
            capture.refuse_copy()
    if isinstance(source, torch.Tensor) and place_of(tensor) is Place.HOST:
        mode.host_waits(source)
    return mode.call(torch.Tensor.copy_, (tensor, source, *args), options)


def _device_of(tensor: torch.Tensor) -> torch.device:
    if tensor.device.type != "cpu":
        return tensor.device
    return CPU if place_of(tensor) in ON_HOST else CUDA


def _target(device: Any) -> Place | None:
    """The place that a device is; None for what is no device, or neither host nor GPU."""
    if names_cuda(device):
        check_ordinal(device)
        return Place.CUDA
    return Place.HOST if isinstance(device, (str, torch.device)) and torch.device(device).type == "cpu" else None


def _is_there(tensor: torch.Tensor, target: Place) -> bool:
    place = place_of(tensor)
    return place in ON_HOST if target is Place.HOST else place is target


def _move(
    mode: CudaInCpuMemory, tensor: torch.Tensor, target: Place, args: tuple[Any, ...], options: dict[str, Any]
) -> torch.Tensor:
    """`Tensor.to`, which copies."""
    if (capture := mode.capture) is not None and (place_of(tensor) is not Place.PINNED or target is Place.HOST):
        capture.refuse_copy()
    if target is Place.HOST and not options.get("non_blocking"):
        mode.host_waits(tensor)
    if len(args) <= 3:  # else: the fourth is `copy`
        options = options | {"copy": True}
    with mode.observing():
        result = tensor.to(*args, **options)
    note(result, target)
    return result
