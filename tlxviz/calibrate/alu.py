"""Arithmetic: how long a result takes, and how many an SM gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlxviz.calibrate.kernel import Kernel, kernel, repeated, timed
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured


@dataclass(frozen=True, slots=True)
class Instruction:
    """Something done to register `{d}`, whose value it needs; `{x}` and `{y}` are others, `{e}` the next chain's."""

    name: str
    code: str
    results: int = 1
    """Per thread: 2 for packed halves."""
    per: int = 1
    """Instructions in `code`."""


INSTRUCTIONS = (
    Instruction("fma.f32", "fma.rn.f32 {d}, {d}, {x}, {y};"),
    Instruction("add.f32", "add.rn.f32 {d}, {d}, {x};"),
    Instruction("mul.f32", "mul.rn.f32 {d}, {d}, {x};"),
    Instruction("max.f32", "max.f32 {d}, {d}, {x}; min.f32 {d}, {d}, {y};", per=2),
    Instruction("fma.f16x2", "fma.rn.f16x2 {d}, {d}, {x}, {y};", 2),
    Instruction("fma.bf16x2", "fma.rn.bf16x2 {d}, {d}, {x}, {y};", 2),
    Instruction("max.f16x2", "max.f16x2 {d}, {d}, {x}; min.f16x2 {d}, {d}, {y};", 2, per=2),
    Instruction("add.s32", "add.s32 {d}, {d}, {e};"),
    Instruction("mad.s32", "mad.lo.s32 {d}, {d}, {x}, {y};"),
    Instruction("lop3", "lop3.b32 {d}, {d}, {e}, {x}, 0x96;"),
    Instruction("shift", "shf.l.wrap.b32 {d}, {d}, {e}, {x};"),
    Instruction("select.f32", "{{ .reg .pred p; setp.gt.f32 p, {d}, {x}; selp.b32 {d}, {e}, {y}, p; }}", per=2),
    Instruction("compare.f32", "setp.gt.xor.f32 q{c}, {d}, {x}, q{c};"),
    Instruction("fma.f64", "fma.rn.f64 l{c}, l{c}, lx, ly;"),
    Instruction("ex2.f32", "ex2.approx.ftz.f32 {d}, {d};"),
    Instruction("rcp_add.f32", "rcp.approx.ftz.f32 {d}, {d}; add.rn.f32 {d}, {d}, {x};"),
    Instruction("rsqrt.f32", "rsqrt.approx.ftz.f32 {d}, {d};"),
    Instruction("lg2.f32", "lg2.approx.ftz.f32 {d}, {d};"),
    Instruction("tanh.f32", "tanh.approx.f32 {d}, {d};"),
    Instruction("sin.f32", "sin.approx.ftz.f32 {d}, {d};"),
    Instruction("ex2.f16x2", "ex2.approx.f16x2 {d}, {d};", 2),
    Instruction("tanh.f16x2", "tanh.approx.f16x2 {d}, {d};", 2),
    Instruction("f32_to_f16x2", "cvt.rn.f16x2.f32 {d}, {d}, {e};", 2),
    Instruction("f32_to_bf16x2", "cvt.rn.bf16x2.f32 {d}, {d}, {e};", 2),
    Instruction(
        "f32_to_e4m3x4",
        "{{ .reg .b16 h, l; cvt.rn.satfinite.e4m3x2.f32 h, {d}, {x}; cvt.rn.satfinite.e4m3x2.f32 l, {e}, {y}; "
        "mov.b32 {d}, {{h, l}}; }}",
        4,
        per=2,
    ),
    Instruction("e4m3x2_to_f16x2", "{{ .reg .b16 h, l; mov.b32 {{h, l}}, {d}; cvt.rn.f16x2.e4m3x2 {d}, h; }}", 2),
    Instruction("f16_to_f32", "{{ .reg .b16 h, l; mov.b32 {{h, l}}, {d}; cvt.f32.f16 {d}, h; }}"),
    Instruction("f32_to_tf32", "cvt.rna.tf32.f32 {d}, {d};"),
    Instruction("f32_to_s32", "cvt.rzi.s32.f32 {d}, {d};"),
    Instruction("s32_to_f32", "cvt.rn.f32.s32 {d}, {d};"),
    Instruction("shuffle", "shfl.sync.down.b32 {d}, {d}, 1, 31, -1;"),
    Instruction("redux.s32", "redux.sync.add.s32 {d}, {d}, -1;"),
    Instruction("vote", "{{ .reg .pred p; setp.ne.b32 p, {d}, {x}; vote.sync.ballot.b32 {d}, p, -1; }}", per=2),
)

_CHAINS = 8
_UNROLLED = 64
"""A quarter of the steps in a turn of the loop, which has four instructions of its own."""


def instruction_of(name: str) -> Instruction:
    return next(each for each in INSTRUCTIONS if each.name == name)


def code(instruction: Instruction, chains: int, chain: int) -> str:
    return "    " + instruction.code.format(d=f"v{chain}", e=f"v{(chain + 1) % chains}", x="x", y="y", c=chain)


