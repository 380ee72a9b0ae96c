"""Where tensor memory holds the elements of a view: lanes, and columns of 32 bits.

A dimension is a row of pieces, from the slowest to the fastest, each with how many steps it has and how far one goes:
so many lanes, and so many elements along a lane. Copies of an element that the hardware keeps for itself (scales in the
lanes of all four warps, an operand of 64 rows in both halves of a pair) are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tlxviz.ir.types import MemDescType, element_of
from tlxviz.sim.dtypes import torch_dtype
from tlxviz.sim.errors import UnsupportedOperation

LANES = 128
COLUMN_BYTES = 4
_SCALE_ROWS = 32
"""Rows of scales in different lanes; the next rows go to the next column."""
_SCALES_OF_A_COLUMN = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Steps of a dimension that go equally far."""

    count: int
    lanes: int
    elements: int


Axes = tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """The elements of a view that begins at some column."""

    shape: tuple[int, ...]
    axes: Axes
    """Of each dimension, its pieces from the slowest on."""
    columns: int
    """That it takes."""


def layout_of(type_: MemDescType) -> TensorLayout:
    """The layout that the encoding of a type in tensor memory stands for.

    Raises:
        UnsupportedOperation: the encoding is of an unknown kind.
    """
    *leading, rows, width = type_.shape
    size = torch_dtype(element_of(type_)).itemsize
    encoding = type_.encoding
    name = encoding.name if encoding is not None else ""
    if encoding is not None and name == "tensor_memory_encoding":
        parameters = encoding.parameters
        stride = int(parameters.get("colStride", 1))
        block = int(parameters["blockM"]), min(int(parameters["blockN"]), width)
        axes, elements = _blocks(rows, width, block, stride, str(parameters.get("ctaMode", "")))
    elif name == "tensor_memory_scales_encoding":
        axes, elements = _scales(rows, width)
    else:
        raise UnsupportedOperation(f"tensor memory with the layout {name or 'of no encoding'}")
    columns = math.ceil(elements * size / COLUMN_BYTES)
    made: list[tuple[Piece, ...]] = []
    for count in reversed(leading):
        made.insert(0, (Piece(count, 0, columns * COLUMN_BYTES // size),))
        columns *= count
    return TensorLayout(type_.shape, (*made, *axes), columns)


def _blocks(rows: int, width: int, block: tuple[int, int], stride: int, mode: str) -> tuple[Axes, int]:
    """Rows in lanes, columns beside one another. Blocks of 64 rows fill half of the lanes, a second one the rest."""
    tall, wide = block
    down: list[Piece] = []
    across: list[Piece] = []
    height = min(tall, rows)
    if tall == 64 and mode == "twocta_rhs":
        wide //= 2
        down = [Piece(height, 1, 0)]
        across = [Piece(2, 64, 0)]
        broad = 2 * wide
    elif tall == 64 and mode != "twocta_lhs":
        down = [Piece(height // 16, 32, 0), Piece(16, 1, 0)]
        broad = wide
        if rows > height:
            down.insert(0, Piece(2, 16, 0))
            height *= 2
        elif width > wide:
            across = [Piece(2, 16, 0)]
            broad *= 2
    else:
        down = [Piece(height, 1, 0)]
        broad = wide
    across.append(Piece(wide, 0, stride))
    elements = wide * stride
    for dimension, times in ((down, rows // height), (across, width // broad)):
        if times > 1:
            dimension.insert(0, Piece(times, 0, elements))
            elements *= times
    return (tuple(down), tuple(across)), elements


def _scales(rows: int, width: int) -> tuple[Axes, int]:
    """Four scales of a row in a column, and rows from 32 on in the next ones, up to the last; then the next four."""
    lanes, groups = min(_SCALE_ROWS, rows), math.ceil(rows / _SCALE_ROWS)
    together = min(_SCALES_OF_A_COLUMN, width)
    down = (Piece(groups, 0, _SCALES_OF_A_COLUMN), Piece(lanes, 1, 0))
    across = (Piece(width // together, 0, groups * _SCALES_OF_A_COLUMN), Piece(together, 0, 1))
    return (down, across), math.ceil(width / _SCALES_OF_A_COLUMN) * groups * _SCALES_OF_A_COLUMN


def part(pieces: tuple[Piece, ...], start: int, count: int) -> tuple[tuple[Piece, ...], int, int]:
    """`count` steps of a dimension from `start` on: their pieces, and how many lanes and elements the first lies off.

    Raises:
        UnsupportedOperation: the steps do not begin or end where pieces do.
    """
    lanes = elements = 0
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if count >= piece.count:
            if start % piece.count or count % piece.count:
                raise UnsupportedOperation("a slice of tensor memory across its blocks")
            kept.insert(0, piece)
            start, count = start // piece.count, count // piece.count
            continue
        first, start = start % piece.count, start // piece.count
        if first + count > piece.count:
            raise UnsupportedOperation("a slice of tensor memory across its blocks")
        kept.insert(0, Piece(count, piece.lanes, piece.elements))
        lanes, elements = lanes + first * piece.lanes, elements + first * piece.elements
        count = 1
    return tuple(kept), lanes, elements
