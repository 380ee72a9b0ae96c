"""What recording on a GPU costs, against Proton's instrumentation at the same sites: `gpu.py OUT.json`, on an H200.

Each kernel is built without probes, with those of the default plan, with probes in every CTA, and with a record of
Proton's at the begin and the end of every site. All are launched in turn, so that they meet the same clocks, and their
times are medians. Then the default plan is recorded three times, for how long the traces are and what they find worst.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "kernels")]

import torch  # noqa: E402
import triton  # noqa: E402

from tlxviz import _triton  # noqa: E402
from tlxviz.analysis.account import Account  # noqa: E402
from tlxviz.analysis.attribution import Cause, GroupAttribution  # noqa: E402
from tlxviz.analysis.summary import summarise  # noqa: E402
from tlxviz.devices import load_device  # noqa: E402
from tlxviz.ir import load_program  # noqa: E402
from tlxviz.launch.script import run_on_gpu  # noqa: E402
from tlxviz.probe.build import ProbingStages  # noqa: E402
from tlxviz.probe.memory import Memory  # noqa: E402
from tlxviz.probe.options import ProbeOptions  # noqa: E402
from tlxviz.probe.plan import Plan  # noqa: E402
from tlxviz.probe.recorder import ProbingRecorder  # noqa: E402
from tlxviz.probe.search import Way  # noqa: E402
from tlxviz.probe.session import Session  # noqa: E402
from tlxviz.sim.recording import Recording  # noqa: E402
from tlxviz.trace.model import LaunchTrace  # noqa: E402

ROUNDS = 15
WORK = (Cause.ARITHMETIC, Cause.ISSUE, Cause.TENSOR_CORE, Cause.PROLOGUE, Cause.EPILOGUE)
HEAD_START_CYCLES = 1_000_000
USUAL = 4

GEMM = """
import torch, hopper_gemm_ws
torch.manual_seed(0)
a, b = (torch.randn(8192, 8192, dtype=torch.float16, device="cuda") for _ in range(2))
hopper_gemm_ws.matmul(a, b, stages=4)
"""
ATTENTION = """
import importlib, torch
torch.manual_seed(0)
module = importlib.import_module("triton.language.extra.tlx.tutorials.hopper_fa_ws_pipelined_pingpong")
q, k, v = (torch.randn(4, 16, 8192, 128, dtype=torch.float16, device="cuda") for _ in range(3))
module.attention(q, k, v, 0.5)
"""


SMALL_ATTENTION = """
import importlib, torch
torch.manual_seed(0)
module = importlib.import_module("triton.language.extra.tlx.tutorials.{}")
q, k, v = (torch.randn({}, {}, {}, 128, dtype=torch.float16, device="cuda") for _ in range(3))
module.attention(q, k, v, 0.5)
"""
SMALL_GEMM = """
import torch, hopper_gemm_ws
torch.manual_seed(0)
a, b = (torch.randn(*size, dtype=torch.float16, device="cuda") for size in ((1024, 4096), (4096, 2048)))
hopper_gemm_ws.matmul(a, b, stages=4)
"""
PING_PONG = "hopper_fa_ws_pipelined_pingpong"
ONE_WAVE = {
    "ping-pong, B 1 H 4 S 1024, 32 CTAs": SMALL_ATTENTION.format(PING_PONG, 1, 4, 1024),
    "ping-pong, B 1 H 16 S 1024, 128 CTAs": SMALL_ATTENTION.format(PING_PONG, 1, 16, 1024),
    "persistent, B 4 H 16 S 2048, 132 CTAs": SMALL_ATTENTION.format(f"{PING_PONG}_persistent", 4, 16, 2048),
    "without ping-pong, B 1 H 16 S 1024": SMALL_ATTENTION.format("hopper_fa_ws", 1, 16, 1024),
    "GEMM 1024 x 2048 x 4096, 64 CTAs": SMALL_GEMM,
}


class ProtonStages:
    """A stage hook that puts a record of Proton's at the begin and the end of every site of a program."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *stages: Any) -> Any:
        if not stages:
            return self._name, self._name
        to_ttgir = stages[1]["ttgir"]

        def ttgir(source: Any, metadata: dict[str, Any]) -> Any:
            module = to_ttgir(source, metadata)
            text = str(module)
            lines = text.split("\n")
            for site in reversed(load_program(text).sites):
                at = site.operation.line
                lines.insert(at, f'proton.record end "s{site.index}"')
                lines.insert(at - 1, f'proton.record start "s{site.index}"')
            return _triton.parsed("\n".join(lines), module)

        stages[1]["ttgir"] = ttgir
        return None


@contextmanager
def hooked(hook: Any) -> Generator[None]:
    owner, name = _triton.stage_hook_slot()
    setattr(owner, name, hook)
    try:
        yield
    finally:
        setattr(owner, name, None)


def probed(call: Callable[[], object], plan: Plan, ctas: int, records: int) -> Callable[[], object]:
    memory = Memory(ctas, min(ctas, max(plan.ctas) + 1), 3, records)
    stages = ProbingStages(plan, 0)

    def launch() -> object:
        with hooked(stages), _triton.profile_scratch(memory.address(listed=True)):
            return call()

    return launch


def with_proton(call: Callable[[], object], buffer: str) -> tuple[Callable[[], object], Any]:
    import triton.profiler.mode as mode
    from triton.profiler.hooks.instrumentation import InstrumentationHook
    from triton.profiler.mode import Default

    kind = mode.buffer_types[buffer]
    settings = Default(
        buffer_type=kind,
        granularity=mode.granularities["warp"],
        buffer_strategy=mode.buffer_strategies["circular"],
        buffer_size=0 if buffer == "shared" else 12 << 12,
        optimizations=[mode.optimizations["clock32"]],
    )
    hook = InstrumentationHook(settings)
    stages = ProtonStages(f"proton {buffer}")

    def launch() -> object:
        hook.activate()
        try:
            with hooked(stages):
                return call()
        finally:
            hook.deactivate()

    return launch, hook


