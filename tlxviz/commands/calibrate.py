"""`tlxviz calibrate`."""

from __future__ import annotations

import argparse
import fnmatch
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import named
from tlxviz.commands.interrupts import importing

if TYPE_CHECKING:
    from tlxviz.calibrate.results import Calibration

SUFFIX = ".toml"


class CalibrateCommand:
    """Measure this GPU by microbenchmarks, and write the figures that the simulator needs into a data file.

    It takes a few minutes, during which nothing else should use the GPU. docs/calibration.md says what is measured.
    """

    name = "calibrate"
    summary = "measure a GPU for the simulator"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-o", "--output", metavar="FILE.toml", type=named, help="default: DEVICE.toml here")
        parser.add_argument("--force", action="store_true", help="overwrite files that exist")
        parser.add_argument("--only", metavar="PATTERN", type=named, help="only these benchmarks, such as 'wgmma.*'")
        parser.add_argument("--list", action="store_true", help="list the benchmarks and measure nothing")
        parser.add_argument(
            "--measurements", metavar="FILE.json", type=named, help="also write all that was measured, as it is found"
        )
        parser.add_argument("--json", action="store_true", help="print all that was measured, as JSON")

    def run(self, arguments: argparse.Namespace) -> int:
        with importing():
            from tlxviz.calibrate.run import calibrate
            from tlxviz.calibrate.worker import benchmarks

        known = benchmarks()
        pattern: str = arguments.only or "*"
        names = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise UsageError(f"no benchmark is called {pattern!r}. See 'tlxviz calibrate --list'.")
        if arguments.list:
            width = max(map(len, names))
            streams.write("".join(f"{name:{width}}  {known[name].summary}\n" for name in names))
            return int(ExitCode.OK)

        target = Target(arguments.output, arguments.measurements, force=arguments.force)
        target.check()
        found = calibrate(names, streams.note, target.keep)
        written = target.finish(found)
        if arguments.json:
            streams.write(json.dumps(found.to_json()) + "\n")
        streams.note(
            f"{written.figures} figures measured: {written.name}\n"
            f"simulate with them: tlxviz run --device sim:{written.name} script.py"
        )
        if found.failures:
            streams.note(f"{len(found.failures)} of {len(names)} benchmarks failed: {', '.join(found.failures)}")
        return int(ExitCode.FINDINGS if found.failures else ExitCode.OK)


@dataclass(frozen=True, slots=True)
class Written:
    name: str
    figures: int


class Target:
    """The files that a calibration goes to."""

    def __init__(self, output: str | None, measurements: str | None, *, force: bool) -> None:
        self._output = Path(output) if output is not None else None
        self._measurements = Path(measurements) if measurements is not None else None
        self._force = force

    def check(self) -> None:
        """Raise UsageError where something is in the way, as far as names are known before the GPU is."""
        if self._output is not None:
            if self._output.suffix != SUFFIX:
                raise UsageError(f"cannot write {self._output}: the name of a data file ends in {SUFFIX}.")
            self._check(self._output)
        if self._measurements is not None:
            self._check(self._measurements)

    def keep(self, found: Calibration) -> None:
        """Write down what is known by now; once the GPU is known, also see that the data file can be written."""
        if self._output is None:
            self._output = Path(self._default(found))
            self._check(self._output)
        if self._measurements is not None:
            _write(self._measurements, found.to_text())

    def finish(self, found: Calibration) -> Written:
        """Write both files."""
        from tlxviz.calibrate.data_file import base_of, written
        from tlxviz.calibrate.figures import figures

        self.keep(found)
        assert self._output is not None
        cuda_name, capability = _device(found)
        base = base_of(cuda_name, capability)
        found.sustained_mhz = base.sustained_mhz
        made = figures(found)
        text = written(base, self._output.stem, cuda_name, capability, made)
        _write(self._output, text)
        return Written(str(self._output), len(made))

    def _default(self, found: Calibration) -> str:
        from tlxviz.calibrate.data_file import base_of, file_name

        cuda_name, capability = _device(found)
        return file_name(cuda_name, base_of(cuda_name, capability))

    def _check(self, path: Path) -> None:
        if path.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder.")
        if path.exists() and not self._force:
            raise UsageError(f"{path} exists. Give --force to overwrite it, or another name.")
        if not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {path}: {path.parent} does not exist.")


def _device(found: Calibration) -> tuple[str, tuple[int, int]]:
    major, minor = found.device["capability"]
    return found.device["cuda_name"], (major, minor)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error
