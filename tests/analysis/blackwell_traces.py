"""Small traces of kernels with tensor memory whose every figure can be worked out by hand."""

from __future__ import annotations

from typing import Any

from analysis.synthetic_traces import launch

from tlxviz.trace import AgentRow, BarrierRow, BufferRow, LaunchTrace, SiteRow, Track, TrackKind

FILE = "/somewhere/tiles.py"
SLOT_BYTES = 65536


def tiles(
    depth: int, count: int, *, product: int = 100, read: int = 60, work: int = 40, asks: bool = False, **fields: Any
) -> LaunchTrace:
    """Tiles of three products each, into `depth` accumulators, which an epilogue reads.

    `mma` waits for `acc_empty` (over 5 cycles after the arrival), issues each product in 10, and commits in 2; a
    product takes the tensor core `product` cycles. `epilogue` waits for `acc_full` (over 5 cycles after the last
    product), reads for `read`, arrives for 4 and works for `work`.

    Args:
        asks: Whether a third warp group, `scheduler`, asks the block scheduler for tiles: every 400 cycles it
            issues a request for 10 cycles, waits for the answer, which takes 200, over 5 cycles later, and reads it
            for 20. The last answer is that there is none.
    """
    sites = [
        SiteRow("wait", 0, FILE, 1, "acc_empty", "ttng.wait_barrier"),
        SiteRow("mma", 0, FILE, 2, "acc", "ttng.tc_gen5_mma"),
        SiteRow("mma_commit", 0, FILE, 3, "acc_full", "ttng.tc_gen5_commit"),
        SiteRow("wait", 1, FILE, 4, "acc_full", "ttng.wait_barrier"),
        SiteRow("tmem_load", 1, FILE, 5, "acc", "ttng.tmem_load", SLOT_BYTES),
        SiteRow("arrive", 1, FILE, 6, "acc_empty", "ttng.arrive_barrier"),
    ]
    rows: list[tuple[int, ...]] = []
    arrivals: list[int] = []
    mma = epilogue = core = 0
    for tile in range(count):
        slot, phase = tile % depth, tile // depth
        by = arrivals[tile - depth] if tile >= depth else -1
        over = max(mma, rows[by][3] if by >= 0 else 0) + 5
        rows.append((0, 0, mma, over, tile, tile, slot, phase + 1 & 1, 0, by))
        mma = over
        for step in range(3):
            rows.append((0, 1, mma, mma + 10, tile, step, slot, -1, 0, -1))
            core, begin = max(core, mma) + product, max(core, mma)
            rows.append((2, 1, begin, core, tile, step, slot, -1, 0, len(rows) - 1))
            mma += 10
        last = len(rows) - 1
        rows.append((0, 2, mma, mma + 2, tile, tile, slot, phase, 0, -1))
        mma += 2
        over = max(epilogue, core) + 5
        rows.append((1, 3, epilogue, over, tile, tile, slot, phase & 1, 0, last))
        rows.append((1, 4, over, over + read, tile, tile, slot, -1, SLOT_BYTES, -1))
        arrivals.append(len(rows))
        rows.append((1, 5, over + read, over + read + 4, tile, tile, slot, phase, 0, -1))
        epilogue = over + read + 4 + work
    tracks = [
        Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, warps=1, begin=0, end=mma),
        Track(TrackKind.WARP_GROUP, "epilogue", 0, 0, 1, warps=4, begin=0, end=epilogue),
        Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1, begin=0, end=epilogue),
    ]
    barriers = [BarrierRow("acc_full", depth, (1,) * depth), BarrierRow("acc_empty", depth, (1,) * depth)]
    buffers = [BufferRow("acc", depth, SLOT_BYTES * depth)]
    agents = [AgentRow("mma", "mma", 1, 1, 24), AgentRow("epilogue", "epilogue", 0, 4, None)]
    if asks:
        _ask(count, tracks, sites, rows)
        agents.append(AgentRow("scheduler", "scheduler", 2, 1, 24))
        barriers.append(BarrierRow("answered", 1, (1,)))
        buffers.append(BufferRow("answer", 1, 16))
    given: dict[str, Any] = {
        "kernel": "tiles",
        "device": {"name": "b200", "title": "NVIDIA B200"},
        "cycles": epilogue,
        "barriers": barriers,
        "buffers": buffers,
        "source_file": FILE,
        "metadata": {"tmem_size": 128 * depth},
    }
    return launch(tracks, sites, rows, agents, **(given | fields))


def _ask(count: int, tracks: list[Track], sites: list[SiteRow], rows: list[tuple[int, ...]]) -> None:
    """Adds the warp group that asks for tiles, and what the block scheduler answers."""
    first = len(sites)
    sites += [
        SiteRow("clc", 2, FILE, 7, "answer", "ttng.async_clc_try_cancel", 16),
        SiteRow("wait", 2, FILE, 8, "answered", "ttng.wait_barrier"),
        SiteRow("clc", 2, FILE, 9, "answer", "ttng.clc_query_cancel"),
    ]
    scheduler = len(tracks)
    end = 400 * count
    tracks += [
        Track(TrackKind.WARP_GROUP, "scheduler", 0, 0, 2, warps=1, begin=0, end=end),
        Track(TrackKind.LAUNCH_CONTROL, "CLC", 0, 0, -1, begin=0, end=end),
    ]
    for tile in range(count):
        at, whose = 400 * tile, 148 * (tile + 1) if tile + 1 < count else -1
        rows.append((scheduler, first, at, at + 10, tile, tile, 0, tile, 16, -1))
        rows.append((scheduler + 1, first, at + 10, at + 210, tile, tile, whose, tile, 16, len(rows) - 1))
        rows.append((scheduler, first + 1, at + 10, at + 215, tile, tile, 0, tile & 1, 0, len(rows) - 1))
        rows.append((scheduler, first + 2, at + 215, at + 235, tile, tile, 0, -1, 0, -1))
