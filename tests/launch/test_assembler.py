"""What ptxas says about a kernel: heard, kept beside the kernel, asked for again, and the same each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tlxviz._triton import assembler
from tlxviz.launch.kernels.assembler import lines_of

pytestmark = pytest.mark.usefixtures("empty_cache")

Runner = Callable[..., Any]
LAUNCH = "add[(4,)](x, y, out, 1000, BLOCK=256)\n"


@pytest.fixture
def assembled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kernels that are assembled once more."""
    found: list[str] = []
    assemble = assembler.assemble

    def counted(kernel: Any, ptx: str) -> None:
        found.append(kernel.metadata.name)
        assemble(kernel, ptx)

    monkeypatch.setattr(assembler, "assemble", counted)
    return found


def test_the_report_is_heard_while_the_kernel_compiles(run: Runner, assembled: list[str]):
    (launch,) = run(LAUNCH).launches
    facts = launch.assembled()
    assert "ptxas info    : Compiling entry function 'add' for 'sm_90a'" in facts["ptxas"]
    assert f"Used {launch.metadata['registers']} registers" in "".join(facts["ptxas"])
    assert facts["setmaxnreg"] == []
    assert facts["code"] == {"ptx": []}  # nothing synchronizes, and nothing is spilled
    assert facts["written"] == []
    assert assembled == []


def test_a_kernel_out_of_the_cache_is_assembled_once_and_says_the_same(
    run: Runner, assembled: list[str], monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as deaf:
        deaf.setattr("tlxviz.launch.kernels.assembler.Assembler._note", lambda *_: None)
        run(LAUNCH)  # nobody listens, and nobody records
    first = run(LAUNCH).launches[0].assembled()
    assert assembled == ["add"]
    assert run(LAUNCH).launches[0].assembled() == first
    assert assembled == ["add"]
    assert first["ptxas"]


def test_launches_that_nobody_records_are_not_asked(run: Runner, assembled: list[str], tmp_path: Any):
    run(LAUNCH)
    assert not list((tmp_path / "cache").rglob("*.ptxas"))
    assert assembled == []


def test_a_cache_that_cannot_be_written_to(run: Runner, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("read-only")

    (launch,) = run(LAUNCH).launches
    monkeypatch.setattr("triton.runtime.cache.FileCacheManager.put", refuse)
    assert launch.assembled()["ptxas"]
    with monkeypatch.context() as deaf:
        deaf.setattr("tlxviz.launch.kernels.assembler.Assembler._note", lambda *_: None)
        (launch,) = run(LAUNCH).launches
        assert "ptxas" not in launch.assembled()


def test_triton_has_its_own_subprocess_back(run: Runner):
    import subprocess

    from triton.backends.nvidia import compiler

    run(LAUNCH)
    assert compiler.subprocess is subprocess


def test_lines_without_the_time_that_it_took():
    assert lines_of("a\n\nptxas info    : Compile time = 4.075 ms\n  b \n") == ["a", "  b"]
