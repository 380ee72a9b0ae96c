"""The functions of NVIDIA's libdevice, which `tt.extern_elementwise` calls by symbol, over torch tensors.

A symbol is either a torch function or one PTX instruction (those with a rounding mode, conversions, bit operations).
Unsigned integers travel as the signed ones of the same width, as in TTGIR. The fast variants are computed to full
accuracy, so their low bits differ from a GPU's.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import torch

from tlxviz._errors import TlxvizError
from tlxviz.sim.ptx import compile_asm, rounding
from tlxviz.sim.ptx.types import raw, where

Number: TypeAlias = "torch.Tensor | int | float"
Extern: TypeAlias = Callable[..., Number]
_Torch: TypeAlias = Callable[..., torch.Tensor]

# It lacks annotations in torch.
_SPECIAL: Any = torch.special

_LETTERS = {"f": "f32", "d": "f64", "i": "i32", "l": "i64"}
_DTYPES = {"f": torch.float32, "d": torch.float64, "i": torch.int32, "l": torch.int64}
_CONSTRAINT = {"f": "f", "d": "d", "i": "r", "l": "l"}


class UnknownExtern(TlxvizError):
    """A libdevice symbol without an implementation here."""


def _fdim(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return where(a > b, a - b, where(torch.isnan(a) | torch.isnan(b), a + b, torch.zeros_like(a)))


def _round_away(a: torch.Tensor) -> torch.Tensor:
    whole = torch.trunc(a)
    return torch.copysign(where((a - whole).abs() >= 0.5, whole.abs() + 1, whole.abs()), a)


def _cbrt(a: torch.Tensor) -> torch.Tensor:
    root = torch.copysign(a.abs().to(torch.float64).pow(1 / 3), a.to(torch.float64))
    # One Newton step takes away the error of the exponent 1/3, which has no exact float64.
    better = root - (root * root * root - a) / (3 * root * root)
    return where(torch.isfinite(better), better, root).to(a.dtype)


def _norm(*parts: torch.Tensor) -> torch.Tensor:
    return torch.sqrt(torch.stack([part.to(torch.float64) ** 2 for part in parts]).sum(0)).to(parts[0].dtype)


def _rcbrt(a: torch.Tensor) -> torch.Tensor:
    return 1 / _cbrt(a)


def _rnorm(*parts: torch.Tensor) -> torch.Tensor:
    return 1 / _norm(*parts)


def _ldexp(a: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    # Two factors, because 2**exponent alone may overflow where the product does not.
    half = torch.div(exponent, 2, rounding_mode="floor")
    wide = torch.ldexp(torch.ldexp(a.to(torch.float64), half), exponent - half)
    return wide.to(a.dtype)


def _exponent(a: torch.Tensor) -> torch.Tensor:
    return torch.frexp(a).exponent - 1


def _ilogb(a: torch.Tensor) -> torch.Tensor:
    low, high = torch.iinfo(torch.int32).min, torch.iinfo(torch.int32).max
    result = where(torch.isinf(a), high, _exponent(a))
    return where((a == 0) | torch.isnan(a), low, result)


def _logb(a: torch.Tensor) -> torch.Tensor:
    result = where(torch.isfinite(a), _exponent(a).to(a.dtype), a.abs())
    return where(a == 0, -math.inf, result)


def _remainder(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The IEEE remainder: the quotient goes to the nearest integer, ties to even."""
    size = b.abs()
    rest = torch.fmod(a.abs(), 2 * size)
    rest = where(torch.isfinite(2 * size), rest, a.abs())
    over = where(2 * (rest - size) >= size, rest - 2 * size, rest - size)
    rest = where(2 * rest > size, over, rest)
    rest = where(torch.isinf(b) & torch.isfinite(a), a.abs(), rest)
    return where(torch.signbit(a), -rest, rest)


def _sinpi(a: torch.Tensor, shift: float = 0.0) -> torch.Tensor:
    reduced = torch.remainder(a.to(torch.float64), 2.0)
    turned = reduced + shift
    # Multiples of pi are no float64: whole numbers of half turns have exact results.
    whole = where(torch.remainder(turned, 1.0) == 0, torch.zeros_like(turned), torch.sin(turned * math.pi))
    return whole.to(a.dtype)


