"""`tlxviz check`: inputs, options and exit statuses, with a checker that finds what the test says."""

from __future__ import annotations

import json
import math
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reporters.sarif_shape import check_shape

from tlxviz.check.checker import Checked
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.commands import main
from tlxviz.commands.check import CheckCommand
from tlxviz.devices import load_device
from tlxviz.ir.location import Location
from tlxviz.launch.model import LaunchLog
from tlxviz.launch.script import ScriptError
from tlxviz.sim.errors import UnsupportedOperation

GEMM = Path(__file__).parents[1] / "diagrams" / "data" / "hopper_gemm_ws.ttgir"
SOURCE = "def k(n):\n    load(n)\n    store(n)\n"
Capture = pytest.CaptureFixture[str]


class FakeCheck:
    """A backend whose scripts find a function `launch` of a kernel's name, and whose checker finds what it is told."""

    def __init__(self, finds: Finding | Exception | None = None, *, ends: bool = False) -> None:
        self.finds, self.ends = finds, ends
        self.device = ""
        self.seconds = 0.0
        self.executed: list[str] = []
        self.source = SOURCE
        self.recordings: list[Any] = []

    def known_devices(self) -> list[str]:
        return ["h100", "h200"]

    def load_device(self, name: str) -> Any:
        self.device = name
        return load_device(name)

    def make_recorder(self, device: Any, **options: Any) -> Any:
        return self

    def execute(self, launch: Any) -> None:
        self.executed.append(launch.kernel)

    programs = ()

    def make_checker(self, device: Any, *, seconds: float, **options: Any) -> Any:
        self.seconds, self.options = seconds, options
        return self

    def check(self, launch: Any) -> Checked:
        if isinstance(self.finds, Exception):
            raise self.finds
        return Checked(launch.kernel, (self.finds,) if self.finds else (), 4, 1, self.ends)

    def read(self, program: Any) -> Checked:
        assert isinstance(self.finds, Finding | None)
        return Checked(program.name, (self.finds,) if self.finds else (), 0, 0)

    def run_script(
        self,
        target: Path | str,
        argv: Sequence[str],
        device: Any,
        execute: Callable[[Any], None],
        log: LaunchLog,
        *,
        first_config: bool,
    ) -> int:
        def launch(kernel: str, n: int = 1) -> None:
            log.executed[kernel] = log.executed.get(kernel, 0) + 1
            execute(
                SimpleNamespace(
                    kernel=kernel,
                    grid=(1, 1, 1),
                    parameters=[("n", n)],
                    ttgir="",
                    source=self.source,
                    source_file="k.py",
                    source_line=1,
                    counted=True,
                )
            )

        try:
            found = {"launch": launch, "argv": list(argv)}
            if isinstance(target, str):
                runpy.run_module(target, found, "__main__")
            else:
                runpy.run_path(str(target), found, "__main__")
        except SystemExit as end:
            return int(end.code or 0)
        except ZeroDivisionError as error:
            raise ScriptError("Traceback: ZeroDivisionError") from error
        return 0


def finding(severity: Severity = Severity.ERROR, rule: str = "parity") -> Finding:
    places = (Place("load reads a[0]", "mma", Location("k.py", 2, 5), "a", 0, 0),)
    return Finding(rule, severity, "k", "mma: load reads a[0] too soon", places)


ERROR, WARNING, NOTE = finding(), finding(Severity.WARNING), finding(Severity.NOTE)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(backend: FakeCheck, *words: str, script: str = "launch('k')") -> int:
    Path("s.py").write_text(script)
    return main(["check", *words], [CheckCommand(backend)])


@pytest.mark.parametrize(
    ("finds", "words", "status"),
    [
        (None, (), 0),
        (NOTE, ("--strict",), 0),
        (WARNING, (), 0),
        (WARNING, ("--strict",), 1),
        (ERROR, (), 1),
    ],
)
def test_status_of_findings(finds: Finding | None, words: tuple[str, ...], status: int, capsys: Capture):
    backend = FakeCheck(finds)
    assert check(backend, *words, "s.py") == status
    assert backend.executed == ["k"]
    out, err = capsys.readouterr()
    assert out.startswith("k  k.py:1  1 launch, 4 CTAs, 1 schedule\n")
    assert ("      2 | load(n)\n        | ^~~~\n" in out) == (finds is not None)
    assert err == ""


