"""Conversions between number formats in PTX, against values that were worked out by hand or by numpy and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from ptx_machine import f32, i32, run, unsigned

from tlxviz.sim.ptx import compile_asm


@pytest.mark.parametrize(
    ("name", "ttgir", "dtype", "limit"),
    [("e4m3x2", "f8E4M3FN", torch.float8_e4m3fn, 448), ("e5m2x2", "f8E5M2", torch.float8_e5m2, 57344)],
)
def test_packed_fp8(name: str, ttgir: str, dtype: torch.dtype, limit: float) -> None:
    asm = (
        "{ .reg .b16 lo, hi; cvt.rn.satfinite.N.f32 lo, $2, $1; cvt.rn.satfinite.N.f32 hi, $4, $3;"
        " mov.b32 $0, {lo, hi}; }"
    ).replace("N", name)
    program = compile_asm(asm, "=r,f,f,f,f", 4, ("f32",), (ttgir,))
    values = torch.cat([torch.randn(500) * 100, torch.tensor([0.0, -0.0, limit, 1e-3, -1e-9, 1e6, -1e6, 2.0**-10])])
    (got,) = program.run([values])
    assert isinstance(got, torch.Tensor)
    assert got.dtype == dtype
    assert torch.equal(got.view(torch.uint8), values.clamp(-limit, limit).to(dtype).view(torch.uint8))
    assert program.run([torch.tensor([math.nan] * 4)])[0].view(torch.uint8).tolist() == [0x7F] * 4  # type: ignore
    # And back.
    unpack = "{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $2; cvt.rn.f16x2.N $0, lo; cvt.rn.f16x2.N $1, hi; }"
    back = compile_asm(unpack.replace("N", name), "=r,=r,r", 4, (ttgir,), ("f16",))
    assert torch.equal(back.run([got])[0], got.to(torch.float16))


def test_fp4_and_scale_formats() -> None:
    asm = "{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, $1, $2; cvt.u32.u8 $0, b; }"
    # The nearest of 0 0.5 1 1.5 2 3 4 6: 2.5 is a tie and goes to the even code of 2.
    for high, low, expected in ((6.0, 0.5, 0x71), (-1.0, 100.0, 0xA7), (2.5, 3.5, 0x46), (5.0, 0.25, 0x60)):
        assert run(asm, "i32", *f32(high, low)) == expected
    back = "{ .reg .b8 b; cvt.u8.u32 b, $1; cvt.rn.f16x2.e2m1x2 $0, b; }"
    packed = unsigned(run(back, "i32", *i32(0x7A)))
    assert np.array([packed], np.uint32).view(np.float16).tolist() == [-1.0, 6.0]


def test_mxfp8_scale() -> None:
    asm = """
    {
        .reg .f32 fae_scale, fae_zero;
        .reg .b16 fae_packed;
        .reg .u32 fae_exp, fae_inv_exp, fae_inv_bits;
        mul.f32 fae_scale, $2, $3;
        mov.b32 fae_zero, 0;
        cvt.rp.satfinite.ue8m0x2.f32 fae_packed, fae_zero, fae_scale;
        cvt.u32.u16 fae_exp, fae_packed;
        and.b32 fae_exp, fae_exp, 0xFF;
        mov.u32 $0, fae_exp;
        sub.u32 fae_inv_exp, 254, fae_exp;
        shl.b32 fae_inv_bits, fae_inv_exp, 23;
        mov.b32 $1, fae_inv_bits;
    }
    """
    program = compile_asm(asm, "=r,=f,f,f", 1, ("f32", "f32"), ("i32", "f32"))
    assert program.run([4.0, 1.0]) == (129, 0.25)
    assert program.run([4.5, 1.0]) == (130, 0.125)
    assert program.run([0.0, 1.0])[0] == 0
    exponent, inverse = program.run([torch.tensor([[1.0, 3.0]]), torch.tensor([[1.0, 1.0]])])
    assert exponent.tolist() == [[127, 129]]  # type: ignore[union-attr]
    assert inverse.tolist() == [[1.0, 0.25]]  # type: ignore[union-attr]


FROM_E4B15 = """{
.reg .b32 a<2>, b<2>;
prmt.b32 a0, 0, $2, 0x5746;
and.b32 b0, a0, 0x7f007f00;
and.b32 b1, a0, 0x00ff00ff;
and.b32 a1, a0, 0x00800080;
shr.b32  b0, b0, 1;
add.u32 b1, b1, a1;
lop3.b32 $0, b0, 0x80008000, a0, 0xf8;
shl.b32 $1, b1, 7;
}"""
TO_E4B15 = """{
.reg .pred p<4>;
.reg .b32 a<2>, b<2>;
.reg .b16 c<4>;
.reg .b16 max_val_f16;
.reg .b32 max_val_f16x2;
mov.b16 max_val_f16,   0x3F00;
mov.b32 max_val_f16x2, 0x3F003F00;
and.b32 a0, $1, 0x7fff7fff;
and.b32 a1, $2, 0x7fff7fff;
CLAMP
mad.lo.u32 a0, a0, 2, 0x00800080;
mad.lo.u32 a1, a1, 2, 0x00800080;
lop3.b32 b0, $1, 0x80008000, a0, 0xea;
lop3.b32 b1, $2, 0x80008000, a1, 0xea;
prmt.b32 $0, b0, b1, 0x7531;
}"""
CLAMPS = {
    "min": "min.f16x2 a0, a0, max_val_f16x2; min.f16x2 a1, a1, max_val_f16x2;",
    "setp": """setp.lt.f16x2  p0|p1, a0, max_val_f16x2;
        setp.lt.f16x2  p2|p3, a1, max_val_f16x2;
        mov.b32 {c0, c1}, a0;
        mov.b32 {c2, c3}, a1;
        selp.b16  c0, c0, max_val_f16, p0;
        selp.b16  c1, c1, max_val_f16, p1;
        selp.b16  c2, c2, max_val_f16, p2;
        selp.b16  c3, c3, max_val_f16, p3;
        mov.b32 a0, {c0, c1};
        mov.b32 a1, {c2, c3};""",
}


@pytest.mark.parametrize("clamp", ["min", "setp"])
def test_fp8e4b15(clamp: str) -> None:
    """An exponent of 4 bits with bias 15 and a mantissa of 3: f16 without its lowest bits and highest exponent bit."""
    codes = torch.arange(256).to(torch.uint8).view(torch.int8)
    (halves,) = compile_asm(FROM_E4B15, "=r,=r,r", 4, ("i8",), ("f16",)).run([codes])
    assert isinstance(halves, torch.Tensor)
    number = torch.arange(256)
    bits = (number & 0x80) << 8 | (number & 0x7F) << 7
    assert torch.equal(halves.view(torch.int16), bits.to(torch.int16))
    (back,) = compile_asm(TO_E4B15.replace("CLAMP", CLAMPS[clamp]), "=r,r,r", 4, ("f16",), ("i8",)).run([halves])
    # The conversion clamps to 1.75, the code 0x7E.
    assert back.view(torch.uint8).tolist() == [min(n & 0x7F, 0x7E) | n & 0x80 for n in range(256)]  # type: ignore


@pytest.mark.parametrize(
    ("conversion", "value", "expected"),
    [
        ("cvt.rni.s32.f32", 2.5, 2), ("cvt.rzi.s32.f32", -2.7, -2), ("cvt.rmi.s32.f32", -2.1, -3),
        ("cvt.rpi.s32.f32", 2.1, 3), ("cvt.rzi.s32.f32", 1e20, 2**31 - 1), ("cvt.rzi.s32.f32", -1e20, -(2**31)),
        ("cvt.rzi.s32.f32", math.nan, 0), ("cvt.rzi.u32.f32", -5.0, 0), ("cvt.rzi.u32.f32", 3e9, 3000000000 - 2**32),
        ("cvt.rni.s8.f32", 300.0, 127),
    ],
)  # fmt: skip
def test_float_to_integer(conversion: str, value: float, expected: int) -> None:
    assert run(f"{conversion} $0, $1;", "i32", ("f32", value)) == expected


def test_wide_float_and_integer_conversions() -> None:
    assert run("cvt.rzi.s64.f32 $0, $1;", "i64", ("f32", math.nan)) == -(2**63)
    assert run("cvt.rzi.s64.f64 $0, $1;", "i64", ("f64", 1e30)) == 2**63 - 1
    assert run("cvt.rzi.u64.f64 $0, $1;", "i64", ("f64", 1.5 * 2**63)) == 3 * 2**62 - 2**64
    assert run("cvt.rn.f32.s32 $0, $1;", "f32", ("i32", 2**24 + 1)) == 2.0**24
    assert run("cvt.rp.f32.s32 $0, $1;", "f32", ("i32", 2**24 + 1)) == 2.0**24 + 2
    assert run("cvt.rn.f32.u32 $0, $1;", "f32", ("i32", -1)) == 2.0**32
    assert run("cvt.rn.f64.u64 $0, $1;", "f64", ("i64", -1)) == 2.0**64
    assert run("cvt.rz.f64.u64 $0, $1;", "f64", ("i64", -1)) == 2.0**64 - 2048
    # A value that rounds wrongly when it goes through float64 first.
    assert run("cvt.rn.f32.s64 $0, $1;", "f32", ("i64", 2**60 + 2**36 + 1)) == 2.0**60 + 2.0**37
    assert run("cvt.f64.f32 $0, $1;", "f64", ("f32", 0.5)) == 0.5
    assert run("cvt.rn.f32.f64 $0, $1;", "f32", ("f64", 0.1)) == np.float32(0.1)
    assert run("cvt.rz.f16.f32 $0, $1;", "f16", ("f32", 1 + 2.0**-10 * 0.9)) == 1.0
    assert run("cvt.rz.f16.f32 $0, $1;", "f16", ("f32", 1e9)) == 65504.0
    assert run("cvt.rn.satfinite.f16.f32 $0, $1;", "f16", ("f32", 1e9)) == 65504.0
    assert run("cvt.rn.bf16.f32 $0, $1;", "bf16", ("f32", 1 + 2.0**-8)) == 1.0
    assert run("cvt.rn.relu.bf16.f32 $0, $1;", "bf16", ("f32", -3.0)) == 0.0
    packed = unsigned(run("cvt.rn.bf16x2.f32 $0, $1, $2;", "i32", *f32(1.0, -2.0)))
    assert packed == 0x3F80C000
    assert unsigned(run("cvt.rn.f16x2.f32 $0, $1, $2;", "i32", *f32(1.0, -2.0))) == 0x3C00C000
