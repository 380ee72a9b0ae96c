"""A machine that writes down the kernels that it is given and makes up what they measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tlxviz.calibrate.kernel import Kernel


class PaperMachine:
    """Every word is larger than the one before, and more so the more turns a kernel takes."""

    sms = 132

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}
        self._last: tuple[int, int] = (1, 1)

    def attribute(self, number: int) -> int:
        return 50 << 20

    def buffer(self, name: str, size: int) -> int:
        return 1 << 30

    def fill(self, address: int, size: int, byte: int = 0) -> None: ...

    def write(self, address: int, words: Sequence[int]) -> None: ...

    def flush_l2(self) -> None: ...

    def tensor_map(self, *given: Any, **more: Any) -> object:
        return object()

    def run(self, kernel: Kernel, words: int, *, n: int = 1, grid: int = 1, threads: int = 0, **more: Any) -> list[int]:
        self._note(kernel, threads)
        assert words <= 1 << 18
        if kernel.name.startswith("stamped"):
            return self.words(words)
        return [at * (1000 + 100 * n) for at in range(words)]

    def launch(self, kernel: Kernel, *, threads: int = 0, **more: Any) -> None:
        self._note(kernel, threads)

    def graph_microseconds(self, launches: Callable[[], None], repeats: int) -> list[float]:
        before = len(self.kernels)
        launches()
        self.launched = before
        return [float(number + 1) for number in range(repeats)]

    def words(self, count: int) -> list[int]:
        return [at // 5 % self.sms if at % 5 == 0 else 1000 * at for at in range(count)]

    def synchronize(self) -> None: ...

    def _note(self, kernel: Kernel, threads: int) -> None:
        assert (threads or kernel.threads) <= kernel.threads
        assert kernel.shared <= 227 << 10
        known = self.kernels.setdefault(kernel.name, kernel)
        assert known.ptx == kernel.ptx, f"two kernels are called {kernel.name}"
