"""The memory that a probed kernel writes: who writes what where, and how to read it.

A launch's buffer grows in two directions from one aligned address. Above it every CTA has a header: clock and time of
its start and of its end, and its SM. Below it lie the rings: for each CTA one for each recorded warp, of a power of two
bytes, filled from its lowest address on.

A launch that may hang writes what is known of a CTA's start when it starts. Others write it when the CTA ends, which
costs a kernel of a few microseconds less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HEADER = np.dtype(
    [
        ("start_clock", "<i8"),
        ("start_ns", "<i8"),
        ("sm", "<u4"),
        ("padding", "<u4", (3,)),
        ("end_clock", "<i8"),
        ("end_ns", "<i8"),
        ("unused", "<i8", (2,)),
    ]
)
HEADER_BYTES = HEADER.itemsize
SM_OFFSET = 16
END_OFFSET = 32
TAG_ALIGNMENT = 1 << 17
"""The buffer's address is a multiple of it; the bits below carry a tag."""
TAG_LATE = 1
"""Set where a CTA writes all of its header when it ends."""
LATE_CYCLES = 1 << 31
"""What a CTA of such a launch must be shorter than: it keeps 32 bits of its start."""
TAG_SM_SHIFT, TAG_SM_BITS = 2, 9
"""Where the tag has the number of the SM that records all of its CTAs."""
TAG_LENGTH_SHIFT, TAG_LENGTH_BITS = 11, 5
"""Where it has the length of a ring, as the logarithm to base 2 of its bytes."""
TAG_LISTED = 1 << 16
"""Set where the CTAs that the build names record as well."""
NO_SM = (1 << TAG_SM_BITS) - 1
"""The number of no SM."""
UNKNOWN_START = -1
"""`start_clock` of a CTA that may have started: it would write its header when it ends, and has not."""
MOST_OF_A_BLOCK = 32
"""Timestamps that are written before the ring's address moves on: what lies behind a ring's last place."""
_LEAST_SHIFT = 8


def ring_shift(records: int) -> int:
    """The logarithm to base 2 of the bytes of a ring that has room for so many records of 4 bytes."""
    return max(_LEAST_SHIFT, (4 * (records + MOST_OF_A_BLOCK) - 1).bit_length())


def tagged(address: int, shift: int, sm: int, *, listed: bool, late: bool) -> int:
    """What a kernel is given as the address of its buffer."""
    flags = (TAG_LISTED if listed else 0) | (TAG_LATE if late else 0)
    return address | sm << TAG_SM_SHIFT | shift << TAG_LENGTH_SHIFT | flags


def without_starts(headers: NDArray[np.void]) -> NDArray[np.void]:
    """Headers of a launch that has not ended and writes them late."""
    found = headers.copy()
    found["start_clock"][found["end_clock"] == 0] = UNKNOWN_START
    return found
