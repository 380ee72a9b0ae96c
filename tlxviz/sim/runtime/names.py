"""What generated code calls: the functions of the modules beside this one, and some of others."""

from __future__ import annotations

import math
from heapq import heappush
from types import ModuleType
from typing import Any

import torch

from tlxviz.sim import (
    atomics,
    descriptors,
    dtypes,
    memory,
    parts,
    pointers,
)
from tlxviz.sim.engine import AgentRun
from tlxviz.sim.runtime import launch_control, products, reductions, remote, reports, scalars, tensors, transfers
from tlxviz.sim.shared import allocate
from tlxviz.sim.tensor_memory import allocate_tensor

_WHOLE = (scalars, tensors, reductions, transfers, remote, products, launch_control, reports)
_SOME: tuple[tuple[Any, str], ...] = (
    (
        torch,
        """full full_like where maximum minimum fmax fmin amax amin isnan stack mm addmm matmul tensor exp2 exp log2 log
        log10 log1p expm1 sqrt rsqrt sin cos tan tanh erf atan floor ceil trunc round abs fmod concatenate""",
    ),
    (
        dtypes,
        """wrap unsigned truncating_rem round_f32 round_f16 round_scalar cast cast_towards_zero float_to_int
        float_to_int_scalar float_to_unsigned int_to_float int_to_float_scalar shift_left as_unsigned tf32
        fp4_to_float""",
    ),
    (
        parts,
        """indices mask_tensor add_parts rem_part div_part compare_part and_parts where_part spread_part narrow_index
        first_of""",
    ),
    (memory, "load_tile copy_tile store_tile load_dense store_dense load_scalar store_scalar"),
    (atomics, "combine atomic_scalar atomic_dense atomic_along cas_dense"),
    (pointers, "address_of bitcast_pointer bitcast_pointers select_pointers resolve_tensor"),
    (descriptors, "TileDescriptor make_descriptor find_descriptor"),
)
"""Modules of which generated code uses only the functions named."""


def namespace() -> dict[str, Any]:
    """Globals that all generated code starts from."""
    names: dict[str, Any] = {
        "allocate": allocate,
        "allocate_tensor": allocate_tensor,
        "AgentRun": AgentRun,
        "heappush": heappush,
        "inf": math.inf,
        "nan": math.nan,
    }
    for module in _WHOLE:
        names |= _functions(module)
    for module, listed in _SOME:
        names |= {name: getattr(module, name) for name in listed.split()}
    return names


def _functions(module: ModuleType) -> dict[str, Any]:
    """The public functions that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    }
