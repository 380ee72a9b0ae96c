"""Writes a file whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tlxviz._errors import UsageError
from tlxviz.trace.errors import TraceFileError

_REASONS = {
    errno.ENOSPC: "no space is left on the disk. Free some, or give a path on another disk",
    errno.EDQUOT: "your disk quota is used up. Free some space, or give a path on another disk",
    errno.EROFS: "the file system is read-only. Give a path in a folder that you may write to",
    errno.EACCES: "you may not write to the folder {folder}. Give a path in another folder",
    errno.EPERM: "you may not write to the folder {folder}. Give a path in another folder",
    errno.ENOENT: "the folder {folder} does not exist. Create it, or give another path",
    errno.ENOTDIR: "{folder} is not a folder. Give another path",
    errno.ENAMETOOLONG: "the name is too long. Give a shorter one",
}


def write_whole(path: Path, data: bytes | memoryview | Iterable[bytes], *, force: bool = False) -> None:
    """Puts `data`, which may come in pieces, at `path`.

    A temporary file in the same folder is gone afterwards in every case.

    Raises UsageError if the path exists and `force` is not set, TraceFileError if it cannot be written.
    """
    # A link's target is written, as any program would, and the link stays.
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        if target.is_dir():
            raise TraceFileError(f"cannot write {path}: it is a folder. Give the path of a file.")
        if target.exists():
            if not target.is_file():
                raise TraceFileError(f"cannot write {path}: it is not a regular file. Give another path.")
            if not force:
                raise _exists(path)
        temporary = target.parent / f".tlxtrace-{secrets.token_hex(8)}.tmp"
        _write(temporary, data)
        if force:
            os.replace(temporary, target)
        else:
            _move_to_new(temporary, target)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        default = f"{os.strerror(error.errno) if error.errno else error}. Give another path"
        reason = _REASONS.get(error.errno or 0, default).format(folder=target.parent)
        raise TraceFileError(f"cannot write {path}: {reason}.") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def _write(path: Path, data: bytes | memoryview | Iterable[bytes]) -> None:
    # Unlike those of `tempfile`, the file gets the permissions that the user's umask leaves.
    with open(path, "xb") as file:
        file.writelines((data,) if isinstance(data, bytes | memoryview) else data)
        file.flush()
        os.fsync(file.fileno())


def _move_to_new(source: Path, target: Path) -> None:
    """Renames, but never over a file that another program has put there meanwhile."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links.
        os.rename(source, target)


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} already exists. Give another path, or overwrite it with --force.")
