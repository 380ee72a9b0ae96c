"""Registers, numbers and a memory for tests of the PTX interpreter."""

from __future__ import annotations

import struct

from tlxviz.sim.ptx import AsmProgram, MemoryAccess, atomic_result, compile_asm

LETTER = {"f32": "f", "f64": "d", "i32": "r", "i64": "l", "i16": "h", "f16": "h", "bf16": "h", "ptr": "l", "i1": "b"}


def build(asm: str, result: str, *operands: str) -> AsmProgram:
    """Compile with one register for each operand and for the result."""
    constraints = ",".join(["=" + LETTER[result], *(LETTER[operand] for operand in operands)])
    return compile_asm(asm, constraints, 1, operands, (result,))


def run(asm: str, result: str, *operands: tuple[str, object]) -> object:
    return build(asm, result, *(kind for kind, _ in operands)).run([value for _, value in operands])[0]


def i32(*operands: int) -> list[tuple[str, object]]:
    return [("i32", operand) for operand in operands]


def f32(*operands: float) -> list[tuple[str, object]]:
    return [("f32", operand) for operand in operands]


def unsigned(value: object) -> int:
    assert isinstance(value, int)
    return value & 0xFFFFFFFF


def float_bits(value: object) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


class Machine:
    """Memory as bytes, fixed special registers, and a record of what else happened."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}
        self.log: list[object] = []
        self.spins = 0
        self.release_after: int | None = None

    def special(self, name: str) -> int:
        return {"%smid": 7, "%ctaid.x": 3, "%globaltimer": 1 << 40, "%clock64": 123, "%laneid": 5, "%tid.x": 37}[name]

    def load(self, address: int, access: MemoryAccess) -> int:
        self.log.append(("load", address, access.type, access.order, access.scope, access.space))
        return sum(self.memory.get(address + index, 0) << 8 * index for index in range(access.bytes))

    def store(self, address: int, value: int, access: MemoryAccess) -> None:
        for index in range(access.bytes):
            self.memory[address + index] = value >> 8 * index & 0xFF

    def atomic(self, op: str, address: int, value: int, access: MemoryAccess, compare: int | None) -> int:
        old = self.load(address, access)
        self.store(address, atomic_result(op, access.type, old, value, compare), access)
        return old

    def sleep(self, nanoseconds: int) -> None:
        self.log.append(("sleep", nanoseconds))

    def fence(self, name: str) -> None:
        self.log.append(("fence", name))

    def spin(self) -> None:
        self.spins += 1
        if self.spins == self.release_after:
            self.memory[64] = 1
