"""The memory that a probed kernel writes: who writes what where, and how to read it.

A launch's buffer grows in two directions from one aligned address. Above it every CTA has a header: clock and time of
its start and of its end, and its SM. Below it lie the rings: for each CTA one for each recorded warp, of a power of two
bytes, filled from its lowest address on.
"""

from __future__ import annotations

import numpy as np

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
TAG_ALIGNMENT = 1 << 16
"""The buffer's address is a multiple of it; the bits below carry a tag."""
TAG_SM_SHIFT, TAG_SM_BITS = 2, 9
TAG_LENGTH_SHIFT = 11
NO_SM = (1 << TAG_SM_BITS) - 1
MOST_OF_A_BLOCK = 32
"""Timestamps that are written before the ring's address moves on: what lies behind a ring's last place."""
