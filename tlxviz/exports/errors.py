"""What stops an export."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tlxviz._errors import TlxvizError


class CannotExport(TlxvizError):
    """A file of this format cannot be written here, or not of this trace."""


@contextmanager
def needing(package: str, extra: str) -> Generator[None]:
    """Raises CannotExport, which says what to install, where `package` cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise CannotExport(f"this format needs the package {package}: pip install 'tlxviz[{extra}]'") from None
