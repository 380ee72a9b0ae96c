"""What the simulator needs to know of a launch; `tlxviz.launch.model.Launch` has it, and so may anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class CaughtLaunch(Protocol):
    """One launch, compiled and not yet executed."""

    @property
    def kernel(self) -> str: ...

    @property
    def grid(self) -> tuple[int, int, int]: ...

    @property
    def parameters(self) -> Sequence[tuple[str, Any]]: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...

    @property
    def ttgir(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...

    @property
    def assembled(self) -> Callable[[], Mapping[str, Any]]:
        """Gives more of `metadata`, and may take a second: only for a launch that is recorded."""
        ...

    @property
    def source(self) -> str: ...

    @property
    def source_file(self) -> str: ...

    @property
    def source_line(self) -> int: ...

    @property
    def values(self) -> bool:
        """Whether its outputs are to be written."""
        ...

    @property
    def counted(self) -> bool:
        """Whether it is one that may be recorded."""
        ...

    @property
    def versions(self) -> Mapping[str, str]: ...
