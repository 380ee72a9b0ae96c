"""Where torch makes tensors, or runs Python code of the script, without the mode for CUDA seeing it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tlxviz.launch import torch_internals
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors.mode import CudaInCpuMemory
from tlxviz.launch.tensors.places import (
    CUDA,
    ON_HOST,
    STAND_IN,
    Place,
    names_cuda,
    note,
    note_storage,
    place_of,
    place_of_storage,
)

_FROM_HOST = ("from_numpy", "frombuffer", "from_file")
_ELEMENTS = ["Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool"]


def install(scope: Scope, mode: CudaInCpuMemory) -> None:
    """Put it into force until `scope` ends."""
    for name in _FROM_HOST:
        scope.set_attr(torch, name, _noting(getattr(torch, name), Place.HOST))
    for name in (f"{element}Tensor" for element in _ELEMENTS):
        kind = getattr(torch, name)
        scope.set_attr(torch, name, _legacy(kind, Place.HOST))
        scope.set_attr(torch.cuda, name, _legacy(kind, Place.CUDA))
    scope.set_attr(*torch_internals.REBUILD, _rebuilt(getattr(*torch_internals.REBUILD)))
    scope.set_attr(torch.Tensor, "record_stream", _record_stream)
    _run_backward_in_mode(scope, mode)
    _run_hooks_in_mode(scope, mode)
    _place_storages(scope)
    _redirect_default_device(scope)


def _noting(function: Callable[..., Any], place: Place) -> Callable[..., Any]:
    @functools.wraps(function)
    def noted(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        note(result, place)
        return result

    return noted


def _rebuilt(rebuild: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """What `torch.load`, and workers that send tensors, make of storages: those of the GPU are known by then."""

    def rebuilt(*args: Any, **options: Any) -> torch.Tensor:
        tensor = rebuild(*args, **options)
        with torch_internals.without_modes():
            if place_of(tensor) is None:
                note(tensor, Place.HOST)
        return tensor

    return rebuilt


def _record_stream(_tensor: torch.Tensor, _stream: Any) -> None:
    """Memory is not used again before the host is done with it. torch takes no stream of ours for one."""


def _legacy(kind: Any, place: Place) -> Any:
    """`torch.FloatTensor` and its like: called, they make a tensor; `isinstance` asks for type and place."""

    class Meta(type):
        def __call__(cls, *args: Any, **options: Any) -> Any:
            with torch_internals.without_modes():
                result = kind(*args, **options)
                note(result, place)
            return result

        def __instancecheck__(cls, instance: Any) -> bool:
            if not isinstance(instance, kind):
                return False
            with torch_internals.without_modes():
                return (place_of(instance) in ON_HOST) is (place is Place.HOST)

    module = "torch.cuda" if place is Place.CUDA else "torch"
    return Meta(kind.__name__, (), {"__module__": module, "dtype": kind.dtype})


def _run_backward_in_mode(scope: Scope, mode: CudaInCpuMemory) -> None:
    """The mode is off within `Tensor.backward`, and so would be where autograd calls functions of the script."""
    run = getattr(*torch_internals.ENGINE)

    def run_in_mode(*args: Any, **options: Any) -> Any:
        with mode.again(), mode.observing():
            return run(*args, **options)

    scope.set_attr(*torch_internals.ENGINE, run_in_mode)


def _run_hooks_in_mode(scope: Scope, mode: CudaInCpuMemory) -> None:
    """Hooks on tensors that autograd saves run within an operator, where the mode is off."""
    kind = torch.autograd.graph.saved_tensors_hooks
    prepare = kind.__init__

    def in_mode(hook: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(hook)
        def run(*args: Any) -> Any:
            with mode.again():
                return hook(*args)

        return run

    def __init__(self: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> None:
        prepare(self, in_mode(pack_hook), in_mode(unpack_hook))

    scope.set_attr(kind, "__init__", __init__)


def _place_storages(scope: Scope) -> None:
    """Storages, as `torch.save` and `torch.load` see them."""
    device = torch.UntypedStorage.device
    move = torch.UntypedStorage.to

    def device_of(storage: Any) -> torch.device:
        return CUDA if place_of_storage(storage) is Place.CUDA else device.__get__(storage)  # pyright: ignore[reportAttributeAccessIssue]

    def on_gpu(storage: Any) -> Any:
        if place_of_storage(storage) is Place.CUDA:
            return storage
        copy = torch.UntypedStorage(storage.size()).copy_(storage, False)
        note_storage(copy, Place.CUDA)
        return copy

    def to(storage: Any, *, device: Any, non_blocking: bool = False) -> Any:
        return on_gpu(storage) if names_cuda(device) else move(storage, device=device, non_blocking=non_blocking)

    def clone(storage: Any) -> Any:
        copy = torch.UntypedStorage(storage.size()).copy_(storage, False)
        place = place_of_storage(storage)
        if place is not None:
            note_storage(copy, place)
        return copy

    scope.set_attr(torch.UntypedStorage, "clone", clone)
    scope.set_attr(torch.UntypedStorage, "device", property(device_of))
    scope.set_attr(torch.UntypedStorage, "to", to)
    scope.set_attr(torch.UntypedStorage, "cuda", lambda storage, *_, **__: on_gpu(storage))


def _redirect_default_device(scope: Scope) -> None:
    """`torch.set_default_device("cuda")` acts below every mode, `with torch.device("cuda")` above this one."""
    context = torch_internals.DEVICE_CONTEXT
    prepare, get_default = context.__init__, torch.get_default_device

    def __init__(self: Any, device: Any) -> None:
        prepare(self, STAND_IN if names_cuda(device) else device)

    def get_default_device() -> torch.device:
        device = get_default()
        return CUDA if device == STAND_IN else device

    default = torch_internals.default_contexts()
    before = getattr(default, "device_context", None)

    def restore() -> None:
        if getattr(default, "device_context", None) is not before:
            torch.set_default_device(None if before is None else before.device)

    scope.callback(restore)
    scope.set_attr(context, "__init__", __init__)
    scope.set_attr(torch, "get_default_device", get_default_device)
