"""What the stand-in needs of torch and torch does not export: the place to look at when a version of torch moves it."""

# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
import torch._tensor_str
import torch._utils
import torch.autograd
import torch.utils._device
from torch.overrides import _get_current_function_mode_stack

C: Any = torch._C
"""Where `torch.cuda` looks for the functions of the CUDA runtime that a CPU build lacks."""
DEVICE_CONTEXT: Any = torch.utils._device.DeviceContext
"""The mode behind `torch.set_default_device` and `with torch.device(...)`."""
PARSE_TO: Any = torch._C._nn._parse_to
"""What modules ask where they are to move their parameters."""
ENGINE: tuple[Any, str] = torch.autograd, "_engine_run_backward"
"""Owner and name of the function that every backward pass goes through."""
REBUILD: tuple[Any, str] = torch._utils, "_rebuild_tensor"
"""Owner and name of the function that makes a tensor of a storage that was read."""
CONSTRUCTORS: frozenset[Any] = frozenset(torch.utils._device._device_constructors())
"""Functions that make a tensor on the default device if they are given none."""


def without_modes() -> AbstractContextManager[Any]:
    """A block that no mode for torch functions sees; nothing public turns them off."""
    return torch._C.DisableTorchFunction()


def active_modes() -> list[Any]:
    """The modes for torch functions that are on in this thread."""
    return _get_current_function_mode_stack()


def default_device() -> torch.device | None:
    """What `torch.set_default_device` has set, if it has."""
    return torch.utils._device.CURRENT_DEVICE


def default_contexts() -> Any:
    """Holds a thread's `device_context`, an attribute that is absent until it is first set."""
    return torch._GLOBAL_DEVICE_CONTEXT


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Does a transformation of `torch.func` (vmap, grad) stand around it?"""
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def unwrapped(tensor: torch.Tensor) -> torch.Tensor:
    """What stands within a transformation."""
    return torch._C._functorch.get_unwrapped(tensor)


def text_of(tensor: torch.Tensor, contents: Any) -> str:
    """What `repr` says of a tensor."""
    return torch._tensor_str._str(tensor, tensor_contents=contents)
