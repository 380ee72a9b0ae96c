"""`redux.sync`: the largest or smallest of what all lanes of a warp have."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tlxviz.ir.linear import LinearLayout
from tlxviz.sim.ptx.operands import State, Step, fetch_operand, store_operand
from tlxviz.sim.ptx.parse import Statement
from tlxviz.sim.ptx.types import Immediate, Opcode, Refusal

_ALL = 0xFFFFFFFF


def warps_of(layout: LinearLayout) -> torch.Tensor:
    """For each element of a tensor a number that it shares with what the same register of the warp's lanes holds.

    Args:
        layout: Registers, lanes and warps to elements.

    Returns:
        int64, of the layout's shape.
    """
    elements = torch.zeros(1, dtype=torch.int64)
    groups = torch.zeros(1, dtype=torch.int64)
    step = 1
    for kind in ("register", "warp", "lane"):
        for basis in layout.flat(kind):
            elements = torch.cat([elements, elements ^ basis])
            groups = torch.cat([groups, groups + (0 if kind == "lane" else step)])
            step *= 1 if kind == "lane" else 2
    found = torch.zeros(layout.shape, dtype=torch.int64).reshape(-1)
    found[elements] = groups
    return found.reshape(layout.shape)


def compile_redux(statement: Statement, op: Opcode) -> Step:
    """The step of a `redux.sync` of FP32 numbers in which all lanes take part."""
    op.only("sync abs NaN max min")
    operation = op.one_of("max min", "")
    if not op.type.is_float or op.type.bits != 32 or not operation:
        raise Refusal("redux is supported for .max and .min of .f32")
    if len(statement.operands) != 3 or statement.guard is not None:
        raise Refusal("redux takes a result, a source and a mask, and is supported without a guard")
    target, source, mask = statement.operands
    if not isinstance(mask, Immediate) or int(mask.value) & _ALL != _ALL:
        raise Refusal("redux is supported for all 32 lanes together, with the mask 0xffffffff")
    fetch, store = fetch_operand(source, op.type), store_operand(target, op.type)
    combine = _combining(largest=operation == "max", absolute="abs" in op.modifiers, keeps_nan="NaN" in op.modifiers)

    def step(state: State) -> None:
        if state.warps is None:
            raise Refusal("it combines what the lanes of a warp hold, and which elements those are is not known here")
        store(state, combine(fetch(state), state.warps), None)

    return step


def _combining(
    *, largest: bool, absolute: bool, keeps_nan: bool
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    worst = float("-inf") if largest else float("inf")

    def combine(value: torch.Tensor, warps: torch.Tensor) -> torch.Tensor:
        held = (value.abs() if absolute else value).broadcast_to(warps.shape).reshape(-1)
        groups, nan = warps.reshape(-1), held.isnan()
        number = int(groups.max()) + 1
        found = torch.full((number,), worst, dtype=held.dtype)
        found = found.scatter_reduce(0, groups, held.masked_fill(nan, worst), "amax" if largest else "amin")
        count = torch.zeros(number, dtype=torch.int64)
        nans, sizes = count.scatter_add(0, groups, nan.long()), count.scatter_add(0, groups, torch.ones_like(groups))
        # without .NaN, any number wins over NaN
        found[nans > 0 if keeps_nan else nans == sizes] = float("nan")
        return found[groups].reshape(warps.shape)

    return combine
