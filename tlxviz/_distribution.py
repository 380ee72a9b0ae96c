"""Whether a package's files on disk are those that a distribution installed.

triton and fbtriton both fill the folder `triton/` of site-packages. pip lists both where one has overwritten or removed
files of the other; only the RECORD of a distribution tells whose files are there.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_MOST_HASHED = 4 << 20
"""Bytes beyond which a file is compared by its size alone: hashing a GB of libraries takes ten seconds."""


@dataclass(frozen=True, slots=True)
class File:
    """A line of a RECORD."""

    path: str
    """Below the folder that holds the packages, with forward slashes."""
    hash: str
    """`sha256=` and the digest; empty where none is given."""
    size: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution, and what it put into one package."""

    name: str
    version: str
    folder: Path
    """Which holds its packages."""
    files: tuple[File, ...]

    def damaged(self, *, hashes: bool = False) -> list[str]:
        """Paths of the files that are missing, have another size or, if asked for, another hash."""
        return [file.path for file in self.files if not self._is_whole(file, hashes)]

    def _is_whole(self, file: File, hashes: bool) -> bool:
        path = f"{self.folder}/{file.path}"
        try:
            if os.stat(path).st_size != file.size:
                return False
            return not hashes or file.size > _MOST_HASHED or _hash(path, file.hash) == file.hash
        except OSError:
            return False


def package_folder(package: str) -> Path | None:
    """The folder that `import package` reads, found without importing it; None where there is none."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # it is imported already and in pieces
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def installed(name: str, package: str, folder: Path | None = None) -> Distribution | None:
    """The distribution `name` with its files in `package`, if it has any there.

    Args:
        name: Of the distribution.
        package: The top-level package whose files are of interest.
        folder: The one that holds the package; None looks wherever Python looks for packages.
    """
    places = sys.path if folder is None else [str(folder)]
    for found in metadata.distributions(name=name, path=places):
        files = tuple(_files(found.read_text("RECORD") or "", f"{package}/"))
        if files:  # none: installed from a source tree that is somewhere else
            return Distribution(name, str(found.version), Path(str(found.locate_file(""))), files)
    return None


def _files(record: str, prefix: str) -> Iterator[File]:
    """The lines about files that are the distribution's own: compiled ones, which have no size, pip adds itself."""
    for row in csv.reader(record.splitlines()):
        if len(row) == 3 and row[0].startswith(prefix) and row[2].isdecimal():
            yield File(row[0], row[1], int(row[2]))


def _hash(path: str, wanted: str) -> str:
    """The file's hash as RECORD writes it, by the algorithm of `wanted`."""
    algorithm = wanted.partition("=")[0]
    if algorithm not in hashlib.algorithms_available:
        return wanted
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, algorithm).digest()
    return f"{algorithm}={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def some(paths: Sequence[str], most: int = 3) -> str:
    """A few of them for a message."""
    more = len(paths) - most
    return ", ".join(paths[:most]) + (f" and {more} more" if more > 0 else "")
