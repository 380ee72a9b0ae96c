"""What it takes to read the records of a launch: the time of `decode`, in passes over the ring's own memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlxviz.probe.streams import decode

RECORDS = 10_000_000
ROUNDS = 7


def seconds(function: Callable[[], object]) -> float:
    begin = perf_counter()
    function()
    return perf_counter() - begin


def main() -> None:
    random = np.random.default_rng(0)
    points = random.integers(0, 300, RECORDS, dtype=np.int32)
    times = np.cumsum(random.integers(20, 2000, RECORDS))
    tagged = np.where(random.random(RECORDS) < 0.5, points.astype(np.int64) % 255 + 1, 0)
    ring = np.concatenate([(times + (tagged << 24)).astype(np.uint32), np.zeros(32, np.uint32)])
    assert np.array_equal(decode(ring, points, 0).times, times)
    # taken in turn, so that both meet the same machine
    both = [(seconds(lambda: decode(ring, points, 0)), seconds(lambda: np.cumsum(times))) for _ in range(ROUNDS)]
    decoding, summing = median(each[0] for each in both), median(each[1] for each in both)
    print(f"{RECORDS:,} records: decode {1000 * decoding:.0f} ms, np.cumsum of as many 64-bit integers "
          f"{1000 * summing:.0f} ms: {decoding / summing:.1f} times as long")  # fmt: skip


if __name__ == "__main__":
    main()
