"""Every check of `doctor`, on machines that are well and machines that are not."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_site import FBTRITON, install

from tlxviz import _triton
from tlxviz.doctor import CHECKS, Finding, Machine, Status, can_run_kernels, compiler, examine, packages
from tlxviz.doctor.model import Imported, Outcome
from tlxviz.doctor.registry import check
from tlxviz.doctor.terminal import GLYPHS

FB = {"version": "3.7.4+fb", "folder": "/site/triton", "tlx": "/site/triton/language/extra/tlx/__init__.py"}
STOCK = {"version": "3.8.0", "folder": "/site/triton", "tlx_error": "ModuleNotFoundError: no tlx"}


class Terminal(io.StringIO):
    """A stream that is a terminal and has an encoding."""

    def __init__(self, encoding: str = "utf-8", *, tty: bool = True) -> None:
        super().__init__()
        self._encoding, self._tty = encoding, tty

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._encoding

    def isatty(self) -> bool:
        return self._tty


def machine(
    triton: Imported | Mapping[str, Any] = FB,
    torch: Imported | Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    output: Terminal | None = None,
) -> Machine:
    modules = {"triton": triton, "torch": torch or {"version": "2.13.0+cpu", "cuda": None, "hip": None}}

    def imported(name: str) -> Imported:
        facts = modules[name]
        return facts if isinstance(facts, Imported) else Imported(facts)

    return Machine(imported, environ or {}, output)


def look(identity: str, where: Machine) -> tuple[str, str, str]:
    """Status, detail and mend of one check."""
    (found,) = (each(where) for each in CHECKS if each.id == identity)
    return str(found.status), found.detail, found.mend


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is installed according to pip; tests fill it."""
    known: dict[str, str] = {}
    for module in (packages, compiler, "tlxviz.doctor.graphics"):
        name = module if isinstance(module, str) else module.__name__
        monkeypatch.setattr(f"{name}.version_of", lambda distribution: known.get(distribution, ""))
    return known


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(_triton, "package_folder", lambda package: folder / package)
    return folder


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_ids_are_unique_and_known():
    assert [each.id for each in CHECKS] == [
        "tlxviz", "python", "numpy", "rich", "textual", "compiler", "files", "tlx", "torch", "gpu", "graphviz",
        "variables", "cache", "encoding", "colour", "width",
    ]  # fmt: skip


def test_a_check_that_raises_is_a_finding():
    @check("ill", "Ill")
    def ill(where: Machine) -> Outcome:
        raise ValueError("no pulse")

    assert ill(machine()) == Finding(
        "ill", "Ill", Status.WARNING, "this could not be checked (ValueError: no pulse)", ""
    )


def test_one_problem_is_enough():
    fine = Finding("a", "A", Status.OK, "", "")
    warned = Finding("b", "B", Status.WARNING, "", "")
    assert can_run_kernels([fine, warned])
    assert not can_run_kernels([fine, Finding("c", "C", Status.PROBLEM, "", ""), warned])


# ---------------------------------------------------------------------- packages


def test_packages(versions: dict[str, str]):
    versions.update(numpy="2.4.6", textual="8.2.8")
    assert look("numpy", machine()) == ("ok", "2.4.6", "")
    assert look("rich", machine()) == ("problem", "not installed", "pip install rich")
    assert look("textual", machine()) == ("ok", "8.2.8", "")
    del versions["textual"]
    assert look("textual", machine()) == ("ok", "not installed, and needed by tlxviz view alone", "")


def test_python_must_be_new_enough(monkeypatch: pytest.MonkeyPatch):
    assert look("python", machine())[0] == "ok"
    monkeypatch.setattr("sys.version_info", (3, 10, 9))
    assert look("python", machine())[::2] == ("problem", "tlxviz needs Python 3.11 or newer")


# ---------------------------------------------------------------------- compiler


def test_compilers():
    assert look("compiler", machine()) == ("ok", "fbtriton 3.7.4+fb, /site/triton", "")
    assert look("compiler", machine(STOCK)) == ("ok", "triton 3.8.0, /site/triton", "")
    status, detail, mend = look("compiler", machine(STOCK | {"version": "3.6.0"}))
    assert (status, mend) == ("warning", _triton.INSTALL)
    assert detail.endswith("; tlxviz is tested with fbtriton and with triton 3.8")


def test_a_compiler_that_cannot_be_imported(site: Path):
    ill = machine(Imported(error="importing it ends the process (SIGSEGV)"))
    assert look("compiler", ill) == (
        "problem", "triton: importing it ends the process (SIGSEGV)", _triton.INSTALL
    )  # fmt: skip
    assert look("tlx", ill) == ("warning", "not looked for, because the compiler is damaged or missing", "")
    install(site, "fbtriton", "3.7.4", FBTRITON)
    (site / "triton/knobs.py").unlink()
    assert look("compiler", ill)[2] == "pip install --force-reinstall --no-deps fbtriton==3.7.4"


