"""What stops an export."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tlxviz._errors import TlxvizError


class CannotExport(TlxvizError):
    """A file of this format cannot be written here, or not of this trace."""


@contextmanager
def needing(package: str, extra: str, called: str | None = None) -> Generator[None]:
    """Raises CannotExport, which says what to install, where `package` cannot be imported, or is too old.

    Args:
        package: What is imported.
        extra: Of tlxviz, which has it.
        called: The name of the distribution, where that is another one.
    """
    name = called or package
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise CannotExport(f"this format needs the package {name}: pip install 'tlxviz[{extra}]'") from None
    except Exception as error:
        # Generated code of protobuf refuses a runtime that is older with an error of its own.
        theirs = type(error).__module__.partition(".")[0] == package
        if not theirs and not (isinstance(error, ImportError) and (error.name or "").partition(".")[0] == package):
            raise
        raise CannotExport(
            f"this format needs another version of {name}: pip install --upgrade 'tlxviz[{extra}]'. It says: {error}"
        ) from error
