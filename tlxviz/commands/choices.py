"""Words of `run`'s options to what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.commands.script_device import CONSTANT, device_of_script
from tlxviz.embedded.record import DEFAULT_DEVICE

if TYPE_CHECKING:
    from tlxviz.check.schedules import Schedule

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


def parse_iterations(text: str) -> tuple[int, int]:
    """Iterations of `4:8` (4 to 7)."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise argparse.ArgumentTypeError(f"{text!r} names no iterations: write 4:8 for 4 to 7")
    return int(first), int(last)


def parse_iteration(text: str) -> tuple[int, int]:
    """The iteration `12`, in the form of `parse_iterations`."""
    number = parse_number(text)
    return number, number + 1


def parse_number(text: str) -> int:
    """A number from 0 on."""
    if not text.isdecimal() or int(text) > _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)


def parse_count(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or not 0 < int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def parse_seconds(text: str) -> float:
    """A time above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def parse_schedule(text: str) -> Schedule:
    """A schedule of `tlxviz check`."""
    from tlxviz.check.schedules import Schedule

    try:
        return Schedule.parse(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


class OnGpu(argparse.Action):
    """An option that only recordings on a GPU have: its value, and that it was given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)
        given: tuple[str, ...] = getattr(namespace, "on_gpu", ())
        namespace.on_gpu = (*given, option_string or self.dest)


class OnGpuFlag(OnGpu):
    """The same for an option without a value."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, help=help)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        super().__call__(parser, namespace, True, option_string)


def simulated_device(
    choice: str, known: Sequence[str], obstacle: Callable[[], str | None], script: Path | None = None
) -> str | None:
    """Name or data file of the device to simulate for a `--device` choice; None for the machine's own GPU.

    Args:
        choice: `auto`, `cuda` or `sim:` and a name.
        known: Names of devices.
        obstacle: Says why no kernel can run on the machine's own GPU; None if they can.
        script: Which may name the device that `auto` simulates; None if there is none to read.

    Raises:
        UsageError: there is no such device, also where the script names it.
        TlxvizError: `cuda`, and no kernel can run on the machine's own GPU.
    """
    source = ""
    if choice == "auto":
        if obstacle() is None:
            return None
        asked = device_of_script(script) if script is not None else None
        if asked is None:
            return DEFAULT_DEVICE
        choice, source = asked, f", which {CONSTANT} of {script} names"
    if choice == "cuda" and not source:
        reason = obstacle()
        if reason is None:
            return None
        raise TlxvizError(
            f"cannot record on a GPU: {reason}. "
            f"To simulate one: --device {' or '.join(f'sim:{name}' for name in known)}."
        )
    kind, _, name = choice.partition(":")
    if kind != "sim" or (name not in known and not name.endswith(".toml")):
        names = ", ".join([*(() if source else ("auto", "cuda")), *(f"sim:{name}" for name in known)])
        raise UsageError(f"there is no device {choice!r}{source}. Devices: {names}.")
    return name
