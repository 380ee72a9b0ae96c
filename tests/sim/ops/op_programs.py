"""TTGIR around one operation, whose operands the simulator holds in every way that it has for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from kernel_runner import run_ttgir

SIZE = 128
LAYOUT = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"

TORCH = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
}
Statement = Callable[[Sequence[str], Callable[[str], str]], str]
"""Writes the operation: given its operands, and what turns an element type into the type of a value."""


def tile(element: str) -> str:
    return f"tensor<{SIZE}x{element}, {LAYOUT}>"


def operand(name: str, pointer: str, element: str, form: str) -> str:
    """Loads an operand: `dense`, or one element of memory for all (`uniform`), or the element alone (`scalar`)."""
    memory = "i8" if element == "i1" else element
    place = f"!tt.ptr<{memory}>"
    lines: list[str] = []
    if form == "dense":
        loaded = f"%{name}_loaded" if element == "i1" else f"%{name}"
        lines += [
            f"%{name}_range = tt.make_range {{end = {SIZE} : i32, start = 0 : i32}} : {tile('i32')}",
            f"%{name}_base = tt.splat {pointer} : {place} -> {tile(place)}",
            f"%{name}_at = tt.addptr %{name}_base, %{name}_range : {tile(place)}, {tile('i32')}",
            f"{loaded} = tt.load %{name}_at : {tile(place)}",
        ]
        if element == "i1":
            lines.append(f"%{name} = arith.trunci {loaded} : {tile('i8')} to {tile('i1')}")
        return "\n".join(lines)
    loaded = f"%{name}_loaded" if element == "i1" else f"%{name}_one"
    lines.append(f"{loaded} = tt.load {pointer} : {place}")
    if element == "i1":
        lines.append(f"%{name}_one = arith.trunci {loaded} : i8 to i1")
    if form == "scalar":
        return "\n".join(lines).replace(f"%{name}_one", f"%{name}")
    lines.append(f"%{name} = tt.splat %{name}_one : {element} -> {tile(element)}")
    return "\n".join(lines)


def program(statement: str, elements: Sequence[str], result: str, forms: Sequence[str]) -> str:
    """A kernel that loads the operands %x0, %x1, ..., runs the statement, and stores %r."""
    memory = ["i8" if element == "i1" else element for element in (*elements, result)]
    parameters = ", ".join(f"%p{number}: !tt.ptr<{element}>" for number, element in enumerate(memory))
    lines = [
        operand(f"x{number}", f"%p{number}", e, f) for number, (e, f) in enumerate(zip(elements, forms, strict=True))
    ]
    lines.append(statement)
    out, place = f"%p{len(elements)}", f"!tt.ptr<{memory[-1]}>"
    scalar = forms[0] == "scalar"
    value = "%r"
    if result == "i1":
        value = "%r_stored"
        lines.append(
            "%r_stored = arith.extui %r : i1 to i8"
            if scalar
            else f"%r_stored = arith.extui %r : {tile('i1')} to {tile('i8')}"
        )
    if scalar:
        lines.append(f"tt.store {out}, {value} : {place}")
    else:
        lines += [
            f"%o_range = tt.make_range {{end = {SIZE} : i32, start = 0 : i32}} : {tile('i32')}",
            f"%o_base = tt.splat {out} : {place} -> {tile(place)}",
            f"%o_at = tt.addptr %o_base, %o_range : {tile(place)}, {tile('i32')}",
            f"tt.store %o_at, {value} : {tile(place)}",
        ]
    body = "\n    ".join("\n".join(lines).split("\n"))
    return f"tt.func public @kernel({parameters}) {{\n    {body}\n    tt.return\n}}"


def apply(write: Statement, operands: Sequence[torch.Tensor], result: str, forms: Sequence[str]) -> torch.Tensor:
    """What the simulator computes; operands that are not dense contribute their first element."""
    names = [next(name for name, dtype in TORCH.items() if dtype == tensor.dtype) for tensor in operands]
    scalar = forms[0] == "scalar"
    statement = write([f"%x{number}" for number in range(len(operands))], str if scalar else tile)
    out = torch.zeros(SIZE, dtype=TORCH[result])
    tensors = [tensor.view(torch.int8) if tensor.dtype == torch.bool else tensor for tensor in (*operands, out)]
    run_ttgir(program(statement, names, result, forms), *tensors)
    return out[:1] if scalar else out


def spread(tensor: torch.Tensor, form: str) -> torch.Tensor:
    """The operand as its form makes it: all elements, or the first for all."""
    return tensor if form == "dense" else tensor[:1].expand(SIZE)


def forms_of(count: int) -> list[tuple[str, ...]]:
    """Every mixture of tensors and splats, and all scalar."""
    found: list[tuple[str, ...]] = [()]
    for _ in range(count):
        found = [(*some, form) for some in found for form in ("dense", "uniform")]
    return [*found, ("scalar",) * count]


def same(got: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Equal bits; any NaN equals any other."""
    if not got.dtype.is_floating_point:
        return torch.equal(got, wanted)
    a, b = got.double(), wanted.double()
    nan = a.isnan() & b.isnan()
    equal = (a == b) & (a.signbit() == b.signbit())
    return bool((nan | equal).all())
