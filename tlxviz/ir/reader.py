"""Reads types, attributes and encodings; each text is read once and then found in a cache."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from tlxviz.ir.errors import Mismatch, UnknownAlias
from tlxviz.ir.numbers import Dense, Number, blob, number
from tlxviz.ir.text import Cursor
from tlxviz.ir.types import (
    Encoding,
    MemDescType,
    OpaqueType,
    PointerType,
    ScalarType,
    TensorDescType,
    TensorType,
    TokenType,
    Type,
)

# i32   si8   index   f16   bf16   tf32   f8E4M3FN   f4E2M1FN
_SCALAR = re.compile(r"(?:[su]?i\d+|index|none|b?f\d+(?:E\d+M\d+\w*)?|tf32)\b")
# the 128x64x of tensor<128x64xf16>
_DIMENSION = re.compile(r"(\d+)x")
# the 3x128x64 that may end a memdesc, and the [...] of padded layouts
_SHAPE = re.compile(r"\d+(?:x\d+)*(?![\w.])")
# 16   -1   1.000000e+00   0xFF800000
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)(?![\w.])")
# #blocked1   #ttg.nvidia_mma   #ttg<...>
_HASH = re.compile(r"#([\w.$]+)")
# !ttg.async.token
_BANG = re.compile(r"!([\w.$]+)")
# @name   @outer::@inner
_SYMBOL = re.compile(r'@([\w.$\-]+|"[^"]*")(?:::@[\w.$\-]+)*')
# "ttg.num-warps"   tt.divisibility   axis
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w.$\-]*)')
_MAX_ALIASES = 64
_Read = TypeVar("_Read")


class Signature(NamedTuple):
    """The types that an operation prints."""

    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...] | None
    """What stands after `->` or `to`; None where nothing does."""


class Reader:
    """Types and attributes of one module, whose aliases it knows."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self._resolved: dict[str, Encoding] = {}
        self._resolving: list[str] = []
        self._types: dict[str, Type] = {}
        self._signatures: dict[str, Signature] = {}
        self._dictionaries: dict[str, dict[str, Any]] = {}
        self._constants: dict[str, tuple[Any, Type | None]] = {}

    def type(self, text: str) -> Type:
        """The type that is all of `text`."""
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = self._whole(text, self.read_type)
        return found

    def signature(self, text: str) -> Signature:
        """The types after an operation's last ` : `, such as `A, B -> C`, `A to B` or `(A, B) -> (C, D)`."""
        found = self._signatures.get(text)
        if found is None:
            found = self._signatures[text] = self._whole(text, self._read_signature)
        return found

    def dictionary(self, text: str) -> dict[str, Any]:
        """The attributes in `{...}`; a fresh dict."""
        found = self._dictionaries.get(text)
        if found is None:
            found = self._dictionaries[text] = self._whole(text, self._read_dictionary)
        return dict(found)

    def constant(self, text: str) -> tuple[Any, Type | None]:
        """An attribute with the type it prints: `0 : i32`, `true`, `dense<1.0> : tensor<...>`."""
        found = self._constants.get(text)
        if found is None:
            found = self._constants[text] = self._whole(text, self._read_typed)
        return found

    def attribute(self, text: str) -> Any:
        """The attribute that is all of `text`."""
        return self.constant(text)[0]

    def _whole(self, text: str, read: Callable[[Cursor], _Read]) -> _Read:
        cursor = Cursor(text)
        result = read(cursor)
        cursor.expect_end()
        return result

    # ---- types

    def read_type(self, cursor: Cursor) -> Type:
        """Read one type at the cursor."""
        scalar = cursor.match(_SCALAR)
        if scalar:
            return ScalarType(scalar[0])
        if cursor.accept("tensor<"):
            return self._tensor(cursor)
        # async_copy_global_to_local prints its memdesc without the name
        if cursor.accept("!ttg.memdesc<") or cursor.accept("<"):
            return self._memdesc(cursor)
        start = cursor.position
        named = cursor.match(_BANG)
        name = named[1] if named else cursor.word()
        match name:
            case "":
                raise cursor.fail("a type")
            case "tt.ptr":
                return self._pointer(cursor)
            case "tt.tensordesc" | "ttng.tensordesc_im2col":
                return self._descriptor(cursor)
            case "ttg.async.token":
                return TokenType()
            case _:
                if cursor.peek() == "<":
                    cursor.balanced()
                elif not named:
                    cursor.position = start
                    raise cursor.fail("a type")
                return OpaqueType(cursor.text[start : cursor.position].strip())

    def _dimensions(self, cursor: Cursor) -> tuple[int, ...]:
        shape: list[int] = []
        while found := cursor.match(_DIMENSION):
            shape.append(int(found[1]))
        return tuple(shape)

    def _tensor(self, cursor: Cursor) -> TensorType:
        shape = self._dimensions(cursor)
        element = self.read_type(cursor)
        encoding = self._encoding(cursor) if cursor.accept(",") else None
        cursor.expect(">")
        return TensorType(shape, element, encoding)

    def _memdesc(self, cursor: Cursor) -> MemDescType:
        shape = self._dimensions(cursor)
        element = self.read_type(cursor)
        cursor.expect(",")
        encoding = self._encoding(cursor)
        cursor.expect(",")
        space = self._encoding(cursor)
        mutable, alloc_shape = False, shape
        while cursor.accept(","):
            if cursor.accept("mutable"):
                mutable = True
            elif found := cursor.match(_SHAPE):
                alloc_shape = tuple(int(part) for part in found[0].split("x"))
            else:
                raise cursor.fail("`mutable` or the shape of the allocation")
        cursor.expect(">")
        if space.name not in ("shared_memory", "shared_cluster_memory", "tensor_memory"):
            raise cursor.fail("a memory space before the end of the memdesc")
        return MemDescType(shape, element, encoding, space.name, mutable, alloc_shape)

    def _pointer(self, cursor: Cursor) -> PointerType:
        cursor.expect("<")
        pointee = self.read_type(cursor)
        space = 1
        if cursor.accept(","):
            found = cursor.match(_NUMBER)
            if not found:
                raise cursor.fail("an address space")
            space = int(found[0])
        cursor.expect(">")
        return PointerType(pointee, space)

    def _descriptor(self, cursor: Cursor) -> TensorDescType:
        cursor.expect("<")
        if not cursor.accept("tensor<"):
            return TensorDescType(self._tensor(cursor))
        block = self._tensor(cursor)
        if cursor.accept(","):
            self._encoding(cursor)
        cursor.expect(">")
        return TensorDescType(block)

    def _type_list(self, cursor: Cursor) -> tuple[Type, ...]:
        if not cursor.accept("("):
            found = [self.read_type(cursor)]
            while cursor.accept(",") or cursor.accept("*") or cursor.accept("barrier_ty"):
                found.append(self.read_type(cursor))
            return tuple(found)
        found: list[Type] = []
        if not cursor.accept(")"):
            found.append(self.read_type(cursor))
            while cursor.accept(","):
                found.append(self.read_type(cursor))
            cursor.expect(")")
        return tuple(found)

    def _read_signature(self, cursor: Cursor) -> Signature:
        inputs: tuple[Type, ...] = () if cursor.text.startswith("->") else self._type_list(cursor)
        outputs = self._type_list(cursor) if cursor.accept("->") or cursor.accept("to ") else None
        return Signature(inputs, outputs)

    # ---- encodings

    def _encoding(self, cursor: Cursor) -> Encoding:
        start = cursor.position
        found = cursor.match(_HASH)
        if not found:
            raise cursor.fail("an encoding or an alias `#name`")
        name = found[1]
        if cursor.peek() == "<" and cursor.text[cursor.position - 1] != " ":
            cursor.accept("<")
            parameters = self._parameters(cursor)
            return Encoding(name.rpartition(".")[2], parameters)
        if "." in name:
            return Encoding(name.rpartition(".")[2])
        return self._alias(found[0], cursor, start)

    def _alias(self, name: str, cursor: Cursor, start: int) -> Encoding:
        known = self._resolved.get(name)
        if known is not None:
            return known
        text = self._aliases.get(name)
        if text is None or name in self._resolving or len(self._resolving) > _MAX_ALIASES:
            raise UnknownAlias(f"expected an alias that the file defines, not `{name}`", start, cursor.text)
        self._resolving.append(name)
        try:
            value = self._whole(text, self._encoding)
        finally:
            self._resolving.pop()
        self._resolved[name] = value
        return value

    def _parameters(self, cursor: Cursor) -> dict[str, Any]:
        """What is between the `<` that was passed and its `>`, with or without braces."""
        start = cursor.position
        try:
            braces = cursor.accept("{")
            found = self._entries(cursor, "}" if braces else ">")
            if braces:
                cursor.expect(">")
            return found
        except UnknownAlias:
            raise
        except Mismatch:
            # Layouts print forms of their own, such as padded_shared<[32:+4] {order = [0]}>: kept as text.
            cursor.position = start - 1
            while cursor.text[cursor.position] != "<":
                cursor.position -= 1
            return {"text": cursor.balanced()}

    # ---- attributes

    def _read_dictionary(self, cursor: Cursor) -> dict[str, Any]:
        cursor.expect("{")
        return self._entries(cursor, "}")

    def _entries(self, cursor: Cursor, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not cursor.accept(end):
            if found:
                cursor.expect(",")
            key = cursor.match(_KEY)
            if not key:
                raise cursor.fail(f"the name of an attribute or `{end}`")
            found[key[1] or key[2]] = self._value(cursor) if cursor.accept("=") else True
        return found

    def _value(self, cursor: Cursor) -> Any:
        return self._read_typed(cursor)[0]

    def _read_typed(self, cursor: Cursor) -> tuple[Any, Type | None]:
        found = cursor.match(_NUMBER)
        if found:
            return self._number(found[0], cursor)
        character = cursor.peek()
        if character == '"':
            text = cursor.string()
            if text is None:
                raise cursor.fail("the end of the string")
            return text, self.read_type(cursor) if cursor.accept(": ") else None
        if character == "[":
            cursor.accept("[")
            return self._sequence(cursor, "]"), None
        if character == "{":
            return self._read_dictionary(cursor), None
        if character == "#":
            return self._encoding(cursor), None
        if character == "!":
            return self.read_type(cursor), None
        if character == "@":
            symbol = cursor.match(_SYMBOL)
            if not symbol:
                raise cursor.fail("a symbol")
            return symbol[0][1:].strip('"'), None
        return self._keyword(cursor)

    def _keyword(self, cursor: Cursor) -> tuple[Any, Type | None]:
        if cursor.accept("array<"):
            return self._array(cursor), None
        if cursor.accept("dense<"):
            return self._dense(cursor)
        start = cursor.position
        if cursor.text.startswith(("tensor<", "vector<"), start) or _SCALAR.match(cursor.text, start):
            return self.read_type(cursor), None
        word = cursor.word()
        if word in ("true", "false"):
            boolean = ScalarType("i1")
            return word == "true", self.read_type(cursor) if cursor.accept(": ") else boolean
        if not word:
            raise cursor.fail("a value")
        if cursor.peek() in ("<", "("):
            cursor.balanced()
            return cursor.text[start : cursor.position].strip(), None
        return (True if word == "unit" else word), None

    def _number(self, text: str, cursor: Cursor) -> tuple[Number, Type]:
        type_: Type = ScalarType("f64" if "." in text else "i64")
        if cursor.accept(": "):
            type_ = self.read_type(cursor)
        value = number(text, type_.name) if isinstance(type_, ScalarType) else None
        if value is None:
            raise cursor.fail(f"a type that `{text}` can have before this place")
        return value, type_

    def _sequence(self, cursor: Cursor, end: str) -> list[Any]:
        found: list[Any] = []
        while not cursor.accept(end):
            if found:
                cursor.expect(",")
            found.append(self._value(cursor))
        return found

    def _array(self, cursor: Cursor) -> list[Number]:
        element = self.read_type(cursor)
        if not isinstance(element, ScalarType):
            raise cursor.fail("a scalar type before the elements")
        found: list[Number] = []
        if cursor.accept(">"):
            return found
        cursor.expect(":")
        while True:
            value = self._element(cursor, element.name)
            found.append(value)
            if cursor.accept(">"):
                return found
            cursor.expect(",")

    def _element(self, cursor: Cursor, type_name: str) -> Number:
        found = cursor.match(_NUMBER)
        value = number(found[0] if found else cursor.word(), type_name)
        if value is None:
            raise cursor.fail(f"a number of type {type_name}")
        return value

    def _dense(self, cursor: Cursor) -> tuple[Dense, Type]:
        start = cursor.position
        cursor.position = start - 1
        inside = cursor.balanced()
        cursor.expect(":")
        type_ = self.read_type(cursor)
        element = type_.element if isinstance(type_, TensorType) else None
        if not isinstance(type_, TensorType) or not isinstance(element, ScalarType):
            raise cursor.fail("the type of a tensor of numbers")
        elements = Cursor(inside)
        if elements.peek() == '"':
            values = blob(elements.string() or "", element.name, element.bits)
            if values is None:
                raise Mismatch("expected the elements in hexadecimal", start, cursor.text)
        else:
            values = tuple(self._nested(elements, element.name))
            elements.expect_end()
        count = math.prod(type_.shape)
        if len(values) not in (1, count):
            raise Mismatch(f"expected 1 or {count} elements, found {len(values)}", start, cursor.text)
        return Dense(values, type_.shape, len(values) == 1), type_

    def _nested(self, cursor: Cursor, type_name: str) -> list[Number]:
        if not cursor.accept("["):
            return [] if cursor.done else [self._element(cursor, type_name)]
        found: list[Number] = []
        while not cursor.accept("]"):
            if found:
                cursor.expect(",")
            found.extend(self._nested(cursor, type_name))
        return found
