"""Which layouts the author of a kernel asked for, from the kernel's first form, before any pass of the compiler.

TLX wraps what is given as `layout=` in `#tlx.user_layout`, which a pass takes off again. In Gluon everything has the
layout that is written, but for `AutoLayout`; its first form already names the target. In plain Triton nobody can ask.
"""

from __future__ import annotations

import re
from typing import Any

from tlxviz.launch.kernels.written import places_in

_USER = re.compile(r"^(#\w+) = #tlx\.user_layout<", re.MULTILINE)
_MODULE = re.compile(r"^module(.*)$", re.MULTILINE)
_ALLOCATION = re.compile(r"= (?:ttg\.local_alloc|ttng\.tmem_alloc)\b")
_AUTO = "#gluon.auto_encoding"
_USER_INLINE = "#tlx.user_layout<"


def asked_layouts(text: str, *, marked: bool) -> dict[str, Any]:
    """`layouts` as docs/trace.md has it.

    Args:
        text: MLIR as Triton prints it, with places.
        marked: Whether this toolchain marks what TLX's `layout=` gives.
    """
    module = _MODULE.search(text)
    gluon = module is not None and "ttg.target" in module[1]
    aliases = set(_USER.findall(text))
    found: dict[tuple[str, int, int], str] = {}
    for line, place in places_in(text):
        chosen = _chosen(line, aliases, gluon=gluon, marked=marked)
        if chosen and place[0]:
            # of what is written once and inlined several times, the first says it for all, unless they differ
            found[place] = chosen if found.get(place, chosen) == chosen else "unknown"
    return {
        "rest": "author" if gluon else "compiler",
        "places": [
            {"file": file, "line": line, "column": column, "chosen": chosen}
            for (file, line, column), chosen in found.items()
        ],
    }


def _chosen(line: str, aliases: set[str], *, gluon: bool, marked: bool) -> str:
    """Who chose the layout of what a line makes; empty where it is as with the rest."""
    result = line.rpartition(" -> ")[2]
    if gluon:
        return "compiler" if _AUTO in line and "set_auto_layout" not in line else ""
    if _USER_INLINE in result or any(re.search(rf"{re.escape(alias)}\b", result) for alias in aliases):
        return "author"
    return "unknown" if not marked and _ALLOCATION.search(line) else ""
