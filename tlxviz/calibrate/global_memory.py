"""Global memory: latencies, and the bytes that loads, asynchronous copies and stores move."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tlxviz.calibrate.kernel import Kernel, clock, kernel, nanoseconds, repeated, store, timed
from tlxviz.calibrate.lab import Machine, benchmark, per_turn, spans
from tlxviz.calibrate.results import Measurement, measured

_LINE = 256
_BIG = 1 << 30
_STEPS = 256

SCATTER = kernel(
    "scatter",
    """
{
    .reg .b64 from, to, value;
    mad.wide.u32 from, cta, 1024, pb;
    mad.wide.u32 from, tid, 16, from;
    ld.global.u64 to, [from];
    ld.global.u64 value, [from+8];
    add.u64 to, to, pa;
    add.u64 value, value, pa;
    st.global.u64 [to], value;
}""",
    threads=64,
)
"""Writes `value` to `to` for 64 pairs of offsets from `pa` per CTA; the pairs are at `pb`."""


def _chain(machine: Machine, size: int, nodes: int) -> int:
    """The address of a cycle of pointers through `nodes` random lines of a buffer."""
    address = machine.buffer("matrix", _BIG)
    places = [_LINE * line for line in random.Random(size).sample(range(size // _LINE), nodes - 1)]
    places = [0, *[place for place in places if place]]
    pairs: list[int] = []
    for place, following in zip(places, [*places[1:], places[0]], strict=True):
        pairs += [place, following]
    while len(pairs) % 128:
        pairs += pairs[:2]
    table = machine.buffer("pairs", 8 * len(pairs))
    machine.write(table, pairs)
    machine.launch(SCATTER, grid=len(pairs) // 128, a=address, b=table)
    machine.synchronize()
    return address


def chase(modifier: str) -> Kernel:
    """One thread follows pointers from `pa`; words of a step: before, after."""
    return kernel(
        f"chase_{modifier}",
        f"""
    .reg .b64 at, t0, t1;
    .reg .pred other, odd;
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
    mov.b64 at, pa;
{
            repeated(f'''
{clock("t0")}
    ld.global{modifier}.u64 at, [at];
    setp.eq.u64 odd, at, 1;
    @odd st.global.u64 [out], at;
{clock("t1")}
{store("turn", "t0", "t1")}
''')
        }
