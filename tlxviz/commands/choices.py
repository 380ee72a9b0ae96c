"""Words of `run`'s options to what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tlxviz._errors import TlxvizError, UsageError

DEFAULT_DEVICE = "h200"
_MOST_CTAS = 1 << 20


def parse_ctas(text: str) -> tuple[int, ...]:
    """CTA numbers of `0`, `0,1,132` or `0:4` (0 to 3), ascending, each once."""
    chosen: set[int] = set()
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            begin = int(first)
            end = int(last) if colon else begin + 1
        except ValueError:
            raise _not_ctas(text) from None
        if begin < 0 or end <= begin or end - begin > _MOST_CTAS:
            raise _not_ctas(text)
        chosen.update(range(begin, end))
    return tuple(sorted(chosen))


def _not_ctas(text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"{text!r} names no CTAs: write 0, or 0,1,132, or 0:4 for 0 to 3")


def parse_launch(text: str) -> int:
    """The number of a launch, counted from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no launch: they are counted from 0")
    return int(text)


def simulated_device(choice: str, known: Sequence[str]) -> str:
    """Name of the device to simulate for a `--device` choice."""
    if choice == "auto":
        return DEFAULT_DEVICE
    if choice == "cuda":
        raise TlxvizError(
            "recording on a GPU (--device cuda) is not supported yet. "
            f"Simulate one: --device {' or '.join(f'sim:{name}' for name in known)}."
        )
    kind, _, name = choice.partition(":")
    if kind != "sim" or name not in known:
        raise UsageError(
            f"there is no device {choice!r}. Devices: {', '.join(['auto', *(f'sim:{name}' for name in known)])}."
        )
    return name


class KernelFilter:
    """Says which kernels to record."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)

    def __call__(self, kernel: str) -> bool:
        return not self.patterns or any(fnmatchcase(kernel, pattern) for pattern in self.patterns)
