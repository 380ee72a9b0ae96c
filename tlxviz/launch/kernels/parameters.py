"""From the arguments of a call to the parameters of the TTGIR function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.launch.model import HostDescriptor
from tlxviz.launch.tensors.places import is_host

# tt.func public @kernel(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc)), %n: i32 loc(...)) {
FUNCTION = re.compile(r"tt\.func public @[^\s(]+\(")
# A parameter's name stands before its type; a value in an attribute or a location has no colon behind it.
_PARAMETER = re.compile(r"%([\w.$-]+):")


def parameter_names(ttgir: str) -> list[str]:
    """The names of the public function's parameters, in order."""
    start = FUNCTION.search(ttgir)
    if start is None:
        raise TlxvizError("the compiled kernel has no public function: this version of Triton prints TTGIR differently")
    names: list[str] = []
    depth, position = 1, start.end()
    # Quoted text may contain anything; parentheses nest in locations.
    for token in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]|%[\w.$-]+:', ttgir[position:]):
        text = token.group()
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and (match := _PARAMETER.match(text)):
            names.append(match[1])
    return names


def bind(kernel: Any, arguments: Mapping[str, Any], ttgir: str) -> list[tuple[str, Any]]:
    """Pair the run-time arguments with the parameters of the TTGIR function.

    Constexprs and arguments that the JIT specialised away (None, the integer 1) are no parameters.
    """
    values = list(_flatten(_triton.signature(kernel), list(arguments.values())))
    names = parameter_names(ttgir)
    if len(values) != len(names):
        raise TlxvizError(
            f"the compiled kernel takes {len(names)} parameters ({', '.join(names)}) and the call has {len(values)}: "
            "this version of Triton passes arguments in a way that tlxviz does not know"
        )
    return list(zip(names, values, strict=True))


def _flatten(kinds: list[Any], values: list[Any]) -> Iterator[Any]:
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(kind, tuple):
            yield from _flatten(list(kind), list(value))
        elif kind == "constexpr":
            continue
        elif _triton.is_descriptor_type(kind):
            descriptor = _descriptor(value)
            yield descriptor
            yield from descriptor.shape
            yield from descriptor.strides
        elif isinstance(kind, str) and kind.startswith("*"):
            yield _tensor(value)
        else:
            yield _scalar(value)


def check_pointers(kernel: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse tensors that a GPU could not reach.

    Raises:
        ValueError: with Triton's own text; the position counts all arguments, as Triton does.
    """
    kinds, values = _leaves(_triton.signature(kernel), list(arguments.values()))
    for position, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if isinstance(kind, str) and kind.startswith("*"):
            tensor = value if isinstance(value, torch.Tensor) else getattr(value, "base", None)
            if isinstance(tensor, torch.Tensor) and tensor.numel() and is_host(tensor):
                raise ValueError(f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)")


def _leaves(kinds: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
    """Types and values without their nesting in tuples."""
    found: tuple[list[Any], list[Any]] = ([], [])
    for kind, value in zip(kinds, values, strict=True):
        parts = _leaves(list(kind), list(value)) if isinstance(kind, tuple) else ([kind], [value])
        for whole, part in zip(found, parts, strict=True):
            whole += part
    return found


def _descriptor(value: Any) -> HostDescriptor:
    return HostDescriptor(
        base=_tensor(value.base),
        shape=tuple(int(size) for size in value.shape),
        strides=tuple(int(stride) for stride in value.strides),
        block=tuple(int(size) for size in value.block_shape),
        padding=str(getattr(value, "padding", "zero")),
    )


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(getattr(value, "base", None), torch.Tensor):  # triton.reinterpret
        name = str(value.dtype)
        dtype = _REINTERPRETED.get(name) or getattr(torch, name, None)
        if isinstance(dtype, torch.dtype):
            return value.base.detach().view(dtype)
        raise TlxvizError(f"a tensor is reinterpreted as {name}, which torch has no type for")
    raise TlxvizError(f"a kernel is given a pointer as {type(value).__name__}; tlxviz follows torch tensors only")


# Triton's names of element types where torch has others.
_REINTERPRETED = {
    "int1": torch.bool,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e5": torch.float8_e5m2,
    "fp8e4nv": torch.float8_e4m3fn,
}


def _scalar(value: Any) -> int | float | bool:
    if isinstance(value, (bool, int, float)):
        return value
    if hasattr(value, "item"):  # a scalar of numpy
        return value.item()
    raise TlxvizError(f"a kernel is given a {type(value).__name__}; tlxviz knows tensors, descriptors and numbers")
