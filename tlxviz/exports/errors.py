"""What stops an export."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from tlxviz._errors import TlxvizError


class CannotExport(TlxvizError):
    """A file of this format cannot be written here, or not of this trace."""


@contextmanager
def needing(extra: str, packages: Mapping[str, str]) -> Generator[None]:
    """Raises CannotExport, which says what to do, where a package cannot be imported.

    Args:
        extra: Of tlxviz, which has them.
        packages: What is imported, with the name of the distribution that it comes in.
    """
    try:
        yield
    except Exception as error:
        of = _top(error.name if isinstance(error, ImportError) else type(error).__module__)
        name = packages.get(of)
        if name is not None and isinstance(error, ModuleNotFoundError):
            raise CannotExport(f"this format needs the package {name}: pip install 'tlxviz[{extra}]'") from None
        if name is not None:  # generated code of protobuf refuses an older runtime with an error of its own
            raise CannotExport(
                f"this format needs another version of {name}: pip install --upgrade 'tlxviz[{extra}]'. "
                f"It says: {error}"
            ) from error
        if _raised_by(error) == "tlxviz":
            raise
        raise CannotExport(
            f"this format needs {' and '.join(packages.values())}, and importing that fails. "
            f"It says: {type(error).__name__}: {error}"
        ) from error


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _raised_by(error: Exception) -> str:
    """The package whose code raised it: an import is code of whoever is imported."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else _top(str(trace.tb_frame.f_globals.get("__name__")))
