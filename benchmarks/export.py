"""How long writing a trace takes in each format, against reading it: `export.py [FORMAT ...]`. figures in export.md.

The trace is that of `analysis.py`: `kernels/hopper_gemm_ws.py` at 8192 cubed, simulated: 19 CTAs are a million events.
"Read" is loading the file and going once over every column; "write" is choosing all of the launch and making the bytes
of the file, in the same process. What a format imports is imported before. Reading and writing take turns, so that both
meet the same machine, and the least of several times counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from analysis import simulated  # noqa: E402

from tlxviz.exports.formats import FORMATS  # noqa: E402
from tlxviz.exports.selection import Selection, cuts  # noqa: E402
from tlxviz.trace import load_trace  # noqa: E402
from tlxviz.trace.model import Trace  # noqa: E402

REPEATS = 7


def read(path: Path) -> Trace:
    trace = load_trace(path)
    for launch in trace.launches:
        for column in launch.events.columns.values():
            column.sum()
    return trace


def main() -> None:
    names = sys.argv[1:] or list(FORMATS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.tlxtrace"
        simulated(path)
        trace = read(path)
        print(f"{len(trace.launches[0].events):,} events, a trace of {path.stat().st_size / 1e6:.1f} MB\n")
        print("| format | read | write | write / read | size |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for name in names:
            write = FORMATS[name].load()
            reads: list[float] = []
            writes: list[float] = []
            size = 0
            for _ in range(REPEATS):
                start = time.perf_counter()
                trace = read(path)
                reads.append(time.perf_counter() - start)
                start = time.perf_counter()
                made = write(cuts([(0, trace.launches[0])], lambda *_: Selection()))
                size = len(made) if isinstance(made, bytes | memoryview) else sum(map(len, made))
                writes.append(time.perf_counter() - start)
            figures = f"{1e3 * min(reads):.0f} ms | {1e3 * min(writes):.0f} ms | {min(writes) / min(reads):.1f}"
            print(f"| {name} | {figures} | {size / 1e6:.1f} MB |", flush=True)


if __name__ == "__main__":
    main()
