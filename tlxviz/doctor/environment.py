"""Environment variables that change what Triton does, and the folder in which it keeps compiled kernels."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tlxviz.doctor.model import Machine, Outcome, Status, ok, problem
from tlxviz.doctor.registry import check


@dataclass(frozen=True, slots=True)
class _Effect:
    status: Status
    text: str


_FALSE = ("", "0", "n", "no", "off", "false")
_VARIABLES = {
    "TRITON_INTERPRET": _Effect(Status.PROBLEM, "kernels are interpreted, and tlxviz sees none"),
    "TRITON_KERNEL_OVERRIDE": _Effect(Status.WARNING, "kernels come from a folder of overrides, not from the script"),
    "TRITON_OVERRIDE_ARCH": _Effect(Status.WARNING, "kernels are compiled for another GPU than the simulated one"),
    "TRITON_INSTRUMENTATION_MODE": _Effect(Status.WARNING, "kernels contain instrumentation"),
    "TRITON_DISABLE_LINE_INFO": _Effect(Status.WARNING, "reports lack source lines and variables"),
    "USE_IR_LOC": _Effect(Status.WARNING, "source lines are those of the IR, not of the kernel"),
    "TRITON_ALWAYS_COMPILE": _Effect(Status.WARNING, "every run compiles anew"),
    "MLIR_ENABLE_DUMP": _Effect(Status.WARNING, "the compiler prints the IR after every pass"),
}


@check("variables", "Variables")
def _variables(machine: Machine) -> Outcome:
    found = [name for name in _VARIABLES if machine.environ.get(name, "").lower() not in _FALSE]
    if not found:
        return ok("no variable that disturbs Triton is set")
    worst = Status.PROBLEM if any(_VARIABLES[name].status is Status.PROBLEM for name in found) else Status.WARNING
    return Outcome(
        worst, "; ".join(f"{name} is set: {_VARIABLES[name].text}" for name in found), f"unset {' '.join(found)}"
    )


@check("cache", "Triton's cache")
def _cache(machine: Machine) -> Outcome:
    folder = Path(machine.imported("triton").facts.get("cache") or _usual_cache(machine))
    existing = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return problem(
            f"{folder} cannot be written ({error.strerror})", "set TRITON_CACHE_DIR to a folder that you may write to"
        )
    return ok(str(folder))


def _usual_cache(machine: Machine) -> str:
    """Where a triton that cannot be asked would put it."""
    home = machine.environ.get("TRITON_HOME") or os.path.expanduser("~")
    return machine.environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache")


CHECKS = (_variables, _cache)
