"""`tlxviz doctor`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tlxviz._errors import ExitCode
from tlxviz.commands import streams
from tlxviz.commands.interrupts import importing

if TYPE_CHECKING:
    from tlxviz.doctor import Finding
    from tlxviz.reporters import Reporter


class DoctorCommand:
    """Check what tlxviz needs of this machine: packages, compiler, terminal, environment; and say how to mend it.

    The exit status is 0 where kernels can be run and 3 where they cannot.
    """

    name = "doctor"
    summary = "check this machine's installation"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one line of JSON (docs/doctor.md)")

    def run(self, arguments: argparse.Namespace) -> int:
        with importing():
            from tlxviz.doctor import Machine, can_run_kernels, examine
            from tlxviz.doctor.probe import Probes
            from tlxviz.reporters.doctor_json import DoctorJsonReporter

        findings = examine(Machine(Probes().imported, os.environ, streams.stdout()))
        can_run = can_run_kernels(findings)
        reporter = DoctorJsonReporter if arguments.json else _text_reporter()
        streams.render(reporter(findings, can_run))
        return int(ExitCode.OK if can_run else ExitCode.CANNOT_RUN)


def _text_reporter() -> Callable[[Sequence[Finding], bool], Reporter]:
    try:
        from tlxviz.reporters.doctor import DoctorTextReporter
    except Exception:  # rich, which it prints with, is one of the things that are checked
        from tlxviz.reporters.doctor_plain import DoctorPlainReporter

        return DoctorPlainReporter
    return DoctorTextReporter