OVER:""",
        threads=32,
    )


def chase_fast(modifier: str) -> Kernel:
    body = "\n".join([f"    ld.global{modifier}.u64 at, [at];"] * 8)
    after = "{ .reg .pred odd; setp.eq.u64 odd, at, 1; @odd st.global.u64 [out], at; }"
    return kernel(
        f"chase_fast_{modifier}",
        timed(repeated(body), before="    .reg .b64 at;\n    mov.b64 at, pa;", after=after),
        threads=32,
    )


@benchmark("global.latency")
def latency(machine: Machine) -> Iterator[Measurement]:
    """A load whose address the one before gave, in one thread: L1, L2 and DRAM, at random places."""
    cached, direct = chase_fast(""), chase_fast(".cg")
    start = _chain(machine, 8 << 10, 16)
    yield measured("global.latency", [t / 8 for t in per_turn(machine, cached, threads=32, a=start)], source="L1")
    for size, name in ((1 << 20, "L2, 1 MiB"), (16 << 20, "L2, 16 MiB")):
        start = _chain(machine, size, 2048)
        machine.run(direct, 2, n=256, threads=32, a=start)
        turns = per_turn(machine, direct, threads=32, a=start, turns=(16, 256))
        yield measured("global.latency", [t / 8 for t in turns], source=name)
    single = chase(".cg")
    for size, name in ((64 << 20, "DRAM, 64 MiB"), (_BIG, "DRAM, 1 GiB")):
        start = _chain(machine, size, 2048)
        samples: list[float] = []
        for _ in range(3):
            machine.flush_l2()
            words = machine.run(single, 2 * _STEPS, n=_STEPS, threads=32, a=start)
            samples += [words[at + 1] - words[at] for at in range(8, len(words), 2)]
        yield measured("global.latency", samples, source=name)
    start = _chain(machine, 1 << 20, 2048)
    machine.run(direct, 2, n=256, threads=32, a=start)
    words = machine.run(single, 2 * 2000, n=2000, threads=32, a=start)
    yield measured(
        "global.latency", [words[at + 1] - words[at] for at in range(8, len(words), 2)], source="L2, one by one"
    )


def reader(loads: int, modifier: str = ".cg") -> Kernel:
    """Each thread reads `loads` times 16 bytes a turn; a CTA has `pb` + 1 bytes of its own from `pa` on."""
    before = """
    .reg .b64 mine, at;
    .reg .b32 offset, span, mask, step, whole, v<64>, sum, sum2;
    cvt.u32.u64 mask, pb;
    add.u32 whole, mask, 1;
    mad.wide.u32 mine, cta, whole, pa;
    shl.b32 offset, tid, 4;
    mov.u32 step, %ntid.x;
    shl.b32 step, step, 4;
    mov.b32 sum, 0;
    mov.b32 sum2, 0;"""
    lines: list[str] = []
    for number in range(loads):
        four = ", ".join(f"v{4 * number + each}" for each in range(4))
        lines += [
            "    cvt.u64.u32 at, offset;",
            "    add.u64 at, at, mine;",
            f"    ld.global{modifier}.v4.b32 {{{four}}}, [at];",
            "    add.u32 offset, offset, step;",
            "    and.b32 offset, offset, mask;",
        ]
    for number in range(loads):
        first = 4 * number
        lines.append(f"    lop3.b32 sum, v{first}, v{first + 1}, sum, 0x96;")
        lines.append(f"    lop3.b32 sum2, v{first + 2}, v{first + 3}, sum2, 0x96;")
    after = "{ .reg .pred odd; xor.b32 sum, sum, sum2; setp.eq.u32 odd, sum, 123456; @odd st.global.u32 [out], sum; }"
    return kernel(
        f"reader_{loads}_{modifier}", timed(repeated("\n".join(lines)), before=before, after=after), threads=1024
    )


def copier(copies: int, depth: int) -> Kernel:
    """The same by cp.async into shared memory, with `depth` groups of `copies` in flight."""
    before = """
    .reg .b64 mine, at;
    .reg .b32 offset, mask, step, whole, to;
    cvt.u32.u64 mask, pb;
    add.u32 whole, mask, 1;
    mad.wide.u32 mine, cta, whole, pa;
    shl.b32 offset, tid, 4;
    mov.u32 step, %ntid.x;
    shl.b32 step, step, 4;"""
    lines = ["    shl.b32 to, tid, 4;", "    add.u32 to, to, base;"]
    for _ in range(copies):
        lines += [
            "    cvt.u64.u32 at, offset;",
            "    add.u64 at, at, mine;",
            "    cp.async.cg.shared.global [to], [at], 16;",
            "    add.u32 to, to, step;",
            "    add.u32 offset, offset, step;",
            "    and.b32 offset, offset, mask;",
        ]
    lines += ["    cp.async.commit_group;", f"    cp.async.wait_group {depth - 1};"]
    whole = repeated("\n".join(lines)) + "\n    cp.async.wait_group 0;"
    return kernel(f"copier_{copies}_{depth}", timed(whole, before=before), threads=512, shared=200 << 10)


@benchmark("global.rate_one")
def rate_one(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle that one SM alone reads from L2, by threads and by loads of 16 bytes in flight."""
    data = machine.buffer("matrix", _BIG)
    for loads in (1, 2, 4, 8):
        made = reader(loads)
        for threads in (32, 128, 256, 512, 1024):
            turns = per_turn(machine, made, threads=threads, a=data, b=(1 << 19) - 1, repeats=5)
            yield measured(
                "global.rate",
                [16 * loads * threads / turn for turn in turns],
                "bytes/cycle/SM",
                op="ld",
                loads=loads,
                threads=threads,
                sms="one",
                source="L2",
            )


@benchmark("global.rate_all")
def rate_all(machine: Machine) -> Iterator[Measurement]:
    """The same of every SM while all read: from L1, L2 (each its own 64 KiB to 256 KiB), DRAM."""
    data = machine.buffer("matrix", _BIG)
    for source, modifier, mask, turns in (
        ("L1", ".ca", (1 << 15) - 1, (16, 80)),
        ("L2, 64 KiB", ".cg", (1 << 16) - 1, (16, 80)),
        ("L2, 256 KiB", ".cg", (1 << 18) - 1, (16, 80)),
        ("DRAM", ".cg", (1 << 22) - 1, (16, 48)),
    ):
        for loads, threads in ((1, 1024), (4, 256), (4, 512), (4, 1024), (8, 512)):
            made = reader(loads, modifier)
            found = per_turn(
                machine,
                made,
                threads=threads,
                grid=machine.sms,
                a=data,
                b=mask,
                turns=turns,
                repeats=5,
                before=machine.flush_l2 if source == "DRAM" else None,
            )
            yield measured(
                "global.rate",
                [16 * loads * threads / turn for turn in found],
                "bytes/cycle/SM",
                op="ld",
                loads=loads,
                threads=threads,
                sms="all",
                source=source,
            )


