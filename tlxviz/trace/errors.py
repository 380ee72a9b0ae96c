"""What can go wrong with a trace file."""

from __future__ import annotations

from tlxviz._errors import ExitCode, TlxvizError


class TraceFileError(TlxvizError):
    """A trace cannot be written, or needs a newer tlxviz to be read."""


class TraceReadError(TraceFileError):
    """The file that was named is missing, is no trace, or is damaged."""

    exit_code = ExitCode.USAGE
