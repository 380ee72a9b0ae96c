"""Where a trace goes, found out before anything is run."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import UsageError

if TYPE_CHECKING:
    from tlxviz.trace.model import Trace

# That of `tlxviz.trace`, whose import brings numpy, for which `tlxviz --help` need not wait.
SUFFIX = ".tlxtrace"


@dataclass(frozen=True, slots=True)
class Output:
    path: Path
    """Absolute: the script may go to another folder."""
    name: str
    """What the user calls it."""
    numbered: bool
    """The name was not given, and may get a number."""
    force: bool

    @staticmethod
    def choose(given: str | None, script: Path, *, force: bool) -> Output:
        """The output for `-o` or, without one, for the script's name, checked to be writable."""
        name = given if given is not None else script.stem + SUFFIX
        output = Output(Path.cwd() / name, name, numbered=given is None, force=force)
        output.check()
        return output

    def check(self) -> None:
        """Raise UsageError unless it can be written: a simulation of minutes must not end in this message."""
        if self.path.suffix != SUFFIX:
            raise UsageError(f"cannot write {self.name}: the name of a trace ends in {SUFFIX}.")
        if not self.numbered and self.path.is_dir():
            raise UsageError(f"cannot write {self.name}: it is a folder.")
        if not self.numbered and self.path.exists() and not self.force:
            raise UsageError(f"{self.name} exists. Give --force to overwrite it, or another name with -o.")
        folder = self.path.parent
        shown = Path(self.name).parent
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise UsageError(f"cannot write {self.name}: {shown} {what}.")
        try:
            # Permission bits say nothing about read-only file systems, or to root.
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            where = "the current folder" if self.numbered else shown
            raise UsageError(f"cannot write {self.name} into {where}: {error.strerror}.") from error

    def save(self, trace: Trace) -> str:
        """Write the trace. Returns the name that it got."""
        from tlxviz.trace import numbered_path, save_trace

        # Numbered only now: another run may have taken the name in the meantime.
        path = numbered_path(self.path) if self.numbered else self.path
        save_trace(trace, path, force=self.force and not self.numbered)
        return path.name if self.numbered else self.name


def check_script(script: Path) -> Path:
    """Raise UsageError unless it is a script."""
    if script.suffix == SUFFIX:
        raise UsageError(f"{script} is a trace, not a script. Read it with 'tlxviz report {script}'.")
    if not script.exists():
        raise UsageError(f"there is no script {script}.")
    if script.is_dir():
        raise UsageError(f"{script} is a folder, not a script.")
    return script
