"""TTGIR that the tests read: golden files, and one-line operations in a function that has a value of every kind."""

from __future__ import annotations

from pathlib import Path

from tlxviz.ir import parse_module
from tlxviz.ir.operation import Module, Operation

DATA = Path(__file__).parent / "data"

ALIASES = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
"""
BAR = "!ttg.memdesc<1xi64, #shared1, #smem, mutable>"
TILE = "!ttg.memdesc<128x64xf16, #shared, #smem, mutable>"
STAGES = "!ttg.memdesc<2x128x64xf16, #shared, #smem, mutable>"
TMEM = "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
DESC = "!tt.tensordesc<tensor<128x64xf16, #shared>>"
ROW = "tensor<128xf32, #blocked>"
POINTERS = "tensor<128x!tt.ptr<f32>, #blocked>"
ACC = "tensor<128x64xf32, #mma>"
ARGUMENTS = {
    "%i": "i32",
    "%l": "i64",
    "%c": "i1",
    "%f": "f32",
    "%x": ROW,
    "%xi": "tensor<128xi32, #blocked>",
    "%xc": "tensor<128xi1, #blocked>",
    "%p": "!tt.ptr<f32>",
    "%ps": POINTERS,
    "%bar": BAR,
    "%tile": TILE,
    "%stages": STAGES,
    "%acc": ACC,
    "%tm": TMEM,
    "%desc": DESC,
    "%tok": "!ttg.async.token",
}


def golden(name: str) -> str:
    """The text of `data/<name>.ttgir`."""
    return (DATA / f"{name}.ttgir").read_text()


def module_text(body: str, module: str = '"ttg.num-warps" = 4 : i32') -> str:
    """A module whose kernel has ARGUMENTS and does `body`."""
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in ARGUMENTS.items())
    return f"{ALIASES}module attributes {{{module}}} {{\ntt.func public @k({arguments}) {{\n{body}\ntt.return\n}}\n}}\n"


def parsed(body: str) -> Module:
    """The module of `module_text`."""
    return parse_module(module_text(body), "k.ttgir")


def operation(line: str) -> Operation:
    """The operation that `line` prints."""
    return parsed(line).kernel.regions[0].entry.operations[0]


def names(found: Operation) -> dict[str, list[str]]:
    """The groups of an operation as printed names."""
    return {part: [value.name for value in values] for part, values in found.groups.items()}
