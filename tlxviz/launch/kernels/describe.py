"""From a compiled kernel and the arguments of a call to the `Launch` that others work with."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from tlxviz import _triton
from tlxviz._triton import memory
from tlxviz.launch.kernels.asked_layouts import asked_layouts
from tlxviz.launch.kernels.assembler import Assembler
from tlxviz.launch.kernels.cubin import frame_of, registers_of
from tlxviz.launch.kernels.locations import rebased
from tlxviz.launch.kernels.parameters import bind
from tlxviz.launch.kernels.written import written
from tlxviz.launch.model import Launch


class Describer:
    """Describes launches; remembers what it found out about a kernel."""

    def __init__(self) -> None:
        self.assembler = Assembler()
        self._versions = _triton.toolchain().versions()
        self._ttgir: dict[int, tuple[Any, str]] = {}
        """By the identity of a kernel's source object, which is kept: TTGIR that names the function's own file."""
        self._allocations: dict[str, dict[str, Any]] = {}
        """By the hash of a kernel: where its memory is."""

    def describe(
        self, kernel: Any, function: Any, grid: tuple[int, int, int], arguments: dict[str, Any], seconds: float
    ) -> Launch:
        """The launch of a compiled kernel.

        Args:
            kernel: Triton's compiled kernel.
            function: The function that it comes from.
            grid: CTAs in x, y and z.
            arguments: All arguments by name, constexprs included.
            seconds: How long it took to compile.
        """
        source = _triton.source_of(function)
        _, ttgir = self._ttgir.get(id(kernel.src), (None, ""))
        helpers = _triton.files_of_helpers(function)
        if not ttgir:
            ttgir = rebased(kernel.asm["ttgir"], source.file, helpers)
            self._ttgir[id(kernel.src)] = kernel.src, ttgir
        return Launch(
            kernel=function.__name__,
            grid=grid,
            parameters=bind(kernel, arguments, ttgir),
            arguments=dict(arguments),
            ttgir=ttgir,
            metadata=_triton.plain_metadata(kernel) | _of_binary(kernel),
            source=source.text,
            source_file=source.file,
            source_line=source.line,
            compile_seconds=seconds,
            versions=dict(self._versions),
            assembled=partial(self._facts, kernel, source.file, helpers),
        )

    def _facts(self, kernel: Any, file: str, helpers: Collection[str]) -> dict[str, Any]:
        """More of the metadata, of the stages before and after the TTGIR."""
        facts = self.assembler.facts(kernel)
        first = kernel.asm.get("source")
        if isinstance(first, str):
            first = rebased(first, file, helpers)
            facts["written"] = written(first)
            facts["layouts"] = asked_layouts(first, marked=_triton.marks_layouts())
        allocation = self._allocation(kernel)
        if allocation:
            facts["allocation"] = allocation
        return facts

    def _allocation(self, kernel: Any) -> dict[str, Any]:
        """Where the kernel's memory is; empty where the compiler does not tell, or does not come to the same bytes.

        It takes 14 to 90 ms, 1 to 3 % of compiling it, which is why only kernels that are recorded are asked, and once.
        """
        if kernel.hash not in self._allocations:
            found = memory.allocation(kernel.asm["ttgir"], kernel.metadata._asdict())
            same = found.get("shared") == kernel.metadata.shared
            self._allocations[kernel.hash] = found if same else {}
        return self._allocations[kernel.hash]


def padded(grid: Any) -> tuple[int, int, int]:
    """A grid of one to three sizes as x, y and z."""
    sizes = [int(size) for size in grid]
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def _of_binary(kernel: Any) -> dict[str, int]:
    """Registers a thread, which decide how many CTAs share an SM, and bytes a thread that are spilled from them."""
    binary = kernel.asm.get("cubin")
    if not isinstance(binary, bytes):
        return {}
    name = kernel.metadata.name
    numbers = {"registers": registers_of(binary, name), "spilled_bytes": frame_of(binary, name)}
    return {key: number for key, number in numbers.items() if number}