DECLARED = """
    .reg .b32 v<9>, x, y;
    .reg .b64 l<9>, lx, ly;
    .reg .pred q<9>;
    .reg .b32 own;
    cvt.u32.u64 x, pa;
    cvt.u32.u64 y, pb;
    mad.lo.u32 own, lane, 16, x;
    cvt.u64.u32 lx, x;
    cvt.u64.u32 ly, y;
""" + "\n".join(
    f"    add.u32 v{chain}, own, {chain};\n    cvt.u64.u32 l{chain}, v{chain};\n    setp.gt.u32 q{chain}, v{chain}, y;"
    for chain in range(9)
)
"""Values that the compiler cannot know, and that differ from thread to thread."""

USED = (
    """
{
    .reg .b32 sum, bit, low;
    .reg .pred some;
    mov.b32 sum, 0;
"""
    + "\n".join(
        f"    xor.b32 sum, sum, v{chain};\n    selp.b32 bit, 1, 2, q{chain};\n    add.u32 sum, sum, bit;\n"
        f"    cvt.u32.u64 low, l{chain};\n    xor.b32 sum, sum, low;"
        for chain in range(9)
    )
    + """
    setp.eq.u32 some, sum, 123456789;
    @some st.global.u32 [out], sum;
}
"""
)
"""So that nothing is left out for not being used."""


def arithmetic(instruction: Instruction, chains: int) -> Kernel:
    steps = [code(instruction, chains, chain) for _ in range(_UNROLLED * 4 // chains) for chain in range(chains)]
    return kernel(
        f"alu_{instruction.name}_{chains}",
        DECLARED + timed(repeated("\n".join(steps)), after=USED),
        threads=1024,
    )


A, B = 0x3F8CCCCD, 0x3E99999A  # 1.1 and 0.3 as f32


@benchmark("alu.latency")
def latency(machine: Machine) -> Iterator[Measurement]:
    """From one instruction to the next that needs its result, in one warp."""
    for instruction in INSTRUCTIONS:
        made = arithmetic(instruction, 1)
        turns = per_turn(machine, made, threads=32, a=A, b=B)
        yield measured(
            "alu.latency",
            [turn / (4 * _UNROLLED * (instruction.per if instruction.name.startswith("max") else 1)) for turn in turns],
            op=instruction.name,
        )


@benchmark("alu.rate")
def rate(machine: Machine) -> Iterator[Measurement]:
    """Results per cycle and SM, of warps with eight chains each."""
    for instruction in INSTRUCTIONS:
        made = arithmetic(instruction, _CHAINS)
        for warps in (4, 8, 16):
            turns = per_turn(machine, made, threads=32 * warps, a=A, b=B)
            results = 4 * _UNROLLED * 32 * warps * instruction.results
            if instruction.name.startswith("max"):
                results *= instruction.per
            yield measured(
                "alu.rate",
                [results / turn for turn in turns],
                "results/cycle/SM",
                op=instruction.name,
                warps=warps,
            )


@benchmark("alu.mufu_and_fma")
def mufu_and_fma(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a group of one ex2 and so many FMAs, all in the same warps."""
    ex2 = Instruction("ex2", "ex2.approx.ftz.f32 {d}, {d};")
    fma = Instruction("fma", "fma.rn.f32 {d}, {d}, {x}, {y};")
    for fmas in (0, 1, 2, 4, 6, 8, 12, 16):
        steps: list[str] = []
        for group in range(8):
            steps.append(code(ex2, 9, group % 4))
            steps += [code(fma, 9, 4 + number % 4) for number in range(fmas)]
        made = kernel(f"mufu_fma_{fmas}", DECLARED + timed(repeated("\n".join(steps)), after=USED), threads=1024)
        for warps in (4, 8):
            turns = per_turn(machine, made, threads=32 * warps, a=A, b=B)
            yield measured("alu.mufu_and_fma", [turn / 8 for turn in turns], fmas=fmas, warps=warps)


PAIRS = (
    ("fma.f32", "max.f32"),
    ("fma.f32", "add.s32"),
    ("fma.f32", "lop3"),
    ("fma.f32", "f32_to_f16x2"),
    ("fma.f32", "shuffle"),
    ("fma.f32", "fma.f16x2"),
    ("max.f32", "f32_to_f16x2"),
    ("max.f32", "lop3"),
    ("max.f32", "mad.s32"),
    ("ex2.f32", "max.f32"),
    ("ex2.f32", "f32_to_f16x2"),
    ("ex2.f32", "shuffle"),
)


@benchmark("alu.pairs")
def pairs(machine: Machine) -> Iterator[Measurement]:
    """Warp instructions per cycle and SM where two kinds take turns: those of one pipe share its rate."""
    for first, second in PAIRS:
        one, two = instruction_of(first), instruction_of(second)
        steps: list[str] = []
        for number in range(64):
            steps += [code(one, 9, number % 4), code(two, 9, 4 + number % 4)]
        made = kernel(f"pair_{first}_{second}", DECLARED + timed(repeated("\n".join(steps)), after=USED), threads=1024)
        turns = per_turn(machine, made, threads=256, a=A, b=B)
        count = 64 * 8 * (one.per + two.per)
        yield measured(
            "alu.pairs", [count / turn for turn in turns], "instructions/cycle/SM", first=first, second=second
        )
