"""From what was measured to the figures of a data file: a function per figure, made known by `@figure`.

Each says how it follows. Where a figure of the simulator is a part of what can be measured (a latency without the issue
before it and the wake-up after it), the other parts are taken off, so that their sum is what was measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from tlxviz.calibrate.results import Calibration, Measurement, slope
from tlxviz.devices.file import UNITS


@dataclass(frozen=True, slots=True)
class Figure:
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule makes of measurements."""

    value: float
    how: str
    """What was measured, for the figure's source."""
    behind: tuple[Measurement, ...] = ()
    """Measurements whose spread is the figure's; none where the driver was asked."""


Rule = Callable[[Calibration], Finding | None]

_RULES: dict[str, Rule] = {}
_WHOLE = {"tensor_core.queue", "memory.l2_resident_bytes", "memory.l2_bytes", "memory.capacity_bytes", "limits.sms"}


def figure(name: str) -> Callable[[Rule], Rule]:
    """Makes known how a figure such as `tma.issue_cycles` follows; the rule gives None where something is missing."""

    def register(rule: Rule) -> Rule:
        if name in _RULES:
            raise ValueError(f"two rules for {name}")
        _RULES[name] = rule
        return rule

    return register


def ruled() -> list[str]:
    """The figures that can be measured."""
    return list(_RULES)


def figures(found: Calibration) -> dict[str, Figure]:
    """Figures by name, with sources that name the tool, the date, the driver, the SM clock and the spread.

    Rates of L2 need the clock that the data file counts cycles at, `found.sustained_mhz`.
    """
    made: dict[str, Figure] = {}
    for name, rule in _RULES.items():
        finding = rule(found)
        if finding is None or finding.value < 0:
            continue
        value = round(finding.value) if name in _WHOLE or _is_time(name) else _rounded(finding.value)
        made[name] = Figure(value, _source(found, finding))
    return made


def _is_time(name: str) -> bool:
    """Whether a figure is a number of cycles, of which the simulator takes whole ones."""
    return name not in UNITS and not name.endswith(("_per_column", "_per_warp"))


def _rounded(value: float) -> float:
    """Four digits, which is more than repeats agree in."""
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def _source(found: Calibration, finding: Finding) -> str:
    where = [f"tlxviz calibrate, {found.device.get('date', 'no date')}"]
    if found.device.get("driver"):
        where.append(f"driver {found.device['driver']}")
    if not finding.behind:
        return f"{', '.join(where)}: {finding.how}"
    clock = found.find("clock.mhz")
    if clock is not None:
        where.append(f"{clock.median:.0f} MHz")
    spread = max((_spread(each) for each in finding.behind), default=0.0)
    return f"measured: {', '.join(where)}: {finding.how}; spread {100 * spread:.1f} %"


def _spread(each: Measurement) -> float:
    """Half of what eight of ten repeats differ by, as a share."""
    return (each.high - each.low) / 2 / each.median if each.median else 0.0


def _only(found: Calibration, how: str, law: str, less: float = 0.0, /, **at: int | str) -> Finding | None:
    """A figure that is a measurement, less `less`."""
    each = found.find(law, **at)
    return None if each is None else Finding(each.median - less, how, (each,))


def _median(found: Calibration, law: str, /, **at: int | str) -> float | None:
    each = found.find(law, **at)
    return None if each is None else each.median


def _clock_read(found: Calibration) -> float:
    return _median(found, "clock.read") or 0.0


# ---------------------------------------------------------------------- what the driver says


@figure("limits.sms")
def _sms(found: Calibration) -> Finding | None:
    sms = found.device.get("sms")
    return None if not sms else Finding(sms, "CUDA driver, multiprocessors")


@figure("clock.boost_mhz")
def _boost(found: Calibration) -> Finding | None:
    khz = found.device.get("boost_khz")
    return None if not khz else Finding(khz / 1000, "CUDA driver, clock rate")


@figure("memory.capacity_bytes")
def _capacity(found: Calibration) -> Finding | None:
    size = found.device.get("capacity_bytes")
    return None if not size else Finding(size, "CUDA driver, total memory")


