"""Imports torch and triton in processes of their own: a broken one may end the process that imports it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any, cast

from tlxviz.doctor.model import Imported

_PATIENCE = 60
"""Seconds after which an import counts as hanging."""
_MARK = "tlxviz-doctor:"

_FRAME = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
facts = {}
try:
%s
except BaseException as error:
    facts = {"error": f"{type(error).__name__}: {error}"}
print("\\n" + sys.argv[2] + json.dumps(facts, default=str))
"""

_PROGRAMS = {
    "torch": """
    import torch
    facts["version"] = torch.__version__
    facts["cuda"] = torch.version.cuda
    facts["hip"] = torch.version.hip
    if torch.cuda.is_available():
        facts["gpus"] = [
            {"name": torch.cuda.get_device_name(n), "capability": "%d.%d" % torch.cuda.get_device_capability(n)}
            for n in range(torch.cuda.device_count())
        ]
""",
    "triton": """
    from tlxviz import _triton
    _triton.register_plugin()
    import triton
    facts["version"] = triton.__version__
    facts["folder"] = triton.__path__[0]
    try:
        import triton.language.extra.tlx as tlx
        facts["tlx"] = tlx.__file__
    except Exception as error:
        facts["tlx_error"] = f"{type(error).__name__}: {error}"
    from triton import knobs
    facts["cache"] = knobs.cache.dir
""",
}


class Probes:
    """Both are started at once, so that the second costs no time of its own."""

    def __init__(self) -> None:
        self._running = {name: _started(program) for name, program in _PROGRAMS.items()}
        self._known: dict[str, Imported] = {}

    def imported(self, name: str) -> Imported:
        """What the module `torch` or `triton` says of itself."""
        if name not in self._known:
            self._known[name] = _ended(self._running[name])
        return self._known[name]


def _started(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _FRAME % program, json.dumps(sys.path), _MARK],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )


def _ended(process: subprocess.Popen[str]) -> Imported:
    try:
        out, err = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Imported(error=f"importing it does not end within {_PATIENCE} s")
    found = [line.removeprefix(_MARK) for line in out.splitlines() if line.startswith(_MARK)]
    if not found:
        return Imported(error=_death(process.returncode, err))
    facts = cast("dict[str, Any]", json.loads(found[-1]))
    return Imported(facts, str(facts.get("error", "")))


def _death(status: int, err: str) -> str:
    if status < 0:
        return f"importing it ends the process ({signal.Signals(-status).name})"
    last = err.strip().splitlines()[-1:] or [f"status {status}"]
    return f"importing it ends the process ({last[0]})"
