"""Products of warp groups: issue, completion, throughput."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import SETTLED, Kernel, clock, kernel, nanoseconds, repeated, store, timed
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured

COLUMNS = (8, 16, 32, 64, 96, 128, 160, 192, 224, 256)
TYPES = {
    "f16": ("k16.f32.f16.f16", "p, 1, 1, 0, 0", 16),
    "bf16": ("k16.f32.bf16.bf16", "p, 1, 1, 0, 0", 16),
    "e4m3": ("k32.f32.e4m3.e4m3", "p, 1, 1", 32),
    "tf32": ("k8.f32.tf32.tf32", "p, 1, 1", 8),
    "s8": ("k32.s32.s8.s8", "p", 32),
}
"""Name to the instruction's suffix, its last operands, and its K; 32 bytes of K each."""

_ROUNDS = 24
SHARED = (8 << 10) + (32 << 10)  # a tile of A with 64 rows, one of B with 256; 128 bytes a row


def instruction(
    kind: str, n: int, step: int, *, registers: bool = False, bank: int = 0, transposed: bool = False
) -> str:
    """One m64nN of `kind`, A from shared memory or registers, into accumulators of `bank`; `step` moves along K."""
    suffix, tail, _ = TYPES[kind]
    if kind in ("f16", "bf16"):
        tail = ("p, 1, 1" if registers else "p, 1, 1, 0") + (", 1" if transposed else ", 0")
    sums = ", ".join(f"d{bank * (n // 2) + number}" for number in range(n // 2))
    a = "{a0, a1, a2, a3}" if registers else f"descA{step % 4}"
    return f"    wgmma.mma_async.sync.aligned.m64n{n}{suffix} {{{sums}}}, {a}, descB{step % 4}, {tail};"


def declared(kind: str, n: int, *, banks: int = 1, transposed: bool = False) -> str:
    """Accumulators, descriptors of A and B, and a predicate that is true."""
    element = "s32" if kind == "s8" else "f32"
    lines = [
        f"    .reg .{element} d<{banks * (n // 2)}>;",
        "    .reg .b32 a<4>, start;",
        "    .reg .b64 descA<4>, descB<4>, wide, high;",
        "    .reg .pred p;",
        "    setp.ne.u32 p, n, 0;",
        "    cvt.u32.u64 a0, pa;",
        "    add.u32 a1, a0, 1;",
        "    add.u32 a2, a0, 2;",
        "    add.u32 a3, a0, 3;",
        # 128 bytes of swizzle, 1024 bytes from one group of eight rows to the next
        "    mov.b64 high, 0x4000004000010000;",
        # one A for all warp groups: an address that differs between them would have to be made uniform each time
        *_descriptors("descA", "base"),
        "    add.u32 start, base, 8192;",
        *_descriptors("descB", "start", transposed=transposed),
    ]
    for number in range(banks * (n // 2)):
        if element == "f32":
            lines.append(f"    mov.f32 d{number}, 0f00000000;")
        else:
            lines.append(f"    mov.b32 d{number}, 0;")
    return "\n".join(lines)


def _descriptors(name: str, start: str, *, transposed: bool = False) -> list[str]:
    """The four steps along K: 32 bytes of each row, or where N runs along the rows, 16 rows of 128 bytes."""
    lines = ["    mov.b64 high, 0x4000004002000000;"] if transposed else []
    stride = 128 if transposed else 2
    lines += ["    { .reg .b32 low;", f"    and.b32 low, {start}, 0x3ffff;", "    shr.u32 low, low, 4;"]
    lines += ["    cvt.u64.u32 wide, low; }", f"    or.b64 {name}0, wide, high;"]
    lines += [f"    add.u64 {name}{step}, {name}0, {stride * step};" for step in (1, 2, 3)]
    return lines


def used(kind: str, n: int, *, banks: int = 1) -> str:
    """Adds up the accumulators, so that they are needed."""
    element = "s32" if kind == "s8" else "f32"
    add = "add.s32" if kind == "s8" else "add.rn.f32"
    lines = [f"    {add} d0, d0, d{number};" for number in range(1, banks * (n // 2))]
    kindly = "eq.s32" if element == "s32" else "eq.f32"
    constant = "123456789" if element == "s32" else "0f4CEB79A3"
    return "\n".join(
        [
            *lines,
            "{ .reg .pred some;",
            f"    setp.{kindly} some, d0, {constant};",
            f"    @some st.global.{element} [out], d0; }}",
        ]
    )


def filled() -> str:
    """Fills shared memory: zeros where `pb` is 0, else random bits that are fp16 numbers below 2."""
    return f"""
{{
    .reg .b32 at, value, step, size, mask;
    .reg .pred more;
    cvt.u32.u64 mask, pb;
    shl.b32 at, tid, 2;
    mov.u32 step, %ntid.x;
    shl.b32 step, step, 2;
FILL:
    mad.lo.u32 value, at, 2654435761, 12345;
    mad.lo.u32 value, value, 1664525, cta;
    shf.l.wrap.b32 value, value, value, 13;
    mad.lo.u32 value, value, 22695477, 1;
    and.b32 value, value, mask;
    add.u32 size, base, at;
    st.shared.b32 [size], value;
    add.u32 at, at, step;
    setp.lt.u32 more, at, {SHARED};
    @more bra FILL;
    fence.proxy.async.shared::cta;
    bar.sync 0;
}}"""


RANDOM = 0xBFFFBFFF
"""Clears an exponent bit of two fp16 numbers: none of them is infinite."""


def sequence(
    kind: str, n: int, count: int, groups: int, *, registers: bool = False, banks: int = 1, stamps: bool = False
) -> Kernel:
    """Rounds of `count` instructions, one commit, one wait. Words of a warp and round: before the fence, after the
    fence, after the last instruction, after the commit, after the wait; with `stamps` after each instruction instead.
    """
    times = (
        ["t0", "t1", *(f"s{number}" for number in range(count)), "t2", "t3"]
        if stamps
        else ["t0", "t1", "t2", "t3", "t4"]
    )
    lines = [declared(kind, n, banks=banks), filled(), "    .reg .b64 t0, t1, t2, t3, t4;", "    .reg .b64 s<16>;"]
    body = ["    bar.sync 0;", SETTLED, clock("t0"), "    wgmma.fence.sync.aligned;", clock("t1")]
    for number in range(count):
        body.append(instruction(kind, n, number, registers=registers, bank=number % banks))
        if stamps:
            body.append(clock(f"s{number}"))
    if not stamps:
        body += [clock("t2"), "    wgmma.commit_group.sync.aligned;", clock("t3")]
        body += ["    wgmma.wait_group.sync.aligned 0;", clock("t4")]
    else:
        body += ["    wgmma.commit_group.sync.aligned;", clock("t2")]
        body += ["    wgmma.wait_group.sync.aligned 0;", clock("t3")]
    body.append(
        f"""{{
    .reg .b32 place;
    .reg .pred first;
    mad.lo.u32 place, turn, {4 * groups}, warp;
    setp.ne.u32 first, lane, 0;
    @first bra SKIP;
{store("place", *times)}
SKIP:
}}"""
    )
    lines += [repeated("\n".join(body)), used(kind, n, banks=banks)]
    form = ("rs" if registers else "ss") + ("_stamps" if stamps else "")
    return kernel(
        f"wgmma_{kind}_n{n}_x{count}_g{groups}_{form}_b{banks}",
        "\n".join(lines),
        threads=128 * groups,
        shared=SHARED,
    )


def _rounds(words: list[int], width: int, warps: int) -> list[list[list[int]]]:
    """Round, warp, word; without the first rounds, which warm up."""
    size = width * warps
    found = [
        [words[at + width * warp : at + width * (warp + 1)] for warp in range(warps)]
        for at in range(0, len(words), size)
    ]
    return found[4:]


def _completion(
    machine: Machine, kind: str, n: int, count: int, groups: int, registers: bool, banks: int = 1
) -> Iterator[Measurement]:
    made = sequence(kind, n, count, groups, registers=registers, banks=banks)
    words = machine.run(made, 5 * 4 * groups * _ROUNDS, n=_ROUNDS, threads=128 * groups)
    rounds = _rounds(words, 5, 4 * groups)
    at: dict[str, int | str] = {
        "type": kind,
        "a": "registers" if registers else "shared",
        "n": n,
        "count": count,
        "groups": groups,
    }
    if banks > 1:
        at["banks"] = banks
    yield measured("wgmma.issue", [warp[3] - warp[0] for each in rounds for warp in each], **at)
    # until the last warp of the last group has seen the end
    yield measured("wgmma.completion", [max(w[4] for w in each) - min(w[0] for w in each) for each in rounds], **at)


@benchmark("wgmma.completion")
def completion(machine: Machine) -> Iterator[Measurement]:
    """From before the fence to after wait_group 0, for 1, 2, 4, 8 instructions of one commit; A in shared memory."""
    for n in COLUMNS:
        for count in (1, 2, 4, 8):
            yield from _completion(machine, "f16", n, count, 1, registers=False)


@benchmark("wgmma.completion_rs")
def completion_rs(machine: Machine) -> Iterator[Measurement]:
    """The same with A in registers."""
    for n in (16, 32, 64, 128, 192, 256):
        for count in (1, 2, 4, 8):
            yield from _completion(machine, "f16", n, count, 1, registers=True)


@benchmark("wgmma.completion_types")
def completion_types(machine: Machine) -> Iterator[Measurement]:
    """The same for other types."""
    for kind in ("bf16", "e4m3", "tf32", "s8"):
        for n in (64, 128, 256):
            for count in (1, 4):
                yield from _completion(machine, kind, n, count, 1, registers=False)


@benchmark("wgmma.completion_banks")
def completion_banks(machine: Machine) -> Iterator[Measurement]:
    """Two tiles of 64 rows one after the other, as a warp group does that has 128 rows."""
    for n in (64, 128):
        for count in (2, 8):
            yield from _completion(machine, "f16", n, count, 1, registers=False, banks=2)


@benchmark("wgmma.completion_groups")
def completion_groups(machine: Machine) -> Iterator[Measurement]:
    """Two and three warp groups that begin together: until the last has its product."""
    for groups, n in ((2, 64), (2, 128), (2, 256), (3, 64), (3, 128)):
        for count in (1, 4, 8):
            yield from _completion(machine, "f16", n, count, groups, registers=False)


@benchmark("wgmma.stamps")
def stamps(machine: Machine) -> Iterator[Measurement]:
    """Cycles after the fence at which each of eight instructions has been issued."""
    for n, registers in ((64, False), (128, False), (256, False), (256, True)):
        made = sequence("f16", n, 8, 1, registers=registers, stamps=True)
        words = machine.run(made, 12 * 4 * _ROUNDS, n=_ROUNDS, threads=128)
        rounds = _rounds(words, 12, 4)
        form = "registers" if registers else "shared"
        for number in range(8):
            samples = [warp[2 + number] - warp[1] for each in rounds for warp in each]
            yield measured("wgmma.stamps", samples, n=n, a=form, number=number)


def stream(
    kind: str, n: int, groups: int, *, registers: bool = False, depth: int = 4, transposed: bool = False
) -> Kernel:
    """Turns of `depth` instructions and a commit, where the group before is waited for."""
    body = ["    wgmma.fence.sync.aligned;"]
    body += [instruction(kind, n, number, registers=registers, transposed=transposed) for number in range(depth)]
    body += ["    wgmma.commit_group.sync.aligned;", "    wgmma.wait_group.sync.aligned 1;"]
    whole = repeated("\n".join(body)) + "\n    wgmma.wait_group.sync.aligned 0;"
    form = ("rs" if registers else "ss") + ("_t" if transposed else "")
    return kernel(
        f"wgmma_stream_{kind}_n{n}_g{groups}_{form}_{depth}",
        declared(kind, n, transposed=transposed) + filled() + timed(whole, after=used(kind, n)),
        threads=128 * groups,
        shared=SHARED,
    )


def _interval(
    machine: Machine, kind: str, n: int, groups: int, registers: bool, depth: int = 4, transposed: bool = False
) -> Measurement:
    made = stream(kind, n, groups, registers=registers, depth=depth, transposed=transposed)
    turns = per_turn(machine, made, threads=128 * groups, repeats=5)
    form = "registers" if registers else "shared"
    samples = [turn / (depth * groups) for turn in turns]
    at: dict[str, int | str] = {"type": kind, "a": form, "n": n, "groups": groups}
    if depth != 4:
        at["depth"] = depth
    if transposed:
        at["b"] = "transposed"
    return measured("wgmma.interval", samples, **at)


@benchmark("wgmma.interval")
def interval(machine: Machine) -> Iterator[Measurement]:
    """Cycles of the tensor cores per m64nN instruction in a steady stream; that of all groups together."""
    for n in COLUMNS:
        for registers in (False, True):
            yield _interval(machine, "f16", n, 1, registers)
    for groups, n in ((2, 64), (2, 128), (2, 256), (3, 64), (3, 128), (2, 32), (2, 16)):
        yield _interval(machine, "f16", n, groups, registers=False)
    yield _interval(machine, "f16", 256, 2, registers=True)
    yield _interval(machine, "f16", 128, 2, registers=True)


@benchmark("wgmma.interval_types")
def interval_types(machine: Machine) -> Iterator[Measurement]:
    """The same for other types."""
    for kind in ("bf16", "e4m3", "tf32", "s8"):
        for n in (8, 32, 64, 128, 256):
            yield _interval(machine, kind, n, 1, registers=False)
        yield _interval(machine, kind, 128, 2, registers=False)


@benchmark("wgmma.interval_depth")
def interval_depth(machine: Machine) -> Iterator[Measurement]:
    """The same by instructions per commit, one commit in flight while the next is issued."""
    for depth in (1, 2, 8):
        for n in (64, 128, 256):
            yield _interval(machine, "f16", n, 1, registers=False, depth=depth)


@benchmark("wgmma.interval_transposed")
def interval_transposed(machine: Machine) -> Iterator[Measurement]:
    """The same where N, and not K, runs along the rows of B, as in the second product of attention."""
    for n in (64, 128, 256):
        for registers in (False, True):
            yield _interval(machine, "f16", n, 1, registers, transposed=True)
    yield _interval(machine, "f16", 128, 2, registers=True, transposed=True)


@benchmark("wgmma.bookkeeping")
def bookkeeping(machine: Machine) -> Iterator[Measurement]:
    """Fence, commit and wait with nothing in flight, each by itself in a loop."""
    for name, code in (
        ("fence", "wgmma.fence.sync.aligned;"),
        ("commit", "wgmma.commit_group.sync.aligned;"),
        ("wait", "wgmma.wait_group.sync.aligned 0;"),
        (
            "fence_commit_wait",
            "wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        ),
    ):
        body = "\n".join([f"    {code}"] * 8)
        made = kernel(f"wgmma_{name}", timed(repeated(body)), threads=128)
        turns = per_turn(machine, made, threads=128)
        yield measured("wgmma.bookkeeping", [turn / 8 for turn in turns], what=name)


@benchmark("wgmma.mma_sync")
def mma_sync(machine: Machine) -> Iterator[Measurement]:
    """FLOP per cycle and SM of warp-level mma.sync m16n8k16, by warps; 8 accumulators each."""
    lines = [
        f"    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{sums}}}, {{a0, a1, a2, a3}}, {{a0, a1}}, {{{sums}}};"
        for sums in (", ".join(f"d{4 * bank + each}" for each in range(4)) for bank in range(8))
    ]
    made = kernel(
        "mma_sync", declared("f16", 64) + timed(repeated("\n".join(lines * 2)), after=used("f16", 64)), threads=512
    )
    for warps in (4, 8, 16):
        turns = per_turn(machine, made, threads=32 * warps)
        yield measured(
            "wgmma.mma_sync", [16 * warps * 2 * 16 * 8 * 16 / turn for turn in turns], "FLOP/cycle/SM", warps=warps
        )


@benchmark("wgmma.power")
def power(machine: Machine) -> Iterator[Measurement]:
    """What all SMs sustain for a second on zeros and on random numbers: FLOP per cycle, and the SM clock."""
    for kind, n, k in (("f16", 256, 16), ("e4m3", 256, 32)):
        body = ["    wgmma.fence.sync.aligned;"]
        body += [instruction(kind, n, number) for number in range(4)]
        body += ["    wgmma.commit_group.sync.aligned;", "    wgmma.wait_group.sync.aligned 1;"]
        whole = repeated("\n".join(body)) + "\n    wgmma.wait_group.sync.aligned 0;"
        made = kernel(
            f"wgmma_power_{kind}",
            declared(kind, n)
            + filled()
            + f"""
    .reg .b64 t0, t1, g0, g1;
    bar.sync 0;
{nanoseconds("g0")}
{clock("t0")}
{whole}
{clock("t1")}
{nanoseconds("g1")}
{used(kind, n)}
{{
    .reg .pred first;
    setp.ne.u32 first, tid, 0;
    @first bra SKIP;
{store("cta", "t0", "t1", "g0", "g1")}
SKIP:
}}""",
            threads=256,
            shared=SHARED,
        )
        turns = 120_000  # times 4 x 2 x 128 cycles: some 70 ms
        for data, mask in (("zeros", 0), ("random", RANDOM)):
            rates: list[float] = []
            clocks: list[float] = []
            for _ in range(14):
                words = machine.run(made, 4 * machine.sms, n=turns, grid=machine.sms, b=mask)
                cycles = max(t1 - t0 for t0, t1 in zip(words[0::4], words[1::4], strict=True))
                time = max(words[3::4]) - min(words[2::4])
                rates.append(2 * 64 * n * k * 4 * 2 * turns / cycles)
                clocks.append(1000 * cycles / time)
            yield measured("wgmma.power_rate", rates[4:], "FLOP/cycle/SM", type=kind, data=data)
            yield measured("wgmma.power_clock", clocks[4:], "MHz", type=kind, data=data)
