"""Device memory as torch's allocator would count it: blocks of 512 bytes, out of segments of 2 MiB.

Counted are the storages that are known to be on the device. How the allocator splits segments is not followed:
what is reserved is what was allocated at most since the cache was last emptied.
"""

from __future__ import annotations

from typing import Any

_BLOCK = 512
_SEGMENT = 2 << 20
_LARGE = 1 << 20
"""Above this size, torch takes a block out of its pool of large ones."""


class _Blocks:
    """Blocks in use: their bytes, the bytes that were asked for, their number; now, and when they were most."""

    __slots__ = ("count", "peak", "requested", "size", "totals")

    def __init__(self) -> None:
        self.size = self.requested = self.count = 0
        self.peak = [0, 0, 0]
        self.totals = [0, 0, 0]
        """Of everything that was ever allocated."""

    def now(self) -> list[int]:
        return [self.size, self.requested, self.count]

    def note_peak(self) -> None:
        self.peak = list(map(max, self.peak, self.now()))


class DeviceMemory:
    """What is allocated on the device."""

    def __init__(self) -> None:
        self._small, self._large = _Blocks(), _Blocks()
        self._peak = [0, 0, 0]
        self._reserved = _Blocks()

    @property
    def reserved(self) -> int:
        return self._reserved.size

    # Called for every tensor that an operator makes: this is on the way of everything.
    def add(self, size: int) -> None:
        blocks = self._large if size > _LARGE else self._small
        rounded = -(-size // _BLOCK) * _BLOCK
        blocks.size += rounded
        blocks.requested += size
        blocks.count += 1
        totals = blocks.totals
        totals[0] += rounded
        totals[1] += size
        totals[2] += 1
        if blocks.size > blocks.peak[0]:
            blocks.note_peak()
        used = self._small.size + self._large.size
        if used > self._peak[0]:
            self._peak = list(map(max, self._peak, self._now()))
        if used > self._reserved.size:
            self._reserve(_rounded(used, _SEGMENT) - self._reserved.size)

    def remove(self, size: int) -> None:
        blocks = self._large if size > _LARGE else self._small
        blocks.size -= -(-size // _BLOCK) * _BLOCK
        blocks.requested -= size
        blocks.count -= 1

    def empty_cache(self) -> None:
        used = _rounded(self._small.size + self._large.size, _SEGMENT)
        self._reserved.count -= max(self._reserved.size - used, 0) // _SEGMENT
        self._reserved.size = min(self._reserved.size, used)

    def begin(self) -> None:
        """Forget what was before, but for what is still allocated."""
        self.empty_cache()
        self.reset_peaks()
        self.reset_totals()

    def reset_peaks(self) -> None:
        for blocks in (self._small, self._large, self._reserved):
            blocks.peak = blocks.now()
        self._peak = self._now()

    def reset_totals(self) -> None:
        for blocks in (self._small, self._large, self._reserved):
            blocks.totals = blocks.now()

    def stats(self) -> dict[str, Any]:
        """What `torch.cuda.memory_stats_as_nested_dict` returns."""
        found = {name: self._by_pool(index) for index, name in enumerate(("bytes", "requested", "count"))}
        nothing = {pool: _use(0, 0, 0) for pool in ("all", "small_pool", "large_pool")}
        reserved = [
            nothing
            | {"all": _use(self._reserved.now()[index], self._reserved.peak[index], self._reserved.totals[index])}
            for index in range(3)
        ]
        segments = reserved[2]["all"]
        return {
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "num_sync_all_streams": 0,
            "num_device_alloc": segments["allocated"],
            "num_device_free": segments["freed"],
            "max_split_size": -1,
            "allocation": found["count"],
            "segment": reserved[2],
            "active": found["count"],
            "inactive_split": nothing,
            "allocated_bytes": found["bytes"],
            "reserved_bytes": reserved[0],
            "active_bytes": found["bytes"],
            "inactive_split_bytes": nothing,
            "requested_bytes": found["requested"],
            "oversize_allocations": _use(0, 0, 0),
            "oversize_segments": _use(0, 0, 0),
        }

    def _now(self) -> list[int]:
        return [small + large for small, large in zip(self._small.now(), self._large.now(), strict=True)]

    def _reserve(self, size: int) -> None:
        reserved = self._reserved
        reserved.size += size
        reserved.requested += size
        reserved.count += size // _SEGMENT
        reserved.totals = [
            total + more for total, more in zip(reserved.totals, (size, size, size // _SEGMENT), strict=True)
        ]
        reserved.note_peak()

    def _by_pool(self, index: int) -> dict[str, dict[str, int]]:
        pools = {"small_pool": self._small, "large_pool": self._large}
        uses = {name: _use(pool.now()[index], pool.peak[index], pool.totals[index]) for name, pool in pools.items()}
        total = sum(pool.totals[index] for pool in pools.values())
        return {"all": _use(self._now()[index], self._peak[index], total), **uses}


def _use(current: int, peak: int, allocated: int) -> dict[str, int]:
    return {"current": current, "peak": peak, "allocated": allocated, "freed": allocated - current}


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