def test_files(site: Path, versions: dict[str, str]):
    assert look("files", machine()) == (
        "ok", "there is no RECORD to compare them with, as for an installation from source", ""
    )  # fmt: skip
    gone = machine(Imported(error="ModuleNotFoundError"))
    assert look("files", gone) == ("warning", "not looked for, because there is no compiler", "")
    install(site, "fbtriton", "3.7.4", FBTRITON)
    assert look("files", machine()) == ("ok", "all 3 files are those of fbtriton 3.7.4", "")
    versions["triton"] = "3.8.0"
    assert look("files", machine())[1].endswith(
        "; triton 3.8.0 is installed too and its files overwritten: do not uninstall it alone"
    )
    (site / "triton/knobs.py").write_text("# of FBTRITON\n")
    status, detail, mend = look("files", machine())
    assert (status, mend) == ("problem", "pip install --force-reinstall --no-deps fbtriton==3.7.4")
    assert "1 of its 3 files are missing or not its own (triton/knobs.py)" in detail


def test_tlx(site: Path, versions: dict[str, str]):
    assert look("tlx", machine()) == ("ok", "part of fbtriton", "")
    none = ("warning", "not installed: plain Triton kernels run, TLX kernels do not", 'pip install "tlxviz[utlx]"')
    assert look("tlx", machine(STOCK)) == none
    versions["triton-utlx"] = "3.8.0.post16"
    assert look("tlx", machine(STOCK | {"tlx": "/site/utlx_plugin/__init__.py"})) == (
        "ok", "triton-utlx 3.8.0.post16", ""
    )  # fmt: skip
    assert look("tlx", machine(STOCK))[:2] == (
        "problem", "triton-utlx 3.8.0.post16 cannot be imported (ModuleNotFoundError: no tlx)"
    )  # fmt: skip
    versions["triton-utlx"] = "3.7.1"
    assert look("tlx", machine(STOCK))[:2] == (
        "problem", "triton-utlx 3.7.1 is made for another triton than 3.8.0, and may crash it"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"version": "2.13.0+cpu", "cuda": None, "hip": None}, "2.13.0+cpu, CPU build"),
        ({"version": "2.13.0", "cuda": "12.8", "hip": None}, "2.13.0, built for CUDA 12.8"),
        ({"version": "2.13.0", "cuda": None, "hip": "6.4"}, "2.13.0, built for ROCm 6.4"),
    ],
    ids=["cpu", "cuda", "rocm"],
)
def test_kinds_of_torch(facts: dict[str, Any], said: str):
    assert look("torch", machine(torch=facts)) == ("ok", said, "")


def test_no_torch():
    missing = Imported(error="ModuleNotFoundError: No module named 'torch'")
    assert look("torch", machine(torch=missing)) == (
        "problem", "torch: ModuleNotFoundError: No module named 'torch'", _triton.INSTALL
    )  # fmt: skip


# ---------------------------------------------------------------------- GPU, Graphviz


