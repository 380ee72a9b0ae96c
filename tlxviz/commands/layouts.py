"""`tlxviz layouts`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlxviz._errors import ExitCode, UsageError
from tlxviz.commands import streams
from tlxviz.commands.backend import Backend, SimulatorBackend
from tlxviz.commands.base import named
from tlxviz.commands.choices import Launches, simulated_device
from tlxviz.commands.inputs import add_choice_of_launch, add_input, device_of_target, runs_input, target_of
from tlxviz.commands.interrupts import importing, terminations
from tlxviz.commands.launches import check_launches
from tlxviz.commands.remarks import nothing_recorded
from tlxviz.commands.ttgir_file import TTGIR, read_ttgir
from tlxviz.embedded.kernel_filter import KernelFilter
from tlxviz.embedded.record import DEFAULT_DEVICE

if TYPE_CHECKING:
    from tlxviz.analysis.layouts.given import Given
    from tlxviz.analysis.layouts.model import Change, KernelLayouts
    from tlxviz.devices.model import Device
    from tlxviz.ir.program import Program
    from tlxviz.launch.model import Executed, Launch
    from tlxviz.trace.model import LaunchTrace


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel of which layouts are wanted."""

    name: str
    program: Program
    device: Device
    noted: Any = None
    """`layouts` of the launch's metadata."""


class LayoutsCommand:
    """Show which layout every buffer and tensor of a kernel has, who asked for it, what conversions and bank conflicts
    cost, and what another layout would change.

    Of a trace, of a TTGIR file, or of a script, whose kernels are compiled and not run, with its own arguments behind
    it (docs/layouts.md). The exit status is 1 where somebody would refuse a layout that --set gives.
    """

    name = "layouts"
    summary = "show the layouts of buffers and tensors, why they are so, and what they cost"

    def __init__(self, backend: Backend | None = None) -> None:
        self._backend: Backend = backend or SimulatorBackend()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "--set",
            dest="given",
            metavar="NAME=LAYOUT",
            type=named,
            action="append",
            default=[],
            help="what would change if a buffer had this layout: none, swizzle:32, swizzle:64 or swizzle:128, "
            "'swizzled(8,1,8)', 'padded(64:8)' (docs/layouts.md)",
        )
        add_choice_of_launch(parser)
        add("--device", default="auto", help="what a script is compiled for, and whose figures costs are by: sim:h200")
        add("--json", action="store_true", help="one line of JSON (docs/layouts.md)")
        add_input(parser, "of what a module launches")

    def run(self, arguments: argparse.Namespace) -> int:
        path = Path(arguments.input)
        runs = runs_input(arguments)

        with importing():
            from tlxviz.analysis.layouts.given import parse_given
            from tlxviz.reporters.layouts_json import LayoutsJsonReporter
            from tlxviz.reporters.layouts_text import LayoutsTextReporter

        given = [parse_given(text) for text in arguments.given]
        if runs:
            kernels = self._of_script(arguments)
        elif path.suffix == TTGIR:
            kernels = [self._of_text(arguments, path)]
        else:
            kernels = self._of_trace(arguments, path)
        shown = _read(kernels, given, arguments.input)
        reporter = LayoutsJsonReporter if arguments.json else LayoutsTextReporter
        streams.render(reporter(shown))
        refused = any(change.refused for kernel in shown for change in kernel.changes)
        return int(ExitCode.FINDINGS if refused else ExitCode.OK)

    def _of_script(self, arguments: argparse.Namespace) -> list[_Kernel]:
        """What a script launches, compiled and not executed."""
        target = target_of(arguments)
        script = target if isinstance(target, Path) else None
        chosen = self._chosen_device(arguments, "layouts needs none, and compiles", script)
        device = self._backend.load_device(chosen or DEFAULT_DEVICE)
        kernels = KernelFilter(tuple(arguments.kernel))
        number = arguments.launch or 0
        if number < 0:
            raise UsageError(f"launches count from 0, and {number} is less.")

        from tlxviz.launch.model import LaunchLog

        log = LaunchLog()
        found: list[Launch] = []
        seen: dict[str, int] = {}

        def note(launch: Launch) -> Executed | None:
            if launch.counted and kernels(launch.kernel):
                if seen.get(launch.kernel, 0) == number:
                    found.append(launch)
                seen[launch.kernel] = seen.get(launch.kernel, 0) + 1
            return None

        stopped: Exception | None = None
        try:
            # what the script prints is not what was asked for
            with terminations(), redirect_stdout(sys.stderr):
                self._backend.run_script(target, arguments.arguments, device, note, log, first_config=True)
        except Exception as error:  # nothing is executed: a script that checks what it computes fails at the end
            stopped = error
        streams.flush()
        if not found:
            if stopped is not None:
                raise stopped
            why = nothing_recorded(str(target), log, kernels, Launches((number,)))
            raise UsageError(why or f"{target} launched no kernel.")
        if not arguments.quiet:
            streams.note(
                "layouts: kernels were compiled, not run: what the script finds in their outputs means nothing"
            )
        return [_of_launch(launch, device) for launch in found]

    def _of_trace(self, arguments: argparse.Namespace, path: Path) -> list[_Kernel]:
        with importing():
            from tlxviz.devices import device_from_manifest
            from tlxviz.trace import load_trace

        launches = load_trace(path).launches
        number: int | None = arguments.launch
        check_launches(str(path), len(launches), number)
        kernels = KernelFilter(tuple(arguments.kernel))
        chosen = launches if number is None else [launches[number]]
        fitting = [launch for launch in chosen if kernels(launch.kernel)]
        if not fitting:
            held = ", ".join(dict.fromkeys(launch.kernel for launch in chosen))
            raise UsageError(f"{path} has no launch of {', '.join(arguments.kernel)}: it has {held}.")
        first: dict[str, LaunchTrace] = {}
        for launch in fitting:
            first.setdefault(launch.kernel, launch)
        named_device = self._chosen_device(arguments, "layouts needs none")
        return [
            _of_recorded(
                launch,
                self._backend.load_device(named_device)
                if arguments.device != "auto" and named_device
                else device_from_manifest(launch.device),
            )
            for launch in first.values()
        ]

    def _of_text(self, arguments: argparse.Namespace, path: Path) -> _Kernel:
        for option, there in {"--launch": arguments.launch is not None, "--kernel": bool(arguments.kernel)}.items():
            if there:
                raise UsageError(f"{option} is for a trace or a script, and {arguments.input} is none.")
        with importing():
            from tlxviz.ir import load_program

        program = load_program(read_ttgir(path), str(path))
        chosen = self._chosen_device(arguments, "layouts needs none")
        name = chosen if arguments.device != "auto" and chosen else device_of_target(program, self._backend)
        return _Kernel(program.name, program, self._backend.load_device(name))

    def _chosen_device(self, arguments: argparse.Namespace, why: str, script: Path | None = None) -> str | None:
        return simulated_device(arguments.device, self._backend.known_devices(), lambda: why, script)


