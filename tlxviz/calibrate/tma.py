"""TMA: what a copy of a tile costs to issue, when it arrives, and how many bytes an SM takes in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tlxviz.calibrate.kernel import ELECTED, SETTLED, Kernel, clock, kernel, repeated, store, timed, wait
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.mbarriers import initialised
from tlxviz.calibrate.results import Measurement, measured

ROWS, COLUMNS = 65536, 8192
"""Of the matrix of fp16 that is copied from: 1 GiB."""
_SMALL = 1024
"""Rows that stay in L2: 16 MiB."""
_WIDTH = 64
"""Columns of a box: 128 bytes, the width of the swizzle."""
_ROUNDS = 40


def matrix(machine: Machine, box_rows: int, *, width: int = _WIDTH) -> Any:
    address = machine.buffer("matrix", 2 * ROWS * COLUMNS)
    return machine.tensor_map(address, ROWS, COLUMNS, (box_rows, width))


def _load(to: str, x: str, y: str, barrier: str) -> str:
    return (
        "    @elected cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[{to}], [map, {{{x}, {y}}}], [{barrier}];"
    )


def latency_kernel(rows: int, boxes: int) -> Kernel:
    """Warp 0 expects and issues `boxes` boxes side by side; warps 4 to 7 wait. Words of a warp and round."""
    size = rows * 2 * _WIDTH
    copies = "\n".join(
        f"    add.u32 x, x0, {number * _WIDTH};\n    add.u32 to, base, {1024 + number * size};\n"
        + _load("to", "x", "y", "base")
        for number in range(boxes)
    )
    return kernel(
        f"tma_latency_{rows}_{boxes}",
        f"""
    .reg .b64 t0, t1, t2;
    .reg .b32 parity, to, x, x0, y, first_row;
    .reg .pred issues, waits, leader;
    setp.eq.u32 issues, warp, 0;
    setp.ge.u32 waits, warp, 4;
    setp.eq.u32 leader, lane, 0;
    cvt.u32.u64 first_row, pa;
    mov.b64 t0, 0;
    mov.b64 t1, 0;
    mov.b64 t2, 0;
    prefetch.tensormap [map];
{initialised(1, 1)}
{ELECTED}
{
            repeated(f'''
    bar.sync 0;
{SETTLED}
    and.b32 parity, turn, 1;
    cvt.u32.u64 y, pb;
    mad.lo.u32 y, turn, y, first_row;
    and.b32 y, y, {ROWS - 1};
    mul.lo.u32 x0, turn, {boxes * _WIDTH};
    and.b32 x0, x0, {COLUMNS // 2 - 1};
    @waits bra WAIT;
    @!issues bra DONE;
{clock("t0")}
    @elected mbarrier.arrive.expect_tx.shared::cta.b64 _, [base], {size * boxes};
{clock("t1")}
{copies}
{clock("t2")}
    bra DONE;
WAIT:
{wait("base", "parity")}
{clock("t0")}
DONE:
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, 8, warp;
    @!leader bra SKIP;
{store("place", "t0", "t1", "t2")}
SKIP:
}}
''')
        }""",
        threads=256,
        shared=1024 + size * boxes,
    )


def _latencies(machine: Machine, rows: int, boxes: int, source: str) -> Iterator[Measurement]:
    """`source` is L2; or DRAM, along the same rows, as along K in a GEMM; or other rows each time, in other pages."""
    made = latency_kernel(rows, boxes)
    tensor = matrix(machine, rows)
    step = rows if source == "DRAM, other rows" else 0
    rounds: list[list[int]] = []
    for repeat in range(4):
        first = 8192 + 4096 * repeat  # rows that nobody has read
        if source == "L2":
            machine.run(made, 24 * _ROUNDS, n=_ROUNDS, a=first, b=step, tensor_map=tensor)
        else:
            machine.flush_l2()
        words = machine.run(made, 24 * _ROUNDS, n=_ROUNDS, a=first, b=step, tensor_map=tensor)
        # of the rounds whose columns come anew
        fresh = (COLUMNS // 2) // (boxes * _WIDTH)
        rounds += [words[at : at + 24] for at in range(24 * 4, len(words), 24)][: None if source == "L2" else fresh - 4]
    at: dict[str, int | str] = {"rows": rows, "boxes": boxes, "from": source}
    yield measured("tma.latency", [max(w[12::3]) - w[1] for w in rounds], **at)
    if source == "L2":
        yield measured("tma.issue", [w[2] - w[1] for w in rounds], **at)
        yield measured("tma.expect", [w[1] - w[0] for w in rounds], **at)


@benchmark("tma.latency")
def latency(machine: Machine) -> Iterator[Measurement]:
    """From issue to the first instruction after the wait of a warp group, for boxes of 64 columns of fp16."""
    for source in ("L2", "DRAM", "DRAM, other rows"):
        for rows in (8, 16, 32, 64, 128, 256):
            yield from _latencies(machine, rows, 1, source)
        for rows, boxes in ((64, 2), (64, 4), (128, 2), (128, 4), (256, 2), (8, 8)):
            yield from _latencies(machine, rows, boxes, source)


def ring(rows: int, stages: int, area: str, count: str, stride: str, mask: str, who: str = "cta") -> str:
    """A warp loads `count` boxes into a ring of `stages`, each as soon as its slot's last load is there.

    `area` is where the ring's barriers are, and its slots 1024 bytes further. Box i of a CTA is tile i & mask,
    128 tiles side by side, below `who * stride` rows.
    """
    size = rows * 2 * _WIDTH
    following = f"""
    add.u32 slot, slot, 1;
    setp.eq.u32 wrapped, slot, {stages};
    @wrapped xor.b32 parity, parity, 1;
    selp.b32 slot, 0, slot, wrapped;"""
    load = f"""
    mad.lo.u32 barrier, slot, 8, {area};
    mad.lo.u32 to, slot, {size}, {area};
    add.u32 to, to, 1024;
    and.b32 tile, turn, {mask};
    and.b32 x, tile, 127;
    shl.b32 x, x, 6;
    shr.u32 y, tile, 7;
    mul.lo.u32 y, y, {rows};
    mad.lo.u32 y, {who}, {stride}, y;
{wait("barrier", "parity")}
    @elected mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], {size};
{_load("to", "x", "y", "barrier")}
{following}"""
    last = f"""
    mad.lo.u32 barrier, slot, 8, {area};
{wait("barrier", "parity")}
{following}"""
    return f"""
{{
    .reg .b32 slot, parity, barrier, to, x, y, tile;
    .reg .pred wrapped;
{ELECTED}
    mov.b32 slot, 0;
    mov.b32 parity, 1;
{repeated(load, count)}
{repeated(last, str(stages))}
}}"""


def stream_kernel(rows: int, stages: int, *, divided: bool = False) -> Kernel:
    """A warp loads `n` boxes; `pa` is the stride of CTAs in rows and `pb` the mask of tiles.

    `divided`: the upper half of `pa` says how many CTAs take the same tiles.
    """
    division = """
    .reg .b64 upper;
    .reg .b32 sharing;
    shr.u64 upper, pa, 32;
    cvt.u32.u64 sharing, upper;
    div.u32 who, cta, sharing;"""
    return kernel(
        f"tma_stream_{rows}_{stages}{'_divided' if divided else ''}",
        timed(
            f"""
    .reg .b32 mask, stride, who;
    mov.b32 who, cta;
    cvt.u32.u64 stride, pa;
    cvt.u32.u64 mask, pb;
{division if divided else ""}
{ring(rows, stages, "base", "n", "stride", "mask", "who")}""",
            before=f"""
{{
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra READY;
    prefetch.tensormap [map];
{chr(10).join(f"    mbarrier.init.shared::cta.b64 [base+{8 * slot}], 1;" for slot in range(stages))}
    fence.mbarrier_init.release.cluster;
READY:
}}""",
        ),
        threads=32,
        shared=1024 + stages * rows * 2 * _WIDTH,
    )


def _rate(machine: Machine, rows: int, stages: int, sms: int, source: str) -> Measurement:
    made = stream_kernel(rows, stages)
    tensor = matrix(machine, rows)
    size = rows * 2 * _WIDTH
    stride, mask = {"same": (0, 3), "own": (rows, 3), "DRAM": (ROWS // machine.sms, (1 << 32) - 1)}[source]
    if source == "DRAM":
        # each CTA has rows of its own, 128 boxes side by side
        most = (ROWS // machine.sms // rows) * 128
        turns = (min(most // 4, (1 << 19) // size + 32), min(most, (1 << 21) // size + 128))
    else:
        turns = (4 * stages + (1 << 17) // size, 16 * stages + (1 << 20) // size)
    found = per_turn(
        machine,
        made,
        threads=32,
        turns=turns,
        grid=sms,
        a=stride,
        b=mask,
        tensor_map=tensor,
        repeats=5,
        before=machine.flush_l2 if source == "DRAM" else None,
    )
    return measured(
        "tma.rate",
        [size / each for each in found],
        "bytes/cycle/SM",
        rows=rows,
        stages=stages,
        sms="one" if sms == 1 else "all",
        tiles=source,
    )


@benchmark("tma.rate_one")
def rate_one(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle that one SM alone takes in from L2, by box and by loads in flight."""
    for rows, stages in (
        *((64, stages) for stages in (1, 2, 4, 8, 16)),
        *((128, stages) for stages in (1, 2, 3, 4, 8, 12)),
        *((256, stages) for stages in (1, 2, 4, 6)),
        *((8, stages) for stages in (4, 16, 32)),
    ):
        yield _rate(machine, rows, stages, 1, "own")


