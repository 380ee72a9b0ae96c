"""The text of inline PTX as statements over numbered register slots."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import TypeAlias

from tlxviz.sim.ptx.types import TYPES, Immediate, Refusal, UnsupportedAsm


@dataclass(frozen=True)
class Register:
    """A register slot of `bits` bits, 1 for a predicate. `negated` is the `!p` form."""

    slot: int
    bits: int
    negated: bool = False


@dataclass(frozen=True)
class Special:
    """A special register such as %smid."""

    name: str


@dataclass(frozen=True)
class Sink:
    """`_`: a result that nobody wants."""


@dataclass(frozen=True)
class Vector:
    """`{a, b}`, or the pair `p|q`."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class Address:
    """`[base + offset]`."""

    base: Operand
    offset: int


@dataclass(frozen=True)
class Label:
    """The target of a branch, as an index into the statements."""

    name: str


Operand: TypeAlias = "Register | Special | Sink | Vector | Address | Label | Immediate"

_NAME = r"[A-Za-z_%$][A-Za-z0-9_$]*"
_TOKEN = re.compile(rf"\s*([{{}};]|{_NAME}\s*:(?!:)|[^;]+)")
_SPECIAL = re.compile(
    r"%(n?tid|n?ctaid|cluster_n?ctaid|n?clusterid|cluster_n?ctarank|is_explicit_cluster|n?warpid|n?smid|gridid|laneid"
    r"|lanemask_(eq|le|lt|ge|gt)|clock(_hi|64)?|globaltimer(_lo|_hi)?|(total|aggr|dynamic)_smem_size"
    r"|pm\d+(_64)?|envreg\d+|reserved_smem_offset_\w+|current_graph_exec)(\.[xyz])?"
)
_NUMBER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}")
_DECIMAL = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Statement:
    """One instruction. `guard` is the predicate of `@p`."""

    text: str
    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None


@dataclass
class Parsed:
    """Statements, the width of every register slot, and where the labels point."""

    statements: list[Statement] = field(default_factory=list[Statement])
    widths: list[int] = field(default_factory=list[int])
    labels: dict[str, int] = field(default_factory=dict[str, int])


