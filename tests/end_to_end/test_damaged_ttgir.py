"""TTGIR that cannot be read, on its way through the whole program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tlxviz.commands.backend import SimulatorBackend
from tlxviz.commands.run import RunCommand

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


class Damaging(SimulatorBackend):
    """The simulator, given another text than the compiler's."""

    def __init__(self, damage: Callable[[str], str]) -> None:
        self._damage = damage

    def run_script(
        self,
        target: Path | str,
        argv: Sequence[str],
        device: Any,
        execute: Callable[[Any], Any],
        log: Any,
        *,
        first_config: bool,
    ) -> int:
        def damaged(launch: Any) -> Any:
            return execute(replace(launch, ttgir=self._damage(launch.ttgir)))

        return super().run_script(target, argv, device, damaged, log, first_config=first_config)


@pytest.mark.parametrize(
    ("damage", "code", "text"),
    [
        (lambda text: text[: len(text) // 2], 2, "<TTGIR of plain_gemm>"),
        (lambda text: text.replace("arith.muli", "arith.mystery", 1), 3, "does not know arith.mystery"),
        (lambda text: text.replace("%c64_i32 = arith.constant 64", "%c65_i32 = arith.constant 64", 1), 2, "%c64_i32"),
    ],
)
def test_damaged_ttgir_is_one_message(
    damage: Callable[[str], str],
    code: int,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tlxviz.commands import main

    monkeypatch.chdir(tmp_path)

    status = main(
        ["run", "--device", "sim:h200", str(KERNELS / "plain_gemm.py")], commands=[RunCommand(Damaging(damage))]
    )

    errors = capsys.readouterr().err
    assert status == code, errors
    assert text in errors
    assert errors.count("tlxviz: error:") == 1
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