def _pow_int(a: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return torch.pow(a.to(torch.float64), exponent.to(torch.float64)).to(a.dtype)


def _scaled_log(a: torch.Tensor) -> torch.Tensor:
    return torch.exp(a.to(torch.float64) * math.log(10.0)).to(a.dtype)


def _erfc_inverse(a: torch.Tensor) -> torch.Tensor:
    # 1 - a would cancel for a small one; the quantile of the normal distribution does not.
    return (-_SPECIAL.ndtri(a.to(torch.float64) / 2) / math.sqrt(2.0)).to(a.dtype)


def _rsqrt(a: torch.Tensor) -> torch.Tensor:
    """Rounded to nearest, which torch's version for float32 is not."""
    return torch.rsqrt(a.to(torch.float64)).to(a.dtype)


def _as_float(a: torch.Tensor) -> torch.Tensor:
    return a.view(torch.float32)


def _as_double(a: torch.Tensor) -> torch.Tensor:
    return a.view(torch.float64)


def _low_word(a: torch.Tensor) -> torch.Tensor:
    return raw(a).to(torch.int32)


def _high_word(a: torch.Tensor) -> torch.Tensor:
    return (raw(a) >> 32).to(torch.int32)


def _two_words(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    bits = (high.to(torch.int64) << 32) | (low.to(torch.int64) & 0xFFFFFFFF)
    return bits.view(torch.float64)


def _average(a: torch.Tensor, b: torch.Tensor, unsigned: bool, up: bool) -> torch.Tensor:
    mask = 0xFFFFFFFF if unsigned else -1
    total = (a.to(torch.int64) & mask) + (b.to(torch.int64) & mask) + int(up)
    return (total >> 1).to(torch.int32)


def _find_first(a: torch.Tensor) -> torch.Tensor:
    lowest = (a & -a).to(torch.float64).abs()
    return where(a == 0, 0, torch.frexp(lowest).exponent).to(torch.int32)


# Functions that exist for f64 as __nv_NAME and for f32 as __nv_NAMEf. The key says how many operands they take.
_BOTH: dict[int, dict[str, _Torch]] = {
    1: {
        "acos": torch.acos, "acosh": torch.acosh, "asin": torch.asin, "asinh": torch.asinh, "atan": torch.atan,
        "atanh": torch.atanh, "cbrt": _cbrt, "ceil": torch.ceil, "cos": torch.cos, "cosh": torch.cosh,
        "cospi": partial(_sinpi, shift=0.5), "cyl_bessel_i0": _SPECIAL.i0, "cyl_bessel_i1": _SPECIAL.i1,
        "erf": torch.erf, "erfc": torch.erfc, "erfcinv": _erfc_inverse, "erfcx": _SPECIAL.erfcx,
        "erfinv": torch.erfinv, "exp": torch.exp, "exp10": _scaled_log, "exp2": torch.exp2, "expm1": torch.expm1,
        "fabs": torch.abs, "floor": torch.floor, "j0": _SPECIAL.bessel_j0, "j1": _SPECIAL.bessel_j1,
        "lgamma": torch.lgamma, "log": torch.log, "log10": torch.log10, "log1p": torch.log1p, "log2": torch.log2,
        "logb": _logb, "nearbyint": torch.round, "normcdf": _SPECIAL.ndtr, "normcdfinv": _SPECIAL.ndtri,
        "rcbrt": _rcbrt, "rint": torch.round, "round": _round_away, "rsqrt": torch.rsqrt,
        "sin": torch.sin, "sinh": torch.sinh, "sinpi": _sinpi, "sqrt": torch.sqrt, "tan": torch.tan,
        "tanh": torch.tanh, "trunc": torch.trunc, "y0": _SPECIAL.bessel_y0, "y1": _SPECIAL.bessel_y1,
    },
    2: {
        "atan2": torch.atan2, "copysign": torch.copysign, "fdim": _fdim, "fmod": torch.fmod, "hypot": torch.hypot,
        "nextafter": torch.nextafter, "pow": torch.pow, "remainder": _remainder, "fmax": torch.fmax,
        "fmin": torch.fmin, "rhypot": _rnorm,
    },
    3: {"fma": rounding.fma, "norm3d": _norm, "rnorm3d": _rnorm},
    4: {"norm4d": _norm, "rnorm4d": _rnorm},
}  # fmt: skip

# Torch functions with their own signatures: result, then operands.
_SINGLE: dict[str, tuple[str, _Torch]] = {
    "fast_cosf": ("ff", torch.cos),
    "fast_exp10f": ("ff", _scaled_log),
    "fast_expf": ("ff", torch.exp),
    "fast_fdividef": ("fff", torch.div),
    "fast_log10f": ("ff", torch.log10),
    "fast_log2f": ("ff", torch.log2),
    "fast_logf": ("ff", torch.log),
    "fast_powf": ("fff", torch.pow),
    "fast_sinf": ("ff", torch.sin),
    "fast_tanf": ("ff", torch.tan),
    "fast_tanhf": ("ff", torch.tanh),
    "saturatef": ("ff", rounding.saturate),
    "frsqrt_rn": ("ff", _rsqrt),
    "ldexpf": ("ffi", _ldexp), "ldexp": ("ddi", _ldexp), "scalbnf": ("ffi", _ldexp), "scalbn": ("ddi", _ldexp),
    "powif": ("ffi", _pow_int), "powi": ("ddi", _pow_int),
    "ilogbf": ("if", _ilogb), "ilogb": ("id", _ilogb),
    "llrintf": ("lf", torch.round), "llrint": ("ld", torch.round),
    "llroundf": ("lf", _round_away), "llround": ("ld", _round_away),
    "isnanf": ("if", torch.isnan), "isnand": ("id", torch.isnan),
    "isinff": ("if", torch.isinf), "isinfd": ("id", torch.isinf),
    "finitef": ("if", torch.isfinite), "isfinited": ("id", torch.isfinite),
    "signbitf": ("if", torch.signbit), "signbitd": ("id", torch.signbit),
    "float_as_int": ("if", raw), "float_as_uint": ("if", raw), "double_as_longlong": ("ld", raw),
    "int_as_float": ("fi", _as_float), "uint_as_float": ("fi", _as_float),
    "longlong_as_double": ("dl", _as_double),
    "double2hiint": ("id", _high_word), "double2loint": ("id", _low_word),
    "hiloint2double": ("dii", _two_words),
    "ffs": ("ii", _find_first), "ffsll": ("il", _find_first),
    "hadd": ("iii", partial(_average, unsigned=False, up=False)),
    "rhadd": ("iii", partial(_average, unsigned=False, up=True)),
    "uhadd": ("iii", partial(_average, unsigned=True, up=False)),
    "urhadd": ("iii", partial(_average, unsigned=True, up=True)),
}  # fmt: skip


def _instructions() -> dict[str, tuple[str, str]]:
    """The symbols that are one PTX instruction: the signature and the opcode."""
    table = {
        "abs": ("ii", "abs.s32"), "llabs": ("ll", "abs.s64"), "min": ("iii", "min.s32"), "max": ("iii", "max.s32"),
        "umin": ("iii", "min.u32"), "umax": ("iii", "max.u32"), "llmin": ("lll", "min.s64"),
        "llmax": ("lll", "max.s64"), "ullmin": ("lll", "min.u64"), "ullmax": ("lll", "max.u64"),
        "brev": ("ii", "brev.b32"), "brevll": ("ll", "brev.b64"), "clz": ("ii", "clz.b32"), "clzll": ("il", "clz.b64"),
        "popc": ("ii", "popc.b32"), "popcll": ("il", "popc.b64"), "byte_perm": ("iiii", "prmt.b32"),
        "mul24": ("iii", "mul24.lo.s32"), "umul24": ("iii", "mul24.lo.u32"), "mulhi": ("iii", "mul.hi.s32"),
        "umulhi": ("iii", "mul.hi.u32"), "mul64hi": ("lll", "mul.hi.s64"), "umul64hi": ("lll", "mul.hi.u64"),
        "sad": ("iiii", "sad.s32"), "usad": ("iiii", "sad.u32"), "int2double_rn": ("di", "cvt.rn.f64.s32"),
        "uint2double_rn": ("di", "cvt.rn.f64.u32"),
    }  # fmt: skip
    integers = {"int": ("i", "s32"), "uint": ("i", "u32"), "ll": ("l", "s64"), "ull": ("l", "u64")}
    floats = {"float": ("f", "f32"), "double": ("d", "f64")}
    for suffix, mode in (("rn", "rn"), ("rz", "rz"), ("rd", "rm"), ("ru", "rp")):
        for letter, name in (("f", "f32"), ("d", "f64")):
            table |= {
                f"{letter}{op}_{suffix}": (letter * 3, f"{op}.{mode}.{name}") for op in ("add", "sub", "mul", "div")
            }
            table |= {f"{letter}{op}_{suffix}": (letter * 2, f"{op}.{mode}.{name}") for op in ("rcp", "sqrt")}
            table[f"fma{'f' if letter == 'f' else ''}_{suffix}"] = (letter * 4, f"fma.{mode}.{name}")
        table[f"double2float_{suffix}"] = ("fd", f"cvt.{mode}.f32.f64")
        for (whole, (i, kind)), (real, (f, name)) in itertools.product(integers.items(), floats.items()):
            table[f"{real}2{whole}_{suffix}"] = (i + f, f"cvt.{mode}i.{kind}.{name}")
            table[f"{whole}2{real}_{suffix}"] = (f + i, f"cvt.{mode}.{name}.{kind}")
    return table


def _from_torch(signature: str, function: _Torch) -> Extern:
    result, kinds = _DTYPES[signature[0]], [_DTYPES[letter] for letter in signature[1:]]

    def call(*arguments: Number) -> Number:
        tensors = [
            argument if isinstance(argument, torch.Tensor) else torch.tensor(argument, dtype=kind)
            for argument, kind in zip(arguments, kinds, strict=True)
        ]
        got = function(*tensors).to(result)
        return got if any(isinstance(argument, torch.Tensor) for argument in arguments) else got.item()

    return call


def _from_instruction(signature: str, opcode: str) -> Extern:
    names = tuple(_LETTERS[letter] for letter in signature)
    operands = ", ".join(f"${index}" for index in range(len(signature)))
    constraints = ",".join(("=" if index == 0 else "") + _CONSTRAINT[c] for index, c in enumerate(signature))
    program = compile_asm(f"{opcode} {operands};", constraints, 1, names[1:], names[:1])

    def call(*arguments: Number) -> Number:
        return program.run(arguments)[0]

    return call


@cache
def _table() -> dict[str, Callable[[], Extern]]:
    table: dict[str, Callable[[], Extern]] = {}
    for count, functions in _BOTH.items():
        for name, function in functions.items():
            table[f"__nv_{name}"] = partial(_from_torch, "d" * (count + 1), function)
            table[f"__nv_{name}f"] = partial(_from_torch, "f" * (count + 1), function)
    for name, (signature, function) in _SINGLE.items():
        table[f"__nv_{name}"] = partial(_from_torch, signature, function)
    for name, (signature, opcode) in _instructions().items():
        table[f"__nv_{name}"] = partial(_from_instruction, signature, opcode)
    return table


def known_symbols() -> tuple[str, ...]:
    """Every symbol that `extern_function` knows."""
    return tuple(sorted(_table()))


@cache
def extern_function(symbol: str) -> Extern:
    """The function behind a libdevice symbol. It takes tensors, or Python numbers for scalars, and returns the same."""
    maker: Any = _table().get(symbol)
    if maker is None:
        near = difflib.get_close_matches(symbol, known_symbols(), 3)
        hint = f"; similar ones that it has: {', '.join(near)}" if near else ""
        raise UnknownExtern(f"the simulator has no implementation of the external function {symbol}{hint}")
    return maker()
