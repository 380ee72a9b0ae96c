"""Shared and tensor memory of a kernel: what lives where, from when to when, and how much of the limit that takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tlxviz.analysis.slot_times import SlotTimes, slot_times
from tlxviz.diagrams.model import EdgeKind
from tlxviz.diagrams.placement import Placement, placement
from tlxviz.diagrams.uses import Use, line_of, uses
from tlxviz.diagrams.wording import bytes_text, name_of, shape_text, space_text
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import BarrierArray, Buffer, Program
from tlxviz.ir.roots import has_root
from tlxviz.ir.tensor_slots import columns_of
from tlxviz.ir.types import MemDescType
from tlxviz.trace.model import LaunchTrace

_BARRIER_BYTES = 8
TENSOR_COLUMNS = 512
TENSOR_MEMORY = 128 * TENSOR_COLUMNS * 4
"""Bytes of an SM's tensor memory: 128 lanes of 512 columns of 32 bits (PTX ISA, "Tensor Memory")."""


@dataclass(frozen=True, slots=True)
class Column:
    """A place that fills or reads memory, in the order of the program."""

    agent: str
    """Replicas of a task are one: `mma` of `mma.0` and `mma.1`."""
    line: int
    """In the kernel's own source; 0 where none is known."""


@dataclass(frozen=True, slots=True)
class Block:
    """What one allocation makes."""

    key: str
    """Its name in traces."""
    name: str
    detail: str
    """Shape and element of a slot; of barriers, that they are."""
    line: int
    """Where it is allocated; 0 where that is not known."""
    slots: int
    bytes: int
    """Of all slots."""
    offset: int | None
    """Bytes from the begin of shared memory; None where that is not known, and in tensor memory."""
    corner: tuple[int, int] | None
    """Row and column of 32 bits where it begins in tensor memory; None likewise."""
    tensor: bool
    """Whether it is in tensor memory."""
    columns: int
    """Of 32 bits that all slots take there; 0 in shared memory."""
    barrier: bool
    aliases: tuple[str, ...]
    """Other names of the same memory, and blocks whose bytes it shares."""
    done: dict[int, str]
    """By column: what is done there, `fill`, `read` or both."""
    first: int
    """The first column in which it is there."""
    last: int
    """The last column that uses it; less than `first` for none."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Shared memory that operations use for themselves. The compiler says where it begins, and not how long it is."""

    operation: str
    """`ttg.convert_layout`; all of the name that begin at the same place."""
    lines: tuple[int, ...]
    """Of the kernel's own source, where they are known."""
    offset: int
    inside: tuple[str, ...]
    """Blocks in whose bytes it begins."""


@dataclass(frozen=True, slots=True)
class MemoryMap:
    title: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    """Shared memory by offset, or in the order of allocation where that is not known; then tensor memory."""
    scratch: tuple[Scratch, ...]
    """By offset."""
    used: int | None
    """Bytes of shared memory of a CTA, as the compiler reports them."""
    limit: int | None
    """Bytes of it that a CTA may have on the launch's device."""
    times: SlotTimes | None
    """What slots are when; None without a launch, or where nothing fills slots by TMA or in tensor memory."""

    @property
    def shared(self) -> int:
        """Bytes of all blocks in shared memory."""
        return sum(block.bytes for block in self.blocks if not block.tensor)

    @property
    def laid_out(self) -> bool:
        """Whether it is known where blocks are."""
        return any(block.offset is not None or block.corner is not None for block in self.blocks) or bool(self.scratch)

    @property
    def covered(self) -> int:
        """Bytes of shared memory in which there is a block, also where several share them."""
        return sum(end - begin for begin, end, _ in self.pieces)

    @property
    def pieces(self) -> tuple[tuple[int, int, tuple[Block, ...]], ...]:
        """Shared memory from where to where, cut wherever a block begins or ends, as far as there are any."""
        placed = [(each.offset, each.offset + each.bytes, each) for each in self.blocks if each.offset is not None]
        cuts = sorted({at for begin, end, _ in placed for at in (begin, end)})
        found = [
            (begin, end, tuple(each for first, last, each in placed if first <= begin and end <= last))
            for begin, end in pairwise(cuts)
        ]
        return tuple(piece for piece in found if piece[2])

    @property
    def tensor(self) -> int:
        return sum(block.bytes for block in self.blocks if block.tensor)


def memory(
    program: Program, launch: LaunchTrace | None = None, allocation: Mapping[str, Any] | None = None
) -> MemoryMap:
    """The memory of a kernel, also of one that has none.

    Args:
        program: The kernel.
        launch: A launch of it; what its trace says of offsets is taken from there.
        allocation: Of a kernel without a launch: `allocation` as a trace's metadata has it.
    """
    placed = placement(program, launch.metadata.get("allocation") if launch is not None else allocation)
    used = [use for use in uses(program) if isinstance(use.of, Buffer)]
    order = {operation: place for place, operation in enumerate(program.module.walk())}
    columns = tuple(dict.fromkeys(_column(use) for use in sorted(used, key=lambda use: order[use.operation])))
    things = sorted([*program.buffers, *program.barriers], key=lambda each: order[each.operation])
    starts = {column: min(order[use.operation] for use in used if _column(use) == column) for column in columns}
    blocks = [
        _block(program, each, columns, [use for use in used if use.of is each], order[each.operation], starts, placed)
        for each in things
    ]
    blocks.sort(key=_by_place)
    reported = _reported(placed, launch)
    return MemoryMap(
        f"Memory of {program.name}",
        _notes(blocks, reported, traced=launch is not None),
        columns,
        tuple(_sharing(each, blocks) for each in blocks),
        _scratch(program, placed, blocks),
        reported,
        _limit(launch),
        slot_times(launch) if launch is not None else None,
    )