def _of_launch(launch: Launch, device: Device) -> _Kernel:
    metadata = {**launch.metadata, **launch.assembled()}
    return _of_ttgir(
        launch.kernel, launch.ttgir, launch.source, launch.source_file, launch.source_line, metadata, device
    )


def _of_recorded(launch: LaunchTrace, device: Device) -> _Kernel:
    if not launch.ttgir:
        raise UsageError(f"the trace holds no TTGIR of {launch.kernel}, whose layouts those would be.")
    return _of_ttgir(
        launch.kernel,
        launch.ttgir,
        launch.source,
        launch.source_file,
        launch.source_line,
        launch.metadata,
        device,
    )


def _of_ttgir(
    kernel: str, ttgir: str, source: str, file: str, line: int, metadata: dict[str, Any], device: Device
) -> _Kernel:
    with importing():
        from tlxviz.ir import load_program, name_from_source

    program = load_program(ttgir, f"TTGIR of {kernel}")
    name_from_source(program, source, file, line)
    return _Kernel(kernel, program, device, metadata.get("layouts"))


def _read(kernels: Sequence[_Kernel], given: Sequence[Given], source: str) -> list[KernelLayouts]:
    """The layouts of kernels; those of buffers that are `given` others, changed."""
    with importing():
        from tlxviz.analysis.layouts.buffers import change, tile_of
        from tlxviz.analysis.layouts.context import Context
        from tlxviz.analysis.layouts.kernel import layouts_of
        from tlxviz.analysis.layouts.tensors import converting
        from tlxviz.analysis.layouts.words import element_bits
        from tlxviz.commands.allocation import scratch_of
        from tlxviz.ir.encodings import layout_of

    found: list[KernelLayouts] = []
    unused = {each.buffer for each in given}
    for kernel in kernels:
        scratch = scratch_of(kernel.program.module.text, converting(kernel.program))
        context = Context(kernel.program, kernel.device, kernel.noted, scratch)
        changes: list[Change] = []
        for each in given:
            buffer = next((held for held in kernel.program.buffers if held.name == each.buffer), None)
            if buffer is None:
                continue
            unused.discard(each.buffer)
            tile = tile_of(context, buffer)
            if tile.space != "shared_memory":
                raise UsageError(f"{each.buffer} is in tensor memory, whose layouts cannot be given.")
            layout = each.layout(layout_of(tile.encoding), len(tile.shape), element_bits(tile.element))
            changes.append(change(context, buffer, layout))
        if changes or not given:
            found.append(layouts_of(context, tuple(changes)))
    if unused:
        names = ", ".join(dict.fromkeys(buffer.name for kernel in kernels for buffer in kernel.program.buffers))
        raise UsageError(f"{source} has no buffer {', '.join(sorted(unused))}: it has {names or 'none'}.")
    return found
