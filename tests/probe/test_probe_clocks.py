"""Clocks of SMs are made one, from what CTAs note at their start and end."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tlxviz.probe.buffer import HEADER
from tlxviz.probe.clocks import common_clock

SMS, GROUPS = 132, 8
WAVES = 4


def true_cycles(ns: NDArray[np.float64], mhz: tuple[float, float], change: float) -> NDArray[np.float64]:
    """Cycles that all SMs have counted `ns` after the launch: at one frequency, and from `change` on at another."""
    first, then = mhz
    return np.where(ns < change, ns * first, change * first + (ns - change) * then) / 1000


def launch(
    mhz: tuple[float, float], change: float, seed: int
) -> tuple[NDArray[np.void], NDArray[np.float64], NDArray[np.float64]]:
    """Headers of a launch of four waves of CTAs, and when, in true cycles, each of them started and ended."""
    random = np.random.default_rng(seed)
    group = random.permutation(np.arange(SMS) % GROUPS)
    offsets = random.integers(1 << 20, 1 << 42, GROUPS)
    begin, end = np.empty((WAVES, SMS)), np.empty((WAVES, SMS))
    ready = random.uniform(0, 400, SMS)  # SMs of an H200 begin within a few hundred ns
    for wave in range(WAVES):
        begin[wave] = ready
        end[wave] = ready + random.uniform(20_000, 25_000, SMS)
        ready = end[wave] + random.uniform(500, 900, SMS)
    headers = np.zeros(WAVES * SMS, HEADER)
    headers["sm"] = np.tile(np.arange(SMS), WAVES)
    at = int(random.integers(1 << 50, 1 << 60))
    for name, ns in (("start", begin), ("end", end)):
        headers[f"{name}_ns"] = (at + ns.ravel().astype(np.int64)) // 32 * 32
        headers[f"{name}_clock"] = offsets[group[headers["sm"]]] + np.rint(true_cycles(ns.ravel(), mhz, change))
    return headers, true_cycles(begin.ravel(), mhz, change), true_cycles(end.ravel(), mhz, change)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("mhz", "change"), [((1980.0, 1980.0), 0.0), ((1980.0, 1755.0), 40_000.0)])
def test_sms_are_aligned_to_a_hundred_cycles(mhz: tuple[float, float], change: float, seed: int) -> None:
    headers, begin, end = launch(mhz, change, seed)
    clock = common_clock(headers)
    found = np.array([clock.cycle(sm, at) for sm, at in zip(headers["sm"], headers["start_clock"], strict=True)])
    wrong = found - begin
    assert np.ptp(wrong) < 100
    assert found.min() == 0
    assert clock.cycles == pytest.approx(end.max() - begin.min(), abs=100)
    assert clock.ns == pytest.approx(((end.max() - begin.min()) * 1000 / clock.mhz), rel=1e-3)
    assert min(mhz) * 0.999 <= clock.mhz <= max(mhz) * 1.001


def test_sms_of_a_group_have_one_offset() -> None:
    headers, _, _ = launch((1755.0, 1755.0), 0.0, 7)
    assert len(np.unique(common_clock(headers).offsets)) == GROUPS


def headers_of(*rows: tuple[int, int, int, int, int]) -> NDArray[np.void]:
    made = np.zeros(len(rows), HEADER)
    for header, (sm, *values) in zip(made, rows, strict=True):
        header["sm"] = sm
        for name, value in zip(("start_clock", "start_ns", "end_clock", "end_ns"), values, strict=True):
            header[name] = value
    return made


def test_one_sm_needs_no_timer() -> None:
    clock = common_clock(headers_of((3, 5000, 960, 7000, 1984), (3, 7100, 2048, 9000, 3008)))
    assert clock.cycle(3, np.array([5000, 7000, 9000])).tolist() == [0, 2000, 4000]
    assert (clock.cycles, clock.ns) == (4000, 2048)
    assert clock.mhz == pytest.approx(1953.125)


def test_two_sms_by_hand() -> None:
    # 2 cycles a nanosecond; the second SM's counter is a million ahead, and its CTA begins 64 ns later
    clock = common_clock(headers_of((0, 100, 3200, 2148, 4224), (1, 1_000_228, 3264, 1_002_276, 4288)))
    assert clock.cycle(0, np.array([100])).tolist() == [0]
    assert clock.cycle(1, np.array([1_000_228])).tolist() == [128]
    assert (clock.cycles, clock.ns) == (2176, 1088)


def test_ctas_that_have_not_started_or_ended_do_not_count() -> None:
    whole = headers_of((0, 100, 3200, 2148, 4224))
    part = headers_of((0, 100, 3200, 2148, 4224), (0, 2200, 4256, 0, 0), (0, 0, 0, 0, 0))
    assert common_clock(part).cycles == common_clock(whole).cycles == 2048
    running = common_clock(headers_of((4, 100, 3200, 0, 0)))
    assert (running.cycles, running.cycle(4, np.array([150])).tolist()) == (0, [50])
    nothing = common_clock(headers_of((0, 0, 0, 0, 0)))
    assert (nothing.cycles, nothing.ns, nothing.mhz) == (0, 0, 0.0)
