"""From measurements to figures, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxviz.calibrate.figures import figures, ruled
from tlxviz.calibrate.results import Calibration, Measurement, from_json, measured, slope, to_json
from tlxviz.devices import load_device
from tlxviz.devices.file import SECTIONS

DEVICE = {
    "cuda_name": "NVIDIA H200",
    "capability": [9, 0],
    "sms": 132,
    "driver": "580.1",
    "date": "2026-12-02",
    "boost_khz": 1980000,
    "l2_bytes": 62914560,
    "capacity_bytes": 150109880320,
}


def calibration(*points: Measurement) -> Calibration:
    return Calibration(dict(DEVICE), [measured("clock.read", [2]), *points])


def test_rules_are_of_figures_that_exist() -> None:
    names = {f"{section}.{name}" for section, cls in SECTIONS.items() for name in cls.__annotations__}
    assert set(ruled()) <= names


def test_without_measurements_only_the_driver_is_quoted() -> None:
    assert {name: figure.value for name, figure in figures(Calibration(dict(DEVICE))).items()} == {
        "limits.sms": 132,
        "clock.boost_mhz": 1980,
        "memory.l2_bytes": 62914560,
        "memory.capacity_bytes": 150109880320,
    }


def test_median_and_spread() -> None:
    # a tenth of eleven repeats, one of them, lies outside on either side
    point = measured("law", [*range(1, 11), 1000], n=8)
    assert (point.median, point.low, point.high, point.repeats) == (6, 2, 10, 11)
    assert point.name == "law[n=8]"
    assert from_json(json.loads(json.dumps(to_json(point)))) == point


def test_no_samples() -> None:
    with pytest.raises(ValueError, match="law has no samples"):
        measured("law", [])


def test_slope() -> None:
    assert slope([1, 2, 3], [5, 7, 9]) == (3, 2)


def test_sources_name_tool_date_driver_clock_and_spread() -> None:
    made = figures(
        calibration(
            measured("clock.mhz", [1979.9], "MHz"),
            measured("shared.latency", [22, 23, 24], op="ld.b32"),
        )
    )
    assert made["memory.shared_latency_cycles"].value == 23
    # (24 - 22) / 2 / 23
    assert made["memory.shared_latency_cycles"].source == (
        "measured: tlxviz calibrate, 2026-12-02, driver 580.1, 1980 MHz: pointer chase; spread 4.3 %"
    )


def test_rate_of_a_tensor_core() -> None:
    point = measured("wgmma.interval", [128.0], type="e4m3", a="shared", n=256, groups=1)
    # 2 x 64 x 256 x 32 / 128
    assert figures(calibration(point))["tensor_core.fp8"].value == 8192


def test_what_a_product_takes_beyond_the_tensor_core() -> None:
    points = [
        measured("wgmma.bookkeeping", [3.75], what="wait"),
        measured("wgmma.issue", [19], type="f16", a="shared", n=64, count=1, groups=1),
    ]
    for n in (64, 128, 256):
        points.append(measured("wgmma.interval", [n / 2], type="f16", a="shared", n=n, groups=1))
        points.append(measured("wgmma.completion", [n / 2 + 46], type="f16", a="shared", n=n, count=1, groups=1))
    made = figures(calibration(*points))
    assert made["tensor_core.issue_cycles"].value == 17  # less 2 for reading the clock
    assert made["tensor_core.wait_cycles"].value == 4  # the simulator takes whole cycles
    # 46 - 2 for the clock - 17 - 3.75: so that issue, work, completion and wait add up to what was measured
    assert made["tensor_core.completion_cycles"].value == 23


def test_meetings_are_a_line_through_their_sizes() -> None:
    points = [measured("named_barrier.meeting", [12 + 2 * warps], threads=32 * warps) for warps in (2, 4, 8, 32)]
    points.append(measured("named_barrier.meeting", [99], threads=32))  # one warp does not meet others
    made = figures(calibration(*points))
    assert (made["sync.block_barrier_base"].value, made["sync.block_barrier_per_warp"].value) == (12, 2)


def copies(source: str, base: float, rate: float) -> list[Measurement]:
    return [
        measured("tma.latency", [base + 128 * rows / rate], rows=rows, boxes=1, **{"from": source})
        for rows in (64, 128, 256)
    ]


def test_latency_of_a_copy_is_without_its_issue_and_the_wake_up() -> None:
    made = figures(
        calibration(
            measured("tma.issue", [16], rows=128, boxes=1, **{"from": "L2"}),
            measured("mbarrier.issue", [6], op="arrive", warps=1),
            measured("mbarrier.hand_off", [96], waiters=4, arriver="thread", after=1000),
            measured("tma.rate", [100], rows=128, stages=4, sms="one", tiles="own"),
            *copies("L2", 380, 100),
            *copies("DRAM", 900, 100),
        )
    )
    assert made["tma.issue_cycles"].value == 14
    assert made["sync.mbarrier_wake"].value == 90
    assert made["tma.bytes_per_cycle"].value == 100
    assert made["tma.l2_latency_cycles"].value == 276  # 380 - 14 - 90
    assert made["tma.dram_latency_cycles"].value == 796
    assert "100 bytes a cycle" in made["tma.l2_latency_cycles"].source


def test_a_figure_that_lacks_a_part_is_left_out() -> None:
    made = figures(calibration(*copies("L2", 380, 100)))
    assert "tma.l2_latency_cycles" not in made


def test_named_barriers() -> None:
    made = figures(
        calibration(measured("named_barrier.ping_pong", [72]), measured("named_barrier.arrive", [7], after=1000))
    )
    assert made["sync.named_arrive"].value == 5
    assert made["sync.named_barrier"].value == 31  # 72 / 2 - 5


def test_dram_latency_is_without_the_cost_of_timing_each_load() -> None:
    made = figures(
        calibration(
            *(
                measured("global.latency", [cycles], source=source)
                for source, cycles in (("DRAM, 64 MiB", 730), ("L2, one by one", 325), ("L2, 1 MiB", 283))
            )
        )
    )
    assert made["memory.dram_latency_cycles"].value == 688


def test_the_shipped_file_of_the_h200_is_what_was_measured() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "data" / "h200_calibration.json"
    if not path.is_file():
        pytest.skip("no benchmarks here")
    data = json.loads(path.read_text())
    device = load_device("h200")
    found = Calibration(data["device"], [from_json(each) for each in data["measurements"]], data["failures"])
    found.sustained_mhz = device.clock.sustained_mhz
    made = figures(found)
    assert set(made) == set(ruled())
    for name, figure in made.items():
        section, _, key = name.partition(".")
        assert getattr(getattr(device, section), key) == figure.value, name
        assert device.sources[name] == figure.source
