"""`redux.sync`: what the lanes of a warp hold together, by hand, and against torch."""

from __future__ import annotations

import math

import pytest
import torch
from kernel_runner import b200, fbtriton_only, run_kernel

from tlxviz.ir.linear import LinearLayout
from tlxviz.sim.ptx import UnsupportedAsm, compile_asm
from tlxviz.sim.ptx.lanes import warps_of

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
warp_ops = pytest.importorskip("triton.language.extra.tlx.warp_ops", reason="this TLX has no warp_redux")
MASK = "0xFFFFFFFF"


def test_elements_of_a_register_belong_together_across_lanes() -> None:
    """Two registers, two lanes, two warps over eight elements: neighbours are in registers, then lanes, then warps."""
    layout = LinearLayout({"register": ((1,),), "lane": ((2,),), "warp": ((4,),)}, (8,))
    assert warps_of(layout).tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


def test_rows_across_lanes() -> None:
    """Lanes hold the rows of a column, registers the columns."""
    layout = LinearLayout({"register": ((0, 1), (0, 2)), "lane": ((1, 0),), "warp": ()}, (2, 4))
    assert warps_of(layout).tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("max", [3.0, 3.0, -1.0, -1.0]),
        ("min", [-5.0, -5.0, -1.0, -1.0]),
        ("max.abs", [5.0, 5.0, 1.0, 1.0]),
        ("max.NaN", [3.0, 3.0, math.nan, math.nan]),
    ],
)
def test_a_number_wins_over_nan_unless_nan_is_asked_for(operation: str, expected: list[float]) -> None:
    program = compile_asm(f"redux.sync.{operation}.f32 $0, $1, {MASK};", "=f,f", 1, ("f32",), ("f32",))
    values = torch.tensor([3.0, -5.0, -1.0, math.nan])
    (found,) = program.run((values,), None, torch.tensor([0, 0, 1, 1]))
    torch.testing.assert_close(torch.as_tensor(found), torch.tensor(expected), rtol=0, atol=0, equal_nan=True)


def test_nothing_but_nan_gives_nan() -> None:
    program = compile_asm(f"redux.sync.max.f32 $0, $1, {MASK};", "=f,f", 1, ("f32",), ("f32",))
    (found,) = program.run((torch.tensor([math.nan, math.nan]),), None, torch.tensor([0, 0]))
    assert torch.as_tensor(found).isnan().all()


def test_without_a_layout_it_is_refused() -> None:
    program = compile_asm(f"redux.sync.max.f32 $0, $1, {MASK};", "=f,f", 1, ("f32",), ("f32",))
    with pytest.raises(UnsupportedAsm, match="which elements those are is not known"):
        program.run((torch.tensor([1.0, 2.0]),))


@triton.jit
def largest_of_warps(x_ptr, y_ptr, OPERATION: tl.constexpr):
    at = tl.arange(0, 128)
    tl.store(y_ptr + at, warp_ops.warp_redux(tl.load(x_ptr + at), OPERATION))


@fbtriton_only("it has no warp_redux")
@pytest.mark.parametrize("operation", ["max", "min", "abs_max", "abs_min"])
def test_warp_redux_of_tlx(operation: str) -> None:
    """A thread of the four warps has one element, and a warp 32 neighbours."""
    x, y = torch.randn(128), torch.zeros(128)
    run_kernel(largest_of_warps, (1,), x, y, operation, device=b200())
    rows = (x.abs() if "abs" in operation else x).reshape(4, 32)
    wanted = rows.amax(1) if "max" in operation else rows.amin(1)
    assert torch.equal(y, wanted.repeat_interleave(32))
