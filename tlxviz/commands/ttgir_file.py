"""Bare TTGIR files."""

from __future__ import annotations

from pathlib import Path

from tlxviz._errors import UsageError

TTGIR = ".ttgir"


def read_ttgir(path: Path) -> str:
    """The text of a file. Raises UsageError where there is none."""
    try:
        return path.read_text(encoding="utf-8-sig")  # as editors on Windows write it
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not TTGIR: it is not text in UTF-8.") from None
