"""What it takes to bring a tensor from one layout of registers into another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tlxviz.analysis.layouts.banks import TRANSACTION
from tlxviz.ir.linear import LinearLayout, solve

_WORD_BITS = 32
_KINDS = ("register", "lane", "warp")
_MOST_MIXED = 1
"""Bits that may go from registers to lanes or back before Triton takes shared memory instead of shuffles."""


class Way(StrEnum):
    """How elements get to where they have to be."""

    NOTHING = "nothing"
    """Every element is in its place."""
    REGISTERS = "registers"
    """Each thread has what it needs, in other registers: renaming, or moves."""
    SHUFFLES = "shuffles"
    """Each warp has what it needs, in other lanes."""
    SHARED_MEMORY = "shared memory"
    """Warps exchange elements."""


@dataclass(frozen=True, slots=True)
class Exchange:
    way: Way
    shuffles: int = 0
    """Of one thread, at least: the words that it gets from other lanes."""
    most_scratch: int = 0
    """Bytes of shared memory that hold all of the tensor; the compiler may do with less, and go round several times."""
    transactions: int = 0
    """Of all warps, to store and to load, without bank conflicts."""
    warps: int = 1


def exchange(source: LinearLayout, target: LinearLayout, bits: int) -> Exchange:
    """What a `ttg.convert_layout` has to do, as Triton decides it: from how registers, lanes and warps change.

    Args:
        source: Where elements are; of the same shape as `target`.
        target: Where they have to be.
        bits: Of an element.
    """
    moves = _moves(source, target)
    warps = max(source.size("warp"), target.size("warp"))
    if moves is None or moves.warps or moves.mixed > _MOST_MIXED:
        return _through_memory(source, target, bits, warps)
    registers = _distinct(target)
    if moves.lanes:
        words = -(-registers * max(bits, 8) // _WORD_BITS)
        return Exchange(Way.SHUFFLES, shuffles=words, warps=warps)
    same = not moves.registers and _distinct(source) == registers
    return Exchange(Way.NOTHING if same else Way.REGISTERS, warps=warps)


def _through_memory(source: LinearLayout, target: LinearLayout, bits: int, warps: int) -> Exchange:
    elements = 1
    for size in target.shape:
        elements *= size
    size = max(bits, 8) // 8
    stored = elements * size
    loaded = _distinct(target) * target.size("lane") * target.size("warp") * size
    transactions = -(-stored // TRANSACTION) + -(-loaded // TRANSACTION)
    return Exchange(Way.SHARED_MEMORY, most_scratch=stored, transactions=transactions, warps=warps)


def _distinct(layout: LinearLayout) -> int:
    """Registers of a thread that hold different elements."""
    return 1 << sum(any(basis) for basis in layout.bases["register"])


@dataclass(frozen=True, slots=True)
class _Moves:
    """Whether elements change registers, lanes and warps."""

    registers: bool
    lanes: bool
    warps: bool
    mixed: int
    """Bits of registers that become bits of lanes, or the other way round."""


def _moves(source: LinearLayout, target: LinearLayout) -> _Moves | None:
    """How an element's place in `target` differs from that in `source`; None where `source` lacks an element."""
    held = [(kind, bit, image) for kind in _KINDS for bit, image in enumerate(source.flat(kind))]
    images = [image for *_, image in held]
    touched: set[str] = set()
    from_lanes = from_registers = 0
    for kind in _KINDS:
        for bit, wanted in enumerate(target.flat(kind)):
            if (kind, bit, wanted) in held:
                continue
            made = solve([wanted], images)
            if made is None:
                return None
            used = {held[index][0] for index in range(len(held)) if made[0] >> index & 1}
            # an element that several places have, and a register that has it too, is no move
            touched |= used | {kind} if wanted or kind != "register" else set()
            from_lanes += kind == "register" and "lane" in used
            from_registers += kind == "lane" and "register" in used
    return _Moves("register" in touched, "lane" in touched, "warp" in touched, max(from_lanes, from_registers))
