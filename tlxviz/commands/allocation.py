"""Where the Triton that is installed puts the memory of a kernel of which there is only TTGIR."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, cast

_PATIENCE = 60
"""Seconds."""
_MARK = "tlxviz-allocation:"
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tlxviz import _triton
_triton.register_plugin()
from tlxviz._triton import memory
known = {int(key): value for key, value in json.loads(sys.argv[4]).items()}
found = getattr(memory, sys.argv[3])(sys.stdin.buffer.read().decode(), known)
print("\\n" + sys.argv[2] + json.dumps(found))
"""


def allocation_of(ttgir: str) -> dict[str, Any] | None:
    """`allocation` as in a trace's metadata; None where there is no Triton, or it cannot tell.

    It takes half a second, in a process of its own: the text can be another Triton's, at which the compiler prints, or
    ends the process that it is in.
    """
    return _asked("allocation", ttgir, {})


def scratch_of(ttgir: str, conversions: Mapping[int, int]) -> dict[int, int]:
    """Bytes of shared memory for changes of layout, by their lines, as far as there is a Triton that tells.

    Args:
        conversions: Lines of the TTGIR to the warps that run them.
    """
    found = _asked("conversion_scratch", ttgir, conversions) if conversions else None
    return {int(line): size for line, size in (found or {}).items()}


def _asked(function: str, ttgir: str, known: Mapping[int, int]) -> dict[str, Any] | None:
    """What a function of `_triton.memory` answers; None where there is no Triton, or it does not live to tell."""
    if find_spec("triton") is None:
        return None
    command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), _MARK, function, json.dumps(known)]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, input=ttgir.encode(), capture_output=True, timeout=_PATIENCE, check=False)
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        found = [line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)]
        return cast("dict[str, Any]", json.loads(found[-1])) if found else None
    return None
