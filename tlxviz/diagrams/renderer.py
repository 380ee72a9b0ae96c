"""DOT text to pictures, by Graphviz or by graphviz-pure, which pip installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tlxviz._errors import TlxvizError

FORMATS = ("svg", "png", "pdf")
_PURE = "graphviz-pure"
_PURE_FORMATS = frozenset({"svg", "png"})
_SECONDS = 120
_DOTS_PER_INCH = 144
"""Of a PNG: legible where it fills the width of a page."""


class CannotDraw(TlxvizError):
    """There is nothing that draws, or it failed. The message ends without a next step where one is missing."""


def find_renderer(format_: str) -> str:
    """The path of a program that is called as `dot` is: `dot` if it is installed, else graphviz-pure, on PATH or beside
    this Python.

    Raises CannotDraw if there is none for `format_`, one of FORMATS.
    """
    found = shutil.which("dot")
    if found is None and format_ in _PURE_FORMATS:
        beside = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
        found = shutil.which(_PURE, path=beside)
    if found is None:
        other = " or pip install graphviz-pure" if format_ in _PURE_FORMATS else ", which alone writes PDF"
        raise CannotDraw(f"Graphviz is not installed: apt-get install graphviz{other}")
    return found


def render(dot: str, format_: str, renderer: str) -> bytes:
    """The picture. Raises CannotDraw if the renderer fails."""
    name = Path(renderer).name
    resolution = [f"-Gdpi={_DOTS_PER_INCH}"] if format_ == "png" else []
    command = [renderer, f"-T{format_}", *resolution]
    try:
        done = subprocess.run(command, input=dot.encode(), capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CannotDraw(f"{name} took more than {_SECONDS} s") from None
    except OSError as error:
        raise CannotDraw(f"{renderer} cannot be started: {error.strerror}") from error
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        # Behind an error stand lines that say where, and warnings.
        errors = [line for line in said if line.startswith("Error")] or said[-1:]
        raise CannotDraw(f"{name} failed: {errors[0] if errors else f'exit status {done.returncode}'}")
    return done.stdout
