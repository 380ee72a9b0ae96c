"""Which launches are kept, and their trace."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from tlxviz.trace.model import Trace


def _any_kernel(_name: str) -> bool:
    return True


@dataclass(eq=False, slots=True)
class Recording:
    """What somebody wants to see of a program's launches, and what was seen so far."""

    kernels: Callable[[str], bool] = _any_kernel
    """Says by name which kernels are recorded."""
    launches: Container[int] | None = (0,)
    """Which launches of each kernel, counted from 0 since the recording began; None for all."""
    ctas: Sequence[int] | None = None
    """Linear numbers of the CTAs on the timeline; None for CTA 0 and the others of its SM."""
    trace: Trace = field(default_factory=Trace)
    _seen: dict[str, int] = field(default_factory=dict[str, int])

    def counts(self, kernel: str) -> bool:
        """Count one more launch of `kernel`; is it one to record?"""
        wanted = self.expects(kernel)
        self._seen[kernel] = self._seen.get(kernel, 0) + 1
        return wanted

    def expects(self, kernel: str) -> bool:
        """Is the next launch of `kernel` one to record?"""
        number = self._seen.get(kernel, 0)
        return self.kernels(kernel) and (self.launches is None or number in self.launches)

    def misses_hang(self, kernel: str) -> bool:
        """Does it concern `kernel`, and has no launch of it that hangs?"""
        return self.kernels(kernel) and not any(
            each.kernel == kernel and each.hang is not None for each in self.trace.launches
        )
