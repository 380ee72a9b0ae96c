"""Which tutorials of the installed TLX compile for Blackwell, run on a simulated B200, and compute what torch does.

Each case runs in a process of its own, since the compiler can end one.

    python benchmarks/tutorials.py               # what compiles
    python benchmarks/tutorials.py --run         # what runs as well
    python benchmarks/tutorials.py --run clc     # of the cases that have this in their names

Results are kept in `data/tutorials.json`, those of earlier runs included, and docs/tutorials.md is written from it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sim"))

import tutorial_driver
from tutorial_cases import CASES, Case

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.devices import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import Simulated, SimulatedRecorder

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "benchmarks" / "data" / "tutorials.json"
PAGE = ROOT / "docs" / "tutorials.md"
DEVICE = "b200"
LIMIT_S = 900
_TELLING = re.compile(r"(ptxas|\S*(Error|Exception|OutOfResources)\b)")
"""How lines begin that say what is wrong."""
_FAILED = re.compile(r"^kernel (\w+) \(.*\) does not compile")


def executed(case: Case, *, run: bool) -> dict[str, Any]:
    """What became of a case, in this process: `kernels` that were launched, `error`, `printed`, `cycles`."""
    device = load_device(DEVICE)
    recorder = SimulatedRecorder(device)
    kernels: dict[str, None] = {}
    cycles = 0

    def execute(launch: Any) -> Simulated:
        nonlocal cycles
        kernels[launch.kernel] = None
        done = recorder.execute(launch) if run else Simulated(1000, 1, ())
        cycles += done.cycles
        return done

    error = ""
    printed = io.StringIO()
    status = -1
    try:
        with contextlib.redirect_stdout(printed):
            arguments = [case.file, case.kind, json.dumps(case.options)]
            status = run_script(tutorial_driver.__file__, arguments, device, execute, first_config=True)
    except TlxvizError as failed:
        error = str(failed)
    return {
        "kernels": list(kernels),
        "error": error,
        "printed": printed.getvalue(),
        "cycles": cycles,
        "status": status,
    }


def in_a_process(number: int, *, run: bool) -> dict[str, Any]:
    """What became of a case."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, __file__, "--one", str(number), "--to", file.name, *(["--run"] if run else [])]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return _nothing(f"takes more than {LIMIT_S} s")
        text = Path(file.name).read_text(encoding="utf-8")
        if text:
            return json.loads(text)
        said = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
        told = next((line for line in said if "Assertion" in line or "error:" in line), said[-1] if said else "")
        return _nothing(f"the compiler ends the process with {ended.returncode}: {told}")


def _nothing(error: str) -> dict[str, Any]:
    return {"kernels": [], "error": error, "printed": "", "cycles": 0, "status": -1}


def reason(error: str) -> str:
    """What a long message comes to."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return ""
    telling = [line for line in lines if _TELLING.match(line)]
    told = telling[-1] if telling else lines[-1]
    if "^" in lines and "CompilationError: at" in told:  # what it is about, a caret, and what is wrong with it
        told = f"{lines[-1]} (`{lines[lines.index('^') - 1]}`)"
    return told.replace(str(tutorial_driver.folder()), "tutorials")[:300]


def state_of_compiling(case: Case, result: dict[str, Any]) -> tuple[str, str]:
    """`yes`, `no` or `not tried`, and why not."""
    failed = _FAILED.match(result["error"])
    if failed is not None:
        return "no", f"`{failed[1]}`: {reason(result['error'])}"
    if result["kernels"]:
        return "yes", ""
    if case.kind == "imported" and not result["error"]:
        return "not tried", ""
    return "no", reason(result["error"]) or "no kernel was launched"


def state_of_running(result: dict[str, Any], *, compared: bool) -> str:
    """In a few words."""
    if result["error"]:
        return reason(result["error"])
    if not compared:
        return "runs, and is compared with nothing"
    errors = [float(found) for found in re.findall(r"relative error (\S+)", result["printed"])]
    told = ", by its own comparison"
    if errors:
        told = f", relative error {max(errors):.0e}" if max(errors) else " exactly"
    if result["status"]:
        return f"differs from torch{told}"
    return f"matches torch{told}"


def measured(chosen: list[int], *, run: bool) -> None:
    """Adds to the results that are kept."""
    kept: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    for number in chosen:
        case = CASES[number]
        begin = perf_counter()
        result = in_a_process(number, run=run)
        entry = kept.setdefault(case.name, {})
        entry["compiles"], entry["why"] = state_of_compiling(case, result)
        entry["kernels"] = result["kernels"]
        if run and entry["compiles"] == "yes":
            entry["runs"] = state_of_running(result, compared=not case.alone)
            entry["cycles"] = result["cycles"]
        print(f"{case.name}: {entry} ({perf_counter() - begin:.0f} s)", flush=True)
        names = [each.name for each in CASES]
        ordered = {name: kept[name] for name in names if name in kept}
        DATA.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


_NOTES = """\
`fused_attention_ws_device_tma` with a causal mask differs because of what the compiler makes of it; its own test
tries no mask, and its backward pass knows none. S and P of a half have the same columns of tensor memory. The warp
group `softmax` gives S back as soon as it has read it, and writes P there later. Without a mask the products take
turns: S of a block, P V, S of the next block. With one, the products of S for two blocks are issued before the
first P V, so that P of the first block is written over S of the second before anybody has read that. The trace of
the simulator shows it.

The backward pass of `blackwell_fa_ws_pipelined_persistent_mxfp8` is not in the table: its inline assembly has
`redux.sync`, which exchanges values between the lanes of a warp, and which the simulator refuses.

fp6 (E2M3, E3M2) has no front end: `tlx.async_dot_scaled`, `tl.dot_scaled` and Gluon's `tcgen05_mma_scaled` assert
that formats are among E2M1, E4M3 and E5M2 (`tl.dot_scaled` also bf16 and fp16), and no descriptor unpacks it. TTGIR
that is written by hand compiles to PTX; the simulator refuses it.
"""


def page() -> str:
    """The text of docs/tutorials.md."""
    kept: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    toolchain = _triton.toolchain()
    lines = [
        "# Tutorials on Blackwell",
        "",
        f"The tutorials that {toolchain.distribution} {toolchain.version} brings, compiled for `sm_100` and run",
        "unmodified with `--device sim:b200`. Written by `python benchmarks/tutorials.py --run`: one case or several",
        "of each, with small sizes. A tuned kernel has its first configuration. *Runs* is empty where nobody tried.",
        "",
        "| tutorial | case | compiles | runs |",
        "| --- | --- | --- | --- |",
    ]
    for case in CASES:
        entry = kept.get(case.name)
        if entry is None:
            continue
        compiles = entry["compiles"] + (f": {_cell(entry['why'])}" if entry["why"] else "")
        runs = _cell(entry.get("runs", ""))
        if entry.get("cycles") and runs.startswith("matches"):
            runs += f"; {entry['cycles']:,} cycles"
        lines.append(f"| `{case.file}` | {case.what} | {compiles} | {runs} |")
    return "\n".join([*lines, "", _NOTES.rstrip()]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases that have one of these in their names; all by default")
    parser.add_argument("--run", action="store_true", help="simulate what compiles")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        result = executed(CASES[arguments.one], run=arguments.run)
        Path(arguments.to).write_text(json.dumps(result), encoding="utf-8")
        return
    names = arguments.names
    chosen = [i for i, case in enumerate(CASES) if not names or any(name in case.name for name in names)]
    measured(chosen, run=arguments.run)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
