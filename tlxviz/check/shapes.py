"""Nasty sizes for a script: other values of the numbers among its own arguments, and GPUs with fewer SMs.

Small numbers find most: none, one, as many as a ring has slots and one more, one more than fits into a block; and a
persistent kernel that has two or three tiles for each CTA.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program

_INTEGER = re.compile(r"(--?[A-Za-z][\w-]*=)?(\d+)")
_LARGEST = 4
"""Times the value that the user has given: what is larger takes long and shows nothing new."""
_FEW_SMS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Shape:
    """How a script runs."""

    arguments: tuple[str, ...]
    sms: int = 0
    """SMs of the GPU that it sees; 0 for all."""

    def __str__(self) -> str:
        arguments = " ".join(self.arguments)
        if not self.sms:
            return arguments or "no arguments"
        return f"{arguments} on {self.sms} SM{'s' if self.sms > 1 else ''}".lstrip()

    def on(self, device: Device) -> Device:
        """The GPU that it sees."""
        if not self.sms:
            return device
        return replace(
            device,
            limits=replace(device.limits, sms=self.sms),
            cluster=replace(device.cluster, groups=(self.sms,)),
        )


@dataclass(frozen=True, slots=True)
class Traits:
    """What a script's kernels say of which sizes are nasty."""

    slots: frozenset[int] = frozenset()
    """Of rings of buffers and barriers."""
    blocks: frozenset[int] = frozenset()
    """Sizes of the tiles that TMA copies."""
    cluster: int = 1
    """CTAs of the largest cluster."""

    @classmethod
    def of(cls, programs: Iterable[Program]) -> Traits:
        """Of kernels."""
        slots: set[int] = set()
        blocks: set[int] = set()
        cluster = 1
        for program in programs:
            slots.update(each.slots for each in (*program.barriers, *program.buffers) if each.slots > 1)
            blocks.update(size for descriptor in program.descriptors for size in descriptor.block if size > 1)
            cluster = max(cluster, program.cluster[0] * program.cluster[1] * program.cluster[2])
        return cls(frozenset(slots), frozenset(blocks), cluster)


def numbers_in(arguments: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of the integers among a script's arguments, as `512` and `--k=512`, and their values."""
    found = [(at, _INTEGER.fullmatch(text)) for at, text in enumerate(arguments)]
    return [(at, int(match[2])) for at, match in found if match is not None]


def with_number(arguments: Sequence[str], at: int, value: int) -> tuple[str, ...]:
    """The arguments with another integer at a position."""
    match = _INTEGER.fullmatch(arguments[at])
    assert match is not None
    return (*arguments[:at], f"{match[1] or ''}{value}", *arguments[at + 1 :])


def nasty(value: int, traits: Traits) -> list[int]:
    """Other values for an integer, the smallest first."""
    slots = sorted(traits.slots) or [2]
    counts = [0, 1, 2, 3, *(more for each in slots for more in (each, each + 1, 2 * each + 1))]
    sizes = [block * count for block in traits.blocks for count in counts]
    # TMA wants rows of whole 16 bytes, which one more than a block would not be
    odd = [more for block in traits.blocks for more in (block + 1, block + block // 2, value + block // 2)]
    odd += [value + 1, max(0, value - 1)]
    found = {*counts, *sizes, *odd} - {value}
    return sorted(each for each in found if each <= max(_LARGEST * value, max(counts)))


def shapes(arguments: Sequence[str], traits: Traits, persistent: bool) -> Iterator[Shape]:
    """Other shapes of a script: one number varied at a time, in turns; of one whose grid depends on the number of SMs
    also with few of them, so that each CTA has several tiles."""
    base = tuple(arguments)
    few = [sms * traits.cluster for sms in _FEW_SMS] if persistent else []
    yield from (Shape(base, sms) for sms in few[1:])
    turns = [_varied(base, at, nasty(value, traits)) for at, value in numbers_in(base)]
    while turns:
        for turn in list(turns):
            shape = next(turn, None)
            if shape is None:
                turns.remove(turn)
                continue
            yield shape
            yield from (Shape(shape.arguments, sms) for sms in few[:1])


def _varied(arguments: tuple[str, ...], at: int, values: Iterable[int]) -> Iterator[Shape]:
    for value in values:
        yield Shape(with_number(arguments, at, value))


def smaller(shape: Shape, traits: Traits) -> Iterator[Shape]:
    """Shapes that are smaller in one number, the smallest first, and that with all SMs."""
    if shape.sms:
        yield Shape(shape.arguments)
    for at, value in numbers_in(shape.arguments):
        for other in nasty(value, traits):
            if other < value:
                yield Shape(with_number(shape.arguments, at, other), shape.sms)