def test_gpus(programs: Path):
    assert look("gpu", machine()) == ("ok", "none; kernels are simulated, which needs none", "")
    torch = {"version": "2.13.0", "gpus": [{"name": "NVIDIA H200", "capability": "9.0"}]}
    assert look("gpu", machine(torch=torch))[1] == "NVIDIA H200, compute capability 9.0"
    program(programs, "nvidia-smi", "echo 'NVIDIA H100, 9.0, 570.1'; echo 'NVIDIA H200, 9.0, 570.1'")
    assert look("gpu", machine(torch=torch))[1] == (
        "NVIDIA H100, compute capability 9.0, driver 570.1; NVIDIA H200, compute capability 9.0, driver 570.1"
    )
    program(programs, "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    assert look("gpu", machine())[1] == "none; kernels are simulated, which needs none"


def test_graphviz(programs: Path, versions: dict[str, str]):
    missing = "dot is not on PATH; no Python package graphviz"
    mend = "to draw graphs: apt-get install graphviz, or pip install graphviz-pure"
    assert look("graphviz", machine()) == ("warning", missing, mend)
    versions["graphviz-pure"] = "0.2.2"
    drawn = "graphviz-pure 0.2.2, which draws SVG and PNG but no PDF; no Python package graphviz"
    assert look("graphviz", machine()) == ("ok", drawn, "")
    program(programs, "dot", "echo 'dot - graphviz version 2.42.2 (0)' >&2")
    versions["graphviz"] = "0.21"
    assert look("graphviz", machine()) == ("ok", "dot 2.42.2 (0); the Python package 0.21", "")
    program(programs, "dot", "exit 1")
    assert look("graphviz", machine())[1] == "dot of unknown version; the Python package 0.21"


# ---------------------------------------------------------------------- environment


def test_variables():
    assert look("variables", machine()) == ("ok", "no variable that disturbs Triton is set", "")
    assert look("variables", machine(environ={"TRITON_INTERPRET": "0", "USE_IR_LOC": ""}))[0] == "ok"
    assert look("variables", machine(environ={"USE_IR_LOC": "ttgir"})) == (
        "warning",
        "USE_IR_LOC is set: source lines are those of the IR, not of the kernel",
        "unset USE_IR_LOC",
    )
    both = machine(environ={"TRITON_ALWAYS_COMPILE": "1", "TRITON_INTERPRET": "1"})
    status, detail, mend = look("variables", both)
    assert (status, mend) == ("problem", "unset TRITON_INTERPRET TRITON_ALWAYS_COMPILE")
    assert detail == (
        "TRITON_INTERPRET is set: kernels are interpreted, and tlxviz sees none; "
        "TRITON_ALWAYS_COMPILE is set: every run compiles anew"
    )


def test_the_cache_is_written_to(tmp_path: Path):
    folder = tmp_path / "not" / "there" / "yet"
    assert look("cache", machine(FB | {"cache": str(folder)})) == ("ok", str(folder), "")
    assert not (tmp_path / "not").exists()
    (tmp_path / "not").write_text("a file\n")
    mend = "set TRITON_CACHE_DIR to a folder that you may write to"
    assert look("cache", machine(FB | {"cache": str(folder)})) == (
        "problem", f"{folder} cannot be written (Not a directory)", mend
    )  # fmt: skip
    assert look("cache", machine(environ={"TRITON_CACHE_DIR": str(folder)}))[::2] == ("problem", mend)
    home = machine(Imported(error="gone"), environ={"TRITON_HOME": str(tmp_path)})
    assert look("cache", home) == ("ok", str(tmp_path / ".triton" / "cache"), "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_without_permission(tmp_path: Path):
    tmp_path.chmod(0o500)
    assert look("cache", machine(FB | {"cache": str(tmp_path / "cache")}))[0] == "problem"


# ---------------------------------------------------------------------- terminal


def test_characters():
    status, detail, mend = look("encoding", machine(output=Terminal("utf-8")))
    assert (status, mend) == ("ok", "")
    assert GLYPHS in detail
    for encoding in ("ascii", "latin-1", "no-such"):
        assert look("encoding", machine(output=Terminal(encoding))) == (
            "warning",
            f"the encoding {encoding} has no blocks and boxes; reports use # + . instead",
            "export LANG=C.UTF-8",
        )
    assert look("encoding", machine())[0] == "warning"


def test_colours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tlxviz.doctor.terminal._colours", {"xterm-256color": 256, "dumb": 0, "": 0}.__getitem__)
    piped, terminal = Terminal(tty=False), Terminal()
    assert look("colour", machine(output=piped)) == ("ok", "none, because the output is no terminal", "")
    assert look("colour", machine(output=terminal, environ={"NO_COLOR": "1", "TERM": "xterm-256color"})) == (
        "ok", "none, because NO_COLOR is set", ""
    )  # fmt: skip
    assert look("colour", machine(output=terminal, environ={"TERM": "xterm-256color"})) == (
        "ok", "256 colours (TERM=xterm-256color)", ""
    )  # fmt: skip
    rich = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    assert look("colour", machine(output=terminal, environ=rich))[1] == "16,777,216 colours (TERM=xterm-256color)"
    assert look("colour", machine(output=terminal, environ={"TERM": "dumb"})) == (
        "warning", "none (TERM=dumb); shapes say the same", "export TERM=xterm-256color"
    )  # fmt: skip
    assert look("colour", machine(output=terminal))[1] == "none (TERM=not set); shapes say the same"


def test_width(monkeypatch: pytest.MonkeyPatch):
    assert look("width", machine()) == ("ok", "80 columns", "")
    monkeypatch.setenv("COLUMNS", "79")
    assert look("width", machine()) == (
        "warning", "79 columns; reports are made for 80", "make the window 80 columns wide"
    )  # fmt: skip


def test_nothing_of_a_ruin_raises(site: Path, programs: Path, versions: dict[str, str]):
    """No package, no compiler, no torch, no stdout."""
    gone = Imported(error="ModuleNotFoundError")
    findings = examine(machine(gone, gone))
    assert not can_run_kernels(findings)
    ill = {finding.id for finding in findings if finding.status is Status.PROBLEM}
    assert ill == {"numpy", "rich", "compiler", "torch"}
    assert not [finding for finding in findings if "could not be checked" in finding.detail]
