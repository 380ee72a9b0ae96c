"""Run `tt.elementwise_inline_asm`: PTX text compiled once into a function over torch tensors.

`compile_asm` gives an `AsmProgram`, whose `run` executes all elements of a tensor together. Approximate instructions
(ex2.approx, tanh.approx, div.approx) are computed to full accuracy, so their low bits differ from a GPU's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import torch

from tlxviz.sim.ptx.memory import AsmEnvironment, MemoryAccess, atomic_result
from tlxviz.sim.ptx.operands import State, Step
from tlxviz.sim.ptx.parse import Parsed, parse, refused
from tlxviz.sim.ptx.program import compile_statements
from tlxviz.sim.ptx.types import SIGNED, Refusal, UnsupportedAsm, broadcast_shape, raw, resize

__all__ = ["AsmEnvironment", "AsmProgram", "MemoryAccess", "UnsupportedAsm", "atomic_result", "compile_asm"]

Scalar: TypeAlias = "int | float"
Argument: TypeAlias = "torch.Tensor | int | float"

ELEMENT_TYPES: dict[str, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz,
    "f8E5M2": torch.float8_e5m2,
    "f8E5M2FNUZ": torch.float8_e5m2fnuz,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
    "ptr": torch.int64,
}
_CONSTRAINTS = {"b": 1, "c": 16, "h": 16, "r": 32, "f": 32, "l": 64, "d": 64, "N": 64}


@dataclass(frozen=True)
class _Element:
    """How the elements of one operand or result share registers."""

    name: str
    dtype: torch.dtype
    bits: int
    per_register: int


@dataclass(frozen=True)
class AsmProgram:
    """Compiled inline assembly."""

    asm: str
    packed: int
    operands: tuple[_Element, ...]
    results: tuple[_Element, ...]
    inputs: tuple[int, ...]  # register slots of the operands, in order
    outputs: tuple[int, ...]
    parsed: Parsed
    steps: tuple[Step, ...]
    branches: bool

    def run(
        self,
        operands: Sequence[Argument],
        environment: AsmEnvironment | None = None,
        warps: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor | int | float, ...]:
        """One result per result type: tensors of the common shape, or Python numbers when no operand is a tensor.

        `warps` says which elements the lanes of a warp hold together (see `lanes.warps_of`), for what combines them.
        """
        if len(operands) != len(self.operands):
            raise refused(self.asm, "operands", f"{len(operands)} operands for {len(self.operands)} types")
        tensors = [_tensor(value, kind) for value, kind in zip(operands, self.operands, strict=True)]
        shape = broadcast_shape(*(tensor.shape for tensor in tensors)) if tensors else torch.Size()
        registers: list[torch.Tensor | None] = [None] * len(self.parsed.widths)
        incoming: list[torch.Tensor] = []
        for tensor, kind in zip(tensors, self.operands, strict=True):
            incoming += self._split(tensor if self.packed == 1 else tensor.broadcast_to(shape), kind)
        for slot, value in zip(self.inputs, incoming, strict=True):
            width = self.parsed.widths[slot]
            if width == 1:
                registers[slot] = value if value.dtype == torch.bool else raw(value) != 0
            else:
                same = value.dtype != torch.bool and 8 * value.element_size() == width
                registers[slot] = value if same else resize(value, width)
        with np.errstate(all="ignore"):
            outgoing = self._execute(registers, environment, warps if self.packed == 1 else None)
        results = self._join(outgoing, shape)
        if any(isinstance(value, torch.Tensor) for value in operands):
            return tuple(results)
        return tuple(_number(result) for result in results)

    def _split(self, tensor: torch.Tensor, kind: _Element) -> list[torch.Tensor]:
        """The registers that hold `packed` consecutive elements."""
        if self.packed == 1:
            return [tensor]
        flat = (tensor if kind.bits == 1 else raw(tensor)).reshape(-1)
        missing = -len(flat) % self.packed
        if missing:
            # Triton leaves the rest undefined; a copy of a real element keeps the arithmetic ordinary.
            flat = torch.cat([flat, flat[-1:].expand(missing)])
        if kind.per_register > 1:
            flat = flat.contiguous().view(SIGNED[kind.bits * kind.per_register])
        grid = flat.reshape(-1, self.packed // kind.per_register)
        return [grid[:, column] for column in range(grid.shape[1])]

    def _execute(
        self, registers: list[torch.Tensor | None], environment: AsmEnvironment | None, warps: torch.Tensor | None
    ) -> list[torch.Tensor | None]:
        present = [registers[slot] for slot in self.inputs]
        shape = broadcast_shape(*(value.shape for value in present if value is not None))
        if not self.branches or not shape.numel() > 1:
            self._interpret(State(registers, environment, warps))
            return [registers[slot] for slot in self.outputs]
        # Elements may take different ways, so each runs by itself.
        flat = [None if value is None else value.broadcast_to(shape).reshape(-1) for value in registers]
        rows: list[list[torch.Tensor | None]] = []
        for index in range(shape.numel()):
            own = [None if value is None else value[index] for value in flat]
            self._interpret(State(own, environment))
            rows.append([own[slot] for slot in self.outputs])
        return [_stacked(list(column), shape) for column in zip(*rows, strict=True)]

    def _interpret(self, state: State) -> None:
        position, steps = 0, self.steps
        while position < len(steps):
            try:
                target = steps[position](state)
            except Refusal as refusal:
                raise refused(self.asm, self.parsed.statements[position].text, str(refusal)) from None
            if target is None:
                position += 1
                continue
            if target <= position and state.environment is not None:
                state.environment.spin()
            position = target

    def _join(self, registers: list[torch.Tensor | None], shape: torch.Size) -> list[torch.Tensor]:
        """The elements in the output registers, as tensors of `shape`."""
        results: list[torch.Tensor] = []
        position = 0
        for kind in self.results:
            count = self.packed // kind.per_register
            width = kind.bits * kind.per_register
            columns = [self._element_bits(value, width) for value in registers[position : position + count]]
            position += count
            if self.packed == 1:
                value = columns[0] if columns[0].dtype == kind.dtype else columns[0].view(kind.dtype)
                results.append(value if value.shape == shape else value.broadcast_to(shape).contiguous())
                continue
            groups = -(-shape.numel() // self.packed)
            flat = torch.stack([column.broadcast_to((groups,)) for column in columns], -1).reshape(-1)
            results.append(flat.view(kind.dtype)[: shape.numel()].reshape(shape))
        return results

    @staticmethod
    def _element_bits(value: torch.Tensor | None, width: int) -> torch.Tensor:
        """The low `width` bits of an output register; a register that was never written reads as zero."""
        if value is None:
            return torch.zeros((), dtype=torch.bool if width == 1 else SIGNED[width])
        if width == 1:
            return value if value.dtype == torch.bool else (raw(value) & 1) != 0
        return value if 8 * value.element_size() == width and value.dtype != torch.bool else resize(value, width)


def _stacked(column: list[torch.Tensor | None], shape: torch.Size) -> torch.Tensor | None:
    kept = next((value for value in column if value is not None), None)
    if kept is None:
        return None
    rows = [torch.zeros_like(kept) if value is None else value for value in column]
    if kept.dtype != torch.bool:
        rows = [raw(row) for row in rows]
    return torch.stack(rows).reshape(shape)


def _tensor(value: Argument, kind: _Element) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        if kind.bits == 1:
            return value if value.dtype == torch.bool else value != 0
        return value if 8 * value.element_size() == kind.bits and value.dtype != torch.bool else value.to(kind.dtype)
    if kind.dtype.is_floating_point or kind.bits == 1:
        return torch.tensor(value, dtype=kind.dtype)
    low = int(value) & ((1 << kind.bits) - 1)
    return torch.tensor(low - (1 << kind.bits) if low >> (kind.bits - 1) else low, dtype=kind.dtype)


def _number(value: torch.Tensor) -> int | float:
    return (value.to(torch.float64) if value.dtype.is_floating_point else value).reshape(()).item()


def _element(asm: str, name: str, packed: int) -> _Element:
    key = "ptr" if name.startswith(("!tt.ptr", "ptr")) else name
    if key not in ELEMENT_TYPES:
        raise refused(asm, name, f"operands and results are of the types {', '.join(ELEMENT_TYPES)}")
    dtype = ELEMENT_TYPES[key]
    bits = 1 if dtype == torch.bool else 8 * dtype.itemsize
    per_register = min(max(32 // bits, 1), packed)
    if packed % per_register or (bits == 1 and packed > 1) or (per_register > 1 and bits * per_register not in SIGNED):
        raise refused(asm, f"packed_element = {packed}", f"elements of type {name} do not fill registers evenly")
    return _Element(key, dtype, bits, per_register)


def _constraints(asm: str, text: str) -> tuple[list[str], list[str]]:
    """The constraints of the outputs and of the inputs, without the clobbers."""
    outputs: list[str] = []
    inputs: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if not part or part.startswith("~"):
            continue
        letter = part.lstrip("=&%")
        if letter not in _CONSTRAINTS and not (letter.isdigit() and not part.startswith("=")):
            raise refused(
                asm, part, f"constraints are =x for results and x for operands, x of {', '.join(_CONSTRAINTS)}"
            )
        (outputs if part.startswith("=") else inputs).append(letter)
    return outputs, inputs


@lru_cache(maxsize=1024)
def compile_asm(
    asm: str, constraints: str, packed: int, operand_types: tuple[str, ...], result_types: tuple[str, ...]
) -> AsmProgram:
    """Compile inline assembly. The types are those of TTGIR ("f32", "i8", "f8E4M3FN"), "ptr" for pointers."""
    operands = tuple(_element(asm, name, packed) for name in operand_types)
    results = tuple(_element(asm, name, packed) for name in result_types)
    outputs, inputs = _constraints(asm, constraints)
    for letters, kinds, what in ((outputs, results, "results"), (inputs, operands, "operands")):
        needed = sum(packed // kind.per_register for kind in kinds)
        if len(letters) != needed:
            raise refused(asm, constraints, f"{len(letters)} constraints for {needed} registers of {what}")
    widths = [_CONSTRAINTS[letter] for letter in outputs]
    slots = list(range(len(outputs)))
    for letter in inputs:
        if letter.isdigit():
            if int(letter) >= len(outputs):
                raise refused(asm, constraints, f"operand tied to the missing result {letter}")
            slots.append(int(letter))
        else:
            slots.append(len(widths))
            widths.append(_CONSTRAINTS[letter])
    parsed = parse(asm, slots, widths)
    steps, branches = compile_statements(asm, parsed)
    return AsmProgram(
        asm,
        packed,
        operands,
        results,
        tuple(slots[len(outputs) :]),
        tuple(slots[: len(outputs)]),
        parsed,
        steps,
        branches,
    )
