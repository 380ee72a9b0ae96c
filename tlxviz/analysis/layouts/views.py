"""Which part of an allocation a view of memory is, whatever the allocation's layout."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.linear import LinearLayout
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.roots import ALLOCATIONS
from tlxviz.ir.types import MemDescType

_MOST_STEPS = 64


@dataclass(frozen=True, slots=True)
class Window:
    """A tile of an allocation, its dimensions in another order perhaps."""

    shape: tuple[int, ...]
    """Of the allocation without the slots."""
    order: tuple[int, ...]
    """For each dimension of the view, which of the allocation's it is."""
    start: tuple[int, ...]
    """Where it begins, in dimensions of the allocation."""

    def seen(self, threads: LinearLayout) -> LinearLayout:
        """Threads that have elements of the view, as threads that have elements of the allocation."""
        bases = {kind: tuple(self._turned(basis) for basis in held) for kind, held in threads.bases.items()}
        return LinearLayout(bases, self.shape)

    def _turned(self, basis: tuple[int, ...]) -> tuple[int, ...]:
        found = [0] * len(self.shape)
        for own, theirs in enumerate(self.order):
            found[theirs] = basis[own]
        return tuple(found)


def window(view: Value) -> Window | None:
    """The part that `view` is; None where its elements have been cut up anew on the way, or nobody can tell."""
    steps: list[Operation] = []
    value = view
    for _ in range(_MOST_STEPS):
        before = _before(value)
        if before is None:
            break
        if isinstance(value.owner, Operation) and value.owner.name.startswith(("ttg.memdesc_", "ttng.")):
            steps.append(value.owner)
        value = before
    type_ = value.type
    if not isinstance(type_, MemDescType) or not isinstance(value.owner, Operation):
        return None
    if value.owner.name not in ALLOCATIONS:
        return None
    return _followed(type_.shape, list(reversed(steps)))


def _followed(shape: tuple[int, ...], steps: list[Operation]) -> Window | None:
    order: list[int] = list(range(len(shape)))
    start = [0] * len(shape)
    tile = shape
    for step in steps:
        match step.name:
            case "ttg.memdesc_index":
                if order != list(range(len(order))) or any(start):
                    return None
                tile = tile[1:]
                order, start = list(range(len(tile))), [0] * len(tile)
            case "ttg.memdesc_trans":
                permutation: list[int] = step.attributes["order"]
                order = [order[each] for each in permutation]
            case "ttg.memdesc_subslice":
                for own, offset in enumerate(step.attributes.get("offsets", ())):
                    start[order[own]] += offset
            case "ttng.map_to_remote_buffer":
                pass
            case _:
                return None
    return Window(tuple(tile), tuple(order), tuple(start))


def _before(value: Value) -> Value | None:
    """What `value` is a view of, or equal to in layout; None for an allocation and where that is not known."""
    if isinstance(value.owner, Block):
        region = value.owner.region
        parent = region.parent if region is not None else None
        if parent is None:
            return None
        if parent.name == "ttg.warp_specialize":
            return parent.operands[value.index]
        if parent.name == "scf.for" and value.index:
            return parent.groups["init"][value.index - 1]
        return None
    operation = value.owner
    if operation.name.startswith("ttg.memdesc_") or operation.name == "ttng.map_to_remote_buffer":
        return operation.operands[0]
    if operation.name == "scf.for":
        return operation.groups["init"][value.index]
    return None
