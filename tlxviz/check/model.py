"""What a check finds: findings with their witnesses, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tlxviz.ir.location import Location


class Severity(StrEnum):
    """How sure it is that something is wrong."""

    ERROR = "error"
    """Some order of events, or this one, breaks the kernel."""
    WARNING = "warning"
    """Allowed only if something holds that the checker cannot see."""
    NOTE = "note"
    """Nothing is wrong, and yet worth knowing."""


@dataclass(frozen=True, slots=True)
class Place:
    """An operation that takes part in a finding, and when it is executed."""

    doing: str
    """What it does there, in a few words: `TMA load writes a[1]`."""
    role: str
    """The warp group."""
    location: Location
    variable: str
    """The barrier or buffer that it works on; empty if none."""
    slot: int
    """-1 where there is none."""
    cta: int
    """Linear number in the grid; -1 where it is the same in all."""
    outer: int = -1
    """Iteration of the outermost loop; -1 outside of loops, and where nothing ran."""
    inner: int = -1
    """Iteration of the innermost loop, likewise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a kernel."""

    rule: str
    """Its id: see `rules`."""
    severity: Severity
    kernel: str
    message: str
    """What is wrong, in a sentence or two: role, variable, slot, have and need."""
    places: tuple[Place, ...]
    """The operations, the one to look at first."""
    why: tuple[str, ...] = ()
    """Why the operations are not ordered, or what is missing, a sentence each."""
    advice: str = ""
    """What to do."""
    times: int = 1
    """How often it was seen."""
    schedule: str = ""
    """The schedule that shows it, for `--replay`; empty where the usual one does."""
    launch: int = 0
    """Number of the kernel's launch."""
    suppressed: str | None = None
    """The reason that the kernel's source gives for keeping it; None if it gives none."""
    facts: dict[str, int | str] = field(default_factory=dict[str, "int | str"])
    """Figures of the message by name: `have`, `need`, `bytes`, `phase`."""

    @property
    def location(self) -> Location:
        """Where to look first."""
        return self.places[0].location if self.places else Location("", 0, 0)
