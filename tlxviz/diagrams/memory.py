"""Shared and tensor memory of a kernel: what lives where, from when to when, and how much of the limit that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tlxviz.analysis.slot_times import SlotTimes, slot_times
from tlxviz.diagrams.model import EdgeKind
from tlxviz.diagrams.uses import Use, line_of, uses
from tlxviz.diagrams.wording import bytes_text, name_of, shape_text, space_text
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import BarrierArray, Buffer, Program
from tlxviz.ir.roots import has_root
from tlxviz.trace.model import LaunchTrace

_BARRIER_BYTES = 8
TENSOR_MEMORY = 128 * 512 * 4
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
    """Bytes from the begin of its memory; None where the IR does not say yet."""
    tensor: bool
    """Whether it is in tensor memory."""
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
class MemoryMap:
    title: str
    notes: tuple[str, ...]
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    """Shared memory by offset, or in the order of allocation where that is not known; then tensor memory."""
    used: int | None
    """Bytes of shared memory of a CTA, as the compiler reports them."""
    limit: int | None
    """Bytes of it that a CTA may have on the launch's device."""
    times: SlotTimes | None
    """What slots are when; None without a launch, or where nothing fills slots by TMA."""

    @property
    def shared(self) -> int:
        """Bytes of all blocks in shared memory."""
        return sum(block.bytes for block in self.blocks if not block.tensor)

    @property
    def tensor(self) -> int:
        return sum(block.bytes for block in self.blocks if block.tensor)


def memory(program: Program, launch: LaunchTrace | None = None) -> MemoryMap:
    """The memory of a kernel, also of one that has none."""
    used = [use for use in uses(program) if isinstance(use.of, Buffer)]
    order = {operation: place for place, operation in enumerate(program.module.walk())}
    columns = tuple(dict.fromkeys(_column(use) for use in sorted(used, key=lambda use: order[use.operation])))
    things = sorted([*program.buffers, *program.barriers], key=lambda each: order[each.operation])
    starts = {column: min(order[use.operation] for use in used if _column(use) == column) for column in columns}
    blocks = [
        _block(program, each, columns, [use for use in used if use.of is each], order[each.operation], starts)
        for each in things
    ]
    known = [each for each in blocks if not each.tensor and each.offset is not None]
    if known:
        blocks.sort(key=lambda each: (each.tensor, each.offset is None, each.offset or 0))
    blocks = [*(each for each in blocks if not each.tensor), *(each for each in blocks if each.tensor)]
    reported = _reported(program, launch)
    return MemoryMap(
        f"Memory of {program.name}",
        _notes(blocks, reported, laid_out=bool(known)),
        columns,
        tuple(_sharing(each, blocks) for each in blocks),
        reported,
        _limit(launch),
        slot_times(launch) if launch is not None else None,
    )


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
) -> Block:
    barrier = isinstance(thing, BarrierArray)
    done: dict[int, set[EdgeKind]] = {}
    for use in used:
        done.setdefault(columns.index(_column(use)), set()).add(use.kind)
    texts = {place: "fill, read" if len(kinds) > 1 else next(iter(kinds)).value for place, kinds in done.items()}
    there = [place for place, column in enumerate(columns) if starts[column] >= made]
    offset = thing.operation.attributes.get("allocation.offset")
    return Block(
        thing.name,
        name_of(program, thing),
        "mbarriers" if isinstance(thing, BarrierArray) else shape_text(thing),
        line_of(program, thing.operation),
        thing.slots,
        thing.slots * _BARRIER_BYTES if isinstance(thing, BarrierArray) else thing.bytes,
        offset if isinstance(offset, int) else None,
        not barrier and bool(space_text(thing)),
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
    others = tuple(
        each.name
        for each in blocks
        if each is not block
        and each.tensor == block.tensor
        and each.offset is not None
        and each.offset < end
        and begin < each.offset + each.bytes
    )
    if not others:
        return block
    return replace(block, aliases=(*block.aliases, *others))


def _reported(program: Program, launch: LaunchTrace | None) -> int | None:
    for value in (
        launch.metadata.get("shared") if launch is not None else None,
        program.module.attributes.get("ttg.shared"),
    ):
        if isinstance(value, int):
            return value
    return None


def _limit(launch: LaunchTrace | None) -> int | None:
    limits: dict[str, Any] = launch.device.get("limits", {}) if launch is not None else {}
    value = limits.get("shared_memory_per_block")
    return value if isinstance(value, int) else None


def _notes(blocks: Sequence[Block], reported: int | None, *, laid_out: bool) -> tuple[str, ...]:
    shared = [each for each in blocks if not each.tensor]
    total = sum(each.bytes for each in shared)
    notes: list[str] = []
    if shared and not laid_out:
        notes.append(
            "Blocks stand in the order of their allocation: this TTGIR does not say offsets, "
            "which the compiler chooses later."
        )
    if reported is not None and reported < total:
        notes.append(
            f"Blocks have {bytes_text(total - reported)} more than the CTA takes: "
            "some that do not live at the same time share memory."
        )
    return tuple(notes)
