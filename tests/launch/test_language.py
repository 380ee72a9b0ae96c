"""`tlxviz.language`: kernels have their ranges where something records, and are as if they had none elsewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import tlxviz.language as tv
from tlxviz import _triton
from tlxviz.devices.file import load_device
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.kernels.catch import Catcher
from tlxviz.launch.model import Launch
from tlxviz.launch.patching import Scope

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

WRONG = "two\nlines"


@triton.jit
def doubled(x_ptr, NAME: tl.constexpr):
    tv.begin(NAME)
    at = tl.arange(0, 128)
    tl.store(x_ptr + at, tl.load(x_ptr + at) * 2)
    tv.end(NAME)


@triton.jit
def doubled_unnamed(x_ptr, NAME: tl.constexpr):
    at = tl.arange(0, 128)
    tl.store(x_ptr + at, tl.load(x_ptr + at) * 2)


@triton.jit
def wrongly_named(x_ptr):
    tv.begin("a|b")


@triton.jit
def named_by_a_number(x_ptr, i):
    tv.begin(i)


def caught(function: Any, *args: Any, **options: Any) -> Launch:
    found: list[Launch] = []
    with Scope() as scope:
        Catcher(Gpu(load_device("h200")), found.append).install(scope)
        function[(1,)](*args, **options)
    return found[0]


def compiled(function: Any, **constants: Any) -> Any:
    """What Triton makes of a kernel by itself."""
    signature = {"x_ptr": "*fp32"} | dict.fromkeys(constants, "constexpr")
    source = triton.compiler.ASTSource(fn=function, signature=signature, constexprs=constants)
    return triton.compile(source, target=_triton.target((9, 0)))


def without_places(text: str) -> str:
    return re.sub(r"loc\(.*\)|#loc.*|@doubled\w*", "", text)


def test_a_recorder_sees_the_ranges():
    text = caught(doubled, torch.zeros(128), NAME="work").ttgir
    assert re.findall(r"// tlxviz (\w+ \w+) \$0", text) == ["begin work", "end work"]


def test_elsewhere_they_are_nothing():
    named, unnamed = compiled(doubled, NAME="work"), compiled(doubled_unnamed, NAME="work")
    assert without_places(named.asm["ttgir"]) == without_places(unnamed.asm["ttgir"])
    assert "tlxviz" not in named.asm["ptx"]


def test_the_two_do_not_mix():
    before = compiled(doubled, NAME="both")
    assert "tlxviz begin" in caught(doubled, torch.zeros(128), NAME="both").ttgir
    after = compiled(doubled, NAME="both")
    assert before.hash == after.hash
    assert "tlxviz begin" not in after.asm["ttgir"]
    assert "tlxviz begin" in caught(doubled, torch.zeros(128), NAME="both").ttgir


def test_a_hook_of_the_users_goes_on():
    from triton import knobs

    seen: list[int] = []

    def hook(*stages: Any) -> Any:
        seen.append(len(stages))
        return ("theirs", "theirs") if not stages else None

    before = knobs.runtime.add_stages_inspection_hook  # triton-utlx has one of its own there
    knobs.runtime.add_stages_inspection_hook = hook
    try:
        assert "tlxviz begin" in caught(doubled, torch.zeros(128), NAME="theirs").ttgir
        assert knobs.runtime.add_stages_inspection_hook is hook
    finally:
        knobs.runtime.add_stages_inspection_hook = before
    assert 0 in seen


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (wrongly_named, (), "a range cannot be called 'a|b'"),
        (named_by_a_number, (7,), "a text that is known when the kernel is compiled"),
    ],
)
def test_names_that_cannot_be(function: Any, arguments: tuple[int, ...], said: str):
    with pytest.raises(Exception, match=r"tv\.begin") as error:
        caught(function, torch.zeros(128), *arguments)
    text = f"{error.value} {error.value.__cause__}"
    assert said in text


def test_outside_a_kernel():
    with pytest.raises(ValueError, match=r"triton\.jit"):
        tv.begin("a")
