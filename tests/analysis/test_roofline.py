"""Roofs of launches whose figures can be worked out by hand, on an H200."""

from __future__ import annotations

import re
from typing import Any

import pytest
from analysis.synthetic_traces import launch, pipeline

from tlxviz.analysis.products import products
from tlxviz.analysis.roofline import BOUND_FROM, NONE, Roof, Roofline, roofline
from tlxviz.analysis.utilisation import utilisation
from tlxviz.devices.file import load_device
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind

H200 = load_device("h200")
FIGURES = H200.to_manifest()

MODULE = """\
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", \
"ttg.threads-per-warp" = 32 : i32} {
tt.func public @kernel() {
BODY
  tt.return
}
}
"""


def dot(name: str, element: str, depth: int, parent: str = "#mma") -> str:
    """A product of 64 x `depth` by `depth` x 16."""
    width = ", kWidth = 2" if parent == "#mma" else ""
    a, b = (f"#ttg.dot_op<{{opIdx = {index}, parent = {parent}{width}}}>" for index in (0, 1))
    left, right, result = f"tensor<64x{depth}x{element}, {a}>", f"tensor<{depth}x16x{element}, {b}>", "64x16xf32"
    return f"""\
  %a{name} = arith.constant dense<0.0> : {left}
  %b{name} = arith.constant dense<0.0> : {right}
  %c{name} = arith.constant dense<0.0> : tensor<{result}, {parent}>
  %d{name} = tt.dot %a{name}, %b{name}, %c{name} : {left} * {right} -> tensor<{result}, {parent}>"""


def multiplying(*dots: str, executed: tuple[int, ...] = (), **fields: Any) -> LaunchTrace:
    """A launch of a kernel with these products, of which a warp group executed each so many times."""
    sites = [SiteRow("mma", 0, "k.py", line, "", "tt.dot") for line in range(len(dots))]
    tracks = [Track(TrackKind.WARP_GROUP, "compute", 0, 0, 0, warps=4, begin=0, end=1000)]
    places = [site for site, count in enumerate(executed) for _ in range(count)]
    rows = [(0, site, at, at + 1, -1, -1, -1, -1, 0, -1) for at, site in enumerate(places)]
    given: dict[str, Any] = {"device": FIGURES, "cycles": 1000, "ttgir": MODULE.replace("BODY", "\n".join(dots))}
    return launch(tracks, sites, rows, [AgentRow("compute", "compute", 0, 4)], **(given | fields))


COUNTED: dict[str, Any] = {
    "sm_cycles": 900,
    "tensor_core_busy_cycles": 0,
    "tma_busy_cycles": 0,
    "tma_store_busy_cycles": 0,
    "load_store_busy_cycles": 0,
    "issue_busy_cycles": 0,
    "logic_busy_cycles": 0,
    "mufu_busy_cycles": 0,
    "shared_memory_busy_cycles": 0,
}


def counted(**counts: int) -> LaunchTrace:
    """A launch of 1000 cycles at 1000 MHz, so one microsecond, of which a recorder counted this."""
    return launch(device=FIGURES, cycles=1000, statistics=COUNTED | counts)


def made(given: LaunchTrace) -> Roofline:
    found = roofline(given)
    assert found is not None
    return found


def roof(given: LaunchTrace, name: str) -> Roof:
    (found,) = (each for each in made(given).roofs if each.name == name)
    return found


# ---------------------------------------------------------------------- products


@pytest.mark.parametrize(
    ("element", "depth", "name", "rate"),
    [
        ("f16", 16, "f16", 4096),
        ("bf16", 16, "bf16", 4096),
        ("f32", 8, "tf32", 2048),
        ("f8E4M3FN", 32, "f8E4M3FN", 8192),
    ],
)
def test_the_peak_is_that_of_the_operands_type(element: str, depth: int, name: str, rate: float) -> None:
    found = products(multiplying(dot("0", element, depth)), H200)
    assert found is not None
    assert (found.types, found.on_tensor_cores, found.flop_per_cycle) == ((name,), True, rate)


SCALED = """\
#smem = #ttg.shared_memory
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
tt.func public @scaled() {
  %false = arith.constant false
  %true = arith.constant true
  %a = ttg.local_alloc : () -> !A
  %b = ttg.local_alloc : () -> !B
  %d = ttng.tmem_alloc : () -> !D
  %s = ttng.tmem_alloc : () -> !S
  %t = ttng.tmem_alloc : () -> !S
  ttng.tc_gen5_mma_scaled %a, %b, %d, %s, %t, %false, %true lhs = LHS rhs = RHS : !A, !B, !D, !S, !S
  tt.return
}
}
"""