@pytest.mark.parametrize("script", ["launch('k'); 1 / 0", "launch('k'); raise SystemExit(3)"])
def test_a_script_that_fails(script: str, capsys: Capture):
    assert check(FakeCheck(), "s.py", script=script) == 4
    said = "Traceback: ZeroDivisionError" if "/" in script else "s.py ended with status 3, and nothing was found."
    assert capsys.readouterr().err == f"tlxviz: error: {said}\n"
    assert check(FakeCheck(ERROR), "s.py", script=script) == 1
    assert capsys.readouterr().err == ("Traceback: ZeroDivisionError\n" if "/" in script else "")
    assert check(FakeCheck(WARNING), "s.py", script=script) == 4


def test_a_script_that_fails_before_it_launches_anything(capsys: Capture):
    assert check(FakeCheck(), "s.py", script="1 / 0") == 4
    assert capsys.readouterr().out == ""


def test_a_hang_ends_the_script(capsys: Capture):
    backend = FakeCheck(ERROR, ends=True)
    assert check(backend, "s.py", script="launch('k'); print('after')") == 1
    assert backend.executed == []
    out, err = capsys.readouterr()
    assert "! error [parity]" in out
    assert err == ""


def test_a_hang_that_counts_as_nothing_ends_the_script_too(capsys: Capture):
    assert check(FakeCheck(WARNING, ends=True), "s.py") == 4
    assert "kernel k does not get to its end (parity), and neither does s.py" in capsys.readouterr().err


def test_what_a_comment_keeps_does_not_count(capsys: Capture):
    backend = FakeCheck(ERROR)
    backend.source = SOURCE.replace("load(n)", "load(n)  # tlxviz: ignore[parity] the host waits")
    assert check(backend, "--strict", "s.py") == 0
    out = capsys.readouterr().out
    assert "- suppressed [parity]  k.py:2\n  because: the host waits\n" in out
    assert "\nnothing found, 1 suppressed in 1 kernel, 1 launch, 4 CTAs, 1 schedule on NVIDIA\nH200 SXM\n" in out


def test_what_is_not_simulated(capsys: Capture):
    backend = FakeCheck(UnsupportedOperation("ttng.x has no semantics"))
    assert check(backend, "s.py") == 3
    out, err = capsys.readouterr()
    assert "k  not checked\n  ttng.x has no semantics\n" in out
    assert err == "tlxviz: error: kernel k was not checked: ttng.x has no semantics\n"


def test_kernels_and_launches_are_chosen(capsys: Capture):
    script = "for n in range(4):\n    launch('k', n); launch('other', n)"
    backend = FakeCheck(ERROR)
    assert check(backend, "--json", "--kernel", "o*", "--launch", "1:3", "s.py", script=script) == 1
    [kernel] = json.loads(capsys.readouterr().out)["kernels"]
    assert (kernel["kernel"], kernel["launches"], kernel["ctas"]) == ("other", 2, 8)
    assert [(each["launch"], each["times"]) for each in kernel["findings"]] == [(1, 2)]
    assert len(backend.executed) == 8


@pytest.mark.parametrize(
    ("words", "script", "message"),
    [
        (("s.py",), "pass", "s.py launched no kernel"),
        (("--kernel", "x", "s.py"), "launch('k')", "no kernel matches --kernel x. s.py launched: k."),
        (("--launch", "2", "s.py"), "launch('k')", "no kernel was launched 3 times"),
        (("--launch", "x", "s.py"), "", "'x' names no launches"),
        (("missing.py",), "", "there is no script missing.py."),
        (("missing.ttgir",), "", "there is no file missing.ttgir."),
        (("t.tlxtrace",), "", "t.tlxtrace is a trace"),
        ((str(GEMM), "more"), "", "takes no arguments, and there is more."),
        (("--launch", "0", str(GEMM)), "", "--launch is for a script"),
        (("--kernel", "k", str(GEMM)), "", "--kernel is for a script"),
        (("--first-config", str(GEMM)), "", "--first-config is for a script"),
        (("--seconds", "1", str(GEMM)), "", "--seconds is for a script"),
        (("--seconds", "-1", "s.py"), "", "'-1' is no number of seconds above 0"),
        (("--device", "sim:none", "s.py"), "", "there is no device 'sim:none'."),
        (("--sarif", "x.txt", "s.py"), "", "the name of a SARIF log ends in .sarif or .json"),
        (("--sarif", "none/x.sarif", "s.py"), "", "none does not exist"),
    ],
)
def test_usage(words: tuple[str, ...], script: str, message: str, capsys: Capture):
    assert check(FakeCheck(), *words, script=script) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""


