"""What a caught kernel launch consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    values: bool = True
    """Whether the outputs are to be written; without, only the time is asked for."""
    counted: bool = True
    """Whether it is a launch of the script's own, to be recorded if it is asked for. An autotuner's trial is not."""
    assembled: Callable[[], Mapping[str, Any]] = field(default=dict[str, Any])
    """More of `metadata`: what the assembler said. Only who records the launch asks, for it can take a second."""


class Executed(Protocol):
    """What became of a launch."""

    @property
    def cycles(self) -> int:
        """How long it took the device, in SM cycles."""
        ...

    @property
    def sms(self) -> int:
        """SMs that its CTAs fill: two CTAs that fit on one SM count as one."""
        ...

    @property
    def written(self) -> Sequence[torch.Tensor] | None:
        """The tensors that it may write, or may have to write later if `values` were off, also those that
        are no arguments; None if that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Tuning:
    """What an autotuner did for a kernel; of the last time, if there were several."""

    configurations: int
    """Those of the kernel, before any pruning."""
    timed: int
    """Those that were tried; 0 if the first one ran without a trial."""
    failed: int
    """Of the tried ones, those that do not fit the device or do not compile."""
    chosen: str
    """The meta-parameters and options that it runs with from then on."""


@dataclass(eq=False, slots=True)
class LaunchLog:
    """What a script did with its kernels, whatever is recorded of it."""

    executed: dict[str, int] = field(default_factory=dict[str, int])
    """Kernel to how many launches were handed on."""
    empty: dict[str, int] = field(default_factory=dict[str, int])
    """Kernel to how many launches had an empty grid, so that nothing ran."""
    tuned: dict[str, Tuning] = field(default_factory=dict[str, Tuning])
    """Of each autotuned kernel that has a choice."""
    estimated: bool = False
    """Whether operators of torch were given a time, which is an estimate."""
    plots_need: tuple[str, ...] = ()
    """Packages for want of which a report was not plotted."""
    captured: dict[str, int] = field(default_factory=dict[str, int])
    """Kernel to how many launches a real GPU put into a CUDA graph, whose replays nobody sees."""

    def names(self) -> list[str]:
        return list(self.executed | self.empty | self.captured)