@benchmark("global.cp_async")
def cp_async(machine: Machine) -> Iterator[Measurement]:
    """cp.async of 16 bytes: latency of one group by one warp, bytes per cycle by groups in flight."""
    data = machine.buffer("matrix", _BIG)
    made = copier(1, 1)
    turns = per_turn(machine, made, threads=32, a=data, b=(1 << 18) - 1, turns=(512, 2048))
    yield measured("global.cp_async_latency", turns, source="L2")
    for copies, depth, threads in (
        (4, 1, 128),
        (4, 2, 128),
        (4, 4, 128),
        (8, 2, 128),
        (8, 4, 128),
        (8, 2, 256),
        (8, 4, 256),
        (8, 4, 512),
    ):
        made = copier(copies, depth)
        for sms in (1, machine.sms):
            turns = per_turn(
                machine, made, threads=threads, grid=sms, a=data, b=(1 << 18) - 1, turns=(64, 256), repeats=5
            )
            yield measured(
                "global.rate",
                [16 * copies * threads / turn for turn in turns],
                "bytes/cycle/SM",
                op="cp.async",
                loads=copies,
                depth=depth,
                threads=threads,
                sms="one" if sms == 1 else "all",
                source="L2",
            )


def writer(stores: int) -> Kernel:
    before = """
    .reg .b64 mine, at;
    .reg .b32 offset, mask, step, whole;
    cvt.u32.u64 mask, pb;
    add.u32 whole, mask, 1;
    mad.wide.u32 mine, cta, whole, pa;
    shl.b32 offset, tid, 4;
    mov.u32 step, %ntid.x;
    shl.b32 step, step, 4;"""
    lines: list[str] = []
    for _ in range(stores):
        lines += [
            "    cvt.u64.u32 at, offset;",
            "    add.u64 at, at, mine;",
            "    st.global.v4.b32 [at], {tid, lane, warp, cta};",
            "    add.u32 offset, offset, step;",
            "    and.b32 offset, offset, mask;",
        ]
    return kernel(f"writer_{stores}", timed(repeated("\n".join(lines)), before=before), threads=1024)


