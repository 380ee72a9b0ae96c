"""What the assembler said about a kernel, which Triton throws away.

Triton lets ptxas report (`-v`) and removes the report. It is read while a kernel compiles, which costs nothing, and
kept in Triton's cache when a launch of the kernel is recorded. A kernel that comes out of the cache without one, since
it was compiled when nobody listened, is assembled once more when it is recorded: 0.07 to 1.1 seconds for the tutorials
of TLX, once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from tlxviz._triton import assembler
from tlxviz.launch.kernels.code import of_ptx, of_sass
from tlxviz.launch.kernels.cubin import frame_of

_KEPT = "ptxas"
"""Suffix of the file in Triton's cache."""
_SET_REGISTERS = re.compile(r"^\s*setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32\s+(\d+);", re.MULTILINE)
_DIFFERS = "Compile time"
"""In the line that is another each time: equal runs are to give equal traces."""


class Assembler:
    """Listens to ptxas, and remembers."""

    def __init__(self) -> None:
        self._heard: dict[bytes, str] = {}
        """Digest of the PTX to the report."""
        self._code: dict[bytes, dict[str, Any]] = {}
        """Digest of the PTX to what its instructions and those of the binary say."""

    @contextmanager
    def listening(self) -> Generator[None]:
        """A block in which kernels are compiled."""
        with assembler.assembler_reports(self._note):
            yield

    def facts(self, kernel: Any) -> dict[str, Any]:
        """For a trace's metadata, as far as it is known: `ptxas`, the report's lines; `setmaxnreg`, the numbers of
        registers that the kernel's instructions of that name ask for, in order; `code`, where warps synchronize, and
        where registers are spilled."""
        ptx = kernel.asm.get("ptx")
        if not isinstance(ptx, str):
            return {}
        facts: dict[str, Any] = {"setmaxnreg": [int(count) for count in _SET_REGISTERS.findall(ptx)]}
        facts["code"] = self._code_of(kernel, ptx)
        report = self._report(kernel, ptx)
        if report:
            facts["ptxas"] = lines_of(report)
        return facts

    def _code_of(self, kernel: Any, ptx: str) -> dict[str, Any]:
        digest = _digest(ptx)
        if digest not in self._code:
            code: dict[str, Any] = {"ptx": of_ptx(ptx)}
            binary, name = kernel.asm.get("cubin"), kernel.metadata.name
            # It takes half a second, and what is not spilled is nowhere.
            if isinstance(binary, bytes) and frame_of(binary, name):
                listing = assembler.disassembled(binary)
                if listing:
                    code["sass"] = of_sass(listing, name)
            self._code[digest] = code
        return self._code[digest]

    def _note(self, ptx: str, report: str) -> None:
        self._heard[_digest(ptx)] = report

    def _report(self, kernel: Any, ptx: str) -> str:
        digest = _digest(ptx)
        kept = assembler.kept_with(kernel, _KEPT)
        if kept:
            return kept
        if digest not in self._heard:
            with self.listening():
                assembler.assemble(kernel, ptx)
        # An empty one is not asked for again, in this process.
        report = self._heard.setdefault(digest, "")
        if report:
            assembler.keep_with(kernel, _KEPT, report)
        return report


def lines_of(report: str) -> list[str]:
    """The lines of a report of ptxas, but for the time it took."""
    return [line.rstrip() for line in report.splitlines() if line.strip() and _DIFFERS not in line]


def _digest(ptx: str) -> bytes:
    return hashlib.sha256(ptx.encode()).digest()
