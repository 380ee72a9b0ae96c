"""Names for what the compiler allocates when it divides a `warp_specialize=True` loop among warp groups.

It gives tiles and barriers no names, or those of variables that they have nothing to do with. So a tile is called by
the descriptor that fills or empties it, and a barrier by its tile: `a_desc_full` says that a tile has arrived,
`a_desc_empty` that it may be overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.roots import Origins

_MARK = "ttg.ws_generated_barrier"
_TMA_LOAD = "ttng.async_tma_copy_global_to_local"
_TMA_STORE = "ttng.async_tma_copy_local_to_global"
_WRITES = {_TMA_LOAD: "dst", "ttg.local_store": "dst"}
"""Operations that fill a tile, with the operand that is it."""
_READS = {_TMA_STORE: "src", "ttg.local_load": "src", "ttng.warp_group_dot": "a"}
"""Operations that use a tile up."""


def generated_names(
    operations: Sequence[Operation], origins: Origins, own_name: Callable[[Value], str]
) -> dict[Value, str]:
    """Names of allocations, not yet unique; none where the kernel has no barriers that the compiler made.

    Args:
        operations: All of the module, in textual order.
        origins: Finds the allocation behind a view.
        own_name: What an allocation or descriptor is called so far; begins with `%` where it has no name.
    """
    barriers = {operation.results[0] for operation in operations if _MARK in operation.attributes}
    if not barriers:
        return {}
    tiles = _tiles(operations, origins, own_name)
    names = {tile: f"{name}_tile" if name != own_name(tile) else name for tile, name in tiles.items()}

    def tile_of(operation: Operation, part: str) -> str:
        view = operation.operand(part)
        tile = origins.origin(view) if view is not None else None
        return "" if tile is None else tiles.get(tile, own_name(tile))

    for operation in operations:
        if operation.name == _TMA_LOAD:
            barrier = origins.origin(operation.groups["barrier"][0])
            tile = tile_of(operation, "dst")
            if barrier in barriers and tile:
                names.setdefault(barrier, f"{tile}_full")
    waited: dict[Block, list[Value]] = {}
    for operation in operations:
        if operation.name == "ttng.wait_barrier":
            barrier = origins.origin(operation.groups["barrier"][0])
            if barrier in barriers and barrier not in names and operation.block is not None:
                waited.setdefault(operation.block, []).append(barrier)
        elif operation.name in (_WRITES | _READS):
            writes = operation.name in _WRITES
            tile = tile_of(operation, (_WRITES if writes else _READS)[operation.name])
            for block in _around(operation) if tile else ():
                names |= dict.fromkeys(waited.pop(block, ()), f"{tile}_{'empty' if writes else 'full'}")
    return names


def _around(operation: Operation) -> Iterator[Block]:
    """The block of an operation and those around it: a wait may stand before the condition of what it waits for."""
    place: Operation | None = operation
    while place is not None and place.block is not None:
        yield place.block
        place = place.block.region.parent if place.block.region is not None else None


def _tiles(operations: Sequence[Operation], origins: Origins, own_name: Callable[[Value], str]) -> dict[Value, str]:
    """What tiles are called after: the descriptor that fills them, or empties them if they have no names."""
    found: dict[Value, str] = {}
    for operation in operations:
        if operation.name in (_TMA_LOAD, _TMA_STORE):
            part = _WRITES.get(operation.name) or _READS[operation.name]
            tile = origins.origin(operation.groups[part][0])
            descriptor = origins.origin(operation.groups["desc"][0])
            if tile is not None and descriptor is not None:
                loaded = operation.name == _TMA_LOAD or own_name(tile).startswith("%")
                found.setdefault(tile, own_name(descriptor if loaded else tile))
    return found
