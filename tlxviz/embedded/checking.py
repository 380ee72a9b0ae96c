"""Checks the launches of a test suite while pytest runs it."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from tlxviz import _triton
from tlxviz.embedded.record import device_named, hosting

if TYPE_CHECKING:
    from tlxviz.check.report import CheckReport, LaunchReport
    from tlxviz.check.session import Session
    from tlxviz.devices.model import Device
    from tlxviz.launch.kernels.watch import Call
    from tlxviz.launch.model import Executed, Launch
    from tlxviz.launch.patching import Scope

Phase = Generator[None, Any, Any]


class SuiteCheck:
    """A plugin of pytest: a simulated GPU for the suite, or a watch over the real one, and who checks its launches.

    Args:
        device: The GPU to simulate; None for the machine's own, or the usual one where it has none.
        strict: Whether warnings fail tests too.

    Raises:
        TlxvizError: there is no such device, or triton or torch is missing.
    """

    def __init__(self, device: str | None, *, strict: bool) -> None:
        _triton.require()
        import torch

        from tlxviz.launch.patching import Scope

        self._strict = strict
        self._heard: list[LaunchReport] = []
        """What was found in the launches of the phase of a test that runs now."""
        real = torch.cuda.is_available()
        self._device = device_named(device, torch.cuda.get_device_name() if real else None)
        self._scope = Scope()
        try:
            self._session = _watching(self._scope, self._device, self._heard.append, real=real)
        except BaseException:
            self._scope.close()
            raise

    def close(self) -> None:
        """Take the simulated GPU away."""
        self._scope.close()

    def pytest_report_header(self) -> str:
        return f"tlxviz: every kernel launch is checked, on a simulated {self._device.title}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Phase:
        return (yield from self._phase(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Phase:
        return (yield from self._phase(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Phase:
        return (yield from self._phase(item, "teardown"))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from tlxviz.reporters.check_text import summary

        if self._session.checked:
            terminalreporter.section("tlxviz check")
            terminalreporter.write_line(summary(self._session.report(self._device.title)))

    def _phase(self, item: pytest.Item, name: str) -> Phase:
        """A phase of a test, which fails where something is found in its launches."""
        from tlxviz.check.report import gather
        from tlxviz.check.session import Stopped

        self._heard.clear()
        result, error = None, None
        try:
            result = yield
        except BaseException as raised:
            error = raised
        report = gather(self._device.title, self._heard)
        if report.fails(strict=self._strict):
            if error is None or isinstance(error, Stopped):
                rules = ", ".join(dict.fromkeys(each.rule for each in report.findings if each.suppressed is None))
                pytest.fail(f"tlxviz check: {rules}\n\n{_text(report)}", pytrace=False)
            item.add_report_section(name, "tlxviz check", _text(report))
        if error is not None:
            raise error
        return result


def _text(report: CheckReport) -> str:
    from tlxviz.reporters.check_text import CheckTextReporter

    stream = io.StringIO()
    CheckTextReporter(report).render(stream)
    return stream.getvalue().rstrip()


def _watching(
    scope: Scope, device: Device, hear: Callable[[LaunchReport], object], *, real: bool
) -> Session[Launch, Executed | None]:
    """Put a checker of all launches into force, until `scope` ends."""
    from tlxviz.check.checker import Checker
    from tlxviz.check.session import Session
    from tlxviz.launch.kernels.watch import Watch
    from tlxviz.launch.model import LaunchLog
    from tlxviz.launch.stand_in import StandIn
    from tlxviz.sim.recorder import SimulatedRecorder
    from tlxviz.sim.recording import Recording

    if real:
        beside: Session[Launch, Executed | None] = Session(Checker(device), lambda launch: None, hear=hear)
        Watch(_Before(beside)).install(scope)
        return beside
    recorder = SimulatedRecorder(device, Recording(launches=()))
    session: Session[Launch, Executed | None] = Session(Checker(device), recorder.execute, hear=hear)
    scope.enter_context(hosting(recorder))
    StandIn(device, session.execute, LaunchLog()).install(scope, threading.excepthook)
    return session


class _Before:
    """Handles launches on a real GPU: each is checked before it runs, with copies of its arguments."""

    def __init__(self, session: Session[Launch, Executed | None]) -> None:
        self._session = session

    def expects(self, kernel: str) -> bool:
        return True

    def pass_over(self, kernel: str) -> None:
        raise AssertionError(f"{kernel} was expected")

    def handle(self, call: Call) -> None:
        import torch

        kernel = call.compile()
        if kernel is not None:
            with torch.no_grad():
                self._session.execute(call.on_host(call.described(kernel)))
