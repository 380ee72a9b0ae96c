"""Which kernels are recorded, by name."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class KernelFilter:
    """Says which kernels to record."""

    patterns: tuple[str, ...] = ()
    """Names in which `*` and `?` stand for any characters; none for all kernels."""

    def __call__(self, kernel: str) -> bool:
        return not self.patterns or any(fnmatchcase(kernel, pattern) for pattern in self.patterns)
