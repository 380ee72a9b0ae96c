"""The program: one module per verb, and the only place where the rooms meet."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence

from tlxviz import __version__
from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import Command, Parser
from tlxviz.commands.report import ReportCommand
from tlxviz.commands.run import RunCommand

__all__ = ["main"]

_COMMANDS: tuple[Command, ...] = (RunCommand(), ReportCommand())

_DESCRIPTION = "See inside a GPU kernel whose warp groups are programs of their own."
_EPILOG = "exit status: 0 fine, 1 findings or a hang, 2 usage, 3 cannot run here, 4 the script failed"


def main(argv: Sequence[str] | None = None, commands: Sequence[Command] = _COMMANDS) -> int:
    """Run the program.

    Args:
        argv: Arguments without the program's name; None takes the process's own.

    Returns:
        The exit status: an `ExitCode`, or the script's own.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        _check_verb(words, commands)
        arguments, unknown = _parser(commands).parse_known_args(words)
        command: Command = arguments.command
        if unknown:
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)}\nTry 'tlxviz {command.name} --help'.")
        return command.run(arguments)
    except TlxvizError as error:
        streams.flush()
        streams.fail(str(error))
        return int(error.exit_code)
    except KeyboardInterrupt:
        streams.flush()
        streams.fail("interrupted")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        streams.discard(sys.stdout)
        return int(ExitCode.OK)
    except SystemExit as stop:  # argparse ends --help and --version so
        return stop.code if isinstance(stop.code, int) else int(ExitCode.OK)
    finally:
        streams.flush()


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
    meant = {".py": "run", ".tlxtrace": "report"}
    for suffix, verb in meant.items():
        if word.endswith(suffix):
            raise UsageError(f"{word!r} is not a command. Did you mean 'tlxviz {verb} {word}'?")
    close = difflib.get_close_matches(word, verbs, n=1, cutoff=0.5)
    hint = f"Did you mean 'tlxviz {close[0]}'?" if close else f"Commands: {', '.join(verbs)}."
    raise UsageError(f"{word!r} is not a command. {hint}")