@benchmark("tma.rate_all")
def rate_all(machine: Machine) -> Iterator[Measurement]:
    """The same of every SM while all of them load: the same tiles, tiles of their own in L2, from DRAM."""
    for tiles in ("same", "own", "DRAM"):
        for rows, stages in (
            (64, 2),
            (64, 4),
            (64, 8),
            (64, 16),
            (128, 1),
            (128, 2),
            (128, 3),
            (128, 4),
            (128, 8),
            (128, 12),
        ):
            yield _rate(machine, rows, stages, machine.sms, tiles)


@benchmark("tma.rate_shared")
def rate_shared(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle of every SM where so many neighbours load the same tiles at about the same time."""
    made = stream_kernel(128, 8, divided=True)
    for sharing in (1, 2, 4, 8, 16, 33, 66, 132):
        found = per_turn(
            machine,
            made,
            threads=32,
            turns=(96, 352),
            grid=machine.sms,
            a=128 | sharing << 32,
            b=15,
            tensor_map=matrix(machine, 128),
            repeats=5,
        )
        yield measured("tma.rate_shared", [16384 / each for each in found], "bytes/cycle/SM", sharing=sharing)


@benchmark("tma.rate_pitch")
def rate_pitch(machine: Machine) -> Iterator[Measurement]:
    """The same with tiles of their own, by the bytes from one row of the matrix to the next."""
    made = stream_kernel(128, 8)
    address = machine.buffer("matrix", 2 * ROWS * COLUMNS)
    for pitch in (128, 256, 1024, 2048, 4096, 8192, 16384):
        columns = pitch // 2
        rows = min(ROWS, (1 << 30) // pitch)
        tensor = machine.tensor_map(address, rows, columns, (128, _WIDTH))
        tiles = min(4, columns // _WIDTH)
        found = per_turn(
            machine,
            made,
            threads=32,
            turns=(96, 352),
            grid=machine.sms,
            a=128,
            b=tiles - 1,
            tensor_map=tensor,
            repeats=5,
        )
        yield measured("tma.rate_pitch", [16384 / each for each in found], "bytes/cycle/SM", pitch=pitch, tiles=tiles)


@benchmark("tma.rate_half")
def rate_half(machine: Machine) -> Iterator[Measurement]:
    """The same while only some of the SMs load tiles of their own."""
    for sms in (2, 4, 8, 16, 33, 66, 99):
        made = stream_kernel(128, 8)
        found = per_turn(
            machine, made, threads=32, turns=(64, 256), grid=sms, a=128, b=3, tensor_map=matrix(machine, 128), repeats=5
        )
        yield measured("tma.rate_by_sms", [16384 / each for each in found], "bytes/cycle/SM", sms=sms)


def producer_kernel(rows: int) -> Kernel:
    """A warp group that does what Triton makes of wait, expect and copy: two meetings, one thread that issues.

    Nobody waits: each copy has a barrier of its own, all of them ready.
    """
    size = rows * 2 * _WIDTH
    steps = [
        f"""
{wait(f"base+{8 * number}", "parity")}
    bar.sync 1, 128;
    @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [base+{8 * number}], {size};
    bar.sync 1, 128;
{_load("to", "x", "y", f"base+{8 * number}").replace("elected", "issues")}"""
        for number in range(8)
    ]
    return kernel(
        f"tma_producer_{rows}",
        timed(
            f"""
{{
    .reg .b32 to, x, y, parity;
    .reg .pred first, issues, low;
{ELECTED}
    setp.eq.u32 first, tid, 0;
    setp.lt.u32 low, tid, 32;
    and.pred issues, elected, low;
    add.u32 to, base, 1024;
    mov.b32 x, 0;
    mov.b32 y, 0;
{repeated("    xor.b32 parity, turn, 1;" + chr(10) + "    and.b32 parity, parity, 1;" + "".join(steps))}
    xor.b32 parity, parity, 1;
{chr(10).join(wait(f"base+{8 * number}", "parity") for number in range(8))}
}}""",
            before=f"""
{{
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra READY;
{chr(10).join(f"    mbarrier.init.shared::cta.b64 [base+{8 * slot}], 1;" for slot in range(8))}
    fence.mbarrier_init.release.cluster;
READY:
}}""",
        ),
        threads=128,
        shared=1024 + size,
    )


@benchmark("tma.producer")
def producer(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a step of Triton's producer whose slots are free: wait, meeting, expect, meeting, copy."""
    for rows in (8, 16, 64):
        made = producer_kernel(rows)
        turns = per_turn(machine, made, threads=128, tensor_map=matrix(machine, rows))
        yield measured("tma.producer_step", [turn / 8 for turn in turns], rows=rows)


def _store(kind: str, x: str, y: str) -> str:
    operation = {
        "store": "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
        "reduce": "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
    }[kind]
    return f"    @elected {operation} [map, {{{x}, {y}}}], [from];"


def store_kernel(kind: str, rows: int, boxes: int) -> Kernel:
    """Rounds of stores side by side, one commit, wait for the source, wait for all. Words of a round: five clocks."""
    size = rows * 2 * _WIDTH
    copies = "\n".join(
        f"    add.u32 x, x0, {number * _WIDTH};\n    add.u32 from, base, {1024 + number * size};\n"
        + _store(kind, "x", "y")
        for number in range(boxes)
    )
    return kernel(
        f"tma_{kind}_{rows}_{boxes}",
        f"""
    .reg .b64 t0, t1, t2, t3;
    .reg .b32 from, x, x0, y;
    .reg .pred leader;
    setp.eq.u32 leader, lane, 0;
{ELECTED}
    prefetch.tensormap [map];
{
            repeated(f'''
    mul.lo.u32 y, turn, {rows};
    and.b32 y, y, {_SMALL - 1};
    mul.lo.u32 x0, turn, {boxes * _WIDTH};
    and.b32 x0, x0, {COLUMNS // 2 - 1};
{clock("t0")}
{copies}
    cp.async.bulk.commit_group;
{clock("t1")}
    cp.async.bulk.wait_group.read 0;
{clock("t2")}
    cp.async.bulk.wait_group 0;
{clock("t3")}
    @!leader bra SKIP;
{store("turn", "t0", "t1", "t2", "t3")}
SKIP:
''')
        }""",
        threads=32,
        shared=1024 + boxes * size,
    )


@benchmark("tma.store")
def store_cycles(machine: Machine) -> Iterator[Measurement]:
    """Stores and reductions: from before the issue until the source may be written again, and until all is done."""
    for kind, shapes in (
        ("store", ((8, 1), (16, 1), (32, 1), (64, 1), (128, 1), (256, 1), (64, 2), (64, 4), (128, 2), (128, 4))),
        ("reduce", ((64, 1), (128, 1), (128, 2))),
    ):
        for rows, boxes in shapes:
            made = store_kernel(kind, rows, boxes)
            words = machine.run(made, 4 * _ROUNDS, n=_ROUNDS, tensor_map=matrix(machine, rows))
            rounds = [words[at : at + 4] for at in range(32, len(words), 4)]
            at: dict[str, int | str] = {"kind": kind, "rows": rows, "boxes": boxes}
            yield measured("tma.store_issue", [w[1] - w[0] for w in rounds], **at)
            yield measured("tma.store_read", [w[2] - w[0] for w in rounds], **at)
            yield measured("tma.store_done", [w[3] - w[0] for w in rounds], **at)


def store_stream(rows: int, depth: int) -> Kernel:
    """Stores `n` boxes, at most `depth` of which still read their source."""
    return kernel(
        f"tma_store_stream_{rows}_{depth}",
        timed(
            f"""
{{
    .reg .b32 mask, stride, from, x, y, tile;
{ELECTED}
    cvt.u32.u64 stride, pa;
    cvt.u32.u64 mask, pb;
    add.u32 from, base, 1024;
{
                repeated(f'''
    and.b32 tile, turn, mask;
    and.b32 x, tile, 127;
    shl.b32 x, x, 6;
    shr.u32 y, tile, 7;
    mul.lo.u32 y, y, {rows};
    mad.lo.u32 y, cta, stride, y;
{_store("store", "x", "y")}
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read {depth - 1};
''')
            }
    cp.async.bulk.wait_group 0;
}}"""
        ),
        threads=32,
        shared=1024 + rows * 2 * _WIDTH,
    )


@benchmark("tma.store_rate")
def store_rate(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle and SM of TMA stores, one SM alone and all at once, to L2 and to DRAM."""
    for rows, depth in ((64, 1), (64, 4), (128, 1), (128, 2), (128, 4)):
        size = rows * 2 * _WIDTH
        made = store_stream(rows, depth)
        for sms, tiles in ((1, "own"), (machine.sms, "own"), (machine.sms, "DRAM")):
            stride, mask = (rows, 3) if tiles == "own" else (ROWS // machine.sms, (1 << 32) - 1)
            turns = (64, 320)
            found = per_turn(
                machine,
                made,
                threads=32,
                turns=turns,
                grid=sms,
                a=stride,
                b=mask,
                tensor_map=matrix(machine, rows),
                repeats=5,
            )
            yield measured(
                "tma.store_rate",
                [size / each for each in found],
                "bytes/cycle/SM",
                rows=rows,
                depth=depth,
                sms="one" if sms == 1 else "all",
                tiles=tiles,
            )
