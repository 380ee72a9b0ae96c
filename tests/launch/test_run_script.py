"""Running a script: its status, its errors, and what it sees."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch
from tlxviz.launch.script import ScriptError, run_script

Runner = Callable[..., Any]
Writer = Callable[..., Path]

LAUNCH = "add[(4,)](x, y, out, 1000, BLOCK=256)\n"


def test_the_script_sees_its_own_arguments_and_folder(run: Runner, write: Writer):
    write("ANSWER = 42\n", prelude="", name="neighbour_of_script.py")
    body = """
        import sys
        from pathlib import Path
        import neighbour_of_script

        assert __name__ == "__main__"
        assert neighbour_of_script.ANSWER == 42
        assert Path(sys.argv[0]).name == "script.py" and sys.argv[1:] == ["--size", "3"]
        assert sys.path[0] == str(Path(__file__).parent)
    """
    assert run(body, "--size", "3").status == 0


@pytest.mark.parametrize(("code", "status"), [("", 0), ("0", 0), ("3", 3), ("None", 0), ("'went wrong'", 1)])
def test_the_scripts_status_is_returned(run: Runner, capsys: pytest.CaptureFixture[str], code: str, status: int):
    assert run(f"import sys\nsys.exit({code})\n", prelude="").status == status
    assert capsys.readouterr().err == ("went wrong\n" if status == 1 else "")


def test_an_error_is_shown_as_the_scripts_own_traceback(run: Runner):
    body = """
        def inner():
            torch.ones(2, device="cuda").reshape(3)

        def outer():
            try:
                inner()
            except RuntimeError as error:
                raise LookupError("outer") from error

        outer()
    """
    with pytest.raises(ScriptError) as caught:
        run(body)
    text = str(caught.value)
    assert caught.value.exit_code == ExitCode.SCRIPT_FAILED
    assert text.startswith("Traceback (most recent call last):")
    assert text.endswith("LookupError: outer")
    assert "in inner" in text
    assert "in outer" in text
    assert "tlxviz" + "/" not in text.replace("\\", "/")
    assert "runpy" not in text


def test_a_syntax_error_is_the_scripts_error(run: Runner):
    with pytest.raises(ScriptError, match="SyntaxError"):
        run("def broken(:\n", prelude="")


def test_a_kernel_that_does_not_compile_is_named(run: Runner):
    body = """
        @triton.jit
        def broken(p):
            tl.store(p, undefined_name)

        broken[(1,)](x)
    """
    with pytest.raises(ScriptError) as caught:
        run(body)
    text = str(caught.value)
    assert text.startswith("kernel broken (")
    assert "does not compile" in text
    assert "undefined_name" in text
    assert "triton/runtime" not in text
    assert "script.py" in text


def test_of_what_the_assembler_refuses_its_own_words_are_shown(run: Runner, capsys: pytest.CaptureFixture[str]):
    body = """
        @triton.jit
        def nonsense(p):
            at = tl.arange(0, 128)
            value = tl.inline_asm_elementwise(
                "nonsense.f32 $0, $1;", "=f,f", [tl.load(p + at)], dtype=tl.float32, is_pure=True, pack=1
            )
            tl.store(p + at, value)

        nonsense[(1,)](x)
    """
    with pytest.raises(ScriptError) as caught:
        run(body)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("kernel nonsense (")
    assert first.endswith(") does not compile")
    assert 1 <= len(rest) <= 10
    assert "Not a name of any known instruction: 'nonsense'" in rest[0]
    assert "Traceback" not in str(caught.value)
    assert ".visible" not in capsys.readouterr().out


def test_a_script_may_cope_with_a_kernel_that_does_not_compile(run: Runner):
    body = """
        @triton.jit
        def broken(p):
            tl.store(p, undefined_name)

        try:
            broken[(1,)](x)
        except triton.CompilationError:
            pass
        raise KeyError("later")
    """
    with pytest.raises(ScriptError) as caught:
        run(body)
    assert "does not compile" not in str(caught.value)


def test_a_wrong_call_is_the_scripts_error_and_no_compilers(run: Runner):
    with pytest.raises(ScriptError) as caught:
        run("add[(4,)](x, y, out, 1000)\n")
    assert "does not compile" not in str(caught.value)
    assert "BLOCK" in str(caught.value)


@pytest.mark.parametrize("error", ["BaseException('mine')", "GeneratorExit"])
def test_any_exception_is_the_scripts_error(run: Runner, error: str):
    with pytest.raises(ScriptError, match=error.partition("(")[0]):
        run(f"raise {error}\n", prelude="")


def test_ctrl_c_within_an_import_is_ctrl_c(run: Runner, write: Writer):
    module = (
        "try:\n    raise KeyboardInterrupt\nexcept BaseException as error:\n    raise ImportError('init') from error\n"
    )
    write("", prelude=module, name="interrupted_module.py")
    with pytest.raises(KeyboardInterrupt):
        run("import interrupted_module\n", prelude="")


@pytest.mark.parametrize("close", ["sys.stderr.close()", "sys.stderr = None"])
def test_a_message_to_a_stderr_that_is_gone(run: Runner, monkeypatch: pytest.MonkeyPatch, close: str):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert run(f"import sys\n{close}\nsys.exit('a message')\n", prelude="").status == 1


@pytest.mark.parametrize("error", [TlxvizError("the kernel hangs"), ArithmeticError("a fault of ours")])
def test_what_execute_raises_is_not_the_scripts_error(write: Writer, device: Device, error: Exception):
    def execute(_launch: Launch) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_script(write(LAUNCH), [], device, execute)
    assert caught.value is error


def test_there_has_to_be_a_script(tmp_path: Path, device: Device):
    with pytest.raises(UsageError, match="no such file"):
        run_script(tmp_path / "missing.py", [], device, print)
    with pytest.raises(UsageError, match="is a folder"):
        run_script(tmp_path, [], device, print)
    trace = tmp_path / "old.tlxtrace"
    trace.write_bytes(b"PK\x03\x04\0\0")
    with pytest.raises(UsageError, match="not a Python script; to look at a trace: tlxviz report"):
        run_script(trace, [], device, print)


def test_a_script_needs_no_suffix(tmp_path: Path, device: Device):
    script = tmp_path / "tool"
    script.write_text("raise SystemExit(5)\n", encoding="utf-8")
    assert run_script(script, [], device, print) == 5


def test_missing_triton_says_what_to_install(monkeypatch: pytest.MonkeyPatch, write: Writer, device: Device):
    monkeypatch.setattr("tlxviz._triton.find_spec", lambda name: None)
    with pytest.raises(TlxvizError, match=r"pip install \"tlxviz\[fbtriton\]\"") as caught:
        run_script(write(""), [], device, print)
    assert caught.value.exit_code == ExitCode.CANNOT_RUN


def test_the_interpreter_is_refused(monkeypatch: pytest.MonkeyPatch, write: Writer, device: Device):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(TlxvizError, match="TRITON_INTERPRET"):
        run_script(write(""), [], device, print)
