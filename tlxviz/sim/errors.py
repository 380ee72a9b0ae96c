"""What can go wrong while a kernel is simulated, each with the kernel's own source line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.ir.operation import Operation


class Cause(StrEnum):
    """What exactly is refused, where one kind of error has several causes."""

    UNKNOWN = ""
    ARRIVALS = "arrivals"
    """More arrivals at an mbarrier than it counts."""
    UNINITIALISED = "uninitialised"
    """An mbarrier that is used before it is initialised."""
    THREADS = "threads"
    """Different counts of threads, or too many threads, at a named barrier."""
    MEETING = "meeting"
    """Arrivals and waits at the barrier of a cluster that do not take turns."""
    ENDED = "ended"
    """A CTA that has ended is reached."""
    RANK = "rank"
    """A CTA that the cluster does not have."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What an operation works on that is refused; -1 for what is not known or does not apply."""

    cause: Cause = Cause.UNKNOWN
    array: int = -1
    """Position in `program.barriers`."""
    slot: int = -1
    """Of the array; the number of a named barrier."""
    have: int = -1
    """Arrivals, or threads, that came."""
    need: int = -1
    """That it takes."""
    target: int = -1
    """Number of the CTA that is reached."""


class SimulationError(TlxvizError):
    """The kernel does something that a GPU would not survive, or that the simulator cannot follow.

    Args:
        message: The text.
        refused: The same as facts, where there are any.
    """

    def __init__(self, message: str, refused: Refused | None = None) -> None:
        super().__init__(message)
        self.detail = message
        """What is wrong, without the place."""
        self.refused = refused or Refused()
        self.operation: Operation | None = None
        """The operation that it is about, once that is known."""
        self.cta = -1
        """The number of the CTA that executes it, likewise."""


class UnsupportedOperation(SimulationError):
    """An operation of the TTGIR that the simulator has no semantics for."""


class MemoryAccessError(SimulationError):
    """A load or store outside the memory that its pointer belongs to: a GPU reports an illegal memory access."""

    exit_code = ExitCode.FINDINGS


class BarrierError(SimulationError):
    """Use of an mbarrier that the hardware leaves undefined, such as more arrivals than its count."""

    exit_code = ExitCode.FINDINGS


class ClusterError(SimulationError):
    """An access to another CTA of the cluster that the hardware leaves undefined, such as one that has ended."""

    exit_code = ExitCode.FINDINGS


class LaunchControlError(SimulationError):
    """A request to take over a CTA that the hardware leaves undefined."""

    exit_code = ExitCode.FINDINGS


class RemoteFault(Exception):
    """What an operation does wrong when it takes effect in another CTA, which is after its warp group has gone on.

    Args:
        error: What is wrong.
        site: Number of the operation, as a site.
        cta: Number of the CTA that it belongs to.
    """

    def __init__(self, error: SimulationError, site: int, cta: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.site = site
        self.cta = cta


class LaunchLimitError(SimulationError):
    """The launch asks for more than the device has, which CUDA would refuse."""


class InvalidGridError(LaunchLimitError):
    """A grid that no device takes: the script's own mistake."""

    exit_code = ExitCode.SCRIPT_FAILED


class RunawayError(SimulationError):
    """An agent ran past the cycle limit."""

    exit_code = ExitCode.FINDINGS


class DeviceAssertError(SimulationError):
    """A `tl.device_assert` of the kernel failed."""

    exit_code = ExitCode.FINDINGS


class HangError(SimulationError):
    """No agent can go on. `report` holds the facts, as docs/trace.md describes them."""

    exit_code = ExitCode.FINDINGS

    def __init__(self, message: str, report: dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report
