"""What checking costs: `python benchmarks/check.py`. Each figure is a ratio from one run.

The kernel is TLX's tutorial of Hopper FlashAttention (`hopper_fa_ws_pipelined_pingpong`), with 512 rows. Checking it on
all rules, with the race detector and under 20 schedules, is compared with one plain simulation of it, as
`tlxviz run` does: values on, CTA 0 traced. What reads the TTGIR and writes its Python once in a process is left out of
both, and shown by itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from simulator import seconds  # noqa: E402

from tlxviz.check.checker import SCHEDULES, Checker  # noqa: E402
from tlxviz.check.model import Severity  # noqa: E402
from tlxviz.devices import load_device  # noqa: E402
from tlxviz.ir import load_program  # noqa: E402
from tlxviz.launch.model import Launch  # noqa: E402
from tlxviz.launch.script import run_script  # noqa: E402
from tlxviz.sim.recorder import SimulatedRecorder  # noqa: E402
from tlxviz.sim.recording import Recording  # noqa: E402

DRIVER = ROOT / "tests" / "sim" / "tutorial_driver.py"
OPTIONS = {
    "sizes": [1, 2, 512, 128],
    "BLOCK_M": 128,
    "BLOCK_N": 128,
    "NUM_BUFFERS": 2,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
}


class _Enough(BaseException):
    """The launch has been caught."""


def caught() -> Launch:
    """The launch of the tutorial."""
    found: list[Launch] = []

    def catch(launch: Launch) -> None:
        found.append(launch)
        raise _Enough

    arguments = ["hopper_fa_ws_pipelined_pingpong", "attention", json.dumps(OPTIONS)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(_Enough):
        run_script(DRIVER, arguments, load_device("h200"), catch)
    return found[0]


def main() -> None:
    launch = caught()
    device = load_device("h200")
    recorder = SimulatedRecorder(device, Recording(ctas=(0,)))
    checker, alone = Checker(device), Checker(device, schedules=1)
    checked = checker.check(launch)  # which compiles its kernel, once
    assert not [finding for finding in checked.findings if finding.severity is Severity.ERROR]
    assert checked.schedules == SCHEDULES

    def plain() -> None:
        recorder.execute(launch)

    plain()
    simulated = seconds(plain)
    rows = [
        ("one plain simulation", simulated),
        ("all rules, under the usual schedule alone", seconds(lambda: alone.check(launch))),
        (f"all rules, under {SCHEDULES} schedules, results compared", seconds(lambda: checker.check(launch))),
    ]
    print("| what | time | against one simulation |")
    print("| --- | ---: | ---: |")
    for what, taken in rows:
        print(f"| {what} | {1000 * taken:.0f} ms | {taken / simulated:.1f} |")
    program = load_program(launch.ttgir)
    read = seconds(lambda: load_program(launch.ttgir))
    static = seconds(lambda: checker.read(program))
    first = seconds(lambda: Checker(device).check(launch))
    print("| what | time | against compiling |")
    print("| --- | ---: | ---: |")
    for what, taken in (
        ("Triton compiles the kernel", launch.compile_seconds),
        ("the TTGIR is read", read),
        ("static rules alone", static),
        (f"reading, writing Python, and all rules under {SCHEDULES} schedules", first),
    ):
        print(f"| {what} | {1000 * taken:.0f} ms | {taken / launch.compile_seconds:.3f} |")


if __name__ == "__main__":
    main()
