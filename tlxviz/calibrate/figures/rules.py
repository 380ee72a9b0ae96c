"""What a rule is that makes a figure of measurements, and how all of them are applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tlxviz.calibrate.results import Calibration, Measurement
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


def only(found: Calibration, how: str, law: str, less: float = 0.0, /, **at: int | str) -> Finding | None:
    """A figure that is a measurement, less `less`."""
    each = found.find(law, **at)
    return None if each is None else Finding(each.median - less, how, (each,))


def clock_read(found: Calibration) -> float:
    """Cycles from one read of the clock to the next, with nothing between; 0 where that was not measured."""
    each = found.find("clock.read")
    return each.median if each is not None else 0.0
