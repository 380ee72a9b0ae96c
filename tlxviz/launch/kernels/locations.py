"""Source files in TTGIR. A kernel out of Triton's cache names the file that it was first compiled from."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from tlxviz.launch.kernels.parameters import FUNCTION

# The function stands directly in the module, which is how its end differs from that of every region in it.
_END = re.compile(r"^  \} loc\((.*)\)$", re.MULTILINE)
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":\d+:\d+')
_ALIAS = re.compile(r"#loc\d*")


def rebased(ttgir: str, file: str, helpers: Collection[str] = ()) -> str:
    """The text with the kernel's own file, wherever it is named, replaced by `file`.

    The key of Triton's cache has the source and its first line, but not the file: a copy of a script gets the code of
    the original, with the original's name in it. `helpers` are the files of functions that the kernel calls: a file
    that is none of them is taken for the only one of that name. Other files stay.
    """
    old = _own_file(ttgir)
    if old is not None:
        ttgir = ttgir.replace(f'"{old}":', f'"{_quoted(file)}":')
    known = {_quoted(each) for each in (file, *helpers)}
    for stale in set(_FILE.findall(ttgir)) - known:
        same_name = [each for each in known if os.path.basename(each) == os.path.basename(stale)]
        if len(same_name) == 1:
            ttgir = ttgir.replace(f'"{stale}":', f'"{same_name[0]}":')
    return ttgir


def _own_file(ttgir: str) -> str | None:
    """File of the public function's location, as it is quoted; None where it has none."""
    start = FUNCTION.search(ttgir)
    end = start and _END.search(ttgir, start.end())
    location = end[1] if end else ""
    for _ in range(8):  # a name for a location may stand for another name
        found = _FILE.search(location)
        if found:
            return found[1]
        alias = _ALIAS.search(location)
        definition = alias and re.search(rf"^{alias[0]} = loc\((.*)\)$", ttgir, re.MULTILINE)
        if not definition:
            return None
        location = definition[1]
    return None


def _quoted(text: str) -> str:
    """As MLIR prints it between quotes: what is not printable ASCII as two hexadecimal digits a byte."""
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )
