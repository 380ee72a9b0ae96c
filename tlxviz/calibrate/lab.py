"""What benchmarks measure with, and how they make themselves known."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tlxviz.calibrate.kernel import Kernel
from tlxviz.calibrate.results import Measurement

REPEATS = 9


class Machine(Protocol):
    """The GPU, or what stands for one where its kernels are only to be looked at."""

    @property
    def sms(self) -> int: ...

    def attribute(self, number: int) -> int: ...

    def buffer(self, name: str, size: int) -> int: ...

    def fill(self, address: int, size: int, byte: int = 0) -> None: ...

    def write(self, address: int, words: Sequence[int]) -> None: ...

    def flush_l2(self) -> None: ...

    def tensor_map(
        self, address: int, rows: int, columns: int, box: tuple[int, int], *, pitch: int = 0, swizzle: int = 3
    ) -> Any: ...

    def run(
        self,
        kernel: Kernel,
        words: int,
        *,
        n: int = 1,
        grid: int = 1,
        threads: int = 0,
        a: int = 0,
        b: int = 0,
        tensor_map: Any = None,
    ) -> list[int]: ...

    def launch(
        self,
        kernel: Kernel,
        *,
        n: int = 1,
        grid: int = 1,
        threads: int = 0,
        a: int = 0,
        b: int = 0,
        out: int = 0,
        tensor_map: Any = None,
    ) -> None: ...

    def graph_microseconds(self, launches: Callable[[], None], repeats: int) -> list[float]: ...

    def words(self, count: int) -> list[int]: ...

    def synchronize(self) -> None: ...


Benchmark = Callable[[Machine], Iterator[Measurement]]


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    """`wgmma.completion`."""
    summary: str
    run: Benchmark


_ENTRIES: dict[str, Entry] = {}


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Makes a microbenchmark known; the first line of its docstring says what it measures."""

    def register(function: Benchmark) -> Benchmark:
        if name in _ENTRIES:
            raise ValueError(f"two benchmarks are called {name}")
        _ENTRIES[name] = Entry(name, (function.__doc__ or "").strip().partition("\n")[0], function)
        return function

    return register


def registered() -> dict[str, Entry]:
    return dict(_ENTRIES)


def spans(words: Sequence[int], warps: int) -> list[int]:
    """Cycles from the first start to the last end, CTA by CTA, of what `kernel.timed` wrote."""
    size = 2 * warps
    return [max(words[at + 1 : at + size : 2]) - min(words[at : at + size : 2]) for at in range(0, len(words), size)]


def per_turn(
    machine: Machine,
    kernel: Kernel,
    *,
    threads: int,
    turns: tuple[int, int] = (16, 80),
    grid: int = 1,
    repeats: int = REPEATS,
    before: Callable[[], object] | None = None,
    **given: Any,
) -> list[float]:
    """Cycles that one turn of a `timed` kernel's loop takes: from runs of fewer and of more turns, so that what is
    around the loop does not count. The median of all CTAs, once a repeat.
    """
    warps = threads // 32
    found: list[float] = []
    for repeat in range(repeats + 1):
        both: list[float] = []
        for count in turns:
            if before is not None:
                before()
            words = machine.run(kernel, 2 * warps * grid, n=count, grid=grid, threads=threads, **given)
            both.append(statistics.median(spans(words, warps)))
        if repeat:  # the first is for warming up
            found.append(max(both[1] - both[0], 1.0) / (turns[1] - turns[0]))
    return found
