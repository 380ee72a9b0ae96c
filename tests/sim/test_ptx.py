"""The PTX interpreter, against values that were worked out by hand or by numpy and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from ptx_machine import Machine, build, f32, float_bits, i32, run, unsigned

from tlxviz.sim.ptx import UnsupportedAsm, atomic_result, compile_asm


@pytest.mark.parametrize(
    ("asm", "operands", "expected"),
    [
        ("add.u32 $0, $1, $2;", (0xFFFFFFFF, 2), 1),
        ("add.sat.s32 $0, $1, $2;", (0x7FFFFFFF, 2), 0x7FFFFFFF),
        ("sub.s32 $0, $1, $2;", (3, 5), 0xFFFFFFFE),
        ("mul.lo.s32 $0, $1, $2;", (0x10001, 0x10001), 0x20001),
        ("mul.hi.u32 $0, $1, $2;", (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE),
        ("mul.hi.s32 $0, $1, $2;", (-1, 2), 0xFFFFFFFF),
        ("mad.lo.s32 $0, $1, $2, $3;", (7, 6, -2), 40),
        ("mad.hi.u32 $0, $1, $2, $3;", (0x80000000, 4, 5), 7),
        ("mul24.lo.u32 $0, $1, $2;", (0xFF000003, 0x11000005), 15),
        ("div.s32 $0, $1, $2;", (-7, 2), -3 & 0xFFFFFFFF),
        ("rem.s32 $0, $1, $2;", (-7, 2), -1 & 0xFFFFFFFF),
        ("div.u32 $0, $1, $2;", (0xFFFFFFFF, 2), 0x7FFFFFFF),
        ("min.u32 $0, $1, $2;", (-1, 2), 2),
        ("min.s32 $0, $1, $2;", (-1, 2), 0xFFFFFFFF),
        ("max.relu.s32 $0, $1, $2;", (-5, -3), 0),
        ("neg.s32 $0, $1;", (5,), 0xFFFFFFFB),
        ("abs.s32 $0, $1;", (-5,), 5),
        ("sad.u32 $0, $1, $2, $3;", (3, 10, 100), 107),
        ("dp4a.s32.s32 $0, $1, $2, $3;", (0xFF020304, 0x02010101, 10), 10 - 2 + 2 + 3 + 4),
        ("and.b32 $0, $1, $2;", (0xF0F0, 0xFF00), 0xF000),
        ("or.b32 $0, $1, 0x0F;", (0xF0,), 0xFF),
        ("xor.b32 $0, $1, $2;", (0xFF, 0x0F), 0xF0),
        ("not.b32 $0, $1;", (0,), 0xFFFFFFFF),
        ("cnot.b32 $0, $1;", (0,), 1),
        ("shl.b32 $0, $1, 4;", (0xF000000F,), 0xF0),
        ("shl.b32 $0, $1, 32;", (1,), 0),
        ("shr.u32 $0, $1, 4;", (0x80000000,), 0x08000000),
        ("shr.s32 $0, $1, 4;", (0x80000000,), 0xF8000000),
        ("shr.s32 $0, $1, 40;", (0x80000000,), 0xFFFFFFFF),
        ("shr.u32 $0, $1, 40;", (0x80000000,), 0),
        ("shf.l.wrap.b32 $0, $1, $2, $3;", (0x80000000, 1, 33), 3),
        ("shf.r.clamp.b32 $0, $1, $2, $3;", (1, 0xABCD, 40), 0xABCD),
        ("bfe.u32 $0, $1, 4, 8;", (0xABCDE,), 0xCD),
        ("bfe.s32 $0, $1, 4, 8;", (0xABCDE,), 0xFFFFFFCD),
        ("bfe.s32 $0, $1, 28, 8;", (0x80000000,), 0xFFFFFFF8),
        ("bfi.b32 $0, $1, $2, 8, 4;", (0xAB, 0xFFFFFFFF), 0xFFFFFBFF),
        ("prmt.b32 $0, $1, $2, 0x7531;", (0x33221100, 0x77665544), 0x77553311),
        ("prmt.b32 $0, $1, $2, 0x0008;", (0x33221180, 0), 0x808080FF),
        ("lop3.b32 $0, $1, $2, $3, 0xea;", (0xF0, 0xCC, 0xAA), (0xF0 & 0xCC) | 0xAA),
        ("lop3.b32 $0, $1, $2, $3, 0x96;", (0xF0, 0xCC, 0xAA), 0xF0 ^ 0xCC ^ 0xAA),
        ("popc.b32 $0, $1;", (0xF0F00001,), 9),
        ("clz.b32 $0, $1;", (0x00010000,), 15),
        ("clz.b32 $0, $1;", (0,), 32),
        ("brev.b32 $0, $1;", (0x00000003,), 0xC0000000),
        ("bfind.u32 $0, $1;", (0x00010000,), 16),
        ("bfind.s32 $0, $1;", (-1,), 0xFFFFFFFF),
        ("slct.b32.s32 $0, $1, $2, $3;", (11, 22, -1), 22),
        ("set.lt.u32.s32 $0, $1, $2;", (-1, 0), 0xFFFFFFFF),
        ("{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }", (-1, 0), 0xFFFFFFFF),
        ("{ .reg .pred p; setp.lo.u32 p, $1, $2; selp.b32 $0, $1, $2, p; }", (-1, 0), 0),
        ("{ .reg .pred p, q; setp.ge.s32 p|q, $1, 5; selp.b32 $0, 1, 2, q; }", (4,), 1),
        ("{ .reg .pred p, q; setp.ge.s32 p, $1, 5; setp.lt.and.s32 q, $1, 9, !p; selp.b32 $0, 1, 2, q; }", (4,), 1),
        ("{ .reg .pred p; setp.eq.b32 p, $1, 5; mov.u32 $0, 1; @p mov.u32 $0, 2; @!p add.u32 $0, $0, 9; }", (5,), 2),
        ("cvt.s32.s8 $0, $1;", (0x1FF,), 0xFFFFFFFF),
        ("cvt.u32.u8 $0, $1;", (0x1FE,), 0xFE),
        ("cvt.sat.u8.s32 $0, $1;", (-5,), 0),
        ("cvt.sat.s8.s32 $0, $1;", (300,), 127),
        ("label: mov.b32 $0, $1;", (5,), 5),
    ],
)  # fmt: skip
def test_integer_instructions(asm: str, operands: tuple[int, ...], expected: int) -> None:
    assert unsigned(run(asm, "i32", *i32(*operands))) == expected
    columns = [torch.full((2, 3), (value + 2**31) % 2**32 - 2**31, dtype=torch.int32) for value in operands]
    (tensor,) = build(asm, "i32", *["i32"] * len(operands)).run(columns)
    assert isinstance(tensor, torch.Tensor)
    assert tensor.shape == (2, 3)
    assert tensor.dtype == torch.int32
    assert {unsigned(value) for value in tensor.reshape(-1).tolist()} == {expected}


@pytest.mark.parametrize("op", ["mul.hi.s64", "mul.hi.u64", "mul.lo.s64", "add.u64", "max.u64", "div.u64", "shr.u64"])
def test_64_bit_integers(op: str) -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(-(2**63), 2**63 - 1, (2, 50))
    if op == "shr.u64":
        b = b & 63
    operand = "cvt.u32.u64 s, $2; shr.u64 $0, $1, s;" if op == "shr.u64" else f"{op} $0, $1, $2;"
    program = build("{ .reg .u32 s; " + operand + " }", "i64", "i64", "i64")
    got = program.run([torch.from_numpy(a), torch.from_numpy(b)])[0]
    assert isinstance(got, torch.Tensor)
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        u, v = x % 2**64, y % 2**64
        exact = {
            "mul.hi.s64": x * y >> 64, "mul.hi.u64": u * v >> 64, "mul.lo.s64": x * y, "add.u64": u + v,
            "max.u64": max(u, v), "div.u64": u // max(v, 1), "shr.u64": u >> (v & 63),
        }  # fmt: skip
        assert z % 2**64 == exact[op] % 2**64


def test_wide_multiply_and_halves() -> None:
    asm = "{ .reg .u64 prod; mul.wide.u32 prod, $2, $3; mov.b64 {$1, $0}, prod; }"
    high, low = compile_asm(asm, "=r,=r,r,r", 1, ("i32", "i32"), ("i32", "i32")).run([-1, -1])
    assert (unsigned(high), unsigned(low)) == (0xFFFFFFFE, 1)
    assert run("mad.wide.s32 $0, $1, $2, $3;", "i64", ("i32", -3), ("i32", 2**30), ("i64", 5)) == -3 * 2**30 + 5


@pytest.mark.parametrize(
    ("asm", "operands", "expected"),
    [
        ("add.f32 $0, $1, $2;", (1.5, 2.0), 3.5),
        ("add.rn.ftz.f32 $0, $1, $2;", (1e-39, 0.0), 0.0),
        ("add.rz.f32 $0, $1, $2;", (1.0, -(2.0**-30)), 1 - 2**-24),
        ("add.rp.f32 $0, $1, $2;", (1.0, 2.0**-30), 1 + 2**-23),
        ("add.rm.f32 $0, $1, $2;", (1.0, 2.0**-30), 1.0),
        ("add.sat.f32 $0, $1, $2;", (1.0, 2.0), 1.0),
        ("sub.f32 $0, $1, $2;", (1.5, 2.0), -0.5),
        ("mul.f32 $0, $1, 0f40000000;", (1.5,), 3.0),
        ("mul.f32 $0, $1, 2.5;", (2.0,), 5.0),
        ("mul.rz.f32 $0, $1, $2;", (1 + 2.0**-23, 1 + 2.0**-23), 1 + 2**-22),
        ("fma.rn.f32 $0, $1, $2, $3;", (1 + 2.0**-12, 1 + 2.0**-12, -1.0), 2.0**-11 + 2.0**-24),
        ("mad.rn.f32 $0, $1, $2, $3;", (2.0, 3.0, 4.0), 10.0),
        ("div.rn.f32 $0, $1, $2;", (1.0, 4.0), 0.25),
        ("div.full.f32 $0, $1, $2;", (1.0, 4.0), 0.25),
        ("div.approx.ftz.f32 $0, $1, $2;", (1.0, 4.0), 0.25),
        ("div.rp.f32 $0, $1, $2;", (1.0, 3.0), 0.3333333432674408),
        ("div.rm.f32 $0, $1, $2;", (1.0, 3.0), 0.3333333134651184),
        ("rcp.approx.f32 $0, $1;", (8.0,), 0.125),
        ("rsqrt.approx.f32 $0, $1;", (4.0,), 0.5),
        ("sqrt.rn.f32 $0, $1;", (9.0,), 3.0),
        ("sqrt.rp.f32 $0, $1;", (2.0,), 1.4142136573791504),
        ("sqrt.rz.f32 $0, $1;", (2.0,), 1.4142135381698608),
        ("ex2.approx.ftz.f32 $0, $1;", (3.0,), 8.0),
        ("lg2.approx.f32 $0, $1;", (8.0,), 3.0),
        ("sin.approx.f32 $0, $1;", (0.0,), 0.0),
        ("cos.approx.f32 $0, $1;", (0.0,), 1.0),
        ("neg.f32 $0, $1;", (2.0,), -2.0),
        ("abs.f32 $0, $1;", (-2.0,), 2.0),
        ("min.f32 $0, $1, $2;", (math.nan, 2.0), 2.0),
        ("max.f32 $0, $1, $2;", (2.0, math.nan), 2.0),
        ("max.f32 $0, $1, $2, $3;", (2.0, 7.0, 3.0), 7.0),
        ("max.NaN.f32 $0, $1, $2;", (2.0, math.nan), math.nan),
        ("min.xorsign.abs.f32 $0, $1, $2;", (-2.0, 3.0), -2.0),
        ("copysign.f32 $0, $1, $2;", (-1.0, 3.0), -3.0),
        ("cvt.rni.f32.f32 $0, $1;", (2.5,), 2.0),
        ("cvt.rzi.f32.f32 $0, $1;", (-2.5,), -2.0),
        ("cvt.rmi.f32.f32 $0, $1;", (-2.5,), -3.0),
        ("cvt.sat.f32.f32 $0, $1;", (1.5,), 1.0),
        ("{ .reg .b32 t; cvt.rna.tf32.f32 t, $1; mov.b32 $0, t; }", (1 + 2.0**-11,), 1 + 2.0**-10),
        ("{ .reg .b32 t; cvt.rn.tf32.f32 t, $1; mov.b32 $0, t; }", (1 + 2.0**-11,), 1.0),
        ("set.gt.f32.f32 $0, $1, $2;", (2.0, 1.0), 1.0),
        ("{ .reg .pred p; testp.infinite.f32 p, $1; selp.f32 $0, 0f3F800000, 0f00000000, p; }", (math.inf,), 1.0),
    ],
)  # fmt: skip
def test_float_instructions(asm: str, operands: tuple[float, ...], expected: float) -> None:
    got = run(asm, "f32", *f32(*operands))
    assert got == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_signed_zeros_are_ordered() -> None:
    for first, second in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, run("max.f32 $0, $1, $2;", "f32", *f32(first, second))) == 1  # type: ignore[arg-type]
        assert math.copysign(1, run("min.f32 $0, $1, $2;", "f32", *f32(first, second))) == -1  # type: ignore[arg-type]


@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_with_nan(comparison: str) -> None:
    for suffix, expected in (("", 0), ("u", 1)):
        asm = "{ .reg .pred p; setp." + comparison + suffix + ".f32 p, $1, $2; selp.u32 $0, 1, 0, p; }"
        assert run(asm, "i32", *f32(math.nan, 1.0)) == expected


def test_f64_fma_rounds_once() -> None:
    a = 1 + 2.0**-30
    assert run("fma.rn.f64 $0, $1, $2, $3;", "f64", ("f64", a), ("f64", a), ("f64", -(1 + 2.0**-29))) == 2.0**-60
    assert run("add.rp.f64 $0, $1, $2;", "f64", ("f64", 1.0), ("f64", 2.0**-80)) == 1 + 2.0**-52
    assert run("mul.f64 $0, $1, 0d4000000000000000;", "f64", ("f64", 3.0)) == 6.0


def test_fma_f32_equals_the_exact_sum_rounded() -> None:
    from fractions import Fraction

    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 200, generator=generator)
    c = -(a * b) * (1 + torch.randn(200, generator=generator) * 1e-7)
    (got,) = build("fma.rn.f32 $0, $1, $2, $3;", "f32", "f32", "f32", "f32").run([a, b, c])
    assert isinstance(got, torch.Tensor)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        others = (np.nextafter(np.float32(r), np.float32(side)) for side in (-np.inf, np.inf))
        assert all(abs(exact - Fraction(r)) <= abs(exact - Fraction(float(other))) for other in others)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_half_types(kind: str) -> None:
    dtype = torch.float16 if kind == "f16" else torch.bfloat16
    a, b, c = (torch.randn(64).to(dtype) for _ in range(3))
    assert torch.equal(build(f"add.{kind} $0, $1, $2;", kind, kind, kind).run([a, b])[0], a + b)
    assert torch.equal(build(f"mul.rn.{kind} $0, $1, $2;", kind, kind, kind).run([a, b])[0], a * b)
    expected = (a.double() * b.double() + c.double()).float().to(dtype)
    assert torch.equal(build(f"fma.rn.{kind} $0, $1, $2, $3;", kind, kind, kind, kind).run([a, b, c])[0], expected)
    relu = build(f"fma.rn.relu.{kind} $0, $1, $2, $3;", kind, kind, kind, kind).run([a, b, c])[0]
    assert torch.equal(relu, expected.clamp(min=0))
    # Two elements share a register.
    packed = compile_asm(f"fma.rn.{kind}x2 $0, $1, $2, $3;", "=r,r,r,r", 2, (kind,) * 3, (kind,)).run([a, b, c])[0]
    assert torch.equal(packed, expected)
    (largest,) = compile_asm(f"max.{kind}x2 $0, $1, $2;", "=r,r,r", 2, (kind,) * 2, (kind,)).run([a, b])
    assert torch.equal(largest, torch.maximum(a, b))
    (tanh,) = compile_asm(f"tanh.approx.{kind}x2 $0, $1;", "=r,r", 2, (kind,), (kind,)).run([a])
    assert torch.equal(tanh, torch.tanh(a))


F32X2 = """
{
    .reg .b64 ra, rb, rc;
    mov.b64 ra, { $2, $3 };
    mov.b64 rb, { $4, $5 };
    OP.f32x2 rc, ra, rb;
    mov.b64 { $0, $1 }, rc;
}
"""


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_f32x2(op: str) -> None:
    a, b = torch.randn(2, 8, 16)
    program = compile_asm(F32X2.replace("OP", op), "=r,=r,r,r,r,r", 2, ("f32", "f32"), ("f32",))
    assert torch.equal(program.run([a, b])[0], {"add": a + b, "sub": a - b, "mul": a * b}[op])
    assert program.run([3.0, 2.0]) == ({"add": 5.0, "sub": 1.0, "mul": 6.0}[op],)


def test_f32x2_fma_and_64_bit_operands() -> None:
    a, b, c = torch.randn(3, 4, 8)
    asm = (
        "{ .reg .b64 ra, rb, rc, rd; mov.b64 ra, { $2, $3 }; mov.b64 rb, { $4, $5 }; mov.b64 rc, { $6, $7 };"
        " fma.rn.f32x2 rd, ra, rb, rc; mov.b64 { $0, $1 }, rd; }"
    )
    got = compile_asm(asm, "=r,=r,r,r,r,r,r,r", 2, ("f32",) * 3, ("f32",)).run([a, b, c])[0]
    assert torch.equal(got, (a.double() * b.double() + c.double()).float())
    packed = build("add.f32x2 $0, $1, $2;", "i64", "i64", "i64").run([a.view(torch.int64), b.view(torch.int64)])[0]
    assert isinstance(packed, torch.Tensor)
    assert torch.equal(packed.view(torch.float32), a + b)


def test_sum_of_four_tensors_with_two_results() -> None:
    p = torch.randn(4, 4, 4)
    asm = (
        "{ .reg .b64 rc, ra, rb; mov.b64 ra, { $2, $4 }; mov.b64 rb, { $3, $5 };"
        " add.f32x2 rc, ra, rb; mov.b64 { $0, $1 }, rc; }"
    )
    first, second = compile_asm(asm, "=r,=r,r,r,r,r", 1, ("f32",) * 4, ("f32", "f32")).run(list(p))
    assert torch.equal(first, p[0] + p[1])
    assert torch.equal(second, p[2] + p[3])


def test_documented_triton_example() -> None:
    asm = """
    {
        // Unpack `a` into `ai`.
        .reg .b8 tmp<4>;
        mov.b32 {tmp0, tmp1, tmp2, tmp3}, $8;
        cvt.u32.u8 $0, tmp0;
        cvt.u32.u8 $1, tmp1;
        cvt.u32.u8 $2, tmp2;
        cvt.u32.u8 $3, tmp3;
    }
    // Convert `ai` to float.
    cvt.rn.f32.s32 $4, $0;
    cvt.rn.f32.s32 $5, $1;
    cvt.rn.f32.s32 $6, $2;
    cvt.rn.f32.s32 $7, $3;
    max.f32 $4, $4, $9;
    max.f32 $5, $5, $10;
    max.f32 $6, $6, $11;
    max.f32 $7, $7, $12;
    """
    program = compile_asm(asm, "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r", 4, ("i8", "f32"), ("i32", "f32"))
    a = torch.arange(32).to(torch.int8).reshape(4, 8)
    b = torch.linspace(0, 40, 32).reshape(4, 8)
    whole, largest = program.run([a, b])
    assert torch.equal(whole, a.to(torch.int32))
    assert torch.equal(largest, torch.maximum(a.float(), b))


def test_constants() -> None:
    assert run("mov.b32 $0, 0f3F800000;", "f32") == 1.0
    assert run("mov.f32 $0, 1.5;", "f32") == 1.5
    assert run("mov.f64 $0, 0d3FF8000000000000;", "f64") == 1.5
    assert run("mov.u32 $0, 0b101;", "i32") == 5
    assert run("mov.u32 $0, 017;", "i32") == 15
    assert run("mov.s32 $0, -1;", "i32") == -1
    assert run("mov.u32 $0, WARP_SZ;", "i32") == 32
    assert float_bits(run("mov.b32 $0, 0x40490fdb;", "f32")) == 0x40490FDB


def test_scopes_percent_names_and_comments() -> None:
    asm = """
    /* outer */ .reg .b32 %r<3>;
    mov.b32 %r1, $1;  // an operand
    { .reg .b32 %r1; mov.b32 %r1, 100; add.u32 %r2, %r1, 1; }
    add.u32 $0, %%r1, %r2;
    """
    assert run(asm, "i32", ("i32", 5)) == 106


def test_tied_operand_and_clobbers() -> None:
    program = compile_asm("add.u32 $0, $0, $2;", "=r,0,r,~{memory}", 1, ("i32", "i32"), ("i32",))
    assert program.run([40, 2]) == (42,)


def test_predicate_results_and_operands() -> None:
    program = build("setp.lt.f32 $0, $1, $2;", "i1", "f32", "f32")
    (less,) = program.run([torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0])])
    assert isinstance(less, torch.Tensor)
    assert less.dtype == torch.bool
    assert less.tolist() == [True, False]
    (chosen,) = build("selp.f32 $0, $1, $2, $3;", "f32", "f32", "f32", "i1").run([1.0, 2.0, True])
    assert chosen == 1.0


def test_a_count_that_does_not_fill_the_last_group() -> None:
    a = torch.arange(6, dtype=torch.int8)
    (got,) = compile_asm("add.u32 $0, $1, 0x01010101;", "=r,r", 4, ("i8",), ("i8",)).run([a])
    assert torch.equal(got, a + 1)
    assert compile_asm("add.u32 $0, $1, 0x01010101;", "=r,r", 4, ("i8",), ("i8",)).run([7]) == (8,)


def test_special_registers() -> None:
    machine = Machine()
    assert compile_asm("mov.u32 $0, %smid;", "=r", 1, (), ("i32",)).run([], machine) == (7,)
    assert compile_asm("mov.u64 $0, %globaltimer;", "=l", 1, (), ("i64",)).run([], machine) == (1 << 40,)
    assert compile_asm("mov.u32 $0, %tid.x;", "=r", 1, (), ("i32",)).run([], machine) == (37,)
    with pytest.raises(UnsupportedAsm, match="machine around"):
        compile_asm("mov.u32 $0, %smid;", "=r", 1, (), ("i32",)).run([])


def test_instructions_that_order_or_wait() -> None:
    machine = Machine()
    asm = "membar.gl; fence.acq_rel.gpu; bar.sync 0; nanosleep.u32 100; prefetch.global.L2 [$1]; griddepcontrol.wait;"
    compile_asm(asm + " // dummy $0", "=r,l", 1, ("ptr",), ("i32",)).run([0], machine)
    names = ["membar.gl", "fence.acq_rel.gpu", "bar.sync"]
    assert machine.log == [*(("fence", name) for name in names), ("sleep", 100), ("fence", "griddepcontrol.wait")]
    assert compile_asm("// PROBE 3 $0", "=r,~{memory}", 1, (), ("i32",)).run([], machine) == (0,)


def test_loads_and_stores() -> None:
    machine = Machine()
    compile_asm("st.global.release.gpu.u32 [$1+4], $2;", "=r,l,r", 1, ("ptr", "i32"), ("i32",)).run([60, -2], machine)
    assert machine.memory == {64: 0xFE, 65: 0xFF, 66: 0xFF, 67: 0xFF}
    assert build("ld.global.acquire.sys.s32 $0, [$1];", "i32", "ptr").run([64], machine) == (-2,)
    assert machine.log == [("load", 64, "s32", "acquire", "sys", "global")]
    assert build("ld.global.s8 $0, [$1];", "i32", "ptr").run([64], machine) == (-2,)
    assert build("ld.global.u8 $0, [$1];", "i32", "ptr").run([64], machine) == (254,)
    pointers = torch.tensor([100, 104, 108])
    mask = torch.tensor([1, 0, 1], dtype=torch.int32)
    asm = "{ .reg .pred p; setp.ne.s32 p, $3, 0; @p st.global.f32 [$1], $2; mov.u32 $0, 0; }"
    program = compile_asm(asm, "=r,l,f,r", 1, ("ptr", "f32", "i32"), ("i32",))
    program.run([pointers, torch.tensor([1.0, 2.0, 3.0]), mask], machine)
    (loaded,) = build("ld.volatile.global.f32 $0, [$1];", "f32", "ptr").run([pointers], machine)
    assert isinstance(loaded, torch.Tensor)
    assert loaded.tolist() == [1.0, 0.0, 3.0]
    pair = compile_asm("ld.global.v2.f32 {$0, $1}, [$2];", "=f,=f,l", 1, ("ptr",), ("f32", "f32")).run([104], machine)
    assert pair == (0.0, 3.0)
    asm = "{ .reg .pred p; setp.ne.s32 p, $2, 0; mov.u32 $0, 77; @p ld.global.u32 $0, [$1]; }"
    (kept,) = build(asm, "i32", "ptr", "i32").run([torch.tensor([64, 64]), torch.tensor([0, 1]).int()], machine)
    assert kept.tolist() == [77, -2]  # type: ignore[union-attr]


def test_atomics() -> None:
    machine = Machine()
    add = build("atom.global.acq_rel.gpu.add.u32 $0, [$1], $2;", "i32", "ptr", "i32")
    (old,) = add.run([torch.tensor([64, 64, 68]), torch.tensor([5, 6, 7], dtype=torch.int32)], machine)
    assert old.tolist() == [0, 5, 0]  # type: ignore[union-attr]
    assert machine.memory[64] == 11
    swap = build("atom.global.release.sys.cas.b32 $0, [$1], $2, $3;", "i32", "ptr", "i32", "i32")
    assert swap.run([64, 10, 1], machine) == (11,)
    assert machine.memory[64] == 11
    assert swap.run([64, 11, 1], machine) == (11,)
    assert machine.memory[64] == 1
    compile_asm("red.global.add.f32 [$1], $2;", "=r,l,f", 1, ("ptr", "f32"), ("i32",)).run([200, 1.5], machine)
    assert build("ld.global.f32 $0, [$1];", "f32", "ptr").run([200], machine) == (1.5,)


@pytest.mark.parametrize(
    ("op", "kind", "old", "value", "expected"),
    [
        ("add", "u32", 0xFFFFFFFF, 2, 1), ("min", "s32", 0xFFFFFFFF, 2, 0xFFFFFFFF), ("min", "u32", 0xFFFFFFFF, 2, 2),
        ("max", "u64", 2**63, 1, 2**63), ("inc", "u32", 4, 4, 0), ("inc", "u32", 3, 4, 4), ("dec", "u32", 0, 4, 4),
        ("and", "b32", 6, 3, 2), ("xor", "b32", 6, 3, 5), ("or", "b64", 6, 3, 7), ("exch", "b32", 6, 3, 3),
        ("add", "f32", float_bits(1.0), float_bits(2.0), float_bits(3.0)),
        ("add", "f16x2", 0x3C003C00, 0x3C000000, 0x40003C00),
    ],
)  # fmt: skip
def test_atomic_result(op: str, kind: str, old: int, value: int, expected: int) -> None:
    assert atomic_result(op, kind, old, value) == expected


def test_spin_loop_waits_for_another_program() -> None:
    machine = Machine()
    machine.release_after = 3
    asm = """
    {
        .reg .u32 %tmp32_<1>;
        .reg .pred %p<1>;
        wait_signal:
            atom.global.acquire.sys.cas.b32 %tmp32_0, [$1], 1, 0;
            setp.eq.u32 %p0, %tmp32_0, 1;
            @!%p0 bra wait_signal;
        mov.u32 $0, %tmp32_0;
    }
    """
    assert build(asm, "i32", "ptr").run([64], machine) == (1,)
    assert machine.spins == 3
    assert machine.memory[64] == 0


def test_branches_differ_between_elements() -> None:
    asm = (
        "{ .reg .pred p; mov.u32 $0, 1; again: setp.ge.s32 p, $0, $1; @p bra done;"
        " add.u32 $0, $0, $0; bra again; done: }"
    )
    (got,) = build(asm, "i32", "i32").run([torch.tensor([[1, 5], [9, 16]], dtype=torch.int32)], Machine())
    assert got.tolist() == [[1, 8], [16, 16]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asm", "reason"),
    [
        ("redux.sync.max.s32 $0, $1, 0xFFFFFFFF;", "supported for .max and .min of .f32"),
        ("shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "lanes"),
        ("vote.sync.ballot.b32 $0, 1, -1;", "lanes"),
        ("frobnicate.b32 $0, $1;", "frobnicate is not supported"),
        ("add.cc.u32 $0, $1, $1;", "modifier .cc"),
        ("mov.b32 $0, nowhere;", "nowhere is neither"),
        ("mov.b32 $0, $7;", "no constraint"),
        ("bra elsewhere;", "elsewhere"),
        (".shared .b32 x;", "directive"),
        ("cvt.s32.f32 $0, $1;", "rni"),
        ("add.u32 $0, $1;", "expected 2"),
        ("v_mov_b32 $0, $1", "not supported"),
        ("}", "closing brace"),
    ],
)
def test_refusals_name_the_instruction_and_the_text(asm: str, reason: str) -> None:
    with pytest.raises(UnsupportedAsm) as caught:
        build("mov.u32 $0, 1; " + asm, "i32", "i32")
    text = str(caught.value)
    assert reason in text
    assert f"`{asm.rstrip(';') or asm}`" in text
    assert "mov.u32 $0, 1;" in text


def test_wrong_constraints_and_types() -> None:
    with pytest.raises(UnsupportedAsm, match="1 constraints for 2 registers"):
        compile_asm("mov.b32 $0, $1;", "=r,r", 2, ("f32",), ("f16",))
    with pytest.raises(UnsupportedAsm, match="types"):
        compile_asm("mov.b32 $0, $1;", "=r,r", 1, ("i128",), ("i32",))
    with pytest.raises(UnsupportedAsm, match="constraints are"):
        compile_asm("mov.b32 $0, $1;", "=v,v", 1, ("i32",), ("i32",))


def test_compiled_once() -> None:
    assert build("mov.b32 $0, $1;", "i32", "i32") is build("mov.b32 $0, $1;", "i32", "i32")
