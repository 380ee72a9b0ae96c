"""Errors of the TTGIR reader: where in the text, what stands there, what was expected."""

from __future__ import annotations

from tlxviz._errors import ExitCode, TlxvizError


class TtgirError(TlxvizError):
    """TTGIR text that cannot be read. The message holds file:line:column, the line, a caret and what was expected."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, source: str, line: int, column: int, text: str) -> None:
        """Build the message.

        Args:
            message: What is wrong or was expected, without a place.
            source: Name of the file.
            line: 1-based line; 0 if the text as a whole is wrong.
            column: 1-based column.
            text: The source line.
        """
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        shown, caret = _window(text.rstrip(), column - 1)
        super().__init__(f"{source}:{line}:{column}: {message}\n  {shown}\n  {' ' * caret}^")


class Mismatch(Exception):
    """A piece of text that does not read; the parser turns it into a `TtgirError` with its place in the file."""

    def __init__(self, message: str, offset: int, text: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        """Offset in `text`, or in the line where `text` is None."""
        self.text = text


class UnknownAlias(Mismatch):
    """An alias such as `#shared` that the file does not define, or that holds itself."""


def _window(text: str, offset: int, width: int = 160) -> tuple[str, int]:
    """The part of a long line around `offset`, and the offset in that part."""
    text = text.replace("\t", " ")
    offset = max(0, min(offset, len(text)))
    if len(text) <= width:
        return text, offset
    start = max(0, min(offset - width // 2, len(text) - width))
    return text[start : start + width], offset - start
