"""Functions of libdevice, against values that were worked out by hand or by numpy and torch."""

from __future__ import annotations

import math

import pytest
import torch

from tlxviz.sim.libdevice import UnknownExtern, extern_function, known_symbols


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        ("__nv_expf", (1.0,), math.e), ("__nv_fast_expf", (1.0,), math.e), ("__nv_tanhf", (0.5,), math.tanh(0.5)),
        ("__nv_erff", (0.5,), math.erf(0.5)), ("__nv_powf", (2.0, 10.0), 1024.0), ("__nv_sqrtf", (9.0,), 3.0),
        ("__nv_rsqrtf", (4.0,), 0.5), ("__nv_logf", (math.e,), 1.0), ("__nv_log2f", (8.0,), 3.0),
        ("__nv_exp2f", (3.0,), 8.0), ("__nv_exp10", (3.0,), 1000.0), ("__nv_floorf", (-1.5,), -2.0),
        ("__nv_ceilf", (-1.5,), -1.0), ("__nv_fmaf", (2.0, 3.0, 4.0), 10.0), ("__nv_fabsf", (-2.0,), 2.0),
        ("__nv_sinf", (0.5,), math.sin(0.5)), ("__nv_cosf", (0.5,), math.cos(0.5)), ("__nv_cbrt", (-27.0,), -3.0),
        ("__nv_round", (-2.5,), -3.0), ("__nv_rint", (2.5,), 2.0), ("__nv_remainder", (5.0, 2.0), 1.0),
        ("__nv_remainder", (1.0, 2.0), 1.0), ("__nv_remainder", (3.0, 2.0), -1.0), ("__nv_cospi", (1.0,), -1.0),
        ("__nv_ldexpf", (0.75, 4), 12.0), ("__nv_ilogbf", (10.0,), 3), ("__nv_logb", (0.1,), -4.0),
        ("__nv_norm3d", (2.0, 3.0, 6.0), 7.0), ("__nv_isnanf", (math.nan,), 1), ("__nv_signbitf", (-0.0,), 1),
        ("__nv_float_as_int", (1.0,), 0x3F800000), ("__nv_hiloint2double", (0x3FF00000, 0), 1.0), ("__nv_ffs", (8,), 4),
        ("__nv_popc", (255,), 8), ("__nv_clzll", (1,), 63), ("__nv_mulhi", (2**30, 8), 2),
        ("__nv_float2int_rz", (-2.7,), -2), ("__nv_float2int_rd", (-2.1,), -3),
        ("__nv_fadd_ru", (1.0, 2**-30), 1 + 2**-23),
        ("__nv_int2float_rn", (3,), 3.0), ("__nv_uhadd", (-1, -1), -1), ("__nv_fdimf", (3.0, 1.0), 2.0),
        ("__nv_byte_perm", (0x33221100, 0x77665544, 0x7531), 0x77553311),
    ],
)  # fmt: skip
def test_libdevice(symbol: str, operands: tuple[float, ...], expected: float) -> None:
    function = extern_function(symbol)
    assert function(*operands) == pytest.approx(expected, rel=1e-6)


def test_every_libdevice_symbol_can_be_built() -> None:
    assert len(known_symbols()) > 300
    for symbol in known_symbols():
        assert callable(extern_function(symbol))


def test_libdevice_on_tensors() -> None:
    x = torch.rand(4, 8)
    assert torch.equal(extern_function("__nv_tanhf")(x), torch.tanh(x))  # type: ignore[arg-type]
    with pytest.raises(UnknownExtern, match="__nv_tanhf"):
        extern_function("__nv_tanhff")
