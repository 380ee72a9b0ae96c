"""What it takes to bring a tensor from one layout of registers into another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tlxviz.analysis.layouts.banks import TRANSACTION
from tlxviz.ir.linear import LinearLayout, solve

_WORD_BITS = 32


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
    if moves is None or moves["warp"]:
        return _through_memory(source, target, bits, warps)
    registers = _distinct(target)
    if moves["lane"]:
        words = -(-registers * max(bits, 8) // _WORD_BITS)
        return Exchange(Way.SHUFFLES, shuffles=words, warps=warps)
    same = moves["register"] == 0 and _distinct(source) == registers
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


def _moves(source: LinearLayout, target: LinearLayout) -> dict[str, int] | None:
    """For each kind of place, how many of its bits an element's place in `source` differs in from that in `target`.

    None where an element that `target` wants is nowhere in `source`.
    """
    kinds = ("register", "lane", "warp")
    held = [(kind, bit, image) for kind in kinds for bit, image in enumerate(source.flat(kind))]
    # what a place has of its own accord comes first: of several copies, that one is taken
    found: dict[str, int] = dict.fromkeys(kinds, 0)
    for kind in kinds:
        for bit, wanted in enumerate(target.flat(kind)):
            own = [entry for entry in held if entry[:2] == (kind, bit)]
            if (own[0][2] if own else 0) == wanted:
                continue
            order = [*sorted(held, key=lambda entry: kinds.index(entry[0]))]
            made = solve([wanted], [image for *_, image in order])
            if made is None:
                return None
            used = {order[index][0] for index in range(len(order)) if made[0] >> index & 1}
            for each in used | {kind}:
                found[each] += 1
    return found
