"""Float arithmetic of `arith` and `math`: rounding, NaN rules, comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from kernel_runner import executes
from op_programs import SIZE, TORCH, apply, forms_of, same, spread

FLOATS = ["f64", "f32", "f16", "bf16"]
Torch = Callable[..., torch.Tensor]


def numbers(name: str, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    found = torch.randn(SIZE, generator=generator, dtype=torch.float64) * 4
    corners = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 65504.0, 3e38, 1e-7, 1e-40, 0.1]
    found[torch.randperm(SIZE, generator=generator)[: len(corners)]] = torch.tensor(corners, dtype=torch.float64)
    return found.to(TORCH[name])


def check(operation: str, function: Torch, name: str, operands: list[torch.Tensor], forms: tuple[str, ...]) -> None:
    got = apply(lambda x, t: f"%r = {operation} {', '.join(x)} : {t(name)}", operands, name, forms)
    wanted = function(*(spread(tensor, form) for tensor, form in zip(operands, forms, strict=True)))
    assert same(got, wanted.to(TORCH[name])[: len(got)]), operation


def with_firsts(name: str, seed: int) -> list[list[torch.Tensor]]:
    """Pairs of operands whose first elements, which splats repeat, are the corners of the type."""
    pairs: list[list[torch.Tensor]] = []
    for a, b in [(0.1, 0.3), (math.nan, 1.0), (1.0, math.nan), (math.inf, -1.0), (0.0, 0.0), (5.5, -0.0), (-2.0, 1e-3)]:
        x, y = numbers(name, seed), numbers(name, seed + 1)
        x[0], y[0] = a, b
        pairs.append([x, y])
    return pairs


ARITHMETIC: dict[str, Torch] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.remf": torch.fmod,
    "arith.maxnumf": torch.fmax,
    "arith.minnumf": torch.fmin,
    "arith.maximumf": torch.maximum,
    "arith.minimumf": torch.minimum,
}


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", FLOATS)
@executes(*ARITHMETIC, "tt.precise_divf")
def test_arithmetic(name: str, forms: tuple[str, ...]):
    for operands in with_firsts(name, 1):
        for operation, function in ARITHMETIC.items():
            check(operation, function, name, operands, forms)
        if name == "f32":
            check("tt.precise_divf", ARITHMETIC["arith.divf"], name, operands, forms)
    if name != "f32":
        check("tt.precise_divf", ARITHMETIC["arith.divf"], name, with_firsts(name, 1)[0], forms)


UNORDERED = {"ord": lambda a, b: ~(a.isnan() | b.isnan()), "uno": lambda a, b: a.isnan() | b.isnan()}
ORDER: dict[str, Torch] = {
    "eq": torch.eq,
    "gt": torch.gt,
    "ge": torch.ge,
    "lt": torch.lt,
    "le": torch.le,
    "ne": torch.ne,
}


def predicates() -> dict[str, Torch]:
    found: dict[str, Torch] = dict(UNORDERED)
    for short, function in ORDER.items():
        found[f"o{short}"] = lambda a, b, f=function: f(a, b) & ~(a.isnan() | b.isnan())
        found[f"u{short}"] = lambda a, b, f=function: f(a, b) | a.isnan() | b.isnan()
    found["false"] = lambda a, b: torch.zeros(a.shape, dtype=torch.bool)
    found["true"] = lambda a, b: torch.ones(a.shape, dtype=torch.bool)
    return found


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", FLOATS)
@executes("arith.cmpf")
def test_comparisons_ordered_and_unordered(name: str, forms: tuple[str, ...]):
    for a, b in with_firsts(name, 3):
        b[::4] = a[::4]
        for predicate, function in predicates().items():
            got = apply(
                lambda x, t, p=predicate: f"%r = arith.cmpf {p}, {x[0]}, {x[1]} : {t(name)}", [a, b], "i1", forms
            )
            wanted = function(spread(a, forms[0]), spread(b, forms[1]))[: len(got)]
            assert torch.equal(got, wanted), predicate


UNARY: dict[str, Torch] = {
    "arith.negf": torch.neg,
    "math.exp": torch.exp,
    "math.exp2": torch.exp2,
    "math.log": torch.log,
    "math.log2": torch.log2,
    "math.log10": torch.log10,
    "math.log1p": torch.log1p,
    "math.expm1": torch.expm1,
    "math.sqrt": torch.sqrt,
    "math.rsqrt": torch.rsqrt,
    "math.sin": torch.sin,
    "math.cos": torch.cos,
    "math.tan": torch.tan,
    "math.tanh": torch.tanh,
    "math.erf": torch.erf,
    "math.atan": torch.atan,
    "math.floor": torch.floor,
    "math.ceil": torch.ceil,
    "math.trunc": torch.trunc,
    "math.roundeven": torch.round,
    "math.absf": torch.abs,
    "tt.precise_sqrt": torch.sqrt,
}


@pytest.mark.parametrize("form", ["dense", "uniform", "scalar"])
@pytest.mark.parametrize("name", FLOATS)
@executes(*UNARY)
def test_functions(name: str, form: str):
    for operation, function in UNARY.items():
        for first in (2.5, -0.0, math.nan, -3.0, math.inf):
            operands = [numbers(name, 5)]
            operands[0][0] = first
            if form == "scalar":  # torch's vectorised functions may differ in the last bit from one on a number
                got = apply(lambda x, t, o=operation: f"%r = {o} {x[0]} : {name}", operands, name, (form,))
                assert same(got, function(operands[0][:1].clone()))
            elif form == "uniform":
                got = apply(lambda x, t, o=operation: f"%r = {o} {x[0]} : {t(name)}", operands, name, (form,))
                assert same(got, function(operands[0][:1].clone()).expand(SIZE))
            else:
                check(operation, function, name, operands, (form,))


@pytest.mark.parametrize("form", ["dense", "uniform", "scalar"])
@executes("math.round", "math.absi")
def test_rounding_away_from_zero_and_integer_magnitude(form: str):
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -2.5, 1e9, 0.49999997, math.nan] * 16)
    got = apply(lambda v, t: f"%r = math.round {v[0]} : {t('f32')}", [x], "f32", (form,))
    away = torch.tensor([1.0, 2.0, 3.0, -1.0, -3.0, 1e9, 0.0, math.nan] * 16)
    assert same(got, spread(away, form)[: len(got)])
    numbers_ = torch.tensor([-5, 5, 0, -(2**31), 2**31 - 1, -1, 1, 7] * 16, dtype=torch.int32)
    got = apply(lambda v, t: f"%r = math.absi {v[0]} : {t('i32')}", [numbers_], "i32", (form,))
    assert torch.equal(got, spread(numbers_.abs(), form)[: len(got)])


@pytest.mark.parametrize("forms", forms_of(3), ids="-".join)
@executes("math.fma")
def test_multiply_add_rounds_once(forms: tuple[str, ...]):
    step = 2.0**-12
    a, b = torch.full((SIZE,), 1 + step), torch.full((SIZE,), 1 - step)
    c = torch.full((SIZE,), -1.0)
    check("math.fma", lambda x, y, z: torch.full((SIZE,), -(step**2)), "f32", [a, b, c], forms)
    # the exact sum lies just above the middle of two f32: an f64 in between would fall onto it
    a, b = torch.full((SIZE,), 1 + 2.0**-23), torch.full((SIZE,), 2.0**-24 * (1 + 2.0**-23))
    c = torch.full((SIZE,), 2.0**30)
    check("math.fma", lambda x, y, z: torch.full((SIZE,), 2.0**30), "f32", [a, b, c], forms)
    half = [torch.randn(SIZE).half() for _ in range(3)]
    check("math.fma", lambda x, y, z: (x.double() * y.double() + z.double()).half(), "f16", half, forms)


@pytest.mark.parametrize("forms", forms_of(3), ids="-".join)
@executes("tt.clampf")
def test_clamp_with_and_without_nan(forms: tuple[str, ...]):
    low, high = torch.full((SIZE,), -1.0), torch.full((SIZE,), 1.0)
    for first in (math.nan, 0.25, -7.0, math.inf):
        x = numbers("f32", 7)
        x[0] = first
        for word, keep in (("none", False), ("all", True)):
            got = apply(
                lambda v, t, w=word: f"%r = tt.clampf {v[0]}, {v[1]}, {v[2]}, propagateNan = {w} : {t('f32')}",
                [x, low, high],
                "f32",
                forms,
            )
            wanted = spread(x, forms[0]).clamp(-1.0, 1.0)
            if not keep:
                wanted = torch.where(wanted.isnan(), -1.0, wanted)
            assert same(got, wanted[: len(got)])
