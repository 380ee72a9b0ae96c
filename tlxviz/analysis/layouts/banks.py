"""What loads and stores of registers cost in shared memory: instructions, and 128-byte transactions of 32 banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tlxviz.ir.linear import LinearLayout
from tlxviz.ir.places import Offsets

BANKS, BANK_BYTES = 32, 4
TRANSACTION = BANKS * BANK_BYTES
"""Bytes that shared memory moves in a cycle, one word of each bank."""
_WIDEST = 16
"""Bytes that an instruction moves for a lane, at most."""
_ROW = 16
"""Bytes of a row of `ldmatrix` and `stmatrix`."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Transactions:
    """What moving a tensor once between registers and shared memory takes."""

    instruction: str
    """`ld.shared`, `st.shared`, `ldmatrix.x4`, `stmatrix.x2.trans`, ..."""
    bytes_per_lane: int
    """That one instruction moves."""
    instructions: int
    """Of one warp."""
    warps: int
    transactions: int
    """Of one warp."""
    least: int
    """Transactions of one warp if no two words were in one bank."""
    worst: int
    """Words of one bank that some transaction's lanes want, at most: 1 has no conflict, 8 is called 8-way."""
    useful: float
    """Of the bytes that the transactions could move, the share that somebody wants."""

    @property
    def conflicts(self) -> int:
        """Transactions of one warp that bank conflicts add."""
        return self.transactions - self.least


@dataclass(frozen=True, slots=True)
class _Images:
    """Where in shared memory, in elements, each bit of a register, a lane and a warp leads."""

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.register, *self.lane, *self.warp)