def _by_place(block: Block) -> tuple[bool, bool, int, tuple[int, int]]:
    """Shared memory by offset, then tensor memory by column; what is nowhere behind each, as it is allocated."""
    row, column = block.corner or (0, 0)
    return block.tensor, block.offset is None and block.corner is None, block.offset or 0, (column, row)


def _column(use: Use) -> Column:
    name, _, number = use.agent.name.rpartition(".")
    return Column(name if name and number.isdecimal() else use.agent.name, use.line)


def _block(
    program: Program,
    thing: Buffer | BarrierArray,
    columns: Sequence[Column],
    used: Sequence[Use],
    made: int,
    starts: dict[Column, int],
    placed: Placement,
) -> Block:
    barrier = isinstance(thing, BarrierArray)
    tensor, type_ = not barrier and bool(space_text(thing)), thing.operation.results[0].type
    done: dict[int, set[EdgeKind]] = {}
    for use in used:
        done.setdefault(columns.index(_column(use)), set()).add(use.kind)
    texts = {place: "fill, read" if len(kinds) > 1 else next(iter(kinds)).value for place, kinds in done.items()}
    there = [place for place, column in enumerate(columns) if starts[column] >= made]
    return Block(
        thing.name,
        name_of(program, thing),
        "mbarriers" if isinstance(thing, BarrierArray) else shape_text(thing),
        line_of(program, thing.operation),
        thing.slots,
        thing.slots * _BARRIER_BYTES if isinstance(thing, BarrierArray) else thing.bytes,
        placed.offsets.get(thing.operation),
        placed.columns.get(thing.operation),
        tensor,
        columns_of(type_) if tensor and isinstance(type_, MemDescType) else 0,
        barrier,
        () if isinstance(thing, BarrierArray) else _views(program, thing),
        dict(sorted(texts.items())),
        min([*there[:1], *done], default=0),
        max(done, default=-1),
    )


def _views(program: Program, buffer: Buffer) -> tuple[str, ...]:
    """Names under which a kernel uses the memory as another shape or type."""
    found: dict[str, None] = {}
    for operation in program.module.walk():
        if operation.name == "ttg.memdesc_reinterpret" and _is_view(program, operation, buffer):
            name = operation.results[0].name.removeprefix("%")
            named = not name[:1].isdigit()
            found[name if named else f"a view of line {line_of(program, operation)}"] = None
    return tuple(each for each in found if each != name_of(program, buffer))


def _is_view(program: Program, operation: Operation, buffer: Buffer) -> bool:
    value = operation.results[0]
    return has_root(value) and program.roots.get(value) is buffer


def _sharing(block: Block, blocks: Sequence[Block]) -> Block:
    """With the blocks that the compiler has put into the same bytes."""
    if block.offset is None:
        return block
    begin, end = block.offset, block.offset + block.bytes
    others = dict.fromkeys(
        each.name
        for each in blocks
        if each is not block and each.offset is not None and each.offset < end and begin < each.offset + each.bytes
    )
    return replace(block, aliases=(*block.aliases, *others)) if others else block


def _scratch(program: Program, placed: Placement, blocks: Sequence[Block]) -> tuple[Scratch, ...]:
    """What has a place in shared memory and is no block."""
    made = {each.operation for each in (*program.buffers, *program.barriers)}
    lines: dict[tuple[int, str], set[int]] = {}
    for operation, offset in placed.offsets.items():
        if operation not in made:
            lines.setdefault((offset, operation.name), set()).add(line_of(program, operation))
    return tuple(
        Scratch(name, tuple(sorted(found - {0})), offset, _names_at(offset, blocks))
        for (offset, name), found in sorted(lines.items())
    )


def _names_at(offset: int, blocks: Iterable[Block]) -> tuple[str, ...]:
    at = (each.name for each in blocks if each.offset is not None and 0 <= offset - each.offset < each.bytes)
    return tuple(dict.fromkeys(at))


def _reported(placed: Placement, launch: LaunchTrace | None) -> int | None:
    value = launch.metadata.get("shared") if launch is not None else None
    return value if isinstance(value, int) else placed.shared


def _limit(launch: LaunchTrace | None) -> int | None:
    limits: dict[str, Any] = launch.device.get("limits", {}) if launch is not None else {}
    value = limits.get("shared_memory_per_block")
    return value if isinstance(value, int) else None


def _notes(blocks: Sequence[Block], reported: int | None, *, traced: bool) -> tuple[str, ...]:
    shared = [each for each in blocks if not each.tensor]
    if not shared or any(each.offset is not None for each in shared):
        return ()
    total = sum(each.bytes for each in shared)
    who = "this trace does not say" if traced else "this TTGIR does not say, and no Triton is here that can tell"
    notes = [f"Blocks stand in the order of their allocation: {who} where the compiler puts them."]
    if reported is not None and reported < total:
        notes.append(
            f"Blocks have {bytes_text(total - reported)} more than the CTA takes: "
            "some that do not live at the same time share memory."
        )
    return tuple(notes)
