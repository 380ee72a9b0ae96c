"""Inline assembly: PTX text compiled into functions over torch tensors."""

from tlxviz.sim.ptx.assembly import (
    AsmEnvironment,
    AsmProgram,
    MemoryAccess,
    UnsupportedAsm,
    atomic_result,
    compile_asm,
)

__all__ = ["AsmEnvironment", "AsmProgram", "MemoryAccess", "UnsupportedAsm", "atomic_result", "compile_asm"]
