"""Operators that the script registers with `torch.library`: their kernels for CUDA work on CPU memory here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import ref

import torch
import torch.library
from torch.utils._pytree import tree_leaves

from tlxviz.launch import torch_internals
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors.places import ON_HOST, Place, place_of

if TYPE_CHECKING:
    from tlxviz.launch.tensors.mode import CudaInCpuMemory

_ON_CPU = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}
"""Keys under which torch looks for kernels, here in place of those of a GPU."""
_SHARED = frozenset({*_ON_CPU, *_ON_CPU.values()})
_WITHOUT_VALUES = frozenset({"Meta", "FuncTorchBatched", "Functionalize", "Python"})
"""Keys whose kernels see no real tensors."""


@dataclass(eq=False)
class _Kernels:
    """An operator's kernels for tensors of the GPU and of the host, behind one key of torch."""

    operator: str
    library: Callable[[], Any]
    """A weak reference to the library that has registered it."""
    by_key: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])

    def __call__(self, *args: Any, **options: Any) -> Any:
        places = {_place(each) for each in tree_leaves((args, options)) if isinstance(each, torch.Tensor)}
        on_host = bool(places) and places <= set(ON_HOST)
        wanted = [key for key in self.by_key if (key in _ON_CPU) is not on_host]
        if not wanted and on_host:
            raise NotImplementedError(
                f"Could not run '{self.operator}' with arguments from the 'CPU' backend. This could be because the "
                "operator doesn't exist for this backend."
            )
        return self.by_key[(wanted or list(self.by_key))[0]](*args, **options)


def install(scope: Scope, mode: CudaInCpuMemory) -> None:
    """Put it into force until `scope` ends; what was registered stays."""
    register = torch.library.Library.impl
    known: dict[tuple[str, str], _Kernels] = {}

    def impl(library: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = dispatch_key or library.dispatch_key
        if fn is torch.library.fallthrough_kernel or not callable(fn) or key in _WITHOUT_VALUES:
            return register(library, op_name, fn, _ON_CPU.get(key, dispatch_key), **options)
        kernel = _in_mode(fn, mode)
        if key not in _SHARED:
            return register(library, op_name, kernel, dispatch_key, **options)
        name = op_name if isinstance(op_name, str) else op_name.name()
        operator = name if "::" in name else f"{library.ns}::{name}"
        shared = _ON_CPU.get(key, key)
        kernels = known.get((operator, shared))
        if kernels is None or getattr(kernels.library(), "m", None) is None:  # none, or gone with its library
            kernels = known[operator, shared] = _Kernels(operator, ref(library))
            register(library, op_name, kernels, shared, **options)
        kernels.by_key[key] = kernel
        return None

    scope.set_attr(torch.library.Library, "impl", impl)


def _in_mode(kernel: Callable[..., Any], mode: CudaInCpuMemory) -> Callable[..., Any]:
    """The mode is off within an operator that was called through it, but a kernel in Python is the script's own."""

    def run(*args: Any, **options: Any) -> Any:
        with mode.afresh():
            return kernel(*args, **options)

    return run


def _place(tensor: torch.Tensor) -> Place | None:
    with torch_internals.without_modes():
        return place_of(tensor)
