"""The layout of each buffer, what reads and writes it, and what another layout would make of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tlxviz.analysis.layouts import banks
from tlxviz.analysis.layouts.consumers import Seen, asks, consumer, inner_dimension, refusal
from tlxviz.analysis.layouts.context import Context, variable
from tlxviz.analysis.layouts.model import BufferLayout, BufferUse, Change
from tlxviz.analysis.layouts.views import Window, window
from tlxviz.analysis.layouts.words import element_bits, element_name
from tlxviz.ir.accesses import Access, accesses
from tlxviz.ir.encodings import Layout, NvmmaShared, PaddedShared, Shared, SharedLinear, SwizzledShared, layout_of
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.places import distributed, offsets
from tlxviz.ir.program import Buffer
from tlxviz.ir.types import MemDescType, TensorType

_COPY = "ttg.async_copy_global_to_local"
_THREADS: dict[str, Callable[[Operation], Value | None]] = {
    "ttg.local_load": lambda operation: operation.result,
    "ttg.local_store": lambda operation: operation.operand("value"),
    "ttg.local_alloc": lambda operation: operation.operand("init"),
    _COPY: lambda operation: operation.operands[0],
}
"""The tensor in registers of what warps load and store; of copies, the pointers."""
_LDMATRIX, _STMATRIX = 75, 90
"""Compute capabilities from which these are there."""


def buffer_layouts(context: Context) -> tuple[BufferLayout, ...]:
    """All buffers of a kernel, in the order of the TTGIR."""
    found = _by_buffer(context)
    return tuple(_described(context, buffer, found.get(buffer, ()), None) for buffer in context.program.buffers)


def change(context: Context, buffer: Buffer, given: Shared) -> Change:
    """What a layout that is given would make of a buffer."""
    mine = _by_buffer(context).get(buffer, ())
    return Change(_described(context, buffer, mine, None), _described(context, buffer, mine, given))


def tile_of(context: Context, buffer: Buffer) -> MemDescType:
    """A slot of a buffer: its type without the dimension of the slots."""
    value = buffer.operation.results[0]
    type_ = value.type
    assert isinstance(type_, MemDescType)  # it is what an allocation makes
    indexed = any(operation.name == "ttg.memdesc_index" for operation, _ in context.uses.of(value))
    slots = buffer.slots > 1 or indexed or _rank(layout_of(type_.encoding)) == len(type_.shape) - 1
    return replace(type_, shape=type_.shape[1:], alloc_shape=type_.shape[1:]) if slots else type_


def _is_shared(view: Value) -> bool:
    """Whether a view is of shared memory, and not of tensor memory, whose layouts follow from the products."""
    return isinstance(view.type, MemDescType) and view.type.space != "tensor_memory"


def _rank(layout: Layout | None) -> int:
    return len(layout.order) if isinstance(layout, SwizzledShared | PaddedShared) else -1


def _by_buffer(context: Context) -> dict[Buffer, list[Access]]:
    found: dict[Buffer, list[Access]] = {}
    for access in accesses(context.program):
        found.setdefault(access.buffer, []).append(access)
    return found


def _described(context: Context, buffer: Buffer, mine: Sequence[Access], given: Shared | None) -> BufferLayout:
    tile = tile_of(context, buffer)
    return BufferLayout(
        name=buffer.name,
        location=context.line(buffer.operation.location),
        shape=tile.shape,
        slots=buffer.slots,
        element=element_name(tile.element),
        bits=element_bits(tile.element),
        space=tile.space.replace("_", " "),
        bytes=buffer.bytes,
        layout=layout_of(tile.encoding) if given is None else given,
        chosen=context.pins.of(buffer.operation.location),
        uses=_merged([_Access(context, access, given).described() for access in mine]),
    )


def _merged(uses: Sequence[BufferUse]) -> tuple[BufferUse, ...]:
    """Uses that differ in who does it alone, as one."""
    found: dict[BufferUse, list[str]] = {}
    for use in uses:
        found.setdefault(replace(use, agents=()), []).extend(use.agents)
    return tuple(replace(use, agents=tuple(dict.fromkeys(agents))) for use, agents in found.items())


@dataclass(frozen=True, slots=True)
class _Access:
    """One access of a buffer, with the layout that it has or one that is given."""

    context: Context
    access: Access
    given: Shared | None

    def described(self) -> BufferUse:
        context, operation, part = self.context, self.access.operation, self.access.part
        view = operation.results[0] if part == "init" else operation.groups[part][0]
        # as it is, a view's own type says how its elements lie; where that changes, it has to be followed back
        piece = window(view) if self.given is not None else None
        seen = self._seen(view, piece)
        tensor = _THREADS[operation.name](operation) if operation.name in _THREADS else None
        made: banks.Transactions | None = None
        note = "where it goes depends on the data" if operation.name.startswith("ttg.local_") else ""
        if tensor is not None:
            made, note = self._counted(view, tensor, piece)
        refused = ""
        if self.given is not None and seen is not None:
            refused = refusal(operation, part, seen, made.bytes_per_lane if made is not None else 0)
        who = consumer(operation, part, seen)
        return BufferUse(
            who=f"{who}, {made.instruction}" if made is not None and operation.name != _COPY else who,
            agents=context.agents(operation),
            location=context.line(operation.location),
            variable=variable(tensor) if tensor is not None else "",
            asks=asks(operation, part) if _is_shared(view) else "",
            transactions=made,
            cycles=None if made is None else context.busy(made.transactions * made.warps),
            note=refused or note,
            refused=bool(refused),
        )

    def _seen(self, view: Value, piece: Window | None) -> Seen | None:
        """The layout as the operation sees it; None where nobody can tell."""
        type_ = view.type
        if not isinstance(type_, MemDescType):
            return None
        layout = layout_of(type_.encoding) if self.given is None else self.given
        if not isinstance(layout, NvmmaShared | PaddedShared | SharedLinear | SwizzledShared):
            return None
        rank = len(type_.shape)
        inner = inner_dimension(layout, rank)
        if self.given is not None:
            if piece is None or len(piece.order) != rank or inner not in piece.order:
                return None
            inner = piece.order.index(inner)
            if isinstance(layout, NvmmaShared):
                layout = replace(layout, transposed=inner != rank - 1)
        return Seen(layout, type_.shape, element_bits(type_.element), inner)

    def _counted(self, view: Value, tensor: Value, piece: Window | None) -> tuple[banks.Transactions | None, str]:
        """What the access takes, or why that is not known."""
        memory, threads = view.type, tensor.type
        if not isinstance(memory, MemDescType) or not isinstance(threads, TensorType):
            return None, "a bulk copy, which no threads do"
        if self.context.spread:
            return None, "the program is spread over several CTAs"
        registers = distributed(layout_of(threads.encoding), threads.shape)
        if registers is None:
            return None, "the layout in registers is not taken apart"
        rank, start = len(memory.shape), ()
        if self.given is None:
            places = offsets(layout_of(memory.encoding), memory.alloc_shape[-rank:] if rank else ())
        elif piece is None:
            return None, "the memory is viewed in another shape"
        else:
            places, start = offsets(self.given, piece.shape), piece.start
            registers = piece.seen(registers)
        if places is None:
            return None, "the layout in memory is not taken apart"
        name = self.access.operation.name
        store = name != "ttg.local_load"
        matrices = name != _COPY and self.context.capability >= (_STMATRIX if store else _LDMATRIX)
        bits = element_bits(memory.element)
        made = banks.moved(registers, places, bits, store=store, matrices=matrices, start=start)
        if made is None:
            return None, "elements share places, or are parts of bytes"
        return replace(made, instruction="cp.async") if name == _COPY else made, ""
