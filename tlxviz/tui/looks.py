"""How each kind of slice looks: a glyph for every terminal, a colour where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Look(IntEnum):
    """What a slice of a lane shows."""

    AWAY = 0
    """Nothing: outside a warp group's life, or an idle engine."""
    BUSY = 1
    """A warp group between its events: arithmetic, addresses."""
    WAIT = 2
    ISSUE = 3
    LOAD = 4
    STORE = 5
    MMA = 6
    NAMED = 7
    """A stretch that the kernel's author named."""
    FILL = 8
    """A slot that a copy or a warp group is writing."""
    FULL = 9
    """A slot that is written and that nobody reads yet."""
    READ = 10
    FREE = 11
    EVEN = 12
    """A barrier in an even phase."""
    ODD = 13
    ALIVE = 14
    """A CTA whose tensor core does nothing."""
    ASKED = 15
    """The block scheduler has been asked for another CTA's work."""
    TENSOR = 16
    """A warp group reads or writes tensor memory, and waits until the data have moved."""


@dataclass(frozen=True, slots=True)
class Appearance:
    glyph: str
    """One column, distinct without colour."""
    dark: str
    """Colour of the cell on a dark theme; empty for the default."""
    light: str
    """Likewise on a light one."""
    word: str
    """For legends and totals."""


APPEARANCES: dict[Look, Appearance] = {
    Look.AWAY: Appearance(" ", "", "", "nothing"),
    Look.BUSY: Appearance("█", "#4c9f70", "#2f7d4f", "busy"),
    Look.WAIT: Appearance("×", "#ff6b5e", "#c0322b", "waiting"),
    Look.ISSUE: Appearance("▒", "#d9a441", "#9a6b00", "issuing"),
    Look.LOAD: Appearance("▓", "#4f8fe0", "#1f62b8", "load"),
    Look.STORE: Appearance("▒", "#7fb2ea", "#4a86c8", "store"),
    Look.MMA: Appearance("█", "#a678de", "#7544b5", "MMA"),
    Look.NAMED: Appearance("=", "#8a9099", "#6b7280", "range"),
    Look.FILL: Appearance("▒", "#4f8fe0", "#1f62b8", "filling"),
    Look.FULL: Appearance("▓", "#d9a441", "#9a6b00", "full"),
    Look.READ: Appearance("█", "#a678de", "#7544b5", "read"),
    Look.FREE: Appearance("·", "#6b7280", "#9aa1ab", "free"),
    Look.EVEN: Appearance("─", "#8a9099", "#6b7280", "even phase"),
    Look.ODD: Appearance("═", "#c3c8d0", "#3f4650", "odd phase"),
    Look.ALIVE: Appearance("╌", "#6b7280", "#9aa1ab", "tensor core idle"),
    Look.TENSOR: Appearance("▚", "#3fb8b0", "#14756e", "TMEM access"),
    Look.ASKED: Appearance("?", "#d9a441", "#9a6b00", "asking for a tile"),
}
