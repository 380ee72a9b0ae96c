"""A row of the timeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from tlxviz.tui.slices import Slices


@dataclass(eq=False)
class Lane:
    """One row of the timeline. What stands in it, and the lanes in it, are worked out when they are asked for."""

    key: str
    """Unique in a launch, and the same in a trace of another run: `cta 0/mma.0`."""
    label: str
    depth: int
    """Lanes that it is in."""
    cta: int
    """Of a cluster, its first CTA that was traced."""
    make: Callable[[], Slices]
    parent: str = ""
    """Key of the lane that it is folded into."""
    track: int = -1
    """The trace's track; -1 for what is derived."""
    make_own: Callable[[], list[Lane]] | None = None
    shut: bool = False
    """Whether it stays folded until somebody unfolds it."""
    slow: bool = False
    """Whether what stands in it takes long to be worked out."""

    @cached_property
    def slices(self) -> Slices:
        return self.make()

    @cached_property
    def own(self) -> list[Lane]:
        """The lanes in it."""
        return self.make_own() if self.make_own else []

    @property
    def level(self) -> int:
        """0 for a cluster or a CTA, 1 for a lane of a CTA, 2 for one in that."""
        return self.key.count("/")

    @property
    def known(self) -> bool:
        """Whether what stands in it has been worked out."""
        return "slices" in self.__dict__

    @property
    def folds(self) -> bool:
        """Whether there are lanes in it."""
        return self.make_own is not None


@dataclass(eq=False)
class CtaLanes:
    """The lanes of one CTA; the first stands for the CTA, and has the others."""

    cta: int
    sm: int
    lanes: list[Lane] = field(default_factory=list[Lane])
