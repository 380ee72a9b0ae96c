"""Which layouts a kernel's author asked for, out of the kernel's first form, and that they come to a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tlxviz import _triton
from tlxviz.launch.kernels.asked_layouts import asked_layouts

pytestmark = pytest.mark.usefixtures("empty_cache")

Runner = Callable[..., Any]
TLX = """\
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def copied(x_ptr, y_ptr, N: tl.constexpr, PINNED: tl.constexpr):
    pinned = tlx.local_alloc((N, N), tl.float16, 1, layout=PINNED)
    plain = tlx.local_alloc((N, N), tl.float16, 1)
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    for_pinned = tlx.local_view(pinned, 0)
    for_plain = tlx.local_view(plain, 0)
    tlx.local_store(for_pinned, tl.load(x_ptr + at))
    tlx.local_store(for_plain, tlx.local_load(for_pinned))
    tl.store(y_ptr + at, tlx.local_load(for_plain))


x = torch.ones((64, 64), device="cuda", dtype=torch.float16)
copied[(1,)](x, torch.empty_like(x), 64, tlx.swizzled_layout(3, 3, 3))
"""
GLUON = """\
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copied(x_ptr, y_ptr, N: gl.constexpr):
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    chosen = gl.arange(0, N, gl.AutoLayout())
    at = gl.set_auto_layout(chosen, line)
    buffer = gl.allocate_shared_memory(gl.int32, [N], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    buffer.store(at)
    gl.store(y_ptr + at, buffer.load(line))


x = torch.zeros(128, device="cuda", dtype=torch.int32)
copied[(1,)](x, x, 128)
"""


def noted(run: Runner, text: str) -> tuple[str, dict[int, str]]:
    """What the only launch of a script says of the rest, and of its lines."""
    (launch,) = run("", prelude=text).launches
    table = launch.assembled()["layouts"]
    assert all(each["file"] == launch.source_file for each in table["places"])
    return table["rest"], {each["line"]: each["chosen"] for each in table["places"]}


def test_tlx_says_what_is_pinned(run: Runner):
    if not _triton.marks_layouts():
        pytest.skip("this toolchain does not mark what layout= gives")
    rest, lines = noted(run, TLX)
    assert rest == "compiler"
    # the allocation, and the view of it
    assert lines == {9: "author", 12: "author"}


def test_gluon_has_what_is_written_but_for_auto_layouts(run: Runner):
    if _triton.toolchain().distribution != "fbtriton":
        pytest.skip("triton-utlx: Gluon and TLX do not compile in one process")
    assert noted(run, GLUON) == ("author", {9: "compiler"})


def test_plain_triton_has_what_the_compiler_chose(run: Runner):
    (launch,) = run("add[(4,)](x, y, out, 1000, BLOCK=256)\n").launches
    assert launch.assembled()["layouts"] == {"rest": "compiler", "places": []}


FIRST = """\
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
module {
  tt.func public @k() {
    %a = ttg.local_alloc : () -> !ttg.memdesc<1x64x64xf16, #shared, #smem, mutable> loc(#loc2)
    %t = ttg.local_load %a : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16> loc(#loc3)
  }
}
#loc1 = loc("k.py":4:9)
#loc2 = loc("a"(#loc1))
#loc3 = loc(callsite(#loc1 at "k.py":9:1))
"""


def test_a_toolchain_that_marks_nothing_leaves_allocations_unknown():
    place = {"file": "k.py", "line": 4, "column": 9}
    assert asked_layouts(FIRST, marked=False) == {"rest": "compiler", "places": [place | {"chosen": "unknown"}]}
    assert asked_layouts(FIRST, marked=True) == {"rest": "compiler", "places": []}


def test_places_that_say_two_things_are_unknown():
    pinned = FIRST.replace("#smem>  -> tensor<64x64xf16>", "").replace(
        "tensor<64x64xf16> loc", "tensor<64x64xf16, #tlx.user_layout<#linear>> loc"
    )
    assert [each["chosen"] for each in asked_layouts(pinned, marked=True)["places"]] == ["author"]
    assert [each["chosen"] for each in asked_layouts(pinned, marked=False)["places"]] == ["unknown"]


@pytest.mark.parametrize("text", ["", "module", "%a = loc()", "#a = #tlx.user_layout<", "\x00"])
def test_text_that_is_no_module(text: str):
    assert asked_layouts(text, marked=True) == {"rest": "compiler", "places": []}