def scaled(lhs: str, rhs: str, scale: str) -> str:
    """128 x 128 sums of 128 bytes of A and of B each, which are 256 numbers where a byte has two."""
    types = {
        "A": "128x128xi8, #shared, #smem",
        "B": "128x128xi8, #shared, #smem",
        "D": "128x128xf32, #tmem, #ttng.tensor_memory",
        "S": f"128x8x{scale}, #scales, #ttng.tensor_memory",
    }
    text = SCALED.replace("LHS", lhs).replace("RHS", rhs)
    for name, type_ in types.items():
        text = re.sub(rf"!{name}\b", f"!ttg.memdesc<{type_}, mutable>", text)
    return text


@pytest.mark.parametrize(
    ("lhs", "rhs", "scale", "name", "rate"),
    [
        ("e4m3", "e4m3", "i8", "e4m3", 16384),
        ("e4m3", "e5m2", "i8", "e4m3+e5m2", 16384),
        ("e4m3", "e2m1", "i8", "e4m3+e2m1", 16384),
        ("e2m1", "e2m1", "i8", "e2m1", 32768),
        ("e2m1", "e2m1", "f8E4M3FN", "e2m1", 32768),
    ],
)
def test_the_peak_of_scaled_products(lhs: str, rhs: str, scale: str, name: str, rate: float) -> None:
    """Of a B200: with four bits on one side alone as fast as with eight, on both twice that."""
    found = products(multiplying(ttgir=scaled(lhs, rhs, scale)), load_device("b200"))
    assert found is not None
    assert (found.types, found.on_tensor_cores, found.flop_per_cycle) == ((name,), True, rate)


def test_products_that_no_tensor_core_computes() -> None:
    """Multiply-adds of the FP32 pipe: 126.5 a cycle, of two FLOP each."""
    found = products(multiplying(dot("0", "f32", 8, "#blocked")), H200)
    assert found is not None
    assert (found.types, found.on_tensor_cores, found.flop_per_cycle) == (("f32",), False, pytest.approx(253))
    shown = made(multiplying(dot("0", "f32", 8, "#blocked"), flop=10**6))
    assert shown.peak == pytest.approx(253 * 132 * 1e9)
    assert shown.peak_published is None  # which is about tensor cores


def test_the_peak_of_several_types_is_that_of_what_was_executed() -> None:
    """3 products of 2*64*16*32 FLOP at 8192 a cycle, one of half as many at 4096: 32 cycles for 229376 FLOP."""
    both = (dot("0", "f8E5M2", 32), dot("1", "f16", 16))
    found = products(multiplying(*both, executed=(3, 1)), H200)
    assert found is not None
    assert found.types == ("f8E5M2", "f16")
    assert found.flop_per_cycle == pytest.approx(229376 / 32)
    only = products(multiplying(*both, executed=(0, 2)), H200)
    assert only is not None
    assert (only.types, only.flop_per_cycle) == (("f16",), 4096)


def test_kernels_without_products_and_texts_that_are_none() -> None:
    assert products(multiplying(), H200) is None
    assert products(launch(ttgir=""), H200) is None
    assert products(launch(ttgir="tt.func public @"), H200) is None


# ---------------------------------------------------------------------- FLOP


def test_three_peaks_and_what_was_reached_of_them() -> None:
    """270.336 GFLOP in a millisecond at 1640 MHz."""
    shown = made(multiplying(dot("0", "f16", 16), flop=270_336_000_000, cycles=1_640_000, clock_mhz=1640.0))
    assert shown.seconds == pytest.approx(1e-3)
    assert shown.flops_per_s == pytest.approx(270.336e12)
    assert shown.mma_types == ("f16",)
    # 4096 FLOP a cycle on 132 SMs: 540,672 a cycle
    assert shown.peak == pytest.approx(886.70208e12)
    assert shown.peak_boost == pytest.approx(1070.53056e12)
    assert shown.peak_published == pytest.approx(989.42976e12)  # the 989.4 of the data sheet
    assert shown.mfu == pytest.approx(500 / 1640)
    assert shown.mfu_boost == pytest.approx(500 / 1980)
    assert shown.mfu_published == pytest.approx(500 / 1830)