class _Parser:
    def __init__(self, asm: str, placeholders: list[int], widths: list[int]) -> None:
        self.asm = asm
        self.placeholders = placeholders
        self.parsed = Parsed(widths=list(widths))
        self.scopes: list[dict[str, Register]] = [{}]

    def run(self) -> Parsed:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", self.asm, flags=re.S)
        text = text.replace("%%", "%").replace("$$", "$").replace("${:uid}", "0")
        position = 0
        while match := _TOKEN.match(text, position):
            position = match.end()
            token = match[1].strip()
            if token == "{":
                self.scopes.append({})
            elif token == "}":
                if len(self.scopes) == 1:
                    raise refused(self.asm, "}", "a closing brace without an opening one")
                self.scopes.pop()
            elif token.endswith(":"):
                self.parsed.labels[token[:-1].strip()] = len(self.parsed.statements)
            elif token and token != ";":
                self.statement(" ".join(token.split()))
        self.check_labels()
        return self.parsed

    def check_labels(self) -> None:
        for statement in self.parsed.statements:
            for operand in statement.operands:
                if isinstance(operand, Label) and operand.name not in self.parsed.labels:
                    reason = f"{operand.name} is neither a declared register, a known special register nor a label"
                    raise refused(self.asm, statement.text, reason)

    def statement(self, text: str) -> None:
        try:
            if text.startswith("."):
                self.directive(text)
                return
            match = re.fullmatch(r"(?:@\s*(!?)\s*([^\s]+)\s+)?([A-Za-z][\w.:]*)\s*(.*)", text, re.S)
            if not match:
                raise Refusal("this is not a PTX instruction")
            guard = self.operand(match[1] + match[2]) if match[2] else None
            if guard is not None and not (isinstance(guard, Register) and guard.bits == 1):
                raise Refusal("the guard is not a predicate register")
            operands = tuple(self.operand(part) for part in _split(match[4]))
        except Refusal as refusal:
            raise refused(self.asm, text, str(refusal)) from None
        self.parsed.statements.append(Statement(text, match[3], operands, guard))

    def directive(self, text: str) -> None:
        match = re.fullmatch(r"\.reg\s*\.(\w+)\s+(.+)", text, re.S)
        if not match or match[1] not in TYPES:
            raise Refusal("the only directive that is supported is .reg, with a scalar type")
        bits = TYPES[match[1]].bits
        for name in _split(match[2]):
            counted = re.fullmatch(rf"({_NAME})<(\d+)>", name)
            if not counted and not re.fullmatch(_NAME, name):
                raise Refusal(f"{name} is not the name of a register")
            names = [f"{counted[1]}{index}" for index in range(int(counted[2]))] if counted else [name]
            for register in names:
                self.scopes[-1][register] = Register(len(self.parsed.widths), bits)
                self.parsed.widths.append(bits)

    def operand(self, text: str) -> Operand:
        text = text.strip()
        if text == "_":
            return Sink()
        if text.startswith("{") and text.endswith("}"):
            return Vector(tuple(self.operand(part) for part in _split(text[1:-1])))
        if text.startswith("[") and text.endswith("]"):
            return self.address(text[1:-1])
        if text.startswith("!"):
            negated = self.operand(text[1:])
            if not (isinstance(negated, Register) and negated.bits == 1):
                raise Refusal(f"{text} is not a negated predicate")
            return Register(negated.slot, 1, not negated.negated)
        if "|" in text:
            return Vector(tuple(self.operand(part) for part in text.split("|")))
        return self.name_or_number(text)

    def name_or_number(self, text: str) -> Operand:
        placeholder = re.fullmatch(r"\$(?:(\d+)|\{(\d+)(?::\w+)?\})", text)
        if placeholder:
            index = int(placeholder[1] or placeholder[2])
            if index >= len(self.placeholders):
                raise Refusal(f"{text} has no constraint: there are {len(self.placeholders)}")
            slot = self.placeholders[index]
            return Register(slot, self.parsed.widths[slot])
        for scope in reversed(self.scopes):
            if text in scope:
                return scope[text]
        if _SPECIAL.fullmatch(text):
            return Special(text)
        if text == "WARP_SZ":
            return Immediate(32)
        number = parse_number(text)
        if number is not None:
            return number
        if re.fullmatch(_NAME, text):
            return Label(text)
        raise Refusal(f"{text!r} is not an operand that is supported")

    def address(self, text: str) -> Address:
        match = re.fullmatch(r"\s*([^\s+]+?)\s*(?:([+-])\s*(-?\w+))?\s*", text)
        if not match:
            raise Refusal(f"[{text}] is not an address that is supported")
        offset = parse_number(match[3]) if match[3] else Immediate(0)
        if offset is None or not isinstance(offset.value, int):
            raise Refusal(f"[{text}] has an offset that is not an integer")
        return Address(self.operand(match[1]), -offset.value if match[2] == "-" else offset.value)


def _split(text: str) -> list[str]:
    """Split at the commas outside of braces."""
    parts = re.split(r",(?![^{]*\})", text)
    return [part.strip() for part in parts] if text.strip() else []


def parse_number(text: str) -> Immediate | None:
    """An integer (decimal, hexadecimal, octal, binary) or floating-point constant; None when `text` is neither."""
    match = _NUMBER.fullmatch(text)
    if match and text[:2].lower() in ("0f", "0d"):
        wide = text[1] in "dD"
        data = bytes.fromhex(text[2:])
        return Immediate(struct.unpack(">d" if wide else ">f", data)[0], int(text[2:], 16), 64 if wide else 32)
    if match:
        digits = text.rstrip("U")
        octal = re.fullmatch(r"([-+]?)0([0-7]+)", digits)
        return Immediate(int(octal[1] + octal[2], 8) if octal else int(digits, 0))
    return Immediate(float(text)) if _DECIMAL.fullmatch(text) else None


def refused(asm: str, instruction: str, reason: str, supported: str = "") -> UnsupportedAsm:
    """The error about one instruction of an assembly text."""
    lines = "\n".join("    " + line.strip() for line in asm.strip().splitlines() if line.strip())
    text = f"the simulator cannot run this inline assembly: `{instruction}`: {reason}\n  the assembly:\n{lines}"
    return UnsupportedAsm(text + (f"\n  {supported}" if supported else ""))


def parse(asm: str, placeholders: list[int], widths: list[int]) -> Parsed:
    """Parse `asm`. `placeholders[n]` is the slot of `$n`, and `widths` are the widths of the slots used by them."""
    parser = _Parser(asm, placeholders, widths)
    return parser.run()