def moved(
    threads: LinearLayout,
    memory: Offsets,
    bits: int,
    *,
    store: bool,
    matrices: bool = True,
    start: Sequence[int] = (),
) -> Transactions | None:
    """What it takes to load or store a tensor; None where the memory's layout is none, or elements have parts of bytes.

    The instructions are those that Triton's compiler picks: matrices where 8 rows of 16 bytes come out, else the widest
    vectors.

    Args:
        threads: Where the elements are in registers.
        memory: Where they are in shared memory, whose shape may be larger.
        bits: Of an element.
        store: Registers to shared memory.
        matrices: Whether the GPU has `ldmatrix` (or `stmatrix`, for stores).
        start: Coordinates of the tensor's first element in the memory.
    """
    dimensions = memory.bases()
    if dimensions is None or bits % 8 or not bits:
        return None
    size = bits // 8
    images = _Images(
        tuple(image for image in _led_to(threads.bases["register"], dimensions) if image),
        _led_to(threads.bases["lane"], dimensions),
        _led_to(threads.bases["warp"], dimensions),
    )
    first = _led_to([start], dimensions)[0] if start else 0
    vector = _vector(images, memory, size)
    name = "stmatrix" if store else "ldmatrix"
    fits = matrices and len(images.lane) == 5 and _aligned(memory, _ROW // size)
    if fits and _is_matrix(images, size):
        return _matrices(name, images, memory, size, first, 4 // size)
    if fits and size == 2 and _is_transposed(images):
        return _matrices(name, images, memory, size, first, 0)
    places = _places(images, memory, first, vector) * size
    instructions, lanes, warps = places.shape
    at_once = min(lanes, TRANSACTION // max(BANK_BYTES, vector * size))
    groups = places.reshape(instructions, -1, at_once, warps).transpose(0, 3, 1, 2).reshape(-1, at_once)
    return _counted("st.shared" if store else "ld.shared", groups, vector * size, images, instructions)


def _led_to(bases: Sequence[Sequence[int]], dimensions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The offset that each basis leads to."""
    found: list[int] = []
    for basis in bases:
        offset = 0
        for coordinate, bits in zip(basis, dimensions, strict=True):
            for bit, image in enumerate(bits):
                offset ^= image if coordinate >> bit & 1 else 0
        found.append(offset)
    return tuple(found)


def _vector(images: _Images, memory: Offsets, size: int) -> int:
    """How many elements that are neighbours in memory a thread has in registers, and can move at once."""
    width = _WIDEST // size
    while width > 1:
        inside = _powers(width)
        if (
            all(power in images.register for power in inside)
            and not any(image & width - 1 for image in images.all if image not in inside)
            and len([image for image in images.all if image in inside]) == len(inside)
            and _aligned(memory, width)
        ):
            return width
        width //= 2
    return 1


def _powers(width: int) -> tuple[int, ...]:
    return tuple(1 << bit for bit in range(width.bit_length() - 1))


def _aligned(memory: Offsets, elements: int) -> bool:
    """Whether padding leaves so many elements together, which `elements` of their size are."""
    return all(not interval % elements and not padding % elements for interval, padding in memory.intervals)


def _is_matrix(images: _Images, size: int) -> bool:
    """Whether four lanes have a row of 16 bytes, each a word of neighbours."""
    words = _powers(4 // size)
    rows = (4 // size, 8 // size)
    low = _ROW // size - 1
    rest = [image for image in images.register if image not in words] + [*images.lane[2:], *images.warp]
    return (
        all(word in images.register for word in words)
        and images.lane[:2] == rows
        and not any(image & low for image in rest)
    )


def _is_transposed(images: _Images) -> bool:
    """Whether eight lanes, four apart, have a row of 16 bytes, each half a word."""
    rest = [*images.register, *images.lane[:2], *images.warp]
    return images.lane[2:] == (1, 2, 4) and bool(images.register) and not any(image & 7 for image in rest)


def _matrices(name: str, images: _Images, memory: Offsets, size: int, first: int, word: int) -> Transactions:
    """Matrices of 8 rows of 16 bytes, each a transaction if its rows are in different banks.

    Args:
        word: Elements of a lane's word that are neighbours in memory; 0 where the matrix is transposed.
    """
    transposed = not word
    if transposed:  # a lane's word has elements of two rows
        places = _places(images, memory, first, 1) * size
        pairs = places.reshape(places.shape[0] // 2, 2, *places.shape[1:])
        groups = pairs.transpose(0, 3, 1, 2).reshape(-1, 2 * places.shape[1])
        registers, width = places.shape[0] // 2, size
    else:
        places = _places(images, memory, first, word) * size
        groups = places.transpose(0, 2, 1).reshape(-1, places.shape[1])
        registers, width = places.shape[0], word * size
    at_once = min(4, registers)
    kind = f"{name}.x{at_once}{'.trans' if transposed else ''}"
    return replace(_counted(kind, groups, width, images, registers // at_once), bytes_per_lane=4 * at_once)


def _places(images: _Images, memory: Offsets, first: int, vector: int) -> Numbers:
    """Offsets in elements by register, lane and warp: of each vector's first element."""
    registers = _spanned([image for image in images.register if image not in _powers(vector)])
    lanes, warps = _spanned(images.lane), _spanned(images.warp)
    found = registers[:, None, None] ^ lanes[None, :, None] ^ warps[None, None, :] ^ first
    gaps = np.zeros_like(found)
    for interval, padding in memory.intervals:
        gaps += found // interval * padding
    return found + gaps


def _spanned(images: Sequence[int]) -> Numbers:
    """The XORs of all selections of `images`, in the order of the bits that select."""
    found = np.zeros(1, dtype=np.int64)
    for image in images:
        found = np.concatenate([found, found ^ image])
    return found


def _counted(name: str, groups: Numbers, width: int, images: _Images, instructions: int) -> Transactions:
    """
    Args:
        groups: Addresses in bytes: a row for what is moved together.
        width: Bytes at each address.
    """
    steps = np.arange(0, width, BANK_BYTES)
    words = (groups[:, :, None] + steps).reshape(len(groups), -1) // BANK_BYTES
    words.sort(axis=1)
    new = np.ones(words.shape, dtype=np.bool_)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    rows = np.broadcast_to(np.arange(len(words))[:, None], words.shape)[new]
    wanted = np.bincount(rows * BANKS + words[new] % BANKS, minlength=len(words) * BANKS).reshape(-1, BANKS)
    most = wanted.max(axis=1)
    total, warps = int(most.sum()), 1 << len(images.warp)
    return Transactions(
        instruction=name,
        bytes_per_lane=width,
        instructions=instructions,
        warps=warps,
        transactions=-(-total // warps),
        least=len(groups) // warps,
        worst=int(most.max()),
        useful=_useful(groups, width) / (total * TRANSACTION),
    )


def _useful(groups: Numbers, width: int) -> int:
    """Bytes that are wanted, each once in each row of `groups`."""
    addresses = np.sort(groups, axis=1)
    return int((1 + (addresses[:, 1:] != addresses[:, :-1]).sum(axis=1)).sum()) * width
