"""Which device a script itself asks to be simulated on."""

from __future__ import annotations

import ast
from pathlib import Path

CONSTANT = "TLXVIZ_DEVICE"


def device_of_script(script: Path) -> str | None:
    """What a script sets `TLXVIZ_DEVICE` to, as for `--device`; None where it says nothing.

    The script is read and not run: the last assignment of a string at its top level counts. A file that is no Python
    says nothing.
    """
    try:
        statements = ast.parse(script.read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    found: str | None = None
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))) if name == CONSTANT:
                found = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(value))) if name == CONSTANT:
                found = value
            case _:
                pass
    return found