@figure("memory.l2_bytes")
def _l2(found: Calibration) -> Finding | None:
    size = found.device.get("l2_bytes")
    return None if not size else Finding(size, "CUDA driver, L2 cache size")


# ---------------------------------------------------------------------- tensor cores


def _tensor_rate(kind: str, k: int) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        each = found.find("wgmma.interval", type=kind, a="shared", n=256, groups=1)
        if each is None:
            return None
        return Finding(
            2 * 64 * 256 * k / each.median, f"m64n256k{k} follow each other in {each.median:.4g} cycles", (each,)
        )

    return rule


for _name, _kind, _k in (
    ("tf32", "tf32", 8),
    ("fp16", "f16", 16),
    ("bf16", "bf16", 16),
    ("fp8", "e4m3", 32),
    ("int8", "s8", 32),
):
    figure(f"tensor_core.{_name}")(_tensor_rate(_kind, _k))


def _product(found: Calibration, law: str, n: int, count: int) -> Measurement | None:
    return found.find(law, type="f16", a="shared", n=n, count=count, groups=1)


@figure("tensor_core.issue_cycles")
def _product_issue(found: Calibration) -> Finding | None:
    each = _product(found, "wgmma.issue", 64, 1)
    if each is None:
        return None
    return Finding(each.median - _clock_read(found), "fence, one m64n64k16 and commit, until the warp goes on", (each,))


@figure("tensor_core.completion_cycles")
def _completion(found: Calibration) -> Finding | None:
    """What a product takes beyond its instructions, less what its issue and the wait are charged."""
    behind: list[Measurement] = []
    beyond: list[float] = []
    for n in (64, 128, 256):
        one, interval = (
            _product(found, "wgmma.completion", n, 1),
            found.find("wgmma.interval", type="f16", a="shared", n=n, groups=1),
        )
        if one is None or interval is None:
            return None
        behind.append(one)
        beyond.append(one.median - interval.median - _clock_read(found))
    issue, wait = _product_issue(found), _product_wait(found)
    if issue is None or wait is None:
        return None
    total = statistics.median(beyond)
    return Finding(
        total - issue.value - wait.value,
        f"one m64nNk16 takes {total:.0f} cycles beyond the tensor core's; {issue.value:.0f} are its issue's",
        tuple(behind),
    )


@figure("tensor_core.wait_cycles")
def _product_wait(found: Calibration) -> Finding | None:
    return _only(found, "wgmma.wait_group with nothing in flight", "wgmma.bookkeeping", what="wait")


@figure("tensor_core.issue_cycles_per_column")
def _further_issue(found: Calibration) -> Finding | None:
    one, four = _product(found, "wgmma.issue", 256, 1), _product(found, "wgmma.issue", 256, 4)
    if one is None or four is None:
        return None
    more = four.median - one.median
    return Finding(more / 3 / 256, f"four m64n256k16 take {more:.0f} cycles longer to issue than one", (one, four))


