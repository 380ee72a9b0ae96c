"""The program's surface: verbs, help, errors."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tlxviz._version import __version__
from tlxviz.commands import main
from tlxviz.commands.interrupts import importing

_IMPORTS = """
import sys
from tlxviz.commands import main
status = main(sys.argv[1:])
heavy = {"torch", "triton", "textual", "numpy", "rich"} & set(sys.modules)
sys.exit(f"imported {heavy}" if heavy else status)
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["report", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTS, *words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("program", [["-m", "tlxviz"], ["cli.py"]])
def test_the_program_starts(program: list[str], pytestconfig: pytest.Config) -> None:
    command = [sys.executable, *program, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=pytestconfig.rootpath)
    assert (done.returncode, done.stdout) == (0, f"tlxviz {__version__}\n")


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "run a script and record its kernels" in out
    assert "say what holds a kernel" in out
    assert "exit status" in out
    assert "130 interrupted" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no command given. Commands: run, report, view, diff, graph, layouts, check, export, doctor, calibrate."),
        (["rnu"], "'rnu' is not a command. Did you mean 'tlxviz run'?"),
        (["xyzzy"], "'xyzzy' is not a command. Commands: run, report, view, diff, graph, layouts, check, export, "),
        (["foo.py", "--m", "4"], "'foo.py' is not a command. Did you mean 'tlxviz run foo.py'?"),
        (["foo.tlxtrace"], "'foo.tlxtrace' is not a command. Did you mean 'tlxviz view foo.tlxtrace'?"),
        (["--nonsense"], "Try 'tlxviz --help'."),
        (["run"], "the following arguments are required: script.py\n"),
        (["run", "-dash.py", "--m", "4"], "-dash.py is taken for an option. If it is a file, write ./-dash.py"),
        (["run", "-o", "-x.tlxtrace", "x.py"], "-x.tlxtrace is taken for an option. If it is a file, write ./-x."),
        (["report", "-dash.tlxtrace"], "If it is a file, write ./-dash.tlxtrace"),
        (["run", ""], "argument script.py: the name is empty"),
        (["run", "--kernel", "", "x.py"], "argument --kernel: the name is empty"),
        (["run", "-o", "", "x.py"], "argument -o/--output: the name is empty"),
        (["report", ""], "argument TRACE: the name is empty"),
        (["run", "x" * 300 + ".py"], "cannot be read: the name is too long"),
        (["report", "x" * 300 + ".tlxtrace"], "too long"),
        (["run", "--nonsense", "x.py"], "Try 'tlxviz run --help'."),
        (["run", "--values", "maybe", "x.py"], "invalid choice: 'maybe'"),
        (["run", "--ctas", "3:1", "x.py"], "'3:1' names no CTAs: write 0, or 0,1,132, or 0:4 for 0 to 3"),
        (["run", "--launch", "-1", "x.py"], "'-1' names no launches"),
        (
            ["run", "--device", "sim:b900", "x.py"],
            "there is no device 'sim:b900'. Devices: auto, cuda, sim:b200, sim:gb200, sim:h100, sim:h200.",
        ),
        (["report"], "the following arguments are required: TRACE"),
    ],
)
def test_wrong_usage_is_one_message(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tlxviz: error: ")
    assert says in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("hidden", [True, False])
def test_ctrl_c_within_imports(hidden: bool) -> None:
    def interrupted_import() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if not hidden:
                raise ImportError("cannot load module more than once per process") from None

    with pytest.raises(KeyboardInterrupt), importing():
        interrupted_import()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ImportError), importing():
        raise ImportError