@benchmark("global.stores")
def stores(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle and SM of stores of 16 bytes a thread."""
    data = machine.buffer("matrix", _BIG)
    made = writer(4)
    for sms in (1, machine.sms):
        for source, mask in (("L2", (1 << 17) - 1), ("DRAM", (1 << 22) - 1)):
            for threads in (128, 512, 1024):
                turns = per_turn(machine, made, threads=threads, grid=sms, a=data, b=mask, turns=(16, 64), repeats=5)
                yield measured(
                    "global.rate",
                    [64 * threads / turn for turn in turns],
                    "bytes/cycle/SM",
                    op="st",
                    threads=threads,
                    sms="one" if sms == 1 else "all",
                    source=source,
                )


@benchmark("global.atomics")
def atomics(machine: Machine) -> Iterator[Measurement]:
    """Round trip of an atomic add by one thread, and by the 32 of a warp; reductions per cycle."""
    data = machine.buffer("matrix", _BIG)
    prepared = "    .reg .b32 v;\n    .reg .b64 at;\n    mov.b32 v, 0;\n"
    after = "{ .reg .pred odd; setp.eq.u32 odd, v, 123; @odd st.global.u32 [out], v; }"
    code = "    @first atom.global.add.u32 v, [at], v;"
    alone = "    .reg .pred first;\n    setp.eq.u32 first, lane, 0;\n    mad.wide.u32 at, lane, 4, pa;\n"
    body = repeated("\n".join([code] * 8))
    made = kernel("atomic_latency", timed(body, before=prepared + alone, after=after), threads=32)
    yield measured("global.atomic", [t / 8 for t in per_turn(machine, made, threads=32, a=data)], op="atom, one thread")
    spread = "    mad.wide.u32 at, tid, 4, pa;\n"
    code = "    atom.global.add.u32 v, [at], v;"
    made = kernel(
        "atomic_spread", timed(repeated("\n".join([code] * 8)), before=prepared + spread, after=after), threads=32
    )
    yield measured(
        "global.atomic", [t / 8 for t in per_turn(machine, made, threads=32, a=data)], op="atom, 32 addresses"
    )
    far = "    mad.wide.u32 at, tid, 4, pa;\n    mad.wide.u32 at, cta, 4096, at;\n"
    code = "    red.global.add.u32 [at], lane;"
    made = kernel("reduction", timed(repeated("\n".join([code] * 8)), before=prepared + far, after=after), threads=1024)
    for sms in (1, machine.sms):
        for threads in (32, 256):
            turns = per_turn(machine, made, threads=threads, grid=sms, a=data)
            yield measured(
                "global.atomic",
                [8 * threads / turn for turn in turns],
                "results/cycle/SM",
                op="red.u32",
                threads=threads,
                sms="one" if sms == 1 else "all",
            )


def sweep(loads: int, writes: bool) -> Kernel:
    """All CTAs together read `n` MiB from `pa` (and write them to `pb`); words of a CTA: clocks and nanoseconds."""
    lines: list[str] = []
    for number in range(loads):
        four = ", ".join(f"v{4 * number + each}" for each in range(4))
        lines.append(f"    mad.wide.u32 at, step, {number}, from;" if number else "    mov.b64 at, from;")
        lines.append(f"    ld.global.L1::no_allocate.v4.b32 {{{four}}}, [at];")
    for number in range(loads):
        four = ", ".join(f"v{4 * number + each}" for each in range(4))
        if writes:
            lines.append(f"    mad.wide.u32 at, step, {number}, from;" if number else "    mov.b64 at, from;")
            lines.append("    sub.u64 at, at, pa;")
            lines.append("    add.u64 at, at, pb;")
            lines.append(f"    st.global.v4.b32 [at], {{{four}}};")
        else:
            lines.append(f"    lop3.b32 sum, v{4 * number}, v{4 * number + 1}, sum, 0x96;")
            lines.append(f"    lop3.b32 sum, v{4 * number + 2}, v{4 * number + 3}, sum, 0x96;")
    lines.append(f"    mad.wide.u32 from, step, {loads}, from;")
    return kernel(
        f"sweep_{loads}_{'copy' if writes else 'read'}",
        f"""
    .reg .b64 from, at, t0, t1, g0, g1, size;
    .reg .b32 step, v<64>, sum, turns, ctas, many;
    .reg .pred odd, other;
    mov.u32 ctas, %nctaid.x;
    shl.b32 step, ctas, 14;
    mad.wide.u32 from, cta, 16384, pa;
    mad.wide.u32 from, tid, 16, from;
    cvt.u64.u32 size, n;
    shl.b64 size, size, 20;
    cvt.u64.u32 at, step;
    div.u64 size, size, at;
    cvt.u32.u64 turns, size;
    div.u32 turns, turns, {loads};
    max.u32 turns, turns, 1;
    mov.b32 sum, 0;
    bar.sync 0;
{nanoseconds("g0")}
{clock("t0")}
{repeated(chr(10).join(lines), "turns")}
    setp.eq.u32 odd, sum, 123456;
    @odd st.global.u32 [out], sum;
    bar.sync 0;
{clock("t1")}
{nanoseconds("g1")}
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
{store("cta", "t0", "t1", "g0", "g1")}
OVER:""",
        threads=1024,
    )


@benchmark("global.bandwidth")
def bandwidth(machine: Machine) -> Iterator[Measurement]:
    """The whole chip reads and copies 1 GiB of DRAM: bytes per second, and per SM cycle."""
    data = machine.buffer("matrix", _BIG)
    other = machine.buffer("copy", _BIG)
    ctas = 2 * machine.sms
    for writes in (False, True):
        made = sweep(4, writes)
        step = ctas << 14
        size = (_BIG // step // 4) * 4 * step * (2 if writes else 1)
        rates: list[float] = []
        seconds: list[float] = []
        for _ in range(9):
            machine.flush_l2()
            words = machine.run(made, 4 * ctas, n=1024, grid=ctas, a=data, b=other)
            time = max(words[3::4]) - min(words[2::4])
            rates.append(size / max(words[at + 1] - words[at] for at in range(0, len(words), 4)))
            seconds.append(size / time * 1e9)
        at: dict[str, int | str] = {"source": "DRAM", "op": "copy" if writes else "read"}
        yield measured("global.chip_rate", rates[2:], "bytes/cycle", **at)
        yield measured("global.chip_bytes", seconds[2:], "bytes/s", **at)


@benchmark("global.l2_bandwidth")
def l2_bandwidth(machine: Machine) -> Iterator[Measurement]:
    """The whole chip reads the same bytes over and over, each SM its own: by how many there are in all."""
    data = machine.buffer("matrix", _BIG)
    made = reader(4)
    threads = 512
    for kibibytes in (32, 64, 128, 256, 512, 1024):
        rates: list[float] = []
        turns = 4000
        for _ in range(4):
            both: list[int] = []
            for count in (turns // 8, turns):
                words = machine.run(
                    made,
                    2 * 16 * machine.sms,
                    n=count,
                    grid=machine.sms,
                    threads=threads,
                    a=data,
                    b=(kibibytes << 10) - 1,
                )
                both.append(max(spans(words, threads // 32)))
            took = max(1, both[1] - both[0])
            rates.append(64 * threads * (turns - turns // 8) * machine.sms / took)
        yield measured(
            "global.chip_rate", rates[1:], "bytes/cycle", source="L2", op="read", kibibytes=kibibytes * machine.sms
        )
