"""`tlxviz calibrate`."""

from __future__ import annotations

import argparse
import fnmatch
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.base import named
from tlxviz.commands.interrupts import importing

if TYPE_CHECKING:
    from tlxviz.calibrate.results import Calibration


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
        names = [name for name in known if fnmatch.fnmatch(name, pattern)]
        if not names:
            raise UsageError(f"no benchmark is called {pattern!r}. See 'tlxviz calibrate --list'.")
        if arguments.list:
            width = max(map(len, names))
            streams.write("".join(f"{name:{width}}  {known[name].summary}\n" for name in names))
            return int(ExitCode.OK)
        raw = Path(arguments.measurements) if arguments.measurements else None

        def keep(found: Calibration) -> None:
            if raw is not None:
                raw.write_text(json.dumps(found.to_json(), indent=1) + "\n", encoding="utf-8")

        found = calibrate(names, streams.note, keep)
        keep(found)
        if arguments.json:
            streams.write(json.dumps(found.to_json()) + "\n")
        return int(ExitCode.FINDINGS if found.failures else ExitCode.OK)
