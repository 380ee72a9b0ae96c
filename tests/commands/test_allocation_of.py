"""TTGIR alone: the Triton that is installed says where its memory is, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tlxviz.commands import main
from tlxviz.commands.allocation import allocation_of, scratch_of

DATA = Path(__file__).parents[1] / "diagrams" / "data"
PLAIN = DATA / "plain_gemm.ttgir"


def test_what_the_compiler_says(capfd: pytest.CaptureFixture[str]) -> None:
    """Three slots of A and of B, 128x64 and 64x128 f16."""
    pytest.importorskip("triton")
    found = allocation_of(PLAIN.read_text(encoding="utf-8"))
    assert found is not None
    assert found["shared"] == 2 * 3 * 128 * 64 * 2
    assert [each["offset"] for each in found["operations"] if each["name"] == "ttg.local_alloc"] == [0, 49152]
    assert capfd.readouterr() == ("", "")


def test_the_diagram_has_it(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    assert main(["graph", "-q", "--kind", "memory", "-o", str(tmp_path / "a.dot"), str(PLAIN)]) == 0
    assert (tmp_path / "a.dot").read_text(encoding="utf-8") == (DATA / "plain_gemm.memory.dot").read_text(
        encoding="utf-8"
    )


def test_text_that_it_cannot_read(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("triton")
    assert allocation_of('module attributes {ttg.target = "cuda:90"} { nothing }') == {}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("program", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\nkill -SEGV $$\n", None])
def test_a_compiler_that_ends_its_process(program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    if program is not None:
        python.write_text(program)
        python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr("tlxviz.commands.allocation.find_spec", lambda name: name)
    assert allocation_of(PLAIN.read_text(encoding="utf-8")) is None


def test_other_kinds_do_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tlxviz.commands.allocation.find_spec", asked.append)
    for kind, expected in (("pipeline", []), ("memory", ["triton"])):
        assert main(["graph", "-q", "--kind", kind, "-o", str(tmp_path / f"{kind}.dot"), str(PLAIN)]) == 0
        assert asked == expected


ATTENTION = DATA / "attention_pingpong.ttgir"


def lines_of(path: Path) -> list[int]:
    text = path.read_text(encoding="utf-8")
    return [number for number, line in enumerate(text.splitlines(), 1) if "ttg.convert_layout" in line]


def test_scratch_of_conversions(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("triton")
    assert scratch_of(PLAIN.read_text(encoding="utf-8"), dict.fromkeys(lines_of(PLAIN), 8)) == {187: 128 * 128 * 2}
    # accumulators as they are taken for operands, and rows of 64 floats on their way to threads of their own
    found = scratch_of(ATTENTION.read_text(encoding="utf-8"), dict.fromkeys(lines_of(ATTENTION), 4))
    assert list(found.values()) == [0, 0, 256] * 2
    assert capfd.readouterr() == ("", "")


def test_conversions_about_which_it_cannot_tell(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("triton")
    text = PLAIN.read_text(encoding="utf-8")
    assert scratch_of(text, {187: 2, 3: 8, 99999: 8}) == {}
    assert scratch_of("no TTGIR", {1: 4}) == {}
    assert capfd.readouterr() == ("", "")


def test_without_conversions_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tlxviz.commands.allocation.find_spec", lambda name: pytest.fail("asked"))
    assert scratch_of("", {}) == {}
