"""Comments in a kernel's source that keep findings away."""

from __future__ import annotations

from textwrap import indent

import pytest

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.source import Source
from tlxviz.check.suppress import suppress
from tlxviz.ir.location import Location

FILE = "/k/kernel.py"
FIRST = 11


def source(*lines: str) -> Source:
    return Source("\n".join(["def kernel(x):", *(f"    {line}" for line in lines)]) + "\n", FILE, FIRST)


def finding(*lines: int, rule: str = "slot-reuse", file: str = FILE) -> Finding:
    """A finding whose places are these lines of the kernel, counted from its heading as 0."""
    places = tuple(Place("reads", "mma", Location(file, FIRST + line, 5), "a", 0, 0) for line in lines)
    return Finding(rule, Severity.ERROR, "kernel", "wrong", places)


def reasons(findings: tuple[Finding, ...]) -> list[str | None]:
    return [each.suppressed for each in findings]


@pytest.mark.parametrize(
    "lines",
    [
        ("load(x)  # tlxviz: ignore[slot-reuse] the host waits", "other(x)"),
        ("load(x)  # first try # tlxviz:ignore [slot-reuse]: the host waits", "other(x)"),
        ("load(x)  # tlxviz: ignore[parity, slot-reuse] the host waits  # noqa", "other(x)"),
        ("load(x)", "other(x)  # tlxviz: ignore[slot-reuse] - the host waits"),
    ],
)
def test_a_comment_behind_either_place(lines: tuple[str, ...]):
    assert reasons(suppress([finding(1, 2)], "kernel", source(*lines))) == ["the host waits"]


def test_a_comment_above_a_statement():
    text = source("# tlxviz: ignore[slot-reuse] why", "# and more", "", "load(x)", "load(x)")
    assert reasons(suppress([finding(4), finding(5)], "kernel", text)) == ["why", None]


def test_a_comment_within_a_statement_of_several_lines():
    text = source("load(", "    x,  # tlxviz: ignore[slot-reuse] why", ")", "load(x)")
    assert reasons(suppress([finding(1), finding(3), finding(4)], "kernel", text)) == ["why", "why", None]


def test_a_comment_behind_the_heading_of_a_block_is_not_about_the_block():
    text = source("for i in x:  # tlxviz: ignore[slot-reuse] why", "    load(x)")
    assert reasons(suppress([finding(1), finding(2)], "kernel", text)) == ["why", None]


def test_other_rules_files_and_lines_stay():
    text = source("load(x)  # tlxviz: ignore[slot-reuse] why", "load(x)")
    found = [finding(1, rule="parity"), finding(1, file="/k/other.py"), finding(2), finding()]
    assert reasons(suppress(found, "kernel", text)) == [None] * 4


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# tlxviz: ignore[slot-reuse]", "The comment gives no reason, and keeps nothing away."),
        ("# tlxviz: ignore[slot-reuse] -  # noqa", "The comment gives no reason, and keeps nothing away."),
        ("# tlxviz: ignore the host waits", "The comment names no rule, and keeps nothing away."),
        ("# tlxviz: ignore[ ] the host waits", "The comment names no rule, and keeps nothing away."),
        ("# tlxviz: ignore[slot-reus] why", "The comment names slot-reus, and there is no such rule."),
    ],
)
def test_comments_that_keep_nothing_away_are_notes(comment: str, message: str):
    kept, note = suppress([finding(1)], "kernel", source(f"load(x)  {comment}"))
    assert kept.suppressed is None
    assert (note.rule, note.severity, note.message) == ("ignore-comment", Severity.NOTE, message)
    assert note.location == Location(FILE, FIRST + 1, 14)
    assert "# tlxviz: ignore[rule]" in note.advice


def test_a_misspelt_rule_beside_a_right_one():
    kept, note = suppress([finding(1)], "kernel", source("load(x)  # tlxviz: ignore[slot-reuse, x] why"))
    assert kept.suppressed == "why"
    assert note.message == "The comment names x, and there is no such rule."


@pytest.mark.parametrize("text", ["", "def f(:\n  'unended", "  x\n y\n# tlxviz: ignore[slot-reuse] why"])
def test_a_text_that_is_no_function(text: str):
    assert reasons(suppress([finding(1)], "kernel", Source(text, FILE, FIRST))) == [None]


def test_words_in_strings_are_no_comments():
    text = source('say("# tlxviz: ignore[slot-reuse] why")')
    assert reasons(suppress([finding(1)], "kernel", text)) == [None]


def test_a_kernel_within_a_function():
    plain = source("load(x)  # tlxviz: ignore[slot-reuse] why", "load(x)")
    text = indent(plain.text, "        ")
    assert reasons(suppress([finding(1), finding(2)], "kernel", Source(text, FILE, FIRST))) == ["why", None]
