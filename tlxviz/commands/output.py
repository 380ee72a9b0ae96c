"""Where a trace or a picture goes, found out before anything is run."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import UsageError
from tlxviz.commands.interrupts import terminations

if TYPE_CHECKING:
    from tlxviz.trace.model import Trace

# That of `tlxviz.trace`, whose import brings numpy, for which `tlxviz --help` need not wait.
SUFFIX = ".tlxtrace"

_REASONS = {
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "it is a symbolic link that leads back to itself",
}


@dataclass(frozen=True, slots=True)
class Output:
    path: Path
    """Absolute: the script may go to another folder."""
    name: str
    """What the user calls it."""
    numbered: bool
    """The name was not given, and may get a number."""
    force: bool
    suffixes: tuple[str, ...] = (SUFFIX,)
    """One of which its name ends in."""
    holds: str = "trace"
    """What the file is."""

    @staticmethod
    def choose(
        given: str | None, stem: str, *, force: bool, suffixes: tuple[str, ...] = (SUFFIX,), holds: str = "trace"
    ) -> Output:
        """The output for `-o` or, without one, `stem` with the first suffix, checked to be writable."""
        name = given if given is not None else stem + suffixes[0]
        try:
            folder = Path.cwd()
        except OSError as error:  # also where it is not needed here, because torch cannot be imported without one
            raise UsageError("the current folder is gone. Go to another one and run tlxviz again.") from error
        output = Output(folder / name, name, numbered=given is None, force=force, suffixes=suffixes, holds=holds)
        output.check()
        return output

    def check(self) -> None:
        """Raise UsageError unless it can be written: a simulation of minutes must not end in this message."""
        if self.path.suffix not in self.suffixes:
            *most, last = self.suffixes
            ending = f"{', '.join(most)} or {last}" if most else last
            raise UsageError(f"cannot write {self.name}: the name of a {self.holds} ends in {ending}.")
        try:
            self._check_target()
        except OSError as error:
            reason = _REASONS.get(error.errno or 0, f"{error.strerror}")
            raise UsageError(f"cannot write {self.name}: {reason}. Give another name with -o.") from error

    def _check_target(self) -> None:
        path, shown = self.path, Path(self.name).parent
        if self.numbered:
            if os.path.lexists(path):  # the longest of the names that it may get
                _probe(path.with_name(f"{path.stem}.999{path.suffix}"))
            else:
                _probe(path)
        elif path.is_symlink():  # its target is what is written
            path = Path(os.path.realpath(path))
            shown = path.parent
        folder = path.parent
        if not os.path.isdir(folder):
            what = "is not a folder" if os.path.lexists(folder) else "does not exist"
            raise UsageError(f"cannot write {self.name}: {shown} {what}.")
        mode = None if self.numbered else _probe(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise UsageError(f"cannot write {self.name}: it is a folder.")
        if mode is not None and not stat.S_ISREG(mode):
            raise UsageError(f"cannot write {self.name}: it is not a regular file. Give another name with -o.")
        if mode is not None and not self.force:
            raise UsageError(f"{self.name} exists. Give --force to overwrite it, or another name with -o.")
        try:
            # Permission bits say nothing about read-only file systems, or to root.
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            where = "the current folder" if shown == Path() else shown
            raise UsageError(f"cannot write {self.name} into {where}: {error.strerror}.") from error

    def save(self, trace: Trace) -> str:
        """Write the trace. Returns the name that it got."""
        from tlxviz.trace import numbered_path, save_trace

        # Numbered only now: another run may have taken the name in the meantime.
        path = numbered_path(self.path) if self.numbered else self.path
        with terminations():
            save_trace(trace, path, force=self.force and not self.numbered)
        return path.name if self.numbered else self.name

    def write(self, data: bytes | memoryview | Iterable[bytes]) -> str:
        """Write bytes, or pieces of them, whole or not at all. Returns the name that they got."""
        from tlxviz.trace import numbered_path
        from tlxviz.trace.whole import write_whole

        path = numbered_path(self.path) if self.numbered else self.path
        with terminations():  # or they leave a part of the file under another name
            write_whole(path, data, force=self.force and not self.numbered)
        return str(Path(self.name).with_name(path.name)) if self.numbered else self.name

    def instead(self, suffix: str) -> Output:
        """A file of the same name with another suffix, numbered if that is taken."""
        path = self.path.with_suffix(suffix)
        return Output(path, str(Path(self.name).with_suffix(suffix)), numbered=True, force=False, suffixes=(suffix,))

    def beside(self, name: str) -> Output:
        """Where a second trace goes: `x.sim.tlxtrace` beside the first, which was saved, or is to be, as `name`."""
        path = self.path.with_name(f"{Path(name).stem}.sim{SUFFIX}")
        shown = path.name if self.numbered else str(Path(self.name).with_name(path.name))
        return Output(path, shown, numbered=self.numbered, force=self.force)


def check_script(script: Path) -> Path:
    """Raise UsageError unless it is a script."""
    if script.suffix == SUFFIX:
        raise UsageError(f"{script} is a trace, not a script. Read it with 'tlxviz report {script}'.")
    try:
        mode = _probe(script)
    except OSError as error:
        raise UsageError(f"{script} cannot be read: {_REASONS.get(error.errno or 0, error.strerror)}.") from error
    if mode is None:
        raise UsageError(f"there is no script {script}.")
    if stat.S_ISDIR(mode):
        raise UsageError(f"{script} is a folder, not a script.")
    return script


def check_module(name: str) -> str:
    """The name, which what is written is named after. Raises UsageError unless it can be one of a module."""
    if "/" in name or not all(name.split(".")):
        hint = " To run a file, leave out -m." if name.endswith(".py") else ""
        raise UsageError(f"there is no module {name} to run.{hint}")
    return name


def _probe(path: Path) -> int | None:
    """The mode of what is there; None where nothing is. Raises OSError for what cannot be a path."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