def test_intensities() -> None:
    """Of 12,000 FLOP: 3,000 bytes by L2, 1,000 of them different ones, which come from DRAM."""
    moved = {"l2_read_bytes": 2000, "l2_written_bytes": 1000, "dram_read_bytes": 600, "dram_written_bytes": 400}
    given = multiplying(dot("0", "f16", 16), flop=12_000, statistics=COUNTED | moved | {"tensor_bytes": 1000})
    shown = made(given)
    assert (shown.l2_bytes, shown.dram_bytes, shown.compulsory_bytes) == (3000, 1000, 1000)
    assert (shown.intensity_l2, shown.intensity_dram, shown.intensity_compulsory) == (4, 12, 12)
    # the slanted roofs: intensity times bandwidth
    l2, dram = roof(given, "l2"), roof(given, "dram")
    assert l2.flops_ceiling == pytest.approx(4 * l2.ceiling)
    assert dram.flops_ceiling == pytest.approx(12 * dram.ceiling)
    assert roof(given, "peak").flops_ceiling == pytest.approx(shown.peak)


def test_data_in_l2_have_no_roof_of_dram() -> None:
    given = {"l2_read_bytes": 8, "l2_written_bytes": 0, "dram_read_bytes": 0, "dram_written_bytes": 0}
    shown = made(multiplying(dot("0", "f16", 16), flop=80, statistics=COUNTED | given | {"tensor_bytes": 4}))
    assert (shown.dram_bytes, shown.intensity_dram, shown.intensity_compulsory) == (0, None, 20)
    assert "dram" not in [each.name for each in shown.roofs]


# ---------------------------------------------------------------------- bandwidth


def test_what_tma_reads_from_l2() -> None:
    """11,710 bytes a cycle of 1980 MHz are 23,185.8 a nanosecond; here, in a microsecond, half of that."""
    found = roof(counted(l2_read_bytes=11_592_900, l2_written_bytes=0, tma_load_bytes=5, tensor_bytes=1), "l2")
    assert (found.unit, found.scope) == ("bytes/s", "launch")
    assert found.ceiling == pytest.approx(23.1858e12)
    assert found.reached == pytest.approx(11.5929e12)
    assert found.share == pytest.approx(0.5)
    assert found.flops_ceiling is None


def test_what_warps_read_from_l2_comes_more_slowly() -> None:
    found = roof(counted(l2_read_bytes=1000, l2_written_bytes=0, global_load_bytes=5, tensor_bytes=1), "l2")
    assert found.ceiling == pytest.approx(5518 * 1.98e9)


def test_stores_and_bytes_that_one_sm_alone_wants_come_more_slowly_still() -> None:
    stored = roof(counted(l2_read_bytes=0, l2_written_bytes=1000, tensor_bytes=1), "l2")
    assert stored.ceiling == pytest.approx(2633 * 1.98e9)
    own = roof(counted(l2_read_bytes=1000, l2_written_bytes=0, tma_load_bytes=5, tensor_bytes=1000), "l2")
    assert own.ceiling == pytest.approx(4501 * 1.98e9)


def test_an_elementwise_kernel_is_held_by_dram() -> None:
    """In a microsecond, of 4.596 TB/s read and 3.419 TB/s written: 0.6 and 0.3 of it."""
    given = counted(
        l2_read_bytes=2_757_600,
        l2_written_bytes=1_025_700,
        dram_read_bytes=2_757_600,
        dram_written_bytes=1_025_700,
        tensor_bytes=3_783_300,
        global_load_bytes=20_000,
        global_store_bytes=8_000,
        load_store_busy_cycles=950,
    )
    shown = made(given)
    assert (shown.flops_per_s, shown.mma_types, shown.mfu, shown.intensity_l2) == (None, (), None, None)
    assert roof(given, "dram").share == pytest.approx(0.9)
    assert roof(given, "load_store").share == 1.0  # stores that are under way when the last CTA ends
    assert (shown.bound_by, shown.bound_share) == ("dram", pytest.approx(0.9))


# ---------------------------------------------------------------------- what holds the kernel


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("tensor_core", "tensor_core_busy_cycles"),
        ("tma", "tma_busy_cycles"),
        ("tma_store", "tma_store_busy_cycles"),
        ("load_store", "load_store_busy_cycles"),
        ("issue", "issue_busy_cycles"),
        ("logic", "logic_busy_cycles"),
        ("mufu", "mufu_busy_cycles"),
        ("shared_memory", "shared_memory_busy_cycles"),
    ],
)
def test_the_busiest_unit_holds_the_kernel(name: str, key: str) -> None:
    given = counted(**({"issue_busy_cycles": 550} | {key: 720}))
    shown = made(given)
    assert (shown.bound_by, shown.bound_share) == (name, pytest.approx(0.8))
    found = roof(given, name)
    assert (found.scope, found.unit, found.ceiling, found.reached) == ("sm", "cycles", 900, pytest.approx(720))


