"""What one warp group loses while another uses the same SM."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from tlxviz.calibrate.alu import DECLARED as ALU_DECLARED
from tlxviz.calibrate.alu import USED as ALU_USED
from tlxviz.calibrate.alu import code, instruction_of
from tlxviz.calibrate.kernel import Kernel, clock, kernel, nanoseconds, repeated, store, timed
from tlxviz.calibrate.lab import Machine, benchmark
from tlxviz.calibrate.results import Measurement, measured
from tlxviz.calibrate.tma import matrix, ring
from tlxviz.calibrate.wgmma import RANDOM, declared, filled, instruction, used
from tlxviz.calibrate.wgmma import SHARED as PRODUCT_SHARED

_A, _B = 0x3F8CCCCD, 0x3E99999A


def _products(n: int, count: int, registers: bool) -> str:
    body = ["    wgmma.fence.sync.aligned;"]
    body += [instruction("f16", n, number, registers=registers) for number in range(4)]
    body += ["    wgmma.commit_group.sync.aligned;", "    wgmma.wait_group.sync.aligned 1;"]
    return repeated("\n".join(body), f"turns{count}") + "\n    wgmma.wait_group.sync.aligned 0;"


def _arithmetic(name: str, steps: int, chains: int = 8) -> str:
    each = instruction_of(name)
    return "\n".join(code(each, chains, number % chains) for number in range(steps))


def _accesses(text: str, steps: int) -> str:
    return "\n".join("    " + text.format(offset=2048 * (number % 8)) for number in range(steps))


OTHERS: dict[str, tuple[str, int]] = {
    "fma.f32": (_arithmetic("fma.f32", 256), 256),
    "fma.f32, 2 chains": (_arithmetic("fma.f32", 128, 2), 128),
    "fma.f32, 1 chain": (_arithmetic("fma.f32", 64, 1), 64),
    "add.f32": (_arithmetic("add.f32", 256), 256),
    "mul.f32": (_arithmetic("mul.f32", 256), 256),
    "fma.f16x2": (_arithmetic("fma.f16x2", 256), 256),
    "add.s32": (_arithmetic("add.s32", 256), 256),
    "lop3": (_arithmetic("lop3", 128), 128),
    "max.f32": (_arithmetic("max.f32", 64), 128),
    "select.f32": (_arithmetic("select.f32", 64), 128),
    "f32_to_f16x2": (_arithmetic("f32_to_f16x2", 128), 128),
    "ex2.f32": (_arithmetic("ex2.f32", 64), 64),
    "shuffle": (_arithmetic("shuffle", 64), 64),
    "st.shared.v4": (_accesses("st.volatile.shared.v4.b32 [far+{offset}], {{x, y, x, y}};", 32), 32),
    "stmatrix.x4": (_accesses("stmatrix.sync.aligned.m8n8.x4.shared.b16 [far+{offset}], {{x, y, x, y}};", 32), 32),
}
"""Name to a turn of a loop, and the instructions that it has."""


def beside(n: int, registers: bool, other: str) -> Kernel:
    """Warp group 0 multiplies `n` turns, warp group 1 does something else for `pa` turns (upper half: of `pa`)."""
    body, _ = OTHERS[other]
    return kernel(
        f"beside_{other}_{n}_{'rs' if registers else 'ss'}",
        declared("f16", n)
        + filled()
        + ALU_DECLARED.replace("cvt.u32.u64 x, pa;", f"mov.b32 x, {_A};").replace(
            "cvt.u32.u64 y, pb;", f"mov.b32 y, {_B};"
        )
        + f"""
    .reg .b32 far, turns0, turns1;
    add.u32 far, base, {PRODUCT_SHARED};
    mad.lo.u32 far, tid, 16, far;
    sub.u32 far, far, 2048;
    mov.b32 turns0, n;
    cvt.u32.u64 turns1, pa;
"""
        + timed(
            f"""
    .reg .pred multiplies;
    setp.lt.u32 multiplies, warp, 4;
    @!multiplies bra OTHER;
{_products(n, 0, registers)}
    bra DONE;
OTHER:
{repeated(body, "turns1")}
DONE:""",
            after=used("f16", n) + ALU_USED,
        ),
        threads=256,
        shared=PRODUCT_SHARED + 32768,
    )


def _turn(machine: Machine, made: Kernel, group: int, rough: tuple[float, float], *, products: int = 0) -> list[float]:
    """Cycles of a turn of one warp group, while the other does not end before it; or has `products` turns."""
    found: list[float] = []
    low, high = 16, 80
    other = 1 - group
    factor = max(1.0, rough[group] / max(1.0, rough[other]))
    for _ in range(6):
        both: list[int] = []
        for turns in (low, high):
            more = int(turns * factor * 3) + 64
            counts = (turns, more) if group == 0 else (products or more, turns)
            words = machine.run(made, 16, n=counts[0], a=counts[1], threads=256)
            first = 8 * group
            both.append(max(words[first + 1 : first + 8 : 2]) - min(words[first : first + 8 : 2]))
        found.append(max(1.0, both[1] - both[0]) / (high - low))
    return found[1:]


@benchmark("overlap.products")
def products(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a product, and of what each warp of another warp group does, alone and beside each other."""
    for other, (_, count) in OTHERS.items():
        made = beside(256, False, other)
        alone = _turn(machine, made, 1, (1.0, 600.0), products=1)
        yield measured("overlap.alone", [turn / count for turn in alone], other=other)
    for n, registers in ((256, False), (128, False), (64, False), (128, True)):
        for other, (_, count) in OTHERS.items():
            made = beside(n, registers, other)
            at: dict[str, int | str] = {"n": n, "a": "registers" if registers else "shared", "other": other}
            rough = (2.0 * n, 600.0)
            yield measured("overlap.product", [turn / 4 for turn in _turn(machine, made, 0, rough)], **at)
            yield measured("overlap.other", [turn / count for turn in _turn(machine, made, 1, rough)], **at)


