"""The root of every error that tlxviz raises on purpose, and the exit codes of the program."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the `tlxviz` program tells the shell."""

    OK = 0
    FINDINGS = 1  # findings, or the kernel hangs
    USAGE = 2  # the command line, or an input that it names, is wrong
    CANNOT_RUN = 3  # this machine or this version cannot do it
    SCRIPT_FAILED = 4  # the user's script raised
    INTERRUPTED = 130


class TlxvizError(Exception):
    """Something the user can act on. The text is complete: the program prints it and nothing else."""

    exit_code: ExitCode = ExitCode.CANNOT_RUN


class UsageError(TlxvizError):
    """A wrong argument, a missing input, an output that may not be overwritten."""

    exit_code = ExitCode.USAGE
