"""Reads an operation from its line: results, name, operands, attributes, types."""

from __future__ import annotations

import re
from typing import Any

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.formats import Groups
from tlxviz.ir.forms import AXES, FORMS, PLAIN, Form
from tlxviz.ir.location import Location
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.reader import Reader, Signature
from tlxviz.ir.results import result_types
from tlxviz.ir.scope import Scope
from tlxviz.ir.text import VALUE, Cursor, closing
from tlxviz.ir.types import Type

# %a, %b:2 = ttng.wait_barrier rest      "tt.reduce"(%x) rest
HEAD = re.compile(r'(?:(%[^=]*?)\s*=\s*)?(?:"([\w.]+)"|([a-z_]\w*(?:\.\w+)+))(?![\w.])\s*')
# %x   %x:2
_RESULT = re.compile(r"(%[\w.$\-]+)(?::(\d+))?")
# %a, %b#1
_PLAIN_OPERANDS = re.compile(rf"(?:{VALUE}(?:\s*,\s*{VALUE})*)?\s*")
# one operand of them
_EACH = re.compile(VALUE)
# ^bb1   ^bb2(%a, %b : i32, f32)
_SUCCESSOR = re.compile(r"\^(\w+)\s*(?:\(([^:)]*):[^)]*\))?\s*")
# [^bb1, ^bb2]
_SUCCESSOR_LIST = re.compile(r"\[(\s*\^\w+(?:\s*,\s*\^\w+)*\s*)\]\s*")
# an opening brace at the outermost level, or what hides one: a string
_BRACE_OR_STRING = re.compile(r'[{]|"(?:[^"\\]|\\.)*"|<\{')

# fastmath<nnan,ninf>   overflow<nsw>
_FLAGS = re.compile(r"\s*\b(fastmath|overflow)<([\w\s,]*)>")


def _take_flags(body: str) -> tuple[str, dict[str, str]]:
    """`body` without `fastmath<...>` and `overflow<...>`, and these as attributes."""
    return _FLAGS.sub("", body), dict(_FLAGS.findall(body))


def result_names(text: str | None) -> list[str]:
    """The names of the results from what stands before ` = `; `%x:2` is `%x#0` and `%x#1`."""
    if not text:
        return []
    if ":" not in text and "," not in text:
        return [text]
    names: list[str] = []
    for piece in text.split(","):
        found = _RESULT.fullmatch(piece.strip())
        if not found:
            raise Mismatch("expected results `%x` or `%x:2`", 0)
        if found[2] is None:
            names.append(found[1])
        else:
            names += [f"{found[1]}#{index}" for index in range(int(found[2]))]
    return names


def _check_types(operands: tuple[Value, ...], inputs: tuple[Type, ...], name: str) -> None:
    """Raise where a plain operation's printed types are not those of its operands: one for each, or one for all."""
    if len(inputs) != len(operands):
        if len(inputs) != 1 or not operands:
            if not operands and len(inputs) == 1:
                return
            raise Mismatch(f"expected one type or {len(operands)} for the operands of {name}", -1)
        inputs *= len(operands)
    for operand, printed in zip(operands, inputs, strict=True):
        type_ = operand.type
        if type_ is not printed and type_ != printed:
            raise Mismatch(f"the printed type of `{operand.name}` is not the type it was defined with", -1)


def make_results(operation: Operation, names: list[str], types: tuple[Type, ...], scope: Scope) -> None:
    """Give `operation` its results and make them visible."""
    if len(names) != len(types):
        raise Mismatch(f"expected {len(types)} results, found {len(names)}", -1)
    if len(names) == 1:
        value = Value(names[0], types[0], operation, 0, operation.location)
        scope.define(value)
        operation.results = (value,)
        return
    results: list[Value] = []
    for index, (name, type_) in enumerate(zip(names, types, strict=True)):
        value = Value(name, type_, operation, index, operation.location)
        scope.define(value)
        results.append(value)
    operation.results = tuple(results)