def beside_loads(n: int, rows: int, stages: int) -> Kernel:
    """Warp group 0 multiplies `n` turns; warp 4 loads `pa` boxes into a ring."""
    return kernel(
        f"beside_loads_{n}_{rows}_{stages}",
        declared("f16", n)
        + filled()
        + f"""
    .reg .b32 turns0, turns1, area;
    mov.b32 turns0, n;
    cvt.u32.u64 turns1, pa;
    add.u32 area, base, {PRODUCT_SHARED};
"""
        + timed(
            f"""
    .reg .pred multiplies;
    setp.lt.u32 multiplies, warp, 4;
    @!multiplies bra OTHER;
{_products(n, 0, False)}
    bra DONE;
OTHER:
{ring(rows, stages, "area", "turns1", str(rows), "3")}
DONE:""",
            before=f"""
{{
    .reg .pred others;
    setp.ne.u32 others, tid, 0;
    @others bra READY;
{chr(10).join(f"    mbarrier.init.shared::cta.b64 [area+{8 * slot}], 1;" for slot in range(stages))}
    fence.mbarrier_init.release.cluster;
READY:
}}""",
            after=used("f16", n),
        ),
        threads=160,
        shared=PRODUCT_SHARED + 1024 + stages * rows * 128,
    )


@benchmark("overlap.loads")
def loads(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a product and of a TMA load of 16 KiB on every SM, beside each other."""
    for n in (64, 128, 256):
        made = beside_loads(n, 128, 8)
        tensor = matrix(machine, 128)
        found: list[list[float]] = [[], []]
        for group in (0, 1):
            for _ in range(5):
                both: list[float] = []
                for turns in (32, 160):
                    counts = (turns, 8 * turns) if group == 0 else (8 * turns, turns)
                    words = machine.run(
                        made, 10 * machine.sms, n=counts[0], a=counts[1], grid=machine.sms, tensor_map=tensor
                    )
                    spans: list[int] = []
                    for at in range(0, len(words), 10):
                        part = words[at : at + 8] if group == 0 else words[at + 8 : at + 10]
                        spans.append(max(part[1::2]) - min(part[0::2]))
                    both.append(statistics.median(spans))
                found[group].append(max(1.0, both[1] - both[0]) / 128)
        yield measured("overlap.product", [turn / 4 for turn in found[0]], n=n, a="shared", other="TMA loads")
        yield measured("overlap.load_rate", [16384 / turn for turn in found[1]], "bytes/cycle/SM", n=n)


def hot_loads(n: int) -> Kernel:
    """As `beside_loads`; words of a CTA: clocks and nanoseconds of warp 4."""
    stages = 8
    return kernel(
        f"hot_loads_{n}",
        declared("f16", n)
        + filled()
        + f"""
    .reg .b32 turns0, turns1, area;
    .reg .b64 t0, t1, g0, g1;
    .reg .pred multiplies, others, follower;
    mov.b32 turns0, n;
    cvt.u32.u64 turns1, pa;
    add.u32 area, base, {PRODUCT_SHARED};
    setp.ne.u32 others, tid, 0;
    @others bra READY;
{chr(10).join(f"    mbarrier.init.shared::cta.b64 [area+{8 * slot}], 1;" for slot in range(stages))}
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
    setp.lt.u32 multiplies, warp, 4;
    @!multiplies bra OTHER;
{_products(n, 0, False)}
{used("f16", n)}
    bra DONE;
OTHER:
{nanoseconds("g0")}
{clock("t0")}
{ring(128, stages, "area", "turns1", "128", "3")}
{clock("t1")}
{nanoseconds("g1")}
    setp.ne.u32 follower, lane, 0;
    @follower bra DONE;
{store("cta", "t0", "t1", "g0", "g1")}
DONE:""",
        threads=160,
        shared=PRODUCT_SHARED + 1024 + stages * 16384,
    )


@benchmark("overlap.hot")
def hot(machine: Machine) -> Iterator[Measurement]:
    """TMA loads from L2 by every SM: alone, and beside products of random numbers, which lower the SM clock."""
    tensor = matrix(machine, 128)
    made = hot_loads(256)
    turns = 100_000
    for beside in (0, 1):
        rates: list[float] = []
        times: list[float] = []
        clocks: list[float] = []
        for _ in range(10):
            # a product takes 512 cycles a turn, and a load about 450
            words = machine.run(
                made,
                4 * machine.sms,
                n=turns * 11 // 10 if beside else 1,
                a=turns,
                b=RANDOM if beside else 0,
                grid=machine.sms,
                tensor_map=tensor,
            )
            cycles = statistics.median(words[at + 1] - words[at] for at in range(0, len(words), 4))
            time = statistics.median(words[at + 3] - words[at + 2] for at in range(0, len(words), 4))
            rates.append(16384 * turns / cycles)
            times.append(16384 * turns / time * machine.sms * 1e9)
            clocks.append(1000 * cycles / time)
        at: dict[str, int | str] = {"products": beside}
        yield measured("overlap.hot_rate", rates[3:], "bytes/cycle/SM", **at)
        yield measured("overlap.hot_bytes", times[3:], "bytes/s", **at)
        yield measured("overlap.hot_clock", clocks[3:], "MHz", **at)
