"""A launch's buffer on the GPU."""

from __future__ import annotations

import time

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz.probe.buffer import HEADER, HEADER_BYTES, NO_SM, TAG_ALIGNMENT, ring_shift, tagged

_POLL_SECONDS = 0.001


class Memory:
    """Headers of all CTAs of a launch, and rings of the first ones.

    Args:
        ctas: CTAs of the launch.
        kept: How many of them, from CTA 0 on, have rings.
        rings: Rings of a CTA: recorded warps.
        records: Records that a ring has to take.

    Raises:
        torch.OutOfMemoryError: the GPU has no room.
    """

    def __init__(self, ctas: int, kept: int, rings: int, records: int) -> None:
        self.ctas, self.kept, self.rings, self.records = ctas, kept, rings, records
        self.shift = ring_shift(records)
        alignment = max(TAG_ALIGNMENT, 1 << self.shift)
        below = (kept * rings) << self.shift
        self._tensor = torch.zeros(below + alignment + ctas * HEADER_BYTES, dtype=torch.uint8, device="cuda")
        start = self._tensor.data_ptr()
        self._base = -(-(start + below) // alignment) * alignment
        self._origin = self._base - start
        self._side = torch.cuda.Stream()  # copies from it do not wait for the kernel

    @staticmethod
    def size(ctas: int, kept: int, rings: int, records: int) -> int:
        """Bytes that such a buffer takes."""
        shift = ring_shift(records)
        return ((kept * rings) << shift) + max(TAG_ALIGNMENT, 1 << shift) + ctas * HEADER_BYTES

    def address(self, *, sm: int = NO_SM, listed: bool, late: bool) -> int:
        """What to give to the kernel, so that the CTAs that its build lists record, and those of `sm`.

        Args:
            late: Whether headers are written when CTAs end.
        """
        return tagged(self._base, self.shift, sm, listed=listed, late=late)

    def clear(self) -> None:
        """Zero it, on the current stream."""
        self._tensor.zero_()

    def clear_headers(self) -> None:
        """The same for headers alone."""
        self._tensor[self._origin : self._origin + self.ctas * HEADER_BYTES].zero_()

    def headers(self) -> NDArray[np.void]:
        """One `buffer.HEADER` a CTA."""
        return self._read(self._origin, self.ctas * HEADER_BYTES).view(HEADER)

    def ring(self, cta: int, ring: int) -> NDArray[np.uint32]:
        """The records of a ring, from its first on."""
        place = self._origin - ((cta * self.rings + ring + 1) << self.shift)
        return self._read(place, 1 << self.shift).view(np.uint32)

    def _read(self, place: int, count: int) -> NDArray[np.uint8]:
        with torch.cuda.stream(self._side):
            host = torch.empty(count, dtype=torch.uint8, device="cpu")
            host.copy_(self._tensor[place : place + count])
        return host.numpy()


def wait_for(event: torch.cuda.Event, seconds: float) -> bool:
    """Waits until a GPU has reached an event; False if it has not after so many seconds."""
    end = time.monotonic() + seconds
    pause = _POLL_SECONDS / 16
    while not event.query():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, _POLL_SECONDS)
    return True
