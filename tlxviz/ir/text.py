"""A cursor over a piece of text, and the few scans that respect strings and nesting."""

from __future__ import annotations

import re

from tlxviz.ir.errors import Mismatch

# %c-1_i32   %a.shape.0   %x#1
VALUE = r"%[\w.$\-]+(?:#\d+)?"
# evict_last   ttg.async.token   tt.divisibility
_WORD = re.compile(r"[A-Za-z_][\w.$]*")
# "a \"quoted\" name"
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# one escape of a string: \n  \t  \"  \\  \0A
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_LETTER_ESCAPES = {"n": "\n", "t": "\t"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# what changes the nesting: brackets, strings, and arrows, whose `>` closes nothing
_NESTING = re.compile(r'->|[()\[\]{}<>]|"(?:[^"\\]|\\.)*"?')


def unescape(text: str) -> str:
    """The contents of an MLIR string: `\\0A` is a byte in hexadecimal."""
    if "\\" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 2:
            return chr(int(escape, 16))
        return _LETTER_ESCAPES.get(escape, escape)

    return _ESCAPE.sub(one, text)


def closing(text: str, start: int) -> int:
    """Offset of the bracket that closes the one at `start`, or -1."""
    expected: list[str] = []
    for found in _NESTING.finditer(text, start):
        token = found[0]
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif token == "->" or token[0] == '"':
            continue
        elif not expected or expected.pop() != token:
            return -1
        elif not expected:
            return found.start()
    return -1


class Cursor:
    """Reads a text from left to right; every refusal is a `Mismatch` at the present offset."""

    __slots__ = ("position", "text")

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position
        self.skip()

    def skip(self) -> None:
        """Pass white space."""
        text, position = self.text, self.position
        while text[position : position + 1].isspace():
            position += 1
        self.position = position

    @property
    def done(self) -> bool:
        return self.position >= len(self.text)

    def peek(self) -> str:
        """The next character, empty at the end."""
        return self.text[self.position : self.position + 1]

    def fail(self, expected: str) -> Mismatch:
        """The error to raise where `expected` is not what stands here."""
        return Mismatch(f"expected {expected}", self.position, self.text)

    def accept(self, literal: str) -> bool:
        """Pass `literal` if it stands here."""
        if not self.text.startswith(literal, self.position):
            return False
        self.position += len(literal)
        if self.text[self.position : self.position + 1] == " ":
            self.skip()
        return True

    def expect(self, literal: str) -> None:
        if not self.accept(literal):
            raise self.fail(f"`{literal}`")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Pass what matches `pattern` here."""
        found = pattern.match(self.text, self.position)
        if found:
            self.position = found.end()
            if self.text[self.position : self.position + 1] == " ":
                self.skip()
        return found

    def word(self) -> str:
        """Pass a name, perhaps with dots; empty if none stands here."""
        found = self.match(_WORD)
        return found[0] if found else ""

    def string(self) -> str | None:
        """Pass a string in double quotes."""
        found = self.match(_STRING)
        return unescape(found[1]) if found else None

    def balanced(self) -> str:
        """Pass a bracketed piece and return what is between its brackets, as written."""
        start = self.position
        end = closing(self.text, start)
        if end < 0:
            raise self.fail("a closing bracket")
        self.position = end + 1
        self.skip()
        return self.text[start + 1 : end]

    def expect_end(self) -> None:
        if not self.done:
            raise self.fail("the end")
