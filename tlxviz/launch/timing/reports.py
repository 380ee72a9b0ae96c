"""`triton.testing.perf_report` without pandas or matplotlib: the same table, printed and saved, and no plot.

A script that measures is seldom run for its plot, and tlxviz installs neither.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import Any

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.launch.model import LaunchLog
from tlxviz.launch.patching import Scope

_NEEDED = ("matplotlib", "pandas")
_DECIMALS = 6
"""Of a number in a table, as pandas shows it."""


def install(scope: Scope, log: LaunchLog) -> None:
    """Put it into force until `scope` ends."""
    mark = _triton.testing_module().Mark
    report = mark._run

    def run(
        marked: Any,
        bench: Any,
        save_path: str,
        show_plots: bool,
        print_data: bool,
        diff_col: bool = False,
        save_precision: int = 6,
        **arguments: Any,
    ) -> Any:
        __tracebackhide__ = True
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if not missing:
            return report(marked, bench, save_path, show_plots, print_data, diff_col, save_precision, **arguments)
        table = _measured(marked.fn, bench, arguments)
        if diff_col and len(table.columns) == 2:
            table.append_difference()
        if print_data:
            print(f"{bench.plot_name}:\n{table.to_string()}")
        if save_path:
            table.save(os.path.join(save_path, f"{bench.plot_name}.csv"), save_precision)
        if bench.plot_name and (show_plots or save_path):
            log.plots_need = tuple(missing)
        return table.frame() if "pandas" not in missing else table

    scope.set_attr(mark, "_run", run)


@dataclass(eq=False, slots=True)
class Table:
    """What a report measured: the part of a DataFrame that Triton itself uses."""

    columns: list[str]
    rows: list[list[Any]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._needs_pandas()

    def __getitem__(self, name: object) -> Any:
        raise self._needs_pandas()

    def _needs_pandas(self) -> TlxvizError:
        return TlxvizError("the script looks into the table that perf_report returns, which needs pandas: install it")

    def append_difference(self) -> None:
        self.columns.append("Diff")
        for row in self.rows:
            row.append(row[1] - row[0])

    def frame(self) -> Any:
        """As pandas has it."""
        return import_module("pandas").DataFrame(self.rows, columns=self.columns)

    def to_string(self) -> str:
        """As pandas prints it."""
        numbers = [str(number) for number in range(len(self.rows))]
        cells = [["", *numbers]]
        for index, name in enumerate(self.columns):
            cells.append([name, *_shown([row[index] for row in self.rows])])
        widths = [max(map(len, column)) for column in cells]
        lines = [
            "  ".join(
                text.ljust(width) if not index else text.rjust(width)
                for index, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in zip(*cells, strict=True)
        ]
        return "\n".join(lines)

    def save(self, path: str, decimals: int) -> None:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            for row in self.rows:
                writer.writerow(["" if _absent(x) else f"{x:.{decimals}f}" if isinstance(x, float) else x for x in row])


def _measured(function: Any, bench: Any, arguments: dict[str, Any]) -> Table:
    __tracebackhide__ = True
    names = list(bench.x_names)
    table = Table([*names, *(f"{line} ({bench.ylabel})" for line in bench.line_names)], [])
    for x in bench.x_vals:
        values = list(x) if isinstance(x, (list, tuple)) else [x] * len(names)
        if len(values) != len(names):
            raise ValueError(f"Expected {len(names)} values, got {values}")
        sizes = dict(zip(names, values, strict=True))
        row = [
            _mean(function(**sizes, **{bench.line_arg: line}, **bench.args, **arguments)) for line in bench.line_vals
        ]
        table.rows.append(_alike([*values, *row]))
    return table


def _mean(result: Any) -> Any:
    """Of what is either a figure, or a figure with its bounds."""
    try:
        mean, _, _ = result
    except TypeError:
        return result
    return mean


def _alike(row: list[Any]) -> list[Any]:
    """A row of a DataFrame that has only numbers holds them as floats, if one is."""
    plain = [None if x is None else float(x) for x in row if x is None or _is_number(x)]
    return plain if len(plain) == len(row) and any(isinstance(x, float) for x in row) else row


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _shown(column: Sequence[Any]) -> list[str]:
    """The column's texts: numbers with as many decimals as the one with most needs, or with exponents."""
    if not all(isinstance(x, float) or x is None for x in column):
        return [str(x) for x in column]
    texts = ["NaN" if _absent(x) else f"{x:.{_DECIMALS}f}" for x in column]
    needed = [len(text.partition(".")[2].rstrip("0")) for text in texts]
    spare = _DECIMALS - max([1, *needed])
    texts = [text[:-spare] if spare and "." in text else text for text in texts]
    finite = [abs(x) for x in column if x is not None and isfinite(x)]
    tiny = any(0 < x < 10**-_DECIMALS for x in finite)
    long = any(x > 10**6 for x in finite) and max(map(len, texts)) > _DECIMALS + 6
    if tiny or long:
        texts = ["NaN" if _absent(x) else f"{x:.{_DECIMALS}e}" for x in column]
    return texts