def test_where_no_unit_is_busy_latency_holds_it() -> None:
    assert BOUND_FROM == 0.6
    assert made(counted(mufu_busy_cycles=540)).bound_by == "mufu"
    shown = made(counted(mufu_busy_cycles=539))
    assert (shown.bound_by, shown.bound_share) == (NONE, pytest.approx(539 / 900))


def test_a_path_that_waits_for_l2_is_not_what_holds_the_kernel() -> None:
    half = {"l2_read_bytes": 11_592_900, "l2_written_bytes": 0, "tma_load_bytes": 5, "tensor_bytes": 1}
    assert made(counted(tma_busy_cycles=810, **half)).bound_by == "tma"  # L2 could give twice as much
    more = half | {"l2_read_bytes": 16_230_060}
    shown = made(counted(tma_busy_cycles=810, **more))
    assert (shown.bound_by, shown.bound_share) == ("l2", pytest.approx(0.7))
    assert made(counted(tma_busy_cycles=810, mufu_busy_cycles=855, **more)).bound_by == "mufu"


def test_what_an_older_trace_tells() -> None:
    """It counted tensor cores and TMA only: another unit may be what holds a kernel in which neither is busy."""
    assert made(pipeline()).bound_by is None
    assert made(pipeline()).bound_share == pytest.approx(0.48)
    statistics = {"sm_cycles": 1000, "tensor_core_busy_cycles": 900}
    assert made(pipeline(statistics=statistics)).bound_by == "tensor_core"
    nothing = made(launch(cycles=1000))
    assert (nothing.roofs, nothing.bound_by, nothing.bound_share) == ((), None, None)
    assert (nothing.l2_bytes, nothing.dram_bytes, nothing.wave_efficiency, nothing.tail_share) == (None,) * 4
    assert utilisation(launch()).issue is None


def test_a_launch_that_did_not_end_has_no_roofs() -> None:
    assert roofline(pipeline(complete=False)) is None
    assert roofline(pipeline(hang={"waiters": []})) is None
    assert roofline(launch(cycles=0)) is None


# ---------------------------------------------------------------------- waves


@pytest.mark.parametrize(
    ("ctas", "per_sm", "waves", "efficiency", "tail"),
    [
        (132, 1, 1, 1.0, 0.0),
        (128, 1, 1, 128 / 132, 1.0),  # four SMs have nothing to do, all the time
        (264, 1, 2, 1.0, 0.0),
        (265, 1, 3, 265 / 396, 1 / 3),  # the worst: one CTA after two full waves
        (396, 2, 2, 396 / 528, 0.0),  # a last wave of one CTA on each SM
        (300, 2, 2, 300 / 528, 0.5),
    ],
)
def test_waves(ctas: int, per_sm: int, waves: int, efficiency: float, tail: float) -> None:
    shown = made(counted(ctas=ctas, ctas_per_sm=per_sm, ctas_per_wave=132 * per_sm, waves=waves))
    assert shown.wave_efficiency == pytest.approx(efficiency)
    assert shown.tail_share == pytest.approx(tail)
    assert shown.sm_share == pytest.approx(0.9)


def test_how_evenly_the_sms_work() -> None:
    """The traced SM moved 1000 bytes; 132 like it would have moved 132,000."""
    own = {"tma_load_bytes": 500, "tma_store_bytes": 100, "global_load_bytes": 250, "global_store_bytes": 150}
    # two SMs got each of the multicast bytes, which L2 read once
    moved = {"received_bytes": 80_000, "l2_read_bytes": 60_000, "l2_written_bytes": 26_000}
    assert made(counted(**own, **moved)).balance == pytest.approx(106_000 / 132_000)
    assert made(counted(**own)).balance is None
    assert made(counted(**moved)).balance is None


def test_sms_that_no_cluster_fits_on_are_no_tail() -> None:
    """Clusters of 16 on SMs in groups of 18, 18, 16 and so on leave some without: waves of 112 CTAs are full."""
    shown = made(counted(ctas=224, ctas_per_sm=1, ctas_per_wave=112, waves=2))
    assert shown.wave_efficiency == pytest.approx(224 / 264)
    assert shown.tail_share == 0.0
