"""Kernels made of descriptions: the checker is silent on the correct ones, and finds each planted fault."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ring_programs import FAULTS, SIDE, Ring, faulty, rings, ttgir_of

from tlxviz._errors import TlxvizError
from tlxviz.check.checker import Checker
from tlxviz.check.model import Finding, Severity
from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.launch.model import HostDescriptor, Launch

FEW, MANY = 25, 500
"""Samples of each kind: each time, and with the slow tests."""
_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def some(samples: int) -> Any:
    """Settings for so many samples, the same ones each time."""
    return settings(max_examples=samples, deadline=None, derandomize=True, database=None, suppress_health_check=_QUIET)


@cache
def h200() -> Device:
    return load_device("h200")


def launch_of(ring: Ring, ttgir: str = "") -> Launch:
    """A launch of the kernel, or of another TTGIR with the same parameters."""
    x = torch.zeros(max(1, ring.total) * SIDE, SIDE, dtype=torch.float16)
    y = torch.zeros(ring.tiles * SIDE, ring.consumers * SIDE, dtype=torch.float16)
    described = [HostDescriptor(each, tuple(each.shape), each.stride(), (SIDE, SIDE)) for each in (x, y)]
    parameters: list[tuple[str, Any]] = list(zip(("x_desc", "y_desc"), described, strict=True))
    metadata = {"shared": 0, "num_warps": 4, "num_ctas": 1, "num_stages": 1}
    return Launch("ring", (1, 1, 1), parameters, dict(parameters), ttgir or ttgir_of(ring), metadata)


def errors_of(ring: Ring) -> list[Finding]:
    found = Checker(h200()).check(launch_of(ring)).findings
    return [finding for finding in found if finding.severity is Severity.ERROR]


def check_correct(ring: Ring) -> None:
    assert errors_of(ring) == []


def check_faulty(ring: Ring) -> None:
    assert errors_of(ring), ring.fault


test_correct_kernels_are_clean = some(FEW)(given(rings())(check_correct))
test_planted_faults_are_found = some(FEW)(given(faulty())(check_faulty))
test_many_correct_kernels_are_clean = pytest.mark.slow(some(MANY)(given(rings())(check_correct)))
test_many_planted_faults_are_found = pytest.mark.slow(some(MANY)(given(faulty())(check_faulty)))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault: str):
    ring = Ring(2, 5, 3, 2, 2, "wgmma", 0, True, 1, False, fault)
    if not FAULTS[fault](ring):
        ring = Ring(2, 5, 3, 1, 2, "wgmma", 0, True, 1, False, fault)
    check_faulty(ring)


def damaged(text: str, seed: int) -> str:
    """The text with some lines left out, repeated or exchanged, and some numbers and names changed."""
    chance = random.Random(seed)
    lines = text.split("\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines) - 1)
        match chance.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
            case 3:
                other = str(chance.choice((-1, 0, 1, 2, 3, 7, 64)))
                lines[at] = re.sub(r"(?<=\s)-?\d+\b", lambda _, other=other: other, lines[at], count=1)
            case _:
                names = re.findall(r"%\w+", text)
                lines[at] = re.sub(r"%\w+", lambda _, names=names: chance.choice(names), lines[at], count=1)
    return "\n".join(lines)


def check_damaged(ring: Ring, seed: int) -> None:
    with suppress(TlxvizError):  # and nothing else
        Checker(h200(), schedules=4).check(launch_of(ring, damaged(ttgir_of(ring), seed)))


test_damaged_text_is_refused_or_checked = some(FEW)(given(rings(), st.integers(0, 10**6))(check_damaged))
test_much_damaged_text_is_refused_or_checked = pytest.mark.slow(
    some(MANY)(given(rings(), st.integers(0, 10**6))(check_damaged))
)
