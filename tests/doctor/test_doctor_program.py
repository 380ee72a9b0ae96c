"""`tlxviz doctor` as a program, also where torch and triton are missing or broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_site import FBTRITON, TRITON, install

ROOT = Path(__file__).resolve().parents[2]


def doctor(*arguments: str, site: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs it; `site` comes before the packages that are really installed."""
    path = os.pathsep.join([*([str(site)] if site is not None else []), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "tlxviz", "doctor", *arguments],
        env=os.environ | {"PYTHONPATH": path} | environ,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def found(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    """The checks of a JSON report by id."""
    assert done.stdout.count("\n") == 1
    document = json.loads(done.stdout)
    assert (document["schema"], document["version"]) == ("tlxviz.doctor", 1)
    assert document["can_run"] is (done.returncode == 0)
    for each in document["checks"]:
        assert list(each) == ["id", "title", "status", "detail", "mend"]
    return {each["id"]: each for each in document["checks"]}


def test_this_machine_is_well():
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    done = doctor("--json")
    assert (done.returncode, done.stderr) == (0, "")
    checks = found(done)
    assert {checks[name]["status"] for name in ("tlxviz", "python", "compiler", "files", "torch", "cache")} == {"ok"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_report_fits_80_columns(encoding: str):
    done = doctor(PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.splitlines()[0].startswith("✓ tlxviz " if encoding == "utf-8" else "+ tlxviz ")
    assert done.stdout.endswith("\n\ntlxviz can run kernels here.\n")
    assert "\x1b" not in done.stdout


def test_what_it_prints_with_is_broken(tmp_path: Path):
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("raise ImportError('in pieces')\n")
    done = doctor(site=tmp_path)
    assert (done.returncode, done.stderr) == (3, "")
    assert "\nx rich: " in done.stdout
    assert " cannot be imported (in pieces)\n  mend: pip install --force-reinstall rich==" in done.stdout
    assert done.stdout.endswith("\n\ntlxviz cannot run kernels here.\n")
    assert found(doctor("--json", site=tmp_path))["rich"]["status"] == "problem"


def test_colour_where_it_is_forced():
    assert "\x1b[32m✓" in doctor(FORCE_COLOR="1", TERM="xterm-256color").stdout


def test_the_interpreter_is_a_problem():
    done = doctor(TRITON_INTERPRET="1")
    assert done.returncode == 3
    assert "✗ Variables" in done.stdout
    assert "mend: unset TRITON_INTERPRET\n" in done.stdout
    assert done.stdout.endswith("tlxviz cannot run kernels here.\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise RuntimeError('no libraries')", "triton: RuntimeError: no libraries"),
        ("import sys; sys.exit(7)", "triton: SystemExit: 7"),
        ("import os; os.abort()", "triton: importing it ends the process (SIGABRT)"),
        ("import os; os._exit(7)", "triton: importing it ends the process (status 7)"),
    ],
    ids=["raises", "exits", "aborts", "vanishes"],
)
def test_a_triton_that_breaks_on_import(tmp_path: Path, body: str, said: str):
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(body + "\n")
    done = doctor("--json", site=tmp_path)
    assert (done.returncode, done.stderr) == (3, "")
    assert found(done)["compiler"] | {"mend": ""} == {
        "id": "compiler", "title": "Compiler", "status": "problem", "detail": said, "mend": ""
    }  # fmt: skip


def test_a_mixture_of_both(tmp_path: Path):
    install(tmp_path, "triton", "3.8.0", TRITON)
    install(tmp_path, "fbtriton", "3.7.4", FBTRITON)
    (tmp_path / "triton/knobs.py").write_text(TRITON["triton/knobs.py"])
    done = doctor("--json", site=tmp_path)
    assert done.returncode == 3
    checks = found(done)
    assert checks["files"]["status"] == "problem"
    assert checks["files"]["mend"] == "pip install --force-reinstall --no-deps fbtriton==3.7.4"


def test_triton_over_fbtriton(tmp_path: Path):
    install(tmp_path, "fbtriton", "3.7.4", FBTRITON)
    install(tmp_path, "triton", "3.8.0", TRITON)
    files = found(doctor("--json", site=tmp_path))["files"]
    assert (files["status"], files["mend"]) == ("warning", "pip install --force-reinstall --no-deps fbtriton")
    assert files["detail"].startswith("all 2 files are those of triton 3.8.0; fbtriton 3.7.4 is installed too")


def test_a_torch_that_breaks_on_import(tmp_path: Path):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.12: cannot open shared object file')\n")
    done = doctor("--json", site=tmp_path)
    assert done.returncode == 3
    assert found(done)["torch"]["detail"] == "torch: OSError: libcudart.so.12: cannot open shared object file"
