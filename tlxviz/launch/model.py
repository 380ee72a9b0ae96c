"""What a caught kernel launch consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(eq=False, slots=True)
class HostDescriptor:
    """A TMA descriptor made on the host."""

    base: torch.Tensor
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    block: tuple[int, ...]
    padding: str = "zero"
    """What out-of-bounds elements read as: `zero` or `nan`."""


@dataclass(eq=False, slots=True)
class Launch:
    """One launch, compiled and not yet executed."""

    kernel: str
    grid: tuple[int, int, int]
    parameters: list[tuple[str, Any]]
    """Name and value of each parameter of the TTGIR function, in its order: torch.Tensor for a pointer, int, float,
    bool, or HostDescriptor (followed by its own shape and stride scalars, as the function has them)."""
    arguments: dict[str, Any]
    """All arguments by name as the caller gave them, constexprs included."""
    ttgir: str
    metadata: dict[str, Any]
    """Plain data from the compiler: shared (bytes), num_warps, num_ctas, num_stages, target, ..."""
    source: str = ""
    source_file: str = ""
    """Absolute."""
    source_line: int = 1
    compile_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class LaunchLog:
    """What a script did with its kernels, whatever is recorded of it."""

    executed: dict[str, int] = field(default_factory=dict[str, int])
    """Kernel to how many launches were handed on."""
    empty: dict[str, int] = field(default_factory=dict[str, int])
    """Kernel to how many launches had an empty grid, so that nothing ran."""
    tuned: dict[str, int] = field(default_factory=dict[str, int])
    """Autotuned kernel to how many configurations it has, of which the first ran."""

    def names(self) -> list[str]:
        return list(self.executed | self.empty)
