"""How the steps of a PTX program read and write their operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

from tlxviz.sim.ptx.memory import AsmEnvironment
from tlxviz.sim.ptx.parse import Address, Operand, Register, Sink, Special, Statement, Vector
from tlxviz.sim.ptx.types import (
    PRED,
    SIGNED,
    TYPES,
    Immediate,
    PtxType,
    Refusal,
    Value,
    broadcast_all,
    from_array,
    int_tensor,
    raw,
    read_bits,
    resize,
    where,
    write_bits,
)


@dataclass
class State:
    """The registers of one execution. A register is None until it is written."""

    registers: list[torch.Tensor | None]
    environment: AsmEnvironment | None
    warps: torch.Tensor | None = None
    """Which elements the lanes of a warp hold together: see `lanes.warps_of`; None where nobody knows."""


# A step returns the index of the next statement when it branches.
Step: TypeAlias = Callable[[State], "int | None"]
Fetch: TypeAlias = Callable[[State], Any]
Store: TypeAlias = Callable[[State, Any, "torch.Tensor | None"], None]


def machine(state: State) -> AsmEnvironment:
    """The environment of an instruction that cannot do without one."""
    if state.environment is None:
        raise Refusal("it needs a machine around it, and there is none here")
    return state.environment


def fetch_operand(operand: Operand, ptx_type: PtxType) -> Fetch:
    """A function that reads `operand` as `ptx_type`."""
    if isinstance(operand, Register):
        slot = operand.slot
        undefined = torch.zeros((), dtype=torch.bool if operand.bits == 1 else SIGNED[operand.bits])
        negated = operand.negated

        def register(state: State) -> Value:
            value = state.registers[slot]
            got = read_bits(undefined if value is None else value, ptx_type)
            return np.logical_not(got) if negated else got

        if negated and ptx_type.kind != "p":
            raise Refusal("a negated predicate where a value is expected")
        return register
    if isinstance(operand, Immediate):
        constant = operand.as_value(ptx_type)
        return lambda _state: constant
    if isinstance(operand, Special):
        name = operand.name

        def special(state: State) -> Value:
            got = machine(state).special(name)
            return read_bits(got if isinstance(got, torch.Tensor) else int_tensor(got, 64), ptx_type)

        return special
    raise Refusal("an operand has a form that is not supported here")


def store_operand(operand: Operand, ptx_type: PtxType) -> Store:
    """A function that writes a value of `ptx_type` to `operand`, where the mask lets it."""
    if isinstance(operand, Sink):
        return lambda _state, _value, _mask: None
    if not isinstance(operand, Register) or operand.negated:
        raise Refusal("the result does not go to a register")
    slot, bits = operand.slot, operand.bits

    def store(state: State, value: Value, mask: torch.Tensor | None) -> None:
        new = write_bits(value, ptx_type, bits)
        old = state.registers[slot]
        if mask is not None and old is not None:
            new = where(mask, new, old) if bits == 1 else where(mask, raw(new), raw(old))
        state.registers[slot] = new

    return store


def fetch_guard(statement: Statement) -> Fetch | None:
    """A function that reads the predicate of `@p`."""
    if statement.guard is None:
        return None
    predicate = fetch_operand(statement.guard, PRED)
    return lambda state: from_array(np.asarray(predicate(state)))


def register_width(operand: Operand) -> int | None:
    """The width of a register; None for other operands."""
    return operand.bits if isinstance(operand, Register) else None


def fetch_packed(source: Operand, whole: int, part: PtxType) -> Callable[[State], torch.Tensor]:
    """The source of a `mov` with braces, as integers of the whole width."""
    if isinstance(source, Vector):
        fetches = [fetch_bits(piece, part.bits) for piece in source.parts]

        def gather(state: State) -> torch.Tensor:
            pieces = broadcast_all(*[fetch(state) for fetch in fetches])
            return torch.stack(pieces, -1).view(SIGNED[whole]).squeeze(-1)

        return gather
    return fetch_bits(source, whole)


def fetch_bits(operand: Operand, bits: int) -> Callable[[State], torch.Tensor]:
    """A function that reads `operand` as signed integers of `bits` bits."""
    fetch, kind = fetch_operand(operand, TYPES[f"b{bits}"]), TYPES[f"b{bits}"]
    if isinstance(operand, Register) and operand.bits != 1:
        slot = operand.slot

        def direct(state: State) -> torch.Tensor:
            value = state.registers[slot]
            return torch.zeros((), dtype=SIGNED[bits]) if value is None else resize(value, bits)

        return direct
    return lambda state: write_bits(fetch(state), kind, bits)


def fetch_address(operand: Operand) -> Callable[[State], torch.Tensor]:
    """A function that reads `[base + offset]`."""
    if not isinstance(operand, Address):
        raise Refusal("the operand in the place of the address is not in brackets")
    bits = register_width(operand.base) or 64
    fetch, offset = fetch_bits(operand.base, bits), operand.offset
    if bits not in (32, 64):
        raise Refusal("an address has 32 or 64 bits")

    def address(state: State) -> torch.Tensor:
        base = fetch(state)
        wide = base if bits == 64 else base.to(torch.int64) & 0xFFFFFFFF
        return wide + offset if offset else wide

    return address


def fetch_bits_as(operand: Operand, ptx_type: PtxType) -> Callable[[State], torch.Tensor]:
    """Like `fetch_bits`; a constant is taken in the way that `ptx_type` writes it."""
    if isinstance(operand, Immediate):
        constant = write_bits(operand.as_value(ptx_type), ptx_type, ptx_type.bits)
        return lambda _state: raw(constant)
    return fetch_bits(operand, ptx_type.bits)
