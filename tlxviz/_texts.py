"""Texts that every file can hold: a trace has whatever somebody wrote into a source or called a file."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What XML refuses, and so SVG and labels of DOT in its form: control characters other than tab and line end, halves of
surrogate pairs, which stand for bytes of file names that are not UTF-8, and what Unicode keeps free."""


def printable(text: str) -> str:
    """The text with a replacement character for each of those that neither XML nor UTF-8 has a place for."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def on_one_line(text: str) -> str:
    """Likewise, and with one space for whatever separates words."""
    return " ".join(printable(text).split())
