"""Captures the record streams in tests/probe/data anew, on an H200: `capture_streams.py [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "probe")]

import streams_file  # noqa: E402

from tlxviz.devices import load_device  # noqa: E402
from tlxviz.launch.script import run_on_gpu  # noqa: E402
from tlxviz.probe.attempt import Attempt  # noqa: E402
from tlxviz.probe.options import ProbeOptions  # noqa: E402
from tlxviz.probe.recorder import ProbingRecorder  # noqa: E402
from tlxviz.probe.session import Session  # noqa: E402
from tlxviz.sim.recording import Recording  # noqa: E402

GEMM = ROOT / "kernels" / "hopper_gemm_ws.py"
SMALL = ROOT / "tests" / "gpu" / "probed_kernels.py"
STREAMS: dict[str, tuple[Path, list[str], dict[str, Any]]] = {
    "gemm": (GEMM, ["--m", "1024", "--n", "1024", "--k", "1024"], {"parts": 1}),
    "gemm_in_parts": (GEMM, ["--m", "1024", "--n", "1024", "--k", "1024"], {"parts": 3}),
    "calls": (SMALL, ["calls"], {"parts": 1}),
    "hand_off": (SMALL, ["hand_off"], {"parts": 1, "all_warps": True}),
    "ping_pong": (SMALL, ["ping_pong"], {"parts": 1}),
    "ranges": (SMALL, ["ranges"], {"parts": 1}),
}


def capture(name: str, folder: Path) -> None:
    script, arguments, options = STREAMS[name]
    kept: list[streams_file.Streams] = []
    finished = Session.trace

    def finish(session: Session, attempt: Attempt) -> Any:
        host = attempt.host
        kept.append(
            streams_file.Streams(
                kernel=host.kernel,
                grid=host.grid,
                parameters=host.parameters,
                ttgir=host.ttgir,
                metadata=host.metadata,
                plan=attempt.plan,
                parts=attempt.parts,
                lengths=attempt.lengths,
            )
        )
        return finished(session, attempt)

    Session.trace = finish
    try:
        handler = ProbingRecorder(Recording(ctas=(0,)), ProbeOptions(**options), load_device("h200"))
        run_on_gpu(script, arguments, handler)
    finally:
        Session.trace = finished
    streams_file.save(name, kept[0], folder, text_as="gemm" if name.startswith("gemm") else None)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else streams_file.DATA
    for name in STREAMS:
        capture(name, folder)
        print(name, flush=True)


if __name__ == "__main__":
    main()
