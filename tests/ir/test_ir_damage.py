"""Damaged files: a `TtgirError` that shows the place, or a module; never another exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_samples import BAR, golden, module_text

from tlxviz.ir import TtgirError, build_program, parse_module

FILES = ["hopper", "blackwell", "plain", "operations"]


def survives(text: str) -> bool:
    """Whether the text parses; anything but a module or a TtgirError fails the test."""
    try:
        module = parse_module(text, "damaged.ttgir")
    except TtgirError as error:
        message = str(error)
    else:
        build_program(module)
        return True
    assert message.startswith("damaged.ttgir:")
    assert message.count("\n") == 2
    return False


@pytest.mark.parametrize("name", FILES)
def test_each_line_deleted(name: str) -> None:
    lines = golden(name).split("\n")
    for index in range(len(lines)):
        survives("\n".join(lines[:index] + lines[index + 1 :]))


@pytest.mark.parametrize("name", FILES)
def test_cut_before_the_end_of_the_module_never_parses(name: str) -> None:
    text = golden(name)
    end = text.rindex("\n}")
    assert not any(survives(text[:cut]) for cut in range(0, end, 97))


@pytest.mark.parametrize("name", FILES)
def test_cut_among_the_locations(name: str) -> None:
    text = golden(name)
    for cut in range(text.rindex("\n}"), len(text), 97):
        survives(text[:cut])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FILES), st.integers(0, 2**32), st.sampled_from('%{}()<>,:"#=x0 \n^@!-'))
def test_a_character_replaced(name: str, seed: int, character: str) -> None:
    text = golden(name)
    place = random.Random(seed).randrange(len(text))
    survives(text[:place] + character + text[place + 1 :])


ERRORS = [
    ("%0 = arith.addi %i, %nope : i32", "undefined value `%nope`", "%nope"),
    ("%0 = arith.addi %i, %f : i32", "the printed type of `%f`", "%0"),
    ("%0 = arith.addi %i, %i", "expected ` : ` and the types", None),
    (f"ttng.wait_barrier %bar : {BAR}", "expected `ttng.wait_barrier $barrier , $phase", None),
    (f"ttng.barrier_expect %bar, x, %c : {BAR}", "expected `ttng.barrier_expect", None),
    ("ttng.async_tma_store_wait {pending = 1 : i32}", "expected the attribute `pendings`", None),
    ("%0 = tt.splat %f : f32 -> tensor<128xf32, #nope>", "not `#nope`", "#nope"),
    ("%0 = arith.addi %i, %i : i32 loc(#loc99)", "undefined location `#loc99`", "#loc99"),
    ("%0:2 = arith.addi %i, %i : f32 -> f32", "the printed type of `%i`", "%0"),
    ("scf.if %c {", "expected tt.return", None),
    ("}", "expected tt.return", None),
    ("^bb1(%a: i32)", "expected `:`", None),
    ("what is this", "expected an operation", "what"),
    ("cf.br ^bb7\n^bb1:", "a branch goes to `^bb7`", None),
]


@pytest.mark.parametrize(("line", "message", "caret"), ERRORS)
def test_errors_show_the_place(line: str, message: str, caret: str | None) -> None:
    with pytest.raises(TtgirError) as caught:
        parse_module(module_text(line), "k.ttgir")
    error = caught.value
    assert message in error.message
    head, shown, arrow = str(error).split("\n")
    assert head.startswith(f"k.ttgir:{error.line}:{error.column}: ")
    if caret:
        assert shown[arrow.index("^") :].startswith(caret)


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(TtgirError) as caught:
        parse_module(module_text("%0 = arith.addi %i" + ", %i" * 200 + ", %nope : i32"))
    _, shown, arrow = str(caught.value).split("\n")
    assert len(shown) < 170
    assert shown[arrow.index("^") :].startswith("%nope")


@pytest.mark.parametrize("text", ["", "hello", "#loc = loc(unknown)\n", "module {", "}", "\x00", "#a = #a\n"])
def test_what_is_no_module(text: str) -> None:
    with pytest.raises(TtgirError):
        parse_module(text)


def test_aliases_in_a_circle() -> None:
    text = module_text("%0 = arith.addi %i, %i : i32 loc(#loc1)") + '#loc1 = loc("a"(#loc2))\n#loc2 = loc("b"(#loc1))\n'
    with pytest.raises(TtgirError, match="holds itself"):
        parse_module(text)
    circle = "#a = #ttg.slice<{dim = 0, parent = #b}>\n#b = #ttg.slice<{dim = 0, parent = #a}>\n"
    with pytest.raises(TtgirError):
        parse_module(circle + module_text("%0 = tt.splat %f : f32 -> tensor<128xf32, #a>"))


@pytest.mark.parametrize("text", ["module {\n}\n", 'module attributes {"ttg.num-warps" = 4 : i32} {\n}'])
def test_a_module_without_a_function_is_no_kernel(text: str) -> None:
    with pytest.raises(TtgirError, match=r"empty\.ttgir:1:1: the module holds no `tt.func`"):
        build_program(parse_module(text, "empty.ttgir"))