def _narrow(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """(base, cycles per column) of instructions that take longer than their work."""
    points = [found.find("wgmma.interval", type="f16", a="shared", n=n, groups=1) for n in (8, 16, 32)]
    known = [each for each in points if each is not None]
    if len(known) < 2:
        return None
    base, per = slope([int(each.at["n"]) for each in known], [each.median for each in known])
    return base, per, tuple(known)


@figure("tensor_core.narrow_cycles")
def _narrow_base(found: Calibration) -> Finding | None:
    law = _narrow(found)
    return None if law is None else Finding(law[0], "m64nNk16 of N = 8 to 32, base + per column * N", law[2])


@figure("tensor_core.narrow_cycles_per_column")
def _narrow_per_column(found: Calibration) -> Finding | None:
    law = _narrow(found)
    return None if law is None else Finding(law[1], "m64nNk16 of N = 8 to 32, base + per column * N", law[2])


@figure("tensor_core.narrow_register_cycles")
def _narrow_register(found: Calibration) -> Finding | None:
    return _only(found, "m64n8k16 with A in registers", "wgmma.interval", type="f16", a="registers", n=8, groups=1)


@figure("tensor_core.mma_sync_fraction")
def _mma_sync(found: Calibration) -> Finding | None:
    best = max(found.law("wgmma.mma_sync"), key=lambda each: each.median, default=None)
    full = _tensor_rate("f16", 16)(found)
    if best is None or full is None:
        return None
    return Finding(best.median / full.value, f"m16n8k16 of fp16, {best.at['warps']} warps, against wgmma", (best,))


@figure("tensor_core.register_cycles")
def _registers(found: Calibration) -> Finding | None:
    shared = found.find("wgmma.completion", type="f16", a="shared", n=128, count=4, groups=1)
    registers = found.find("wgmma.completion", type="f16", a="registers", n=128, count=4, groups=1)
    if shared is None or registers is None:
        return None
    return Finding(registers.median - shared.median, "four m64n128k16 with A in registers and without", (registers,))


@figure("tensor_core.taken_by_fp32")
def _taken(found: Calibration) -> Finding | None:
    product = found.find("overlap.product", n=128, a="shared", other="fma.f32")
    other = found.find("overlap.other", n=128, a="shared", other="fma.f32")
    alone = found.find("wgmma.interval", type="f16", a="shared", n=128, groups=1)
    if product is None or other is None or alone is None:
        return None
    taken = (product.median - alone.median) * other.median / product.median
    how = f"m64n128k16 take {product.median:.0f} cycles beside multiply-adds every {other.median:.2f} cycles"
    return Finding(taken, f"{how}, {alone.median:.0f} alone", (product,))


@figure("tensor_core.queue")
def _queue(found: Calibration) -> Finding | None:
    """What is left to be done when the second of two warp groups has issued its last of eight."""
    interval = found.find("wgmma.interval", type="f16", a="shared", n=64, groups=1)
    issue = found.find("wgmma.issue", type="f16", a="shared", n=64, count=8, groups=2)
    done = found.find("wgmma.completion", type="f16", a="shared", n=64, count=8, groups=2)
    if interval is None or issue is None or done is None:
        return None
    left = (done.median - issue.high) / interval.median
    return Finding(
        left, f"two warp groups issue eight m64n64k16 each: {left:.1f} are left when all are issued", (done,)
    )


# ---------------------------------------------------------------------- barriers


@figure("sync.mbarrier_arrive")
def _arrive(found: Calibration) -> Finding | None:
    return _only(found, "arrivals of one thread, one after the other", "mbarrier.issue", op="arrive", warps=1)


@figure("sync.mbarrier_expect")
def _expect(found: Calibration) -> Finding | None:
    return _only(
        found,
        "clock reads around an arrival with expected bytes, before a copy",
        "tma.expect",
        _clock_read(found),
        rows=128,
        boxes=1,
        **{"from": "L2"},
    )


@figure("sync.mbarrier_try_wait")
def _try_wait(found: Calibration) -> Finding | None:
    return _only(
        found,
        "wait of four warps for a phase that is complete",
        "mbarrier.single",
        _clock_read(found),
        op="try_wait",
        warps=4,
    )


@figure("sync.mbarrier_wake")
def _wake(found: Calibration) -> Finding | None:
    """One way from a thread to four warps, less the arrival's issue."""
    each = found.find("mbarrier.hand_off", waiters=4, arriver="thread", after=1000)
    arrive = _arrive(found)
    if each is None or arrive is None:
        return None
    return Finding(
        each.median - arrive.value,
        f"{each.median:.0f} cycles from before an arrival to the last of four waiting warps, less the arrival's issue",
        (each,),
    )


@figure("sync.named_barrier")
def _named(found: Calibration) -> Finding | None:
    """One way from the last arrival: half of a round trip, less the arrival's issue."""
    each = found.find("named_barrier.ping_pong")
    arrive = _named_arrive(found)
    if each is None or arrive is None:
        return None
    return Finding(
        each.median / 2 - arrive.value,
        "half a round trip of two warp groups by bar.arrive and bar.sync of 256 threads, less the arrival's issue",
        (each,),
    )


@figure("sync.named_arrive")
def _named_arrive(found: Calibration) -> Finding | None:
    return _only(found, "clock reads around bar.arrive", "named_barrier.arrive", _clock_read(found), after=1000)


def _meetings(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    points = [each for each in found.law("named_barrier.meeting") if int(each.at["threads"]) >= 64]
    if len(points) < 2:
        return None
    base, per = slope([int(each.at["threads"]) / 32 for each in points], [each.median for each in points])
    return base, per, tuple(points)


@figure("sync.block_barrier_base")
def _meeting_base(found: Calibration) -> Finding | None:
    law = _meetings(found)
    if law is None:
        return None
    return Finding(law[0], "bar.sync of 2 to 32 warps in a loop, base + per warp * warps", law[2])


@figure("sync.block_barrier_per_warp")
def _meeting_per_warp(found: Calibration) -> Finding | None:
    law = _meetings(found)
    if law is None:
        return None
    return Finding(law[1], "bar.sync of 2 to 32 warps in a loop, base + per warp * warps", law[2])


@figure("sync.fence_async_shared")
def _fence_async(found: Calibration) -> Finding | None:
    """After the stores of a tile, which is where kernels have it: it waits for them."""
    both = found.find("shared.fence", what="stores+fence+meeting", warps=4)
    bare = found.find("shared.fence", what="stores+meeting", warps=4)
    if both is None or bare is None:
        return None
    return Finding(
        both.median - bare.median,
        "fence.proxy.async between eight stores of 16 bytes a thread and a bar.sync",
        (both, bare),
    )


@figure("sync.fence_gpu")
def _fence_gpu(found: Calibration) -> Finding | None:
    return _only(found, "fence.acq_rel.gpu of four warps in a loop", "shared.fence", what="fence.gpu", warps=4)


# ---------------------------------------------------------------------- TMA


@figure("tma.issue_cycles")
def _copy_issue(found: Calibration) -> Finding | None:
    return _only(
        found,
        "clock reads around one copy of 64 x 128 fp16",
        "tma.issue",
        _clock_read(found),
        rows=128,
        boxes=1,
        **{"from": "L2"},
    )


@figure("tma.box_cycles")
def _box(found: Calibration) -> Finding | None:
    one = found.find("tma.issue", rows=64, boxes=1, **{"from": "L2"})
    four = found.find("tma.issue", rows=64, boxes=4, **{"from": "L2"})
    if one is None or four is None:
        return None
    return Finding((four.median - one.median) / 3, "four copies of 64 x 64 fp16 one after the other, and one", (four,))


@figure("tma.bytes_per_cycle")
def _copy_rate(found: Calibration) -> Finding | None:
    return _only(
        found,
        "one SM alone loads boxes of 16 KiB from L2, four in flight",
        "tma.rate",
        rows=128,
        stages=4,
        sms="one",
        tiles="own",
    )


def _by_rows(points: list[Measurement]) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """(cycles without any bytes, bytes per further cycle) of boxes of 64 columns of fp16."""
    if len(points) < 2:
        return None
    base, per = slope([128 * int(each.at["rows"]) for each in points], [each.median for each in points])
    return (base, 1 / per, tuple(points)) if per > 0 else None


def _copy_latency(source: str) -> Rule:
    """What a load takes from before its issue to after the wait, less issue, transfer and wake-up."""

    def rule(found: Calibration) -> Finding | None:
        issue, wake, rate = _copy_issue(found), _wake(found), _copy_rate(found)
        points = [
            each
            for each in found.law("tma.latency")
            if each.at["from"] == source and int(each.at["rows"]) * int(each.at["boxes"]) >= 64
        ]
        if issue is None or wake is None or rate is None or not points:
            return None
        box = _box(found)
        beyond: list[float] = []
        for each in points:
            boxes = int(each.at["boxes"])
            transfer = 128 * int(each.at["rows"]) * boxes / rate.value
            more = (boxes - 1) * box.value if box is not None else 0.0
            beyond.append(each.median - issue.value - more - transfer - wake.value)
        return Finding(
            statistics.median(beyond),
            f"8 to 64 KB, from before the copies to after the wait, less issue, {rate.value:.0f} bytes a cycle, and "
            f"{wake.value:.0f} for the wake-up",
            tuple(points),
        )

    return rule


figure("tma.l2_latency_cycles")(_copy_latency("L2"))
figure("tma.dram_latency_cycles")(_copy_latency("DRAM"))


@figure("tma.store_latency_cycles")
def _store_latency(found: Calibration) -> Finding | None:
    law, issue = _stores(found), _copy_issue(found)
    if law is None or issue is None:
        return None
    base, rate, behind = law
    return Finding(
        base - issue.value,
        f"1 to 32 KB take {base:.0f} cycles and one per {rate:.0f} bytes until the source may be written",
        behind,
    )


@figure("tma.store_bytes_per_cycle")
def _store_rate(found: Calibration) -> Finding | None:
    """What L2 takes from all SMs at once; one alone gives away 32 bytes a cycle."""
    all_at_once = found.find("tma.store_rate", rows=128, depth=2, sms="all", tiles="own")
    alone = found.find("tma.store_rate", rows=128, depth=2, sms="one", tiles="own")
    measured, sustained = found.find("clock.mhz"), found.sustained_mhz
    if all_at_once is None or alone is None or measured is None or not sustained:
        return None
    return Finding(
        min(alone.median, all_at_once.median * measured.median / sustained),
        f"all SMs store to L2, {all_at_once.median:.3g} at {measured.median:.0f} MHz, in cycles at {sustained:.0f} MHz",
        (all_at_once,),
    )


def _stores(found: Calibration) -> tuple[float, float, tuple[Measurement, ...]] | None:
    """From before the issue of one box until its source may be written."""
    law = _by_rows(
        [each for each in found.law("tma.store_read") if each.at["kind"] == "store" and each.at["boxes"] == 1]
    )
    return None if law is None else (law[0] - _clock_read(found), *law[1:])


# ---------------------------------------------------------------------- memory


@figure("memory.hbm_bytes_per_second")
def _hbm(found: Calibration) -> Finding | None:
    return _only(found, "all SMs read 1 GiB", "global.chip_bytes", source="DRAM", op="read")


@figure("memory.hbm_write_bytes_per_second")
def _hbm_writes(found: Calibration) -> Finding | None:
    read = found.find("global.chip_bytes", source="DRAM", op="read")
    copy = found.find("global.chip_bytes", source="DRAM", op="copy")
    if read is None or copy is None:
        return None
    return Finding(1 / (2 / copy.median - 1 / read.median), "all SMs copy 1 GiB, less what reading takes", (copy,))


@figure("memory.l2_resident_bytes")
def _resident(found: Calibration) -> Finding | None:
    """As long as the rate is not that of DRAM."""
    points = [each for each in found.law("global.chip_rate") if each.at["source"] == "L2"]
    fast = [each for each in points if each.median > 0.8 * max(point.median for point in points)]
    if not fast:
        return None
    most = max(fast, key=lambda each: int(each.at["kibibytes"]))
    return Finding(1024 * int(most.at["kibibytes"]), "all SMs read the same bytes over and over, at L2's rate", (most,))


@figure("memory.l2_distinct_bytes_per_cycle")
def _distinct(found: Calibration) -> Finding | None:
    best = max(
        (each for each in found.law("global.chip_rate") if each.at["source"] == "L2"),
        key=lambda each: each.median,
        default=None,
    )
    return None if best is None else Finding(best.median, "all SMs read, each its own bytes", (best,))


@figure("memory.l2_bytes_per_cycle")
def _l2_rate(found: Calibration) -> Finding | None:
    each = found.find("tma.rate_shared", sharing=8)
    sms = _sms(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "all SMs load by TMA, eight neighbours the same tiles", (each,))


@figure("memory.load_bytes_per_cycle")
def _load_rate(found: Calibration) -> Finding | None:
    return _only(
        found,
        "one SM alone reads from L2, 1024 threads, eight loads of 16 bytes in flight",
        "global.rate",
        op="ld",
        loads=8,
        threads=1024,
        sms="one",
        source="L2",
    )


def _stored(found: Calibration, sms: str) -> Measurement | None:
    return found.find("global.rate", op="st", threads=512, sms=sms, source="L2")


@figure("memory.store_bytes_per_cycle")
def _store_path(found: Calibration) -> Finding | None:
    each = _stored(found, "one")
    return None if each is None else Finding(each.median, "one SM alone writes 16 bytes a thread", (each,))


@figure("memory.l2_store_bytes_per_cycle")
def _l2_stores(found: Calibration) -> Finding | None:
    each, sms = _stored(found, "all"), _sms(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "all SMs write 16 bytes a thread, each to its own 128 KiB", (each,))


@figure("memory.l2_load_bytes_per_cycle")
def _l2_loads(found: Calibration) -> Finding | None:
    """With as many threads as two CTAs of eight warps have."""
    each = found.find("global.rate", op="cp.async", loads=8, depth=4, threads=512, sms="all", source="L2")
    sms = _sms(found)
    if each is None or sms is None:
        return None
    return Finding(each.median * sms.value, "cp.async of all SMs, 512 threads, four groups under way", (each,))


@figure("memory.shared_beside_products")
def _shared_beside(found: Calibration) -> Finding | None:
    each = found.find("overlap.other", n=128, a="shared", other="st.shared.v4")
    if each is None:
        return None
    return Finding(2048 / each.median, "stores of 16 bytes a thread beside m64n128k16", (each,))


@figure("memory.l1_latency_cycles")
def _l1_latency(found: Calibration) -> Finding | None:
    return _only(found, "pointer chase", "global.latency", source="L1")


@figure("memory.l2_latency_cycles")
def _l2_latency(found: Calibration) -> Finding | None:
    return _only(found, "pointer chase through 16 MiB", "global.latency", source="L2, 16 MiB")


@figure("memory.dram_latency_cycles")
def _dram_latency(found: Calibration) -> Finding | None:
    """Each load is timed by itself here, which costs what the same costs for L2."""
    near, alone, chased = (
        found.find("global.latency", source=source) for source in ("DRAM, 64 MiB", "L2, one by one", "L2, 1 MiB")
    )
    if near is None or alone is None or chased is None:
        return None
    return Finding(
        near.median - (alone.median - chased.median), "pointer chase through 64 MiB that are not in L2", (near,)
    )


@figure("memory.shared_latency_cycles")
def _shared_latency(found: Calibration) -> Finding | None:
    return _only(found, "pointer chase", "shared.latency", op="ld.b32")


@figure("memory.shared_bytes_per_cycle")
def _shared_rate(found: Calibration) -> Finding | None:
    return _only(found, "loads of 16 bytes a thread, 8 warps", "shared.rate", op="ld.v4.b32", warps=8)


@figure("memory.atomic_cycles")
def _atomic(found: Calibration) -> Finding | None:
    return _only(
        found, "atomic additions of one thread that wait for each other", "global.atomic", op="atom, one thread"
    )


@figure("memory.cp_async_latency_cycles")
def _cp_async(found: Calibration) -> Finding | None:
    return _only(
        found, "copy of 16 bytes a thread, commit, wait, one warp, from L2", "global.cp_async_latency", source="L2"
    )


# ---------------------------------------------------------------------- arithmetic


def _alu_rate(op: str, how: str, warps: int = 8) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        return _only(found, how, "alu.rate", op=op, warps=warps)

    return rule


for _name, _op, _how in (
    ("fp32", "fma.f32", "multiply-adds, 8 warps"),
    ("fp64", "fma.f64", "multiply-adds, 8 warps"),
    ("int32", "mad.s32", "multiply-adds, 8 warps; logic has the same rate"),
    ("mufu", "ex2.f32", "ex2, 8 warps; the other functions have the same rate"),
    ("minmax", "max.f32", "FMNMX, 8 warps"),
    ("convert", "f32_to_f16x2", "f32 to packed f16, 8 warps; bf16 has the same rate"),
    ("shuffle", "shuffle", "shuffles, 8 warps"),
):
    figure(f"alu.{_name}")(_alu_rate(_op, _how))
figure("alu.fp16")(_alu_rate("fma.f16x2", "packed multiply-adds, 16 warps", warps=16))


@figure("alu.serial_fraction")
def _serial(found: Calibration) -> Finding | None:
    """Groups of one ex2 and so many multiply-adds, one warp on each scheduler."""
    alone = found.find("alu.mufu_and_fma", fmas=0, warps=4)
    both = [found.find("alu.mufu_and_fma", fmas=fmas, warps=4) for fmas in (4, 8, 12, 16)]
    points = [each for each in both if each is not None]
    if alone is None or not points:
        return None
    lost = [
        (each.median - max(alone.median, int(each.at["fmas"]))) / min(alone.median, int(each.at["fmas"]))
        for each in points
    ]
    share = statistics.fmean(lost)
    return Finding(share, "one warp a scheduler, an ex2 and 4 to 16 multiply-adds by turns", tuple(points))


def _beside(other: str) -> Rule:
    def rule(found: Calibration) -> Finding | None:
        each = found.find("overlap.other", n=128, a="shared", other=other)
        if each is None:
            return None
        return Finding(128 / each.median, f"{other} of one warp group beside m64n128k16 of another", (each,))

    return rule


figure("alu.fp32_beside_products")(_beside("fma.f32"))
figure("alu.compare_beside_products")(_beside("max.f32"))
figure("alu.mufu_beside_products")(_beside("ex2.f32"))


@figure("alu.compare")
def _compare(found: Calibration) -> Finding | None:
    each = found.find("alu.rate", op="select.f32", warps=16)
    if each is None:
        return None
    return Finding(2 * each.median, "a comparison and a selection that needs it, 16 warps", (each,))


@figure("alu.latency_cycles")
def _alu_latency(found: Calibration) -> Finding | None:
    return _only(found, "chain of FP32 multiply-adds", "alu.latency", op="fma.f32")


@figure("alu.mufu_latency_cycles")
def _mufu_latency(found: Calibration) -> Finding | None:
    return _only(found, "chain of ex2", "alu.latency", op="ex2.f32")


@figure("alu.shuffle_cycles")
def _shuffle(found: Calibration) -> Finding | None:
    return _only(found, "chain of shuffles", "alu.latency", op="shuffle")


# ---------------------------------------------------------------------- launches


@figure("launch.kernel_ns")
def _kernel(found: Calibration) -> Finding | None:
    each, clock = found.find("launch.boundary_cycles", threads=384, shared=204800), found.find("clock.mhz")
    if each is None or clock is None:
        return None
    how = "from the last clock of a kernel of a graph to the first of the next"
    return Finding(1000 * each.median / clock.median, how, (each,))


@figure("launch.next_cta_cycles")
def _next_cta(found: Calibration) -> Finding | None:
    sms, boost = _sms(found), _boost(found)
    if sms is None or boost is None:
        return None
    one, four = (found.find("launch.interval", threads=384, shared=0, grid=int(sms.value) * many) for many in (1, 4))
    if one is None or four is None:
        return None
    step = (four.median - one.median) * boost.value / 1000 / (3 * sms.value)
    return Finding(step, "empty kernels of one CTA an SM, and of four", (one, four))


@figure("launch.cta_cycles")
def _turnover(found: Calibration) -> Finding | None:
    return _only(
        found,
        "from the last clock of a CTA to the first of the next on its SM, one CTA of 384 threads an SM",
        "launch.turnover",
        threads=384,
        per_sm=1,
        after=8000,
    )


@figure("launch.warp_specialize_cycles")
def _partitions(found: Calibration) -> Finding | None:
    start = found.find("launch.partitions", what="start")
    read = found.find("named_barrier.single", op="read of shared memory", threads=128)
    registers = found.find("launch.setmaxnreg", what="take")
    if start is None or registers is None or read is None:
        return None
    return Finding(
        start.median - read.median + registers.median - _clock_read(found),
        "two meetings of 384 threads with captured values in shared memory, and setmaxnreg",
        (start, registers),
    )
