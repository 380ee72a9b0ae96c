"""How generated code holds an SSA value: which Python expressions stand for it.

What is known while compiling is used there: a splat stays a scalar, an index tensor stays an offset with one part per
dimension (see `parts`), and arithmetic on them is arithmetic on integers. Only what needs a tensor becomes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One dimension of an index tensor."""

    code: str
    stride: bool = True
    """Whether it is surely an int; otherwise an int or a 1-D tensor."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """An int, float or bool; also a token, barrier, memory view or descriptor: anything that one variable holds."""

    code: str


@dataclass(frozen=True, slots=True)
class Uniform:
    """A tensor whose elements are all `code`."""

    code: str


@dataclass(frozen=True, slots=True)
class Index:
    """An integer tensor `offset + sum of parts`."""

    offset: str
    parts: tuple[Part | None, ...]


@dataclass(frozen=True, slots=True)
class Pointer:
    """One pointer: `base` is a flat tensor."""

    base: str
    offset: str


@dataclass(frozen=True, slots=True)
class Pointers:
    """A tensor of pointers into one allocation."""

    base: str
    offset: str
    parts: tuple[Part | None, ...]


@dataclass(frozen=True, slots=True)
class DensePointers:
    """A tensor of pointers into one allocation, by an index tensor."""

    base: str
    offsets: str


@dataclass(frozen=True, slots=True)
class Mask:
    """A bool tensor that is an `and` of one condition per dimension."""

    parts: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Dense:
    """A torch tensor."""

    code: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Not computed: nothing depends on it."""


Held = Scalar | Uniform | Index | Pointer | Pointers | DensePointers | Mask | Dense | Absent


def codes(held: Held) -> list[str]:
    """The expressions of a representation, in a fixed order; `rebuild` puts others in their place."""
    match held:
        case Scalar(code) | Uniform(code) | Dense(code):
            return [code]
        case Index(offset, parts):
            return [offset, *(part.code for part in parts if part)]
        case Pointer(base, offset):
            return [base, offset]
        case Pointers(base, offset, parts):
            return [base, offset, *(part.code for part in parts if part)]
        case DensePointers(base, offsets):
            return [base, offsets]
        case Mask(parts):
            return [part for part in parts if part is not None]
        case Absent():
            return []


def rebuild(held: Held, names: Sequence[str]) -> Held:
    """The same representation with other expressions."""
    left = list(names)

    def parts_of(parts: tuple[Part | None, ...]) -> tuple[Part | None, ...]:
        return tuple(part and Part(left.pop(0), part.stride) for part in parts)

    match held:
        case Scalar():
            return Scalar(left[0])
        case Uniform():
            return Uniform(left[0])
        case Dense():
            return Dense(left[0])
        case Index(_, parts):
            offset = left.pop(0)
            return Index(offset, parts_of(parts))
        case Pointer():
            return Pointer(left[0], left[1])
        case Pointers(_, _, parts):
            base, offset = left.pop(0), left.pop(0)
            return Pointers(base, offset, parts_of(parts))
        case DensePointers():
            return DensePointers(left[0], left[1])
        case Mask(parts):
            return Mask(tuple(None if part is None else left.pop(0) for part in parts))
        case Absent():
            return held


def shape_of(held: Held) -> Held:
    """The representation without its expressions: equal for two values that the same variables can hold."""
    return rebuild(held, [""] * len(codes(held)))


def _join_parts(a: tuple[Part | None, ...], b: tuple[Part | None, ...]) -> tuple[Part | None, ...]:
    def join_part(x: Part | None, y: Part | None) -> Part | None:
        if x is None and y is None:
            return None
        return Part("", (x is None or x.stride) and (y is None or y.stride))

    return tuple(join_part(x, y) for x, y in zip(a, b, strict=True))


def join(a: Held, b: Held, rank: int) -> Held:
    """A representation (without expressions) that both can be brought into, of a tensor of `rank`."""
    a, b = shape_of(a), shape_of(b)
    if a == b:
        return a
    none: tuple[Part | None, ...] = (None,) * rank
    match a, b:
        case (Absent(), _) | (_, Absent()):
            return Absent()
        case (Index(_, p), Index(_, q)):
            return Index("", _join_parts(p, q))
        case (Index(_, p), Uniform()) | (Uniform(), Index(_, p)):
            return Index("", _join_parts(p, none))
        case (Pointers(_, _, p), Pointers(_, _, q)):
            return Pointers("", "", _join_parts(p, q))
        case (DensePointers() | Pointers(), DensePointers() | Pointers()):
            return DensePointers("", "")
        case (Mask(p), Mask(q)):
            return Mask(tuple("" if x is not None or y is not None else None for x, y in zip(p, q, strict=True)))
        case _:
            return Dense("")
