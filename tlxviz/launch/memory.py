"""Device memory as torch's allocator would count it: blocks of 512 bytes, out of segments of 2 MiB.

Counted are the storages that are known to be on the device. How the allocator splits segments is not followed:
what is reserved is what was allocated at most since the cache was last emptied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_BLOCK = 512
_SEGMENT = 2 << 20
_POOLS = ("all", "small_pool", "large_pool")
_LARGE = 1 << 20
"""From this size on, torch takes a block out of its pool of large ones."""


@dataclass(slots=True)
class Use:
    """One quantity, as torch counts it."""

    current: int = 0
    peak: int = 0
    allocated: int = 0
    freed: int = 0

    def add(self, amount: int) -> None:
        self.current += amount
        self.allocated += amount
        self.peak = max(self.peak, self.current)

    def remove(self, amount: int) -> None:
        self.current -= amount
        self.freed += amount

    def as_dict(self) -> dict[str, int]:
        return {"current": self.current, "peak": self.peak, "allocated": self.allocated, "freed": self.freed}


class DeviceMemory:
    """What is allocated on the device."""

    def __init__(self) -> None:
        self._uses = {name: {pool: Use() for pool in _POOLS} for name in ("bytes", "requested", "count")}
        self._reserved = Use()

    @property
    def reserved(self) -> int:
        return self._reserved.current

    def add(self, size: int) -> None:
        for use, amount in self._touched(size):
            use.add(amount)
        missing = _rounded(self._uses["bytes"]["all"].current, _SEGMENT) - self._reserved.current
        if missing > 0:
            self._reserved.add(missing)

    def remove(self, size: int) -> None:
        for use, amount in self._touched(size):
            use.remove(amount)

    def empty_cache(self) -> None:
        spare = self._reserved.current - _rounded(self._uses["bytes"]["all"].current, _SEGMENT)
        self._reserved.remove(max(spare, 0))

    def reset_peaks(self) -> None:
        for use in self._all():
            use.peak = use.current

    def reset_totals(self) -> None:
        for use in self._all():
            use.allocated = use.freed = 0

    def stats(self) -> dict[str, Any]:
        """What `torch.cuda.memory_stats_as_nested_dict` returns."""
        found = {name: {pool: use.as_dict() for pool, use in pools.items()} for name, pools in self._uses.items()}
        nothing = {pool: Use().as_dict() for pool in _POOLS}
        reserved = nothing | {"all": self._reserved.as_dict()}
        segments = nothing | {"all": {name: size // _SEGMENT for name, size in self._reserved.as_dict().items()}}
        return {
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "num_sync_all_streams": 0,
            "num_device_alloc": segments["all"]["allocated"],
            "num_device_free": segments["all"]["freed"],
            "max_split_size": -1,
            "allocation": found["count"],
            "segment": segments,
            "active": found["count"],
            "inactive_split": nothing,
            "allocated_bytes": found["bytes"],
            "reserved_bytes": reserved,
            "active_bytes": found["bytes"],
            "inactive_split_bytes": nothing,
            "requested_bytes": found["requested"],
            "oversize_allocations": Use().as_dict(),
            "oversize_segments": Use().as_dict(),
        }

    def _touched(self, size: int) -> list[tuple[Use, int]]:
        """Each quantity that a block of that size counts in, and how much."""
        pools = ("all", "large_pool" if size > _LARGE else "small_pool")
        amounts = {"bytes": _rounded(size, _BLOCK), "requested": size, "count": 1}
        return [(self._uses[name][pool], amount) for name, amount in amounts.items() for pool in pools]

    def _all(self) -> list[Use]:
        return [self._reserved, *(use for pools in self._uses.values() for use in pools.values())]


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
