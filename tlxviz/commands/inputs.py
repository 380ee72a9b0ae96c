"""Inputs of the verbs that take a trace, a TTGIR file, a script or a module."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import UsageError
from tlxviz.commands.base import named
from tlxviz.commands.output import SUFFIX, check_module, check_script
from tlxviz.commands.ttgir_file import TTGIR
from tlxviz.embedded.record import DEFAULT_DEVICE

if TYPE_CHECKING:
    from tlxviz.commands.backend import Backend
    from tlxviz.devices.model import Device
    from tlxviz.ir.program import Program


def add_choice_of_launch(parser: argparse.ArgumentParser) -> None:
    """Options that say which launch is meant, of those that a trace has or a script does."""
    add = parser.add_argument
    add("--launch", metavar="N", type=int, help="this launch of a trace, or of each kernel of a script, from 0")
    add("--kernel", metavar="NAME", type=named, action="append", default=[], help="a kernel that matches: 'gemm*'")


def add_input(parser: argparse.ArgumentParser, module: str) -> None:
    """The input, behind which stand a script's arguments; `module` says in the help what -m is for."""
    parser.usage = (
        f"{parser.prog} [options] TRACE\n       {parser.prog} [options] kernel.ttgir\n"
        f"       {parser.prog} [options] script.py [args ...]\n       {parser.prog} [options] -m module [args ...]"
    )
    add = parser.add_argument
    add("-q", "--quiet", action="store_true", help="nothing on stderr but errors")
    add("-m", dest="module", action="store_true", help=f"{module}, run as python -m does")
    add("input", metavar="INPUT", type=named, help="a .tlxtrace file, a .ttgir file, a script, or with -m a module")
    add("arguments", metavar="args", nargs=argparse.REMAINDER, help="a script's arguments").required = False


def runs_input(arguments: argparse.Namespace) -> bool:
    """Whether the input is a script or a module.

    Raises:
        UsageError: It is a file, and arguments stand behind it.
    """
    if arguments.module or Path(arguments.input).suffix not in (SUFFIX, TTGIR):
        return True
    if arguments.arguments:
        raise UsageError(
            f"{arguments.input} takes no arguments, and there is {arguments.arguments[0]}. "
            "Options stand before the file."
        )
    return False


def target_of(arguments: argparse.Namespace) -> Path | str:
    """What is run: the path of a script, or the name of a module. Raises UsageError where there is none."""
    return check_module(arguments.input) if arguments.module else check_script(Path(arguments.input))


def device_of_target(program: Program, backend: Backend) -> str:
    """Name of a device of the compute capability that a kernel is for; the usual one where none is known."""
    wanted = str(program.module.attributes.get("ttg.target", "")).rpartition(":")[2]
    names = [DEFAULT_DEVICE, *backend.known_devices()]
    fitting = [name for name in names if _capability(backend.load_device(name)) == wanted]
    return fitting[0] if fitting else DEFAULT_DEVICE


def _capability(device: Device) -> str:
    major, minor = device.capability
    return f"{major}{minor}"