def medians(launches: dict[str, Callable[[], object]], usual: Callable[[], object]) -> dict[str, float]:
    """Milliseconds of each, taken in turn, each behind the same launches.

    A GEMM runs at the GPU's limit of power, and its clock depends on what ran before.
    """
    times: dict[str, list[float]] = {name: [] for name in launches}
    for _ in range(ROUNDS):
        for name, launch in launches.items():
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HEAD_START_CYCLES)
            for _ in range(USUAL):
                usual()
            first.record()
            launch()
            last.record()
            last.synchronize()
            times[name].append(first.elapsed_time(last))
    return {name: statistics.median(own) for name, own in times.items()}


def slow_downs(name: str, call: Callable[[], object], ctas: int, records: int) -> dict[str, Any]:
    launches: dict[str, Callable[[], object]] = {
        "plain": call,
        "default plan": probed(call, Plan(), ctas, records),
        "every CTA": probed(call, Plan(ctas=tuple(range(ctas))), ctas, records),
        "waits and arrivals, every CTA": probed(
            call, Plan(choice=_choice("barriers"), ctas=tuple(range(ctas))), ctas, records
        ),
    }
    failures: dict[str, str] = {}
    for buffer in ("shared", "global"):
        launches[f"Proton, {buffer}"], _ = with_proton(call, buffer)
    seconds: dict[str, float] = {}
    for each, launch in list(launches.items()):
        begin = time.perf_counter()
        try:
            launch()
            torch.cuda.synchronize()
        except Exception as error:
            failures[each] = f"{type(error).__name__}: {error}"[:300]
            del launches[each]
        seconds[each] = time.perf_counter() - begin
    found = medians(launches, call)
    return {"kernel": name, "ms": found, "first_launch_s": seconds, "failures": failures}


def _choice(text: str) -> Any:
    from tlxviz.probe.plan import Choice

    return Choice.parse(text)


def stall(launch: LaunchTrace) -> str:
    """The cause for which the warp groups of a role stand still longest.

    Which of several barriers they meet it at may change, and which of two that do the same stands longer.
    """
    roles: dict[str, list[GroupAttribution]] = {}
    for group in Account(launch).attribution:
        roles.setdefault(group.role, []).append(group)
    share, role, cause = max(
        (statistics.mean(group.shares.get(cause, 0.0) for group in groups), role, cause)
        for role, groups in roles.items()
        for cause in Cause
        if cause not in WORK
    )
    return f"{role} {cause} {share:.1%}"


def recorded(name: str, text: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for _ in range(3):
        recorder = ProbingRecorder(Recording(), ProbeOptions(), load_device("h200"))
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text(text)
            begin = time.perf_counter()
            run_on_gpu(script, [], recorder)
            seconds = time.perf_counter() - begin
        [launch] = recorder.trace.launches
        worst = summarise(launch).waits[0]
        entries.append(
            {
                "kernel": name,
                "probe": launch.provenance["probe"],
                "trace_ms": launch.cycles / launch.clock_mhz / 1000,
                "last_event_ms": max(track.end for track in launch.tracks) / launch.clock_mhz / 1000,
                "cycles": launch.cycles,
                "events": len(launch.events),
                "worst": f"{worst.agent} {worst.variable} line {worst.line}",
                "worst_share": worst.share,
                "stall": stall(launch),
                "seconds": seconds,
            }
        )
        print(json.dumps(entries[-1]), flush=True)
    return entries


def one_wave(name: str, text: str) -> dict[str, Any]:
    """A kernel whose CTAs all run at once: as slow as the slowest."""
    tried: list[dict[str, Any]] = []
    attempt = Session._attempt

    def noted(session: Session, way: Way) -> Any:
        made = attempt(session, way)
        tried.append({"parts": way.parts, "everywhere": way.everywhere, "slow_downs": made.slow_downs})
        return made

    recorder = ProbingRecorder(Recording(), ProbeOptions(), load_device("h200"))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(text)
        Session._attempt = noted
        try:
            run_on_gpu(script, [], recorder)
        finally:
            Session._attempt = attempt
    [launch] = recorder.trace.launches
    return {"kernel": name, "tried": tried, "probe": launch.provenance["probe"], "complete": launch.complete}


def main() -> None:
    out = Path(sys.argv[1])
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "triton": triton.__version__, "slow_downs": []}
    torch.manual_seed(0)
    import hopper_gemm_ws

    a, b = (torch.randn(8192, 8192, dtype=torch.float16, device="cuda") for _ in range(2))
    attention = importlib.import_module("triton.language.extra.tlx.tutorials.hopper_fa_ws_pipelined_pingpong")
    q, k, v = (torch.randn(4, 16, 8192, 128, dtype=torch.float16, device="cuda") for _ in range(3))
    for entry in (
        slow_downs("GEMM 8192^3", lambda: hopper_gemm_ws.matmul(a, b, stages=4), 132, 30000),
        slow_downs("FlashAttention B4 H16 S8192 D128", lambda: attention.attention(q, k, v, 0.5), 4096, 2000),
    ):
        found["slow_downs"].append(entry)
        print(json.dumps(entry), flush=True)
        out.write_text(json.dumps(found, indent=1))
    found["recorded"] = recorded("GEMM 8192^3", GEMM) + recorded("FlashAttention", ATTENTION)
    found["one_wave"] = []
    for name, text in ONE_WAVE.items():
        found["one_wave"].append(one_wave(name, text))
        print(json.dumps(found["one_wave"][-1]), flush=True)
    out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
