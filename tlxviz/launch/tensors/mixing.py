"""What torch says of operators that are given tensors of the host and of the GPU together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import torch
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from tlxviz.launch.tensors.places import ON_HOST, Place, place_of

Values = list[torch.Tensor]

_ELEMENTWISE = """
add add_ sub sub_ mul mul_ div div_ true_divide floor_divide remainder fmod pow pow_ maximum minimum fmax fmin where
eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor atan2 lerp lerp_ addcmul
addcdiv __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __itruediv__
__floordiv__ __mod__ __pow__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __iand__ __ior__
__ixor__ allclose isclose mse_loss l1_loss smooth_l1_loss huber_loss masked_fill
"""


def _matmul(tensors: Values) -> tuple[str, list[str]]:
    dimensions = [tensor.dim() for tensor in tensors[:2]]
    if dimensions == [1, 1]:
        return "dot", ["self", "tensor"]
    if dimensions[1] == 1:
        return "addmv_", ["self", "vec"]
    return ("mm" if max(dimensions) == 2 else "bmm"), ["self", "mat2"]


def _linear(tensors: Values) -> tuple[str, list[str]]:
    return ("addmm", ["mat1", "mat2", "self"]) if len(tensors) > 2 else ("mm", ["self", "mat2"])


def _cat(tensors: Values) -> tuple[str, list[str]]:
    return "cat", ["tensors"] * len(tensors)


def _named(operator: str, *arguments: str) -> Callable[[Values], tuple[str, list[str]]]:
    return lambda _tensors: (operator, list(arguments))


_Describe = Callable[[Values], tuple[str, list[str]]]
_CHECKED: dict[str, _Describe] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "__matmul__", "__rmatmul__"), _matmul),
    "linear": _linear,
    "addmm": _named("addmm", "self", "mat1", "mat2"),
    "baddbmm": _named("baddbmm", "self", "batch1", "batch2"),
    **dict.fromkeys(
        ("cat", "concat", "concatenate", "stack", "vstack", "hstack"),
        _cat,
    ),
    "index_select": _named("_index_select", "self", "index"),
    "gather": _named("gather", "self", "index"),
    "equal": _named("_equal", "self", "other"),
    "embedding": _named("_index_select", "index", "self"),
    "cross_entropy": _named("nll_loss_forward", "self", "target"),
    "nll_loss": _named("nll_loss_forward", "self", "target"),
    "layer_norm": _named("_native_layer_norm", "input", "weight", "bias"),
}
"""The operator of CUDA that refuses, and its names of the tensors in the order of torch's function."""


def _functions(names: Any) -> Iterator[tuple[Any, str]]:
    for owner in (torch, torch.Tensor, functional):
        for name in names:
            if hasattr(owner, name):
                yield getattr(owner, name), name


_TOGETHER: dict[Any, _Describe | None] = {
    **{function: None for function, _ in _functions(_ELEMENTWISE.split())},
    **{function: _CHECKED[name] for function, name in _functions(_CHECKED)},
}
"""Operators whose tensors have to be on one device; None for those that take tensors element by element."""


FUNCTIONS = frozenset(_TOGETHER)


def check(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise what torch raises, if it is certain that the tensors are on different devices."""
    # Called for most operators: it looks closer only where it matters.
    on_gpu = on_host = False
    for value in (*args, *options.values()) if options else args:
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, torch.Tensor):
                place = place_of(each)
                on_gpu |= place is Place.CUDA
                on_host |= place is not Place.CUDA and place is not None
    if on_gpu and on_host:
        tensors = [each for each in tree_leaves((args, options)) if isinstance(each, torch.Tensor)]
        _check_mixed(_TOGETHER[function], tensors, [place_of(each) for each in tensors])


def _check_mixed(describe: _Describe | None, tensors: Values, places: list[Place | None]) -> None:
    # A number from the host is welcome to operators that work element by element.
    on_host = [
        place in ON_HOST and (describe is not None or tensor.dim() > 0)
        for place, tensor in zip(places, tensors, strict=True)
    ]
    if not any(on_host):
        return
    if describe is None:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        )
    operator, names = describe(tensors)
    devices = ["cpu" if host else "cuda:0" for host in on_host]
    # Operators take more tensors than are named, such as the weights of a loss.
    named = sorted(zip_longest(names[: len(devices)], devices, fillvalue="weight"), key=lambda pair: pair[0] != "self")
    common = named[0][1]
    wrong, device = next(pair for pair in named if pair[1] != common)
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but got {wrong} is on {device}, different from other tensors "
        f"on {common} (when checking argument in method wrapper_CUDA_{operator})"
    )
