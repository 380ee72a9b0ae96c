"""Words of `run`'s options to what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.embedded.record import DEFAULT_DEVICE

_MOST = 1 << 20


def parse_ctas(text: str) -> tuple[int, ...]:
    """CTA numbers of `0`, `0,1,132` or `0:4` (0 to 3), ascending, each once."""
    chosen = _numbers(text)
    if chosen is None:
        raise argparse.ArgumentTypeError(f"{text!r} names no CTAs: write 0, or 0,1,132, or 0:4 for 0 to 3")
    return chosen


def parse_launches(text: str) -> Launches:
    """Launches of `0`, `0,3`, `2:5` (2 to 4) or `all`."""
    if text == "all":
        return Launches(None)
    chosen = _numbers(text)
    if chosen is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} names no launches: write 0 for the first, or 0,3, or 2:5 for 2 to 4, or all"
        )
    return Launches(chosen)


@dataclass(frozen=True, slots=True)
class Launches:
    """Which launches of a kernel are recorded, counted from 0."""

    numbers: tuple[int, ...] | None
    """Ascending; None for all of them."""

    def __str__(self) -> str:
        return "all" if self.numbers is None else listed(self.numbers)

    @property
    def first(self) -> int:
        return self.numbers[0] if self.numbers else 0

    @property
    def single(self) -> bool:
        return self.numbers is not None and len(self.numbers) == 1

    def fewer_than(self, launches: int) -> bool:
        """Are some of so many launches left out?"""
        return self.numbers is not None and len(self.numbers) < launches


def listed(numbers: Sequence[int]) -> str:
    """Ascending numbers as `--ctas` and `--launch` take them: `4,7,100:200`."""
    parts: list[str] = []
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        parts.append(f"{first}" if first == last else f"{first}:{last + 1}")
        if number is not None:
            first = last = number
    return ",".join(parts)


def _numbers(text: str) -> tuple[int, ...] | None:
    chosen: set[int] = set()
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            begin = int(first)
            end = int(last) if colon else begin + 1
        except ValueError:
            return None
        if begin < 0 or end <= begin or end - begin > _MOST:
            return None
        chosen.update(range(begin, end))
    return tuple(sorted(chosen))


def simulated_device(choice: str, known: Sequence[str]) -> str:
    """Name or data file of the device to simulate for a `--device` choice."""
    if choice == "auto":
        return DEFAULT_DEVICE
    if choice == "cuda":
        raise TlxvizError(
            "recording on a GPU (--device cuda) is not supported yet. "
            f"Simulate one: --device {' or '.join(f'sim:{name}' for name in known)}."
        )
    kind, _, name = choice.partition(":")
    if kind != "sim" or (name not in known and not name.endswith(".toml")):
        raise UsageError(
            f"there is no device {choice!r}. Devices: {', '.join(['auto', *(f'sim:{name}' for name in known)])}."
        )
    return name
