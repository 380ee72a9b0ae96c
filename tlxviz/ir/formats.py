"""Compiles the small language of `forms.py` to regular expressions.

A format is a list of words: `$part` is one operand, `$part*` a comma-separated list that may be empty, `@key:int`,
`@key:word`, `@key:symbol`, `@key:flags`, `@key:string` and `@key:ints` are attributes printed among the operands,
`( ... )?` is optional, `type` is ` : i32` in the middle of a line, which some versions print, `!key` is a word that may
stand there and is an attribute then, `hints` are pairs such as `evictionPolicy = evict_last`, `pairs:a:b` is a list of
`, %a[%b]`, and all else stands for itself, brackets in quotes: `'('`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tlxviz.ir.operation import Value
from tlxviz.ir.text import VALUE, unescape

Groups = dict[str, tuple[Value, ...]]

# one %value of a list
_EACH = re.compile(VALUE)
# one  evictionPolicy = evict_last
_HINT = re.compile(r"(\w+)\s*=\s*(\w+)")
# one  , %bar[%pred]
_PAIR = re.compile(rf"({VALUE})\s*\[\s*({VALUE})\s*\]")
_LIST = rf"{VALUE}(?:\s*,\s*{VALUE})*"
# : i32   : !ttg.memdesc<1xi64, #shared, #smem, mutable>
_INLINE_TYPE = r"(?::\s*!?[\w.]+(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>)?\s*)?"
_KINDS = {
    "int": r"-?\d+",
    "word": r"\w+",
    "string": r'"(?:[^"\\]|\\.)*"',
    # __main__.scaled__fp32__   "a b"
    "symbol": r'[\w.$\-]+|"[^"]*"',
    # local   local|global_read
    "flags": r"\w+(?:\|\w+)*",
    "ints": r"(?:-?\d+(?:\s*,\s*-?\d+)*)?",
}


@dataclass(frozen=True)
class Format:
    """How one operation prints its operands, without its attribute dictionary and its types."""

    text: str

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], tuple[tuple[str, str], ...]]:
        parts: list[tuple[str, str]] = []
        pattern = "".join([_token(token, parts) for token in self.text.split()])
        return re.compile(r"\s*" + pattern), tuple(parts)

    def bind(self, text: str, values: Mapping[str, Value], attributes: dict[str, Any]) -> Groups | None:
        """The operands by part, in printed order; None if the text does not fit.

        Args:
            text: What the operation prints between its name and its types, without attribute dictionaries.
            values: The visible values; a KeyError tells which one is missing.
            attributes: Takes what the format says is an attribute.
        """
        pattern, parts = self._compiled
        found = pattern.fullmatch(text)
        if found is None:
            return None
        groups: Groups = {}
        for (part, kind), piece in zip(parts, found.groups(), strict=True):
            if not piece:
                if kind == "ints":
                    attributes[part] = []
            elif kind == "one":
                groups[part] = (values[piece],)
            elif kind == "many":
                groups[part] = tuple([values[name] for name in _EACH.findall(piece)])
            elif kind == "pairs":
                first, _, second = part.partition(":")
                pairs = _PAIR.findall(piece)
                groups[first] = tuple(values[pair[0]] for pair in pairs)
                groups[second] = tuple(values[pair[1]] for pair in pairs)
            elif kind == "flag":
                attributes[part] = True
            elif kind == "hints":
                attributes.update(_HINT.findall(piece))
            else:
                attributes[part] = _attribute(piece, kind)
        return groups

    def fits_until(self, text: str) -> int:
        """Offset up to which a text that does not match does fit: the place to report."""
        pattern, _ = self._compiled
        found = pattern.match(text)
        return found.end() if found else 0


def _attribute(text: str, kind: str) -> Any:
    match kind:
        case "int":
            return int(text)
        case "ints":
            return [int(part) for part in text.split(",")]
        case "symbol":
            return text.strip('"')
        case "string":
            return unescape(text[1:-1])
        case _:
            return text


def _token(token: str, parts: list[tuple[str, str]]) -> str:
    """The expression for one word of a format; appends to `parts` what its group captures."""
    if token == "(":
        return "(?:"
    if token == ")?":
        return ")?"
    if token == "type":
        return _INLINE_TYPE
    if token == "hints":
        parts.append(("", "hints"))
        return r"((?:\w+\s*=\s*\w+\s*)*)"
    if token.startswith("pairs:"):
        parts.append((token[6:], "pairs"))
        return rf"((?:,\s*{VALUE}\s*\[\s*{VALUE}\s*\]\s*)*)"
    if token[0] == "$":
        many = token[-1] == "*"
        parts.append((token[1:].rstrip("*"), "many" if many else "one"))
        return rf"((?:{_LIST})?)\s*" if many else rf"({VALUE})\s*"
    if token[0] == "!":
        parts.append((token[1:], "flag"))
        return rf"({token[1:]}\b)?\s*"
    if token[0] == "@":
        key, _, kind = token[1:].partition(":")
        parts.append((key, kind))
        return rf"({_KINDS[kind]})\s*"
    literal = token.strip("'")
    return re.escape(literal) + (r"\b\s*" if literal[-1].isalnum() else r"\s*")
