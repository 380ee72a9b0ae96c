"""What is known of a kernel's layouts."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.analysis.layouts.banks import Transactions
from tlxviz.analysis.layouts.conversions import Exchange
from tlxviz.analysis.layouts.pins import Chosen
from tlxviz.ir.encodings import Layout
from tlxviz.ir.location import Location


@dataclass(frozen=True, slots=True)
class BufferUse:
    """An operation that reads or writes a buffer."""

    who: str
    """`TMA load`, `wgmma A, K-major`, `load`, ..."""
    agents: tuple[str, ...]
    """Warp groups that do it."""
    location: Location
    variable: str
    """What is loaded or stored; empty where it has no name."""
    asks: str
    """What it asks of the layout; empty where it takes any."""
    transactions: Transactions | None
    """For what warps load and store; None for what other units do, and where it is not known."""
    cycles: float | None
    """That it keeps the path to shared memory busy for, all warps together."""
    note: str = ""
    """Why there is no count, where there should be one; or why the layout is refused."""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class BufferLayout:
    name: str
    location: Location
    shape: tuple[int, ...]
    """Of one slot."""
    slots: int
    element: str
    bits: int
    """Of an element."""
    space: str
    bytes: int
    """Of all slots, without padding."""
    layout: Layout | None
    chosen: Chosen
    uses: tuple[BufferUse, ...]


@dataclass(frozen=True, slots=True)
class TensorLayout:
    name: str
    location: Location
    agents: tuple[str, ...]
    shape: tuple[int, ...]
    element: str
    layout: Layout | None
    chosen: Chosen
    why: str
    """Who asked for it; empty where nothing does."""
    registers: int | None
    """32-bit registers of one thread that hold it."""
    copies: int | None
    """How many threads hold each element; these two are None where the layout is not taken apart."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A change of layout in registers: `ttg.convert_layout`."""

    name: str
    location: Location
    agents: tuple[str, ...]
    shape: tuple[int, ...]
    element: str
    source: Layout | None
    target: Layout | None
    why: str
    """Who asked for the target."""
    exchange: Exchange | None
    scratch: int | None
    """Bytes of shared memory that the compiler sets aside for it; None where it was not asked."""
    cycles: float | None
    """That one execution keeps the path to shared memory, or the shuffles, busy for."""


@dataclass(frozen=True, slots=True)
class Change:
    """What another layout would make of a buffer."""

    before: BufferLayout
    after: BufferLayout

    @property
    def refused(self) -> bool:
        """Whether somebody would not take it."""
        return any(use.refused for use in self.after.uses)


@dataclass(frozen=True, slots=True)
class KernelLayouts:
    kernel: str
    device: str
    """Whose figures the cycles are by."""
    ctas: int
    """That one program is spread over; where they are several, nothing is counted."""
    buffers: tuple[BufferLayout, ...]
    tensors: tuple[TensorLayout, ...]
    conversions: tuple[Conversion, ...]
    changes: tuple[Change, ...] = ()
    """Of buffers for which somebody gives another layout."""
