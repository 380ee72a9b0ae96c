"""Conversions between all types: rounding, saturation, signs, bits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from kernel_runner import executes
from op_programs import SIZE, TORCH, apply, same, spread

FORMS = ["dense", "uniform", "scalar"]
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}


def convert(operation: str, x: torch.Tensor, before: str, after: str, form: str, more: str = "") -> torch.Tensor:
    word = "->" if operation.startswith("tt.") else "to"
    return apply(lambda v, t: f"%r = {operation} {v[0]}{more} : {t(before)} {word} {t(after)}", [x], after, (form,))


def firsts(x: torch.Tensor, form: str) -> list[torch.Tensor]:
    """The tensor, and where only its first element counts, some of its rotations."""
    return [x] if form == "dense" else [x.roll(-by) for by in range(0, SIZE, 5)]


def integers(name: str) -> torch.Tensor:
    bits = BITS[name]
    if bits == 1:
        return torch.rand(SIZE) < 0.5
    rng = np.random.default_rng(bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    found = rng.integers(low, high, SIZE, dtype=np.int64, endpoint=True)
    # ties, and neighbours of ties, of the narrower floats
    close = [1 << 24 | 1, (1 << 25) + 3, (1 << 40) + (1 << 16) + 1, 257, 259, 2049, (257 << 20) + 1, (2049 << 9) + 1]
    corners = [0, 1, -1, low, high, *(value for value in close if low <= value <= high)]
    corners += [-value for value in corners if -value >= low and -value <= high]
    found[: len(corners)] = corners
    return torch.from_numpy(found).to(TORCH[name])


def floats(name: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(11)
    scale = torch.tensor([1e-3, 1.0, 100.0, 1e4, 1e6, 1e10, 1e19, 1e30], dtype=torch.float64).repeat(SIZE // 8)
    found = torch.randn(SIZE, generator=generator, dtype=torch.float64) * scale
    corners = [math.nan, math.inf, -math.inf, -0.0, 0.5, -0.5, 127.9, 128.0, -128.9, 255.0, 256.0, 32767.5, 32768.0]
    corners += [2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1.5 * 2**63, 2.0**64 - 2048]
    found[: len(corners)] = torch.tensor(corners, dtype=torch.float64)
    return found.to(TORCH[name])


def nearest(value: Fraction, name: str) -> float:
    """The nearest even f16, bf16, f32 or f64 to a rational number, from first principles."""
    digits, least, most = {
        "f16": (11, -14, 15),
        "bf16": (8, -126, 127),
        "f32": (24, -126, 127),
        "f64": (53, -1022, 1023),
    }[name]
    if value == 0:
        return 0.0
    exponent = max(least, math.frexp(float(abs(value)))[1] - 1)
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > least and abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - digits + 1)
    rounded = round(value / unit) * unit
    return math.copysign(math.inf, value) if abs(rounded) >= Fraction(2) ** (most + 1) else float(rounded)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("before", "after"), list(itertools.combinations(BITS, 2)))
@executes("arith.extsi", "arith.extui", "arith.trunci")
def test_widths(before: str, after: str, form: str):
    bits = BITS[before]
    for x in firsts(integers(before), form):
        wide = spread(x, form).long()
        got = convert("arith.extsi", x, before, after, form)
        assert torch.equal(got, (-wide if bits == 1 else wide).to(TORCH[after])[: len(got)])
        got = convert("arith.extui", x, before, after, form)
        assert torch.equal(got, (wide & ((1 << bits) - 1) if bits < 64 else wide).to(TORCH[after])[: len(got)])
    for x in firsts(integers(after), form):
        got = convert("arith.trunci", x, after, before, form)
        wanted = spread(x, form).long()
        assert torch.equal(got, ((wide_bit(wanted)) if bits == 1 else wanted.to(TORCH[before]))[: len(got)])


def wide_bit(x: torch.Tensor) -> torch.Tensor:
    return (x & 1).bool()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("after", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("before", list(BITS))
@executes("arith.sitofp", "arith.uitofp")
def test_integer_to_float_rounds_once(before: str, after: str, form: str):
    bits = BITS[before]
    for x in firsts(integers(before), form):
        values = [int(v) for v in spread(x, form)]
        for operation, read in (
            ("arith.sitofp", lambda v: -v if bits == 1 else v),
            ("arith.uitofp", lambda v: v & ((1 << bits) - 1)),
        ):
            got = convert(operation, x, before, after, form)
            wanted = torch.tensor([nearest(Fraction(read(v)), after) for v in values], dtype=TORCH[after])
            assert torch.equal(got, wanted[: len(got)]), operation


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("after", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("before", ["f64", "f32", "f16", "bf16"])
@executes("arith.fptosi", "arith.fptoui")
def test_float_to_integer_truncates_and_saturates(before: str, after: str, form: str):
    bits = BITS[after]
    wide = max(16, bits)
    for x in firsts(floats(before), form):
        for operation, low, high in (
            ("arith.fptosi", -(1 << (wide - 1)), (1 << (wide - 1)) - 1),
            ("arith.fptoui", 0, (1 << wide) - 1),
        ):
            got = convert(operation, x, before, after, form)
            wanted: list[int] = []
            for value in spread(x, form).double().tolist():
                if value != value:
                    found = 1 << (wide - 1) if before == "f64" or wide == 64 else 0
                else:
                    found = high if value >= high else low if value <= low else int(value)
                found &= (1 << bits) - 1
                wanted.append(found - (1 << bits) if found >> (bits - 1) else found)
            assert got.tolist() == wanted[: len(got)], operation


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("after", "before"), [*itertools.combinations(["f16", "f32", "f64"], 2), ("bf16", "f32")])
@executes("arith.truncf", "arith.extf")
def test_float_widths(before: str, after: str, form: str):
    for x in firsts(floats(before), form):
        got = convert("arith.truncf", x, before, after, form)
        wanted = [
            nearest(Fraction(v), after) if math.isfinite(v) and v != 0 else v for v in spread(x, form).double().tolist()
        ]
        assert same(got, torch.tensor(wanted, dtype=torch.float64).to(TORCH[after])[: len(got)])
    for x in firsts(floats(after), form):
        got = convert("arith.extf", x, after, before, form)
        assert same(got, spread(x, form).to(TORCH[before])[: len(got)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("after", ["f16", "bf16"])
@executes("arith.truncf")
def test_truncation_from_f64_rounds_once(after: str, form: str):
    digits = 11 if after == "f16" else 8
    tie = 1 + 2.0**-digits
    for value in (tie + 2.0**-40, tie - 2.0**-40, tie, -(tie + 2.0**-50), 3 * tie):
        got = convert("arith.truncf", torch.full((SIZE,), value, dtype=torch.float64), "f64", after, form)
        assert got[0].item() == nearest(Fraction(value), after)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("after", list(LARGEST))
@pytest.mark.parametrize("before", ["f32", "f16", "bf16"])
@executes("tt.fp_to_fp")
def test_fp8_saturates(before: str, after: str, form: str):
    largest = LARGEST[after]
    x = torch.randn(SIZE) * 100
    corners = [math.nan, math.inf, -math.inf, largest, largest * 1.04, -largest * 1.2, 1e30, -0.0, 2.0**-9, 2.0**-17]
    x[: len(corners)] = torch.tensor(corners)
    for y in firsts(x.to(TORCH[before]), form):
        got = convert("tt.fp_to_fp", y, before, after, form, ", rounding = rtne")
        wanted = spread(y, form).float().clamp(-largest, largest).to(TORCH[after])
        assert same(got.float(), wanted.float()[: len(got)])
        back = convert("tt.fp_to_fp", wanted.contiguous(), after, before, form)
        assert same(back, spread(wanted, form).to(TORCH[before])[: len(back)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("before", "after"), [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f16", "f8E5M2")])
@executes("tt.fp_to_fp")
def test_rounding_towards_zero(before: str, after: str, form: str):
    x = floats(before).clamp(-60000, 60000)
    for y in firsts(x, form):
        got = convert("tt.fp_to_fp", y, before, after, form, ", rounding = rtz").double()
        exact = spread(y, form).double()[: len(got)]
        finite = exact.isfinite()
        near = exact.to(TORCH[after]).double()
        assert bool((got.abs() <= exact.abs())[finite & near.isfinite()].all())
        fits = finite & (near.abs() <= exact.abs())
        assert torch.equal(got[fits], near[fits])
        assert bool((got.isnan() == exact.isnan()).all())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f32", "i32"),
        ("i32", "f32"),
        ("f64", "i64"),
        ("f16", "i16"),
        ("bf16", "i16"),
        ("i16", "bf16"),
        ("f8E5M2", "i8"),
    ],
)
@executes("tt.bitcast")
def test_the_same_bits(before: str, after: str, form: str):
    x = (torch.randn(SIZE) * 50).to(TORCH[before])
    for y in firsts(x, form):
        got = convert("tt.bitcast", y, before, after, form)
        assert same(got, spread(y, form).contiguous().view(TORCH[after])[: len(got)])


@executes("arith.bitcast", "arith.index_cast")
def test_other_casts():
    x = torch.randn(SIZE)
    assert torch.equal(convert("arith.bitcast", x, "f32", "i32", "dense"), x.view(torch.int32))
    big = torch.tensor([2**40 + 5] * SIZE)
    got = apply(
        lambda v, t: f"%i = arith.index_cast {v[0]} : i64 to index\n%r = arith.index_cast %i : index to i32",
        [big],
        "i32",
        ("scalar",),
    )
    assert got.tolist() == [5]
