"""The one thing that scripts ask about a compiled binary: how many registers a thread of its kernel uses."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_REGISTER_COUNT = 0x2F
_SIZED = 0x04


def registers_of(cubin: bytes, kernel: str) -> int:
    """Registers a thread according to the ELF file's `.nv.info`; 0 where it says nothing about `kernel`."""
    if cubin[:4] != b"\x7fELF":
        return 0
    sections = list(_sections(cubin))
    function = next((info for name, info, _ in sections if name == f".text.{kernel}".encode()), None)
    if function is None:
        return 0
    symbol = function & 0xFFFFFF  # the top byte held the count in older files
    notes = next((data for name, _, data in sections if name == b".nv.info"), b"")
    return next((count for index, count in _register_counts(notes) if index == symbol), 0)


def _sections(elf: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Name, `sh_info` and contents of each section of a 64-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    (names,) = struct.unpack_from("<Q", elf, table + names_index * entry_size + 0x18)
    for index in range(count):
        entry = table + index * entry_size
        (name,) = struct.unpack_from("<I", elf, entry)
        offset, size = struct.unpack_from("<QQ", elf, entry + 0x18)
        (info,) = struct.unpack_from("<I", elf, entry + 0x2C)
        yield elf[names + name : elf.index(b"\0", names + name)], info, elf[offset : offset + size]


def _register_counts(notes: bytes) -> Iterator[tuple[int, int]]:
    """Symbol index and register count. A note is a format, an attribute, and two bytes: a value, or the size of one."""
    position = 0
    while position + 4 <= len(notes):
        form, attribute, size = struct.unpack_from("<BBH", notes, position)
        position += 4
        if form != _SIZED:
            continue
        if attribute == _REGISTER_COUNT and size == 8:
            yield struct.unpack_from("<II", notes, position)
        position += size
