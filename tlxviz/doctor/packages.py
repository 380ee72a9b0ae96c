"""Python, tlxviz itself and the packages that it uses."""

from __future__ import annotations

import platform
import sys
from importlib import import_module, metadata
from pathlib import Path

from tlxviz._version import __version__
from tlxviz.doctor.model import Machine, Outcome, ok, problem, warning
from tlxviz.doctor.registry import check

_OLDEST_PYTHON = (3, 11)


def version_of(distribution: str) -> str:
    """Its version; empty where it is not installed."""
    try:
        return str(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return ""


@check("tlxviz", "tlxviz")
def _tlxviz(machine: Machine) -> Outcome:
    return ok(f"{__version__}, {Path(__file__).resolve().parents[1]}")


@check("python", "Python")
def _python(machine: Machine) -> Outcome:
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info < _OLDEST_PYTHON:
        return problem(found, "tlxviz needs Python 3.11 or newer")
    if sys.platform != "linux":
        return warning(f"{found}; the compilers are for Linux alone", "run kernels on Linux; traces open anywhere")
    return ok(found)


@check("numpy", "numpy")
def _numpy(machine: Machine) -> Outcome:
    return _needed("numpy")


@check("rich", "rich")
def _rich(machine: Machine) -> Outcome:
    return _needed("rich")


@check("textual", "textual")
def _textual(machine: Machine) -> Outcome:
    return ok(version_of("textual") or "not installed, and needed by tlxviz view alone")


def _needed(distribution: str) -> Outcome:
    version = version_of(distribution)
    if not version:
        return problem("not installed", f"pip install {distribution}")
    try:
        import_module(distribution)
    except Exception as error:  # a broken installation fails in any way it likes
        return problem(
            f"{version} cannot be imported ({error})", f"pip install --force-reinstall {distribution}=={version}"
        )
    return ok(version)


CHECKS = (_tlxviz, _python, _numpy, _rich, _textual)
