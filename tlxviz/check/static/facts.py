"""What is known of a launch without running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlxviz.sim.model import CaughtLaunch


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """Memory that a parameter points to."""

    address: int


@dataclass(frozen=True, slots=True)
class DescriptorFacts:
    """A TMA descriptor that the host made."""

    shape: tuple[int, ...]
    """Of the tensor, in elements."""


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """A launch. Without one, nothing is known."""

    grid: tuple[int, int, int] | None = None
    parameters: Sequence[int | TensorFacts | DescriptorFacts | None] = ()
    """By position of the TTGIR function's parameters: whole numbers, memory, descriptors; None for all else."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: Sequence[str] = ()
    """Lines of the kernel's source."""
    source_file: str = ""
    source_line: int = 1
    """Number of the first one."""

    def line(self, file: str, number: int) -> str:
        """A source line; empty where it is not at hand."""
        index = number - self.source_line
        return self.source[index] if file == self.source_file and 0 <= index < len(self.source) else ""


def facts_of(launch: CaughtLaunch) -> LaunchFacts:
    """The facts of a launch."""
    parameters = tuple(_fact(value) for _, value in launch.parameters)
    source = tuple(launch.source.splitlines())
    return LaunchFacts(launch.grid, parameters, launch.metadata, source, launch.source_file, launch.source_line)


def _fact(value: Any) -> int | TensorFacts | DescriptorFacts | None:
    if isinstance(value, int):
        return int(value)
    if hasattr(value, "data_ptr"):
        return TensorFacts(int(value.data_ptr()))
    if hasattr(value, "base") and hasattr(value, "block"):
        return DescriptorFacts(tuple(map(int, value.shape)))
    return None
