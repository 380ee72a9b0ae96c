"""Loads of every SM where several SMs want the same bytes at about the same time, as the CTAs of a grid do."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import ELECTED, Kernel, kernel, repeated, timed, wait
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured
from tlxviz.calibrate.tma import ROWS, matrix

_BIG = 1 << 30
_THREADS = 256
_TILE = 16384
"""Bytes that a CTA wants a turn: four times 16 of each thread."""

_ADDRESS = """
    .reg .b64 mine, at, upper;
    .reg .b32 offset, mask, step, whole, who, sharing, v<32>, sum, to;
    cvt.u32.u64 mask, pb;
    shr.u64 upper, pb, 32;
    cvt.u32.u64 sharing, upper;
    div.u32 who, cta, sharing;
    add.u32 whole, mask, 1;
    mad.wide.u32 mine, who, whole, pa;
    shl.b32 offset, tid, 4;
    mov.u32 step, %ntid.x;
    shl.b32 step, step, 4;
    mov.b32 sum, 0;
"""
"""`pb`: a mask of bytes, and in its upper half how many neighbouring CTAs read the same."""


def tile_loads(copies: bool, depth: int, fit: int) -> Kernel:
    """A turn reads one tile, waits for it (or for the one `depth` - 1 turns ago) and meets; `fit` CTAs fit an SM."""
    lines: list[str] = ["    shl.b32 to, tid, 4;", "    add.u32 to, to, base;"]
    for number in range(4):
        four = ", ".join(f"v{4 * number + each}" for each in range(4))
        lines += ["    cvt.u64.u32 at, offset;", "    add.u64 at, at, mine;"]
        if copies:
            lines += ["    cp.async.cg.shared.global [to], [at], 16;", "    add.u32 to, to, step;"]
        else:
            lines.append(f"    ld.global.v4.b32 {{{four}}}, [at];")
        lines += ["    add.u32 offset, offset, step;", "    and.b32 offset, offset, mask;"]
    if copies:
        lines += ["    cp.async.commit_group;", f"    cp.async.wait_group {depth - 1};"]
    else:
        lines += [f"    lop3.b32 sum, v{2 * each}, v{2 * each + 1}, sum, 0x96;" for each in range(8)]
    lines.append("    bar.sync 1;")
    after = "{ .reg .pred odd; setp.eq.u32 odd, sum, 123456; @odd st.global.u32 [out], sum; }"
    return kernel(
        f"tile_loads_{'cp' if copies else 'ld'}_{depth}_{fit}",
        timed(repeated("\n".join(lines)), before=_ADDRESS, after=after),
        threads=_THREADS,
        shared=(200 << 10) // fit,
    )


@benchmark("sharing.loads")
def loads(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a tile of 16 KiB: by plain loads or cp.async, by SMs that want the same tile, from L2 and DRAM."""
    data = machine.buffer("matrix", _BIG)
    for op, depth in (("ld", 1), ("cp.async", 1), ("cp.async", 3)):
        for fit in (1, 2):
            made = tile_loads(op == "cp.async", depth, fit)
            for sms in (16, machine.sms):
                for sharing in (1, 8, 16):
                    for source in ("L2", "DRAM"):
                        groups = -(-sms * fit // sharing)
                        mask = (1 << 17) - 1 if source == "L2" else (1 << (_BIG // groups).bit_length() - 1) - 1
                        mask = min(mask, (1 << 22) - 1)
                        turns = per_turn(
                            machine,
                            made,
                            threads=_THREADS,
                            grid=sms * fit,
                            a=data,
                            b=mask | sharing << 32,
                            turns=(16, 64) if source == "L2" else (16, 128),
                            repeats=4,
                            before=machine.flush_l2 if source == "DRAM" else None,
                        )
                        yield measured(
                            "sharing.tile",
                            turns,
                            op=op,
                            depth=depth,
                            fit=fit,
                            sms="all" if sms == machine.sms else sms,
                            sharing=sharing,
                            source=source,
                        )


def bursts(boxes: int) -> Kernel:
    """A turn copies `boxes` boxes of 16 KiB and waits for them all; groups of CTAs want the same, along rows."""
    size = _TILE
    issue: list[str] = []
    for number in range(boxes):
        issue += [
            f"    mad.lo.u32 tile, turn, {boxes}, {number};",
            "    and.b32 tile, tile, mask;",
            "    and.b32 x, tile, 127;",
            "    shl.b32 x, x, 6;",
            "    shr.u32 y, tile, 7;",
            "    mul.lo.u32 y, y, 128;",
            "    mad.lo.u32 y, who, stride, y;",
            f"    add.u32 to, base, {1024 + number * size};",
            (
                "    @elected cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                "[to], [map, {x, y}], [base];"
            ),
        ]
    body = f"""
    and.b32 parity, turn, 1;
    @elected mbarrier.arrive.expect_tx.shared::cta.b64 _, [base], {size * boxes};
{chr(10).join(issue)}
{wait("base", "parity")}"""
    return kernel(
        f"tma_bursts_{boxes}",
        timed(
            f"""
    .reg .b64 upper;
    .reg .b32 mask, stride, who, sharing, parity, tile, x, y, to;
    cvt.u32.u64 stride, pa;
    shr.u64 upper, pa, 32;
    cvt.u32.u64 sharing, upper;
    div.u32 who, cta, sharing;
    cvt.u32.u64 mask, pb;
{ELECTED}
{repeated(body)}""",
            before="""
{
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra READY;
    prefetch.tensormap [map];
    mbarrier.init.shared::cta.b64 [base], 1;
    fence.mbarrier_init.release.cluster;
READY:
}""",
        ),
        threads=32,
        shared=1024 + boxes * size,
    )


@benchmark("sharing.bursts")
def tma_bursts(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a burst of TMA loads of 16 KiB each, by SMs that want the same at about the same time."""
    tensor = matrix(machine, 128)
    for boxes in (1, 3, 6):
        made = bursts(boxes)
        for sms in (1, 16, machine.sms):
            for sharing in (1, 8, 16):
                if sharing > sms:
                    continue
                for source in ("L2", "DRAM"):
                    groups = -(-sms // sharing)
                    rows = ROWS // groups // 128 * 128
                    most = rows // 128 * 128 // boxes
                    turns = per_turn(
                        machine,
                        made,
                        threads=32,
                        grid=sms,
                        a=(128 if source == "L2" else rows) | sharing << 32,
                        b=15 if source == "L2" else (1 << 32) - 1,
                        tensor_map=tensor,
                        turns=(16, 64) if source == "L2" else (min(16, most // 4), min(128, most)),
                        repeats=4,
                        before=machine.flush_l2 if source == "DRAM" else None,
                    )
                    yield measured(
                        "sharing.burst",
                        turns,
                        boxes=boxes,
                        sms="all" if sms == machine.sms else sms,
                        sharing=sharing,
                        source=source,
                    )
