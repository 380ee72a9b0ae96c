"""What is said to be refused is what the compiler refuses: each case in a process of its own, since it may abort."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tlxviz.analysis.layouts.consumers import Seen, inner_dimension, refusal
from tlxviz.ir.encodings import NvmmaShared, SwizzledShared
from tlxviz.ir.operation import Operation

NAMES = {
    "wgmma": "ttng.warp_group_dot",
    "tcgen05": "ttng.tc_gen5_mma",
    "tma": "ttng.async_tma_copy_global_to_local",
}
Case = tuple[str, str, str, str, int]
CASES: list[Case] = [
    (what, operand, swizzle, order, bits)
    for what in ("wgmma", "tcgen05", "tma")
    for operand in (("a", "b") if what != "tma" else ("",))
    for swizzle in ("0", "32", "64", "128", "swizzled")
    for order in ("rows", "transposed")
    for bits in (8, 16, 32)
    if (swizzle, order) != ("swizzled", "transposed")
]
USUAL = [("wgmma", "a", "0", "rows", 16), ("wgmma", "b", "128", "rows", 8), ("tma", "", "128", "transposed", 16)]


def said(case: Case) -> str:
    what, operand, swizzle, order, bits = case
    transposed = order == "transposed"
    layout = SwizzledShared(8, 1, 8, (1, 0)) if swizzle == "swizzled" else NvmmaShared(int(swizzle), transposed, bits)
    return refusal(Operation(NAMES[what]), operand or "dst", Seen(layout, (128, 128), bits, inner_dimension(layout, 2)))


def compiler_takes(case: Case) -> bool:
    pytest.importorskip("triton")
    script = Path(__file__).with_name("refused_layouts.py")
    done = subprocess.run([sys.executable, str(script), *map(str, case)], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("case", USUAL, ids=str)
def test_layouts_that_are_refused(case: Case):
    assert said(case)
    assert not compiler_takes(case)


def test_a_layout_that_is_taken():
    case = ("wgmma", "a", "64", "transposed", 16)
    assert not said(case)
    assert compiler_takes(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in USUAL], ids=str)
def test_what_the_compiler_says_of_all_layouts(case: Case):
    assert bool(said(case)) == (not compiler_takes(case)), said(case)