class Statements:
    """Reads the operations of one module."""

    def __init__(self, reader: Reader, scope: Scope) -> None:
        self._reader = reader
        self._scope = scope
        self._results: dict[tuple[str, int, int], tuple[Type, ...]] = {}

    def read(self, text: str, line: int, location: Location) -> Operation:
        """The operation without regions that is all of `text`; its results become visible."""
        head = HEAD.match(text)
        if head is None:
            raise Mismatch("expected an operation", 0)
        names = result_names(head[1])
        if head[2]:
            operation, signature, rule = self._generic(head[2], text, head.end())
        elif head[3] in _SPECIAL:
            operation, signature, rule = _SPECIAL[head[3]](self, head[3], text, head.end())
        else:
            operation, signature, rule = self._formed(head[3], text, head.end())
        operation.line = line
        operation.location = location
        if names:
            make_results(operation, names, self._result_types(rule, signature, len(names)), self._scope)
        elif signature and signature.outputs and operation.name not in _RESULTS_MAY_BE_MISSING:
            raise Mismatch(f"expected {len(signature.outputs)} results before the name of the operation", 0)
        return operation

    def _result_types(self, rule: str, signature: Signature | None, count: int) -> tuple[Type, ...]:
        # signatures live as long as the reader's cache, so their identity is a key
        key = (rule, id(signature), count)
        found = self._results.get(key)
        if found is None:
            found = tuple(result_types(rule, signature, count))
            if signature is None or signature.inputs:
                self._results[key] = found
        return found

    def _formed(self, name: str, text: str, start: int) -> tuple[Operation, Signature | None, str]:
        form = FORMS.get(name, PLAIN)
        body, signature = self._split_types(text, start)
        if signature is None and form.typed and body and body[0] != "{":
            raise Mismatch("expected ` : ` and the types", len(text), text)
        attributes: dict[str, Any] = {}
        if "{" in body:
            body, attributes = self._take_attributes(body, start)
        if "<" in body:
            body, flags = _take_flags(body)
            attributes.update(flags)
        operands, groups = self._operands(form, name, body, start, attributes)
        if form.format is None and signature is not None:
            _check_types(operands, signature.inputs, name)
        for key in form.needs:
            if key not in attributes:
                raise Mismatch(f"expected the attribute `{key}` of {name}", len(text))
        if "axis" in attributes and attributes["axis"] in AXES:
            attributes["axis"] = AXES[attributes["axis"]]
        return Operation(name, operands, (), attributes, groups=groups), signature, form.result

    def _operands(
        self, form: Form, name: str, body: str, start: int, attributes: dict[str, Any]
    ) -> tuple[tuple[Value, ...], Groups]:
        values = self._scope.values
        try:
            if form.format is None:
                if not _PLAIN_OPERANDS.fullmatch(body):
                    found = _PLAIN_OPERANDS.match(body)
                    offset = start + (found.end() if found else 0)
                    raise Mismatch(f"expected operands `%a, %b` of {name}", offset)
                return tuple([values[piece] for piece in _EACH.findall(body)]), {}
            groups = form.format.bind(body, values, attributes)
            if groups is None:
                offset = start + form.format.fits_until(body)
                raise Mismatch(f"expected `{f'{name} {form.format.text}'.rstrip()}`", offset)
            return tuple([value for group in groups.values() for value in group]), groups
        except KeyError as missing:
            # the fast path above looks values up without a call
            self._scope.find(missing.args[0])
            raise

    def _split_types(self, text: str, start: int) -> tuple[str, Signature | None]:
        """The text before the last ` : `, and the types after it if types they are."""
        colon = text.rfind(" : ", start)
        if colon < 0:
            colon = text.find(": ", start, start + 2)
        types = text[colon + 2 :].strip()
        if colon < 0 or text[-1] == "}" or '"' in types or types.count("}") > types.count("{"):
            # inline assembly without inputs prints `{...} -> i32`
            arrow = text.find("} -> ", start)
            if arrow < 0:
                return text[start:], None
            colon, types = arrow + 1, text[arrow + 2 :].strip()
        try:
            return text[start:colon], self._reader.signature(types)
        except Mismatch as error:
            shift = len(text) - len(types) if error.text == types else colon
            raise Mismatch(error.message, shift + (error.offset if error.text == types else 3)) from None

    def _take_attributes(self, body: str, start: int) -> tuple[str, dict[str, Any]]:
        """`body` without its `{...}` and `<{...}>`, and the attributes of them."""
        attributes: dict[str, Any] = {}
        if body[-1] == "}" and '"' not in body and body.count("{") == 1 and "<{" not in body:
            opening = body.index("{")
            return body[:opening], self.dictionary(body[opening:], start + opening)
        position = 0
        while True:
            found = _BRACE_OR_STRING.search(body, position)
            if found is None:
                return body, attributes
            if found[0][0] == '"':
                position = found.end()
                continue
            opening = found.end() - 1
            end = closing(body, opening)
            if end < 0:
                raise Mismatch("expected `}`", start + len(body))
            attributes.update(self.dictionary(body[opening : end + 1], start + opening))
            after = end + 1
            if found[0] == "<{":
                if body[after : after + 1] != ">":
                    raise Mismatch("expected `}>`", start + after)
                after += 1
            body = f"{body[: found.start()].rstrip()} {body[after:].lstrip()}"
            position = found.start()

    def dictionary(self, text: str, start: int = -1) -> dict[str, Any]:
        """The attributes of `{...}`, which stands at offset `start` of the line."""
        try:
            return self._reader.dictionary(text)
        except Mismatch as error:
            raise Mismatch(error.message, start + error.offset if error.text == text else start) from None

    def generic_head(self, name: str, text: str, start: int) -> tuple[Operation, str]:
        """The operation of `"name"(%a, %b) <{...}>` with all but types and regions, and the text after it."""
        if text[start : start + 1] != "(":
            raise Mismatch("expected `(` and operands", start)
        end = closing(text, start)
        if end < 0:
            raise Mismatch("expected `)` after the operands", len(text))
        pieces = text[start + 1 : end]
        if not _PLAIN_OPERANDS.fullmatch(pieces.strip()):
            raise Mismatch("expected operands `%a, %b`", start + 1)
        operands = tuple(self._scope.find(piece) for piece in _EACH.findall(pieces))
        rest = text[end + 1 :].strip()
        attributes: dict[str, Any] = {}
        successors = _SUCCESSOR_LIST.match(rest)
        if successors:
            attributes["successors"] = [label.strip()[1:] for label in successors[1].split(",")]
            rest = rest[successors.end() :]
        while rest.startswith(("<{", "{")):
            opening = rest.index("{")
            close = closing(rest, opening)
            if close < 0:
                raise Mismatch("expected `}`", len(text))
            attributes.update(self.dictionary(rest[opening : close + 1], len(text) - len(rest)))
            rest = rest[close + 1 :].strip()
            if opening:
                if not rest.startswith(">"):
                    raise Mismatch("expected `>`", len(text) - len(rest))
                rest = rest[1:].strip()
        return Operation(name, operands, (), attributes), rest

    def _generic(self, name: str, text: str, start: int) -> tuple[Operation, Signature | None, str]:
        operation, rest = self.generic_head(name, text, start)
        if not rest.startswith(":"):
            raise Mismatch("expected ` : ` and the types", len(text) - len(rest))
        signature = self._reader.signature(rest[1:].strip())
        if signature.outputs is None:
            raise Mismatch("expected `->` and the types of the results", len(text))
        if len(signature.inputs) != len(operation.operands):
            raise Mismatch("expected as many types as operands", len(text) - len(rest))
        return operation, signature, "auto"

    def constant(self, name: str, text: str, start: int) -> tuple[Operation, Signature | None, str]:
        """`arith.constant {attributes} value : type`."""
        attributes: dict[str, Any] = {}
        if text[start : start + 1] == "{":
            end = closing(text, start)
            if end < 0:
                raise Mismatch("expected `}`", len(text))
            attributes = self.dictionary(text[start : end + 1], start)
            start = end + 2
        value, type_ = self._reader.constant(text[start:].strip())
        if type_ is None:
            raise Mismatch("expected the type of the constant", len(text))
        attributes["value"] = value
        return Operation(name, (), (), attributes), Signature((), (type_,)), "auto"

    def branch(self, name: str, text: str, start: int) -> tuple[Operation, Signature | None, str]:
        """`cf.br ^bb1(%a : i32)` and `cf.cond_br %c, ^bb1, ^bb2(%a : i32)`."""
        cursor = Cursor(text, start)
        groups: Groups = {}
        parts = ["args"]
        if name == "cf.cond_br":
            condition = cursor.match(_EACH)
            if not condition:
                raise cursor.fail("a condition")
            groups["condition"] = (self._scope.find(condition[0]),)
            parts = ["true_args", "false_args"]
        labels: list[str] = []
        for part in parts:
            if part != "args":
                cursor.expect(",")
            found = cursor.match(_SUCCESSOR)
            if not found:
                raise cursor.fail("a block `^bb1`")
            labels.append(found[1])
            if found[2]:
                groups[part] = tuple(self._scope.find(piece) for piece in _EACH.findall(found[2]))
        attributes: dict[str, Any] = {}
        if cursor.peek() == "{":
            attributes = self.dictionary("{" + cursor.balanced() + "}")
        cursor.expect_end()
        attributes["successors"] = labels
        operands = tuple(value for group in groups.values() for value in group)
        return Operation(name, operands, (), attributes, groups=groups), None, "auto"


_SPECIAL = {"arith.constant": Statements.constant, "cf.br": Statements.branch, "cf.cond_br": Statements.branch}
# a call may ignore what it returns only where it returns nothing; these print `->` types of operands
_RESULTS_MAY_BE_MISSING = frozenset({
    "ttg.local_store", "ttng.tmem_store", "ttng.async_tma_copy_global_to_local", "ttg.async_remote_shmem_store",
    "ttg.async_remote_shmem_copy", "ttg.remote_shmem_store", "ttng.async_tma_gather", "ttg.local_scatter",
    "ttng.async_store", "tt.store",
})  # fmt: skip
