"""Rows that begin between two sectors of memory."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from kernel_runner import run_kernel

ROWS = 132 * 96


@triton.jit
def copy_rows(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    tl.store(y + row + at, tl.load(x + row + at, mask=at < columns), mask=at < columns)


def cycles(rows: int, columns: int, dtype: torch.dtype, *, values: bool = False) -> int:
    x = torch.zeros(rows, columns, dtype=dtype)
    return run_kernel(
        copy_rows, (rows,), x, torch.zeros_like(x), columns, BLOCK=1024, num_warps=4, values=values
    ).cycles


@pytest.mark.parametrize(
    ("columns", "dtype", "factor"),
    [
        (1000, torch.float16, 1.5),  # 2,000 bytes: odd rows begin within a sector, and so do accesses of 64 bytes
        (1001, torch.float16, 1.5),  # as above, and 15 of 16 rows
        (1001, torch.float32, 1.25),  # accesses of 128 bytes
    ],
)
def test_a_row_that_begins_within_a_sector_moves_one_more_for_each_access(
    columns: int, dtype: torch.dtype, factor: float
) -> None:
    """Against rows of whole sectors, which move as many bytes: loads and stores are what takes the time."""
    aligned = 1016 if dtype == torch.float32 else 1008
    off = sum(row * columns * dtype.itemsize % 32 > 0 for row in range(64)) / 64
    expected = 1 + off * (factor - 1)
    assert cycles(ROWS, columns, dtype) / cycles(ROWS, aligned, dtype) == pytest.approx(expected, rel=0.04)


def test_times_are_the_same_without_values() -> None:
    assert cycles(264, 1001, torch.float16, values=True) == cycles(264, 1001, torch.float16) > 0
