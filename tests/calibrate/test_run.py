"""The process that measures may fail, die or hang: the rest is measured all the same."""

from __future__ import annotations

import pytest

from tlxviz._errors import ExitCode
from tlxviz.calibrate import driver
from tlxviz.calibrate.driver import DriverError, Gpu, NoGpu
from tlxviz.calibrate.results import Calibration
from tlxviz.calibrate.run import calibrate

WORKER = """
import json, os, sys, time

def tell(**what):
    print(json.dumps(what), flush=True)

print("a library's own words")
tell(device={"cuda_name": "NVIDIA H200"})
for name in sys.argv[2:]:
    tell(begin=name)
    if name == "dies":
        os.abort()
    if name == "raises":
        raise RuntimeError("no such law")
    if name == "hangs":
        time.sleep(600)
    if name == "fails":
        tell(failed=name, error="Fault: gave up")
    else:
        tell(measurement={"law": name, "at": {}, "median": 1, "low": 1, "high": 1, "unit": "cycles", "repeats": 1})
    tell(end=name, seconds=0.1)
"""


def run(*names: str, program: str = WORKER) -> tuple[Calibration, list[str]]:
    told: list[str] = []
    kept: list[int] = []

    def keep(found: Calibration) -> None:
        kept.append(len(found.measurements))

    found = calibrate(names, told.append, keep, patience=2.0, program=program)
    assert kept[-1] == len(found.measurements)
    return found, told


def test_all_is_well() -> None:
    found, told = run("a", "b")
    assert [each.law for each in found.measurements] == ["a", "b"]
    assert found.device == {"cuda_name": "NVIDIA H200"}
    assert not found.failures
    assert told == ["a: 1 figures, 0.1 s", "b: 1 figures, 0.1 s"]


def test_a_benchmark_fails() -> None:
    found, told = run("a", "fails", "b")
    assert [each.law for each in found.measurements] == ["a", "b"]
    assert found.failures == {"fails": "Fault: gave up"}
    assert "fails: FAILED: Fault: gave up" in told


def test_the_process_dies() -> None:
    found, _ = run("a", "dies", "raises", "b")
    assert [each.law for each in found.measurements] == ["a", "b"]
    assert found.failures == {
        "dies": "the process ended with status -6",
        "raises": "RuntimeError: no such law",
    }


def test_the_process_hangs() -> None:
    found, _ = run("hangs", "b")
    assert [each.law for each in found.measurements] == ["b"]
    assert found.failures == {"hangs": "it did not answer for 2 s"}


def test_there_is_no_gpu() -> None:
    with pytest.raises(NoGpu, match="no GPU here") as caught:
        run("a", program='print(\'{"cannot": "no GPU here"}\')')
    assert caught.value.exit_code == ExitCode.CANNOT_RUN


def test_the_process_does_not_start() -> None:
    with pytest.raises(NoGpu, match=r"calibrating cannot start: ModuleNotFoundError: .*"):
        run("a", program="import no_such_module")


def test_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LIBRARIES", ("libnosuchdriver.so.1",))
    with pytest.raises(NoGpu) as caught:
        Gpu()
    assert str(caught.value) == (
        "calibrating needs an NVIDIA GPU, and there is no driver (libcuda.so.1) on this machine."
    )


@pytest.mark.parametrize(("status", "fatal"), [(1, False), (200, False), (214, True), (700, True), (719, True)])
def test_errors_after_which_a_process_can_go_on(status: int, fatal: bool) -> None:
    assert DriverError("cuLaunchKernelEx", status, "said so").fatal is fatal
