"""Integer arithmetic of `arith`, exact for every width and every way in which operands are held."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from kernel_runner import executes
from op_programs import SIZE, TORCH, apply, forms_of, spread

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def numbers(name: str, seed: int) -> torch.Tensor:
    """The corners of a type and random numbers, shuffled."""
    bits = BITS[name]
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    corners = [0, 1, -1, low, high, low + 1, high - 1, 2, -2, 7, -7, 3, bits, bits - 1]
    rng = random.Random(seed)
    found = [signed(corner, bits) for corner in corners] + [rng.randint(low, high) for _ in range(SIZE)]
    found = found[:SIZE]
    rng.shuffle(found)
    return torch.tensor(found, dtype=torch.int64).to(TORCH[name])


Function = Callable[[int, int, int], int]

PLAIN: dict[str, Function] = {
    "arith.addi": lambda a, b, n: a + b,
    "arith.subi": lambda a, b, n: a - b,
    "arith.muli": lambda a, b, n: a * b,
    "arith.andi": lambda a, b, n: a & b,
    "arith.ori": lambda a, b, n: a | b,
    "arith.xori": lambda a, b, n: a ^ b,
    "arith.maxsi": lambda a, b, n: max(a, b),
    "arith.minsi": lambda a, b, n: min(a, b),
    "arith.maxui": lambda a, b, n: max(unsigned(a, n), unsigned(b, n)),
    "arith.minui": lambda a, b, n: min(unsigned(a, n), unsigned(b, n)),
}
EXTREMES = ("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui")
DIVISIONS: dict[str, Function] = {
    "arith.divsi": lambda a, b, n: truncated(a, b) if b else -1,
    "arith.remsi": lambda a, b, n: a - truncated(a, b) * b if b else a,
    "arith.divui": lambda a, b, n: unsigned(a, n) // unsigned(b, n) if b else -1,
    "arith.remui": lambda a, b, n: unsigned(a, n) % unsigned(b, n) if b else a,
    "arith.floordivsi": lambda a, b, n: a // b if b else -1,
    "arith.ceildivsi": lambda a, b, n: -(-a // b) if b else -1,
    "arith.ceildivui": lambda a, b, n: -(-unsigned(a, n) // unsigned(b, n)) if b else -1,
}
SHIFTS: dict[str, Function] = {
    "arith.shli": lambda a, b, n: a << b if 0 <= b < n else 0,
    "arith.shrsi": lambda a, b, n: a >> b if 0 <= b < n else -(a < 0),
    "arith.shrui": lambda a, b, n: unsigned(a, n) >> b if 0 <= b < n else 0,
}


def check(
    operation: str, function: Function, name: str, a: torch.Tensor, b: torch.Tensor, forms: tuple[str, ...]
) -> None:
    bits = BITS[name]
    got = apply(lambda x, t: f"%r = {operation} {x[0]}, {x[1]} : {t(name)}", [a, b], name, forms)
    x, y = (
        [-int(v) if bits == 1 else int(v) for v in spread(tensor, form)]
        for tensor, form in zip((a, b), forms, strict=True)
    )
    wanted = [signed(function(p, q, bits), bits) for p, q in zip(x, y, strict=True)][: len(got)]
    assert got.tolist() == [bool(v) for v in wanted] if bits == 1 else got.tolist() == wanted


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i1", "i8", "i16", "i32", "i64"])
@executes("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori")
def test_arithmetic_wraps(name: str, forms: tuple[str, ...]):
    for number, (operation, function) in enumerate(PLAIN.items()):
        if name != "i1" or operation not in EXTREMES:
            check(operation, function, name, numbers(name, number), numbers(name, number + 100), forms)


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
@executes("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui")
def test_extremes(name: str, forms: tuple[str, ...]):
    for operation in EXTREMES:
        check(operation, PLAIN[operation], name, numbers(name, 1), numbers(name, 2), forms)


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
@executes(*DIVISIONS)
def test_division_truncates_and_never_traps(name: str, forms: tuple[str, ...]):
    for operation, function in DIVISIONS.items():
        a, b = numbers(name, 3), numbers(name, 4)
        low = torch.iinfo(a.dtype).min
        a[1], b[1] = low, -1
        a[2], b[2] = low, 0
        check(operation, function, name, a, b, forms)
        check(operation, function, name, torch.full_like(a, low), torch.full_like(b, -1), forms)
        check(operation, function, name, torch.full_like(a, -7), torch.full_like(b, 2), forms)


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
@executes(*SHIFTS)
def test_shifts_by_the_width_or_more_leave_nothing(name: str, forms: tuple[str, ...]):
    bits = BITS[name]
    by = torch.arange(SIZE) % (bits + 3)
    for operation, function in SHIFTS.items():
        for first in (1, 0, bits - 1, bits, bits + 2):
            check(operation, function, name, numbers(name, 5), by.roll(-first).to(TORCH[name]), forms)


PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i1", "i8", "i16", "i32", "i64"])
@executes("arith.cmpi")
def test_comparisons_signed_and_unsigned(name: str, forms: tuple[str, ...]):
    bits = BITS[name]
    for sign in ("", "s", "u"):
        for short, function in PREDICATES.items():
            if (sign == "") != (short in ("eq", "ne")):
                continue
            a, b = numbers(name, 6), numbers(name, 7)
            b[::5] = a[::5]
            got = apply(
                lambda x, t, p=sign + short: f"%r = arith.cmpi {p}, {x[0]}, {x[1]} : {t(name)}", [a, b], "i1", forms
            )
            x, y = (
                [signed(int(v), bits) for v in spread(tensor, form)] for tensor, form in zip((a, b), forms, strict=True)
            )
            if sign == "u":
                x, y = [unsigned(v, bits) for v in x], [unsigned(v, bits) for v in y]
            assert got.tolist() == [function(p, q) for p, q in zip(x, y, strict=True)][: len(got)]


@pytest.mark.parametrize("forms", forms_of(2), ids="-".join)
@pytest.mark.parametrize("name", ["i32", "i64"])
@executes("tt.mulhiui")
def test_upper_half_of_a_product(name: str, forms: tuple[str, ...]):
    check(
        "tt.mulhiui",
        lambda a, b, n: unsigned(a, n) * unsigned(b, n) >> n,
        name,
        numbers(name, 8),
        numbers(name, 9),
        forms,
    )


@pytest.mark.parametrize("forms", forms_of(3), ids="-".join)
@executes("arith.select")
def test_select_of_values(forms: tuple[str, ...]):
    flags = torch.rand(SIZE) < 0.5
    for value in (True, False):
        flags[0] = value
        for name in ("i1", "i8", "i64"):
            a, b = numbers(name, 10), numbers(name, 11)
            got = apply(
                lambda x, t, n=name: (
                    f"%r = arith.select {x[0]}, {x[1]}, {x[2]} : " + (n if t(n) == n else f"{t('i1')}, {t(n)}")
                ),
                [flags, a, b],
                name,
                forms,
            )
            p, x, y = (spread(tensor, form) for tensor, form in zip((flags, a, b), forms, strict=True))
            assert torch.equal(got, torch.where(p, x, y)[: len(got)])