def test_the_script_prints_to_stderr_and_has_its_arguments(capsys: Capture):
    backend = FakeCheck()
    assert check(backend, "--device", "sim:h100", "s.py", "--json", "7", script="print(argv); launch('k')") == 0
    out, err = capsys.readouterr()
    assert err == "['--json', '7']\n"
    assert out.startswith("k ")
    assert backend.device == "h100"


def test_the_device_that_a_script_names():
    backend = FakeCheck()
    assert check(backend, "s.py", script="TLXVIZ_DEVICE = 'sim:h100'\nlaunch('k')") == 0
    assert backend.device == "h100"


@pytest.mark.parametrize(("words", "seconds"), [((), math.inf), (("--seconds", "0.5"), 0.5)])
def test_the_time_for_schedules(words: tuple[str, ...], seconds: float):
    backend = FakeCheck()
    assert check(backend, *words, "s.py") == 0
    assert backend.seconds == seconds


def test_a_module(monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    monkeypatch.syspath_prepend(".")
    Path("a_checked_module.py").write_text("launch('k')")
    assert main(["check", "-m", "a_checked_module"], [CheckCommand(FakeCheck(ERROR))]) == 1
    assert "[parity]" in capsys.readouterr().out


def test_a_text(capsys: Capture):
    backend = FakeCheck()
    assert check(backend, str(GEMM)) == 0
    assert backend.device == "h200"
    out = capsys.readouterr().out
    assert out.startswith("hopper_gemm_ws  its text alone, which nothing has run\n")
    assert check(FakeCheck(ERROR), "--json", str(GEMM)) == 1
    [kernel] = json.loads(capsys.readouterr().out)["kernels"]
    assert (kernel["launches"], kernel["schedules"], len(kernel["findings"])) == (0, 0, 1)


def test_damaged_text(capsys: Capture):
    Path("k.ttgir").write_text(GEMM.read_text(encoding="utf-8")[:2000])
    assert check(FakeCheck(), "k.ttgir") == 2
    assert capsys.readouterr().err.startswith("tlxviz: error: k.ttgir:")


def test_a_sarif_log_beside_the_text(capsys: Capture):
    assert check(FakeCheck(ERROR), "--sarif", "found.sarif", "s.py") == 1
    out, err = capsys.readouterr()
    assert "[parity]" in out
    assert err == "sarif: found.sarif\n"
    log = json.loads(Path("found.sarif").read_text())
    check_shape(log)
    [result] = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("parity", "error")
    assert check(FakeCheck(), "--sarif", "found.sarif", "s.py") == 2
    assert "found.sarif exists. Give --force" in capsys.readouterr().err
    assert check(FakeCheck(), "-q", "-f", "--sarif", "found.sarif", "s.py") == 0
    assert json.loads(Path("found.sarif").read_text())["runs"][0]["results"] == []
    assert capsys.readouterr().err == ""


def test_ctrl_c_says_what_was_found_until_then(capsys: Capture):
    assert check(FakeCheck(ERROR), "s.py", script="launch('k'); raise KeyboardInterrupt") == 130
    out, err = capsys.readouterr()
    assert "[parity]" in out
    assert err == "tlxviz: error: interrupted; what comes after that is not checked\n"


def test_a_defect_is_a_traceback_after_the_report(capsys: Capture):
    with pytest.raises(RuntimeError, match="a defect"):
        check(FakeCheck(ERROR), "s.py", script="launch('k'); raise RuntimeError('a defect')")
    assert "[parity]" in capsys.readouterr().out
