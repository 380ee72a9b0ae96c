"""`torch.autocast("cuda")`: torch casts by the device of tensors, which is the CPU here.

Operators that run in half precision are those of the CPU's autocast, which are nearly those of CUDA's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tlxviz.launch.patching import Scope

_IN_FULL = """
softmax log_softmax layer_norm group_norm exp exp2 expm1 log log10 log2 log1p pow prod sum norm cumsum cumprod rsqrt
reciprocal tan acos asin cosh sinh erfinv dist cdist mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy
kl_div cosine_similarity cosine_embedding_loss soft_margin_loss margin_ranking_loss triplet_margin_loss
poisson_nll_loss gaussian_nll_loss binary_cross_entropy_with_logits renorm logsumexp softplus softmin
__pow__ __rpow__
"""
IN_FULL: frozenset[Any] = frozenset(
    getattr(owner, name)
    for owner in (torch, torch.Tensor, functional)
    for name in _IN_FULL.split()
    if hasattr(owner, name)
)
"""Functions that CUDA's autocast runs in single precision, as the documentation of `torch.amp` lists them."""
_HALVES = (torch.float16, torch.bfloat16)


def is_on() -> bool:
    return torch.is_autocast_enabled("cuda")


def widened(values: Any) -> Any:
    """The same with tensors of half precision in single precision."""
    if isinstance(values, torch.Tensor):
        return values.float() if values.dtype in _HALVES else values
    if isinstance(values, dict):
        return {name: widened(value) for name, value in values.items()}
    return type(values)(map(widened, values)) if type(values) in (tuple, list) else values


def install(scope: Scope) -> None:
    """Put it into force until `scope` ends."""
    enter, leave = torch.autocast.__enter__, torch.autocast.__exit__

    def __enter__(self: Any) -> Any:
        if self.device == "cuda":
            vars(self).setdefault("_outer", []).append(
                (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
            )
        result = enter(self)
        if self.device == "cuda":
            _set(torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"))
        return result

    def __exit__(self: Any, *error: Any) -> Any:
        result = leave(self, *error)
        if self.device == "cuda":
            _set(*vars(self)["_outer"].pop())
        return result

    scope.set_attr(torch.autocast, "__enter__", __enter__)
    scope.set_attr(torch.autocast, "__exit__", __exit__)


def _set(enabled: bool, dtype: torch.dtype) -> None:
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)
