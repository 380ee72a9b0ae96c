"""The table of `perf_report` where pandas and matplotlib are missing, which has to look as theirs does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tlxviz._errors import TlxvizError
from tlxviz.launch.timing import reports
from tlxviz.launch.timing.reports import Table

BODY = """
    import triton.testing as testing

    @testing.perf_report(testing.Benchmark(["a", "b"], [1, (2, 30)], "which", ["x", "y"], ["X", "Y"], "name", {"c": 5}))
    def measure(a, b, c, which):
        return a * b / 3 if which == "x" else (c, c - 1, c + 1)

    table = measure.run(print_data=True, save_path=".", return_df=True)
"""


@pytest.fixture(autouse=True)
def without_pandas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reports, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)


def test_it_is_printed_and_saved(run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = run(BODY).log
    assert capsys.readouterr().out.splitlines() == [
        "name:",
        "     a     b       X ()  Y ()",
        "0  1.0   1.0   0.333333   5.0",
        "1  2.0  30.0  20.000000   5.0",
    ]
    assert (tmp_path / "name.csv").read_text().splitlines() == [
        "a,b,X (),Y ()",
        "1.000000,1.000000,0.333333,5.000000",
        "2.000000,30.000000,20.000000,5.000000",
    ]
    assert log.plots_need == ("matplotlib", "pandas")


def test_looking_into_it_says_what_is_missing(run: Callable[..., Any]):
    with pytest.raises(TlxvizError, match="needs pandas: install it"):
        run(BODY + "    table['X ()']\n")
    with pytest.raises(TlxvizError, match="needs pandas: install it"):
        run(BODY + "    table.iloc\n")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[4096.0, 1.5], [8192.0, 2.25]], "       c0    c1\n0  4096.0  1.50\n1  8192.0  2.25"),
        ([["a", 1.23456789], ["bcd", 12345.6]], "    c0            c1\n0    a      1.234568\n1  bcd  12345.600000"),
        ([[1.0, 1.23456789e-7], [2.0, 1.0]], "    c0            c1\n0  1.0  1.234568e-07\n1  2.0  1.000000e+00"),
        ([[1.0, 1e8], [2.0, 1.0]], "    c0           c1\n0  1.0  100000000.0\n1  2.0          1.0"),
        ([[1.0, None], [2.0, float("inf")]], "    c0   c1\n0  1.0  NaN\n1  2.0  inf"),
        ([[1, 2], [30, 4]], "   c0  c1\n0   1   2\n1  30   4"),
    ],
)
def test_numbers_are_aligned_and_have_as_many_decimals_as_needed(rows: list[list[Any]], text: str):
    assert Table(["c0", "c1"], rows).to_string() == text
