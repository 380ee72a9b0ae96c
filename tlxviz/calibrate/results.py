"""What was measured."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    law: str
    """`wgmma.completion`: what was measured."""
    at: dict[str, int | str]
    """Of what: the point of the law, such as `{"n": 128, "in_flight": 4}`."""
    median: float
    low: float
    """A tenth of the repeats are below."""
    high: float
    """A tenth of the repeats are above."""
    unit: str
    repeats: int

    @property
    def name(self) -> str:
        """`wgmma.completion[n=128,in_flight=4]`."""
        point = ",".join(f"{key}={value}" for key, value in self.at.items())
        return f"{self.law}[{point}]" if point else self.law


def measured(law: str, samples: Iterable[float], unit: str = "cycles", /, **at: int | str) -> Measurement:
    """Median and spread of `samples`."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError(f"{law} has no samples")
    tenth = (len(ordered) - 1) // 10
    return Measurement(law, at, statistics.median(ordered), ordered[tenth], ordered[-1 - tenth], unit, len(ordered))


@dataclass(slots=True)
class Calibration:
    """Everything that a run found out."""

    device: dict[str, Any] = field(default_factory=dict[str, Any])
    """Name, driver, SMs, date, ..."""
    measurements: list[Measurement] = field(default_factory=list[Measurement])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    """Benchmark to what went wrong."""
    sustained_mhz: float = 0.0
    """The SM clock at which the data file turns cycles into time; 0 where that is not known."""

    def law(self, law: str) -> list[Measurement]:
        """All points of a law."""
        return [each for each in self.measurements if each.law == law]

    def find(self, law: str, /, **at: int | str) -> Measurement | None:
        """The point of a law, if it was measured."""
        for each in self.law(law):
            if each.at == at:
                return each
        return None

    def to_text(self) -> str:
        """`to_json` as text, a line for each measurement."""
        data = self.to_json()
        points = ",\n".join("  " + json.dumps(each) for each in data.pop("measurements"))
        rest = ",\n".join(f' "{key}": {json.dumps(value)}' for key, value in data.items())
        return f'{{\n{rest},\n "measurements": [\n{points}\n ]\n}}\n'

    def to_json(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "measurements": [to_json(each) for each in self.measurements],
            "failures": self.failures,
        }


def to_json(each: Measurement) -> dict[str, Any]:
    return {
        "law": each.law,
        "at": each.at,
        "median": round(each.median, 3),
        "low": round(each.low, 3),
        "high": round(each.high, 3),
        "unit": each.unit,
        "repeats": each.repeats,
    }


def from_json(data: dict[str, Any]) -> Measurement:
    return Measurement(
        data["law"], dict(data["at"]), data["median"], data["low"], data["high"], data["unit"], data["repeats"]
    )


def slope(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """(a, b) of the line a + b x with the smallest squared error."""
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    b = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
    return mean_y - b * mean_x, b
