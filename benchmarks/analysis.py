"""How long analysing a trace takes, against reading it: `analysis.py [MILLIONS]`. analysis.md says what came out.

"Report" is what `tlxviz report` works out for its short text; "one pass", a sum of every column; "slack" is worked out
only where it is asked for (`--section slack`).

The trace is of `kernels/hopper_gemm_ws.py` at 8192 cubed, simulated: 19 CTAs are a million events. Larger ones hold it
several times, one launch after the other on the same SMs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tlxviz.analysis.account import Account  # noqa: E402
from tlxviz.analysis.slack import slacks  # noqa: E402
from tlxviz.analysis.summary import summarise  # noqa: E402
from tlxviz.trace import load_trace, save_trace  # noqa: E402
from tlxviz.trace.model import Events, LaunchTrace, Trace  # noqa: E402

KERNEL = ["kernels/hopper_gemm_ws.py", "--m", "8192", "--n", "8192", "--k", "8192"]
REPEATS = 5


def simulated(path: Path) -> None:
    options = ["--values", "off", "--ctas", "0:19", "--device", "sim:h200", "-q", "-o", str(path)]
    subprocess.run(
        [sys.executable, "cli.py", "run", *options, *KERNEL], cwd=ROOT, check=False, capture_output=True
    )  # no values: it complains


def several(launch: LaunchTrace, times: int) -> LaunchTrace:
    parts: list[Events] = []
    tracks = list(launch.tracks)
    for number in range(times):
        later = number * launch.cycles
        columns = {name: column.copy() for name, column in launch.events.columns.items()}
        columns["track"] = columns["track"] + number * len(tracks)
        columns["begin"], columns["end"] = columns["begin"] + later, columns["end"] + later
        parts.append(Events(columns))
        if number:
            launch.tracks += [
                replace(each, begin=each.begin + later, end=each.end + later, cta=each.cta + 100_000 * number)
                for each in tracks
            ]
    launch.events = Events.concat(parts).in_order()
    launch.cycles *= times
    return launch


def least(action: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    millions = [int(each) for each in sys.argv[1:]] or [1, 3, 10]
    print("| events | read | one pass | report | report / (read + pass) | report, per million events | slack |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.tlxtrace"
        simulated(first)
        for count in millions:
            path = Path(folder) / f"{count}.tlxtrace"
            [launch] = load_trace(first).launches
            save_trace(Trace([several(launch, count)]), path)
            del launch
            read = least(lambda path=path: load_trace(path))
            [launch] = load_trace(path).launches
            one_pass = least(lambda launch=launch: sum(int(each.sum()) for each in launch.events.columns.values()))
            report = least(lambda launch=launch: summarise(launch))
            account = Account(launch)
            slack = least(lambda account=account: slacks(account.launch, account.dependencies))
            ratio = report / (read + one_pass)
            numbers = f"{1e3 * read:.0f} ms | {1e3 * one_pass:.0f} ms | {1e3 * report:.0f} ms | {ratio:.2f}"
            each = f"{1e9 * report / len(launch.events):.0f} ms"
            print(f"| {len(launch.events):,} | {numbers} | {each} | {1e3 * slack:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()
