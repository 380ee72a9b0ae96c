"""What a compiled binary says about a thread of its kernel: its registers, and what of them is spilled."""

from __future__ import annotations

import struct
from collections.abc import Iterator

# Attributes of `.nv.info`, as cuobjdump names them.
_REGISTER_COUNT = 0x2F
_FRAME_SIZE = 0x11
_SIZED = 0x04


def registers_of(cubin: bytes, kernel: str) -> int:
    """Registers a thread according to the ELF file's `.nv.info`; 0 where it says nothing about `kernel`."""
    return _number(cubin, kernel, _REGISTER_COUNT)


def frame_of(cubin: bytes, kernel: str) -> int:
    """Bytes of local memory a thread, which is where registers are spilled to; 0 where nothing is said."""
    return _number(cubin, kernel, _FRAME_SIZE)


def _number(cubin: bytes, kernel: str, attribute: int) -> int:
    if cubin[:4] != b"\x7fELF":
        return 0
    sections = list(_sections(cubin))
    function = next((info for name, info, _ in sections if name == f".text.{kernel}".encode()), None)
    if function is None:
        return 0
    symbol = function & 0xFFFFFF  # the top byte held the count in older files
    notes = next((data for name, _, data in sections if name == b".nv.info"), b"")
    return next((count for index, count in _numbers(notes, attribute) if index == symbol), 0)


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


def _numbers(notes: bytes, wanted: int) -> Iterator[tuple[int, int]]:
    """Symbol index and number of each note of one attribute.

    A note is a format, an attribute, and two bytes: a value, or the size of one.
    """
    position = 0
    while position + 4 <= len(notes):
        form, attribute, size = struct.unpack_from("<BBH", notes, position)
        position += 4
        if form != _SIZED:
            continue
        if attribute == wanted and size == 8:
            yield struct.unpack_from("<II", notes, position)
        position += size
