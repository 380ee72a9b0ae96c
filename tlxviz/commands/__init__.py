"""The program: one module per verb, and the only place where the rooms meet."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence

from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz._version import __version__
from tlxviz.commands import streams
from tlxviz.commands.base import Command, Parser
from tlxviz.commands.calibrate import CalibrateCommand
from tlxviz.commands.check import CheckCommand
from tlxviz.commands.diff import DiffCommand
from tlxviz.commands.doctor import DoctorCommand
from tlxviz.commands.export import ExportCommand
from tlxviz.commands.graph import GraphCommand
from tlxviz.commands.interrupts import Terminated
from tlxviz.commands.layouts import LayoutsCommand
from tlxviz.commands.output import SUFFIX
from tlxviz.commands.report import ReportCommand
from tlxviz.commands.run import RunCommand
from tlxviz.commands.view import ViewCommand

__all__ = ["main"]

_COMMANDS: tuple[Command, ...] = (
    RunCommand(),
    ReportCommand(),
    ViewCommand(),
    DiffCommand(),
    GraphCommand(),
    LayoutsCommand(),
    CheckCommand(),
    ExportCommand(),
    DoctorCommand(),
    CalibrateCommand(),
)

_DESCRIPTION = "See inside a GPU kernel whose warp groups are programs of their own."
_EPILOG = "exit status: 0 fine, 1 findings or a hang, 2 usage, 3 cannot run here, 4 the script failed, 130 interrupted"
_FILES = (".py", ".ttgir", SUFFIX)


def main(argv: Sequence[str] | None = None, commands: Sequence[Command] = _COMMANDS) -> int:
    """Run the program.

    Args:
        argv: Arguments without the program's name; None takes the process's own.

    Returns:
        The exit status: an `ExitCode`, or the script's own.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with streams.remembered():
        return streams.finish(_run(words, commands), int(ExitCode.CANNOT_RUN))


def _run(words: Sequence[str], commands: Sequence[Command]) -> int:
    try:
        arguments = _parsed(words, commands)
        command: Command = arguments.command
        return command.run(arguments)
    except TlxvizError as error:
        streams.flush()
        streams.fail(str(error))
        return int(error.exit_code)
    except KeyboardInterrupt as stop:
        return _interrupted(stop)
    except SystemExit as stop:  # argparse ends --help and --version so
        return stop.code if isinstance(stop.code, int) else int(ExitCode.OK)
    except Exception as error:
        from tlxviz._triton import interrupted

        if not interrupted(error):
            raise
        return _interrupted()


def _interrupted(stop: KeyboardInterrupt | None = None) -> int:
    streams.flush()
    if isinstance(stop, Terminated):
        streams.fail("terminated")
        return stop.exit_code
    streams.fail("interrupted")
    return int(ExitCode.INTERRUPTED)


def _parsed(words: Sequence[str], commands: Sequence[Command]) -> argparse.Namespace:
    _check_verb(words, commands)
    try:
        arguments, unknown = _parser(commands).parse_known_args(words)
        if unknown:
            name = arguments.command.name
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}\nTry 'tlxviz {name} --help'.")
    except UsageError as error:
        name = _dashed_file(words)
        if name is None:
            raise
        raise UsageError(f"{name} is taken for an option. If it is a file, write ./{name}") from error
    return arguments


def _dashed_file(words: Sequence[str]) -> str | None:
    """The first word before the script that looks like a file whose name begins with a dash."""
    for word in words[1:]:
        is_file = word.endswith(_FILES)
        if word.startswith("-") and "=" not in word and "/" not in word and (is_file or os.path.lexists(word)):
            return word
        if is_file and not word.startswith("-"):
            return None
    return None


def _parser(commands: Sequence[Command]) -> Parser:
    parser = Parser(prog="tlxviz", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("-V", "--version", action="version", version=f"tlxviz {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        verb = verbs.add_parser(
            command.name,
            help=command.summary,
            description=command.__doc__,
            allow_abbrev=False,
        )
        command.add_arguments(verb)
        verb.set_defaults(command=command)
    return parser


def _check_verb(words: Sequence[str], commands: Sequence[Command]) -> None:
    """Answer a wrong verb with what was probably meant."""
    verbs = [command.name for command in commands]
    if not words:
        raise UsageError(f"no command given. Commands: {', '.join(verbs)}.\nTry 'tlxviz --help'.")
    word = words[0]
    if word.startswith("-") or word in verbs:
        return
    meant = {".py": "run", ".ttgir": "graph", ".tlxtrace": "view"}
    for suffix, verb in meant.items():
        if word.endswith(suffix):
            raise UsageError(f"{word!r} is not a command. Did you mean 'tlxviz {verb} {word}'?")
    close = difflib.get_close_matches(word, verbs, n=1, cutoff=0.5)
    hint = f"Did you mean 'tlxviz {close[0]}'?" if close else f"Commands: {', '.join(verbs)}."
    raise UsageError(f"{word!r} is not a command. {hint}")
