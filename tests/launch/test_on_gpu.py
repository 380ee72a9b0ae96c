"""Scripts on a real GPU, and launches of theirs that a handler is given. Here the stand-in plays the GPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz._errors import TlxvizError, UsageError
from tlxviz.devices.model import Device
from tlxviz.launch.kernels.watch import Call
from tlxviz.launch.model import Launch, LaunchLog
from tlxviz.launch.patching import Scope
from tlxviz.launch.script import ScriptError, run_on_gpu
from tlxviz.launch.stand_in import StandIn

Writer = Callable[..., Path]

LAUNCH = "add[(4,)](x, y, out, 1000, BLOCK=256)\n"


@dataclass
class Notes:
    """Handles the launches with these numbers; by default it launches them itself."""

    expected: tuple[int, ...] = (0,)
    seen: int = 0
    calls: list[Call] = field(default_factory=list[Call])
    do: Callable[[Call], Any] = Call.launch

    def expects(self, kernel: str) -> bool:
        return self.seen in self.expected

    def pass_over(self, kernel: str) -> None:
        self.seen += 1

    def handle(self, call: Call) -> Any:
        self.seen += 1
        self.calls.append(call)
        return self.do(call)


@dataclass
class Run:
    status: int
    notes: Notes
    log: LaunchLog
    ran: int
    """Launches that the GPU executed."""


Runner = Callable[..., Run]


@pytest.fixture
def run(write: Writer, device: Device) -> Runner:
    """Runs a body; every kernel adds 1 to its last tensor."""

    def run_body(body: str, notes: Notes | None = None, *, first_config: bool = False) -> Run:
        notes = notes or Notes()
        log = LaunchLog()
        ran = 0

        def gpu(launch: Launch) -> None:
            nonlocal ran
            ran += 1
            tensors = [value for _, value in launch.parameters if isinstance(value, torch.Tensor)]
            if tensors:
                tensors[-1].add_(1)

        path = write(body)
        with Scope() as scope:
            StandIn(device, gpu, LaunchLog()).install(scope, threading.excepthook)
            status = run_on_gpu(path, ["--size", "3"], notes, log, first_config=first_config)
        return Run(status, notes, log, ran)

    return run_body


def test_launches_that_are_not_expected_run_untouched(run: Runner):
    done = run("for _ in range(3):\n    " + LAUNCH + "assert out[0] == 3\n", Notes((1,)))
    assert (done.status, done.ran, done.notes.seen, len(done.notes.calls)) == (0, 3, 3, 1)
    assert done.log.executed == {"add": 3}


def test_a_handler_that_does_not_launch_leaves_it_to_the_watch(run: Runner):
    done = run(LAUNCH + "assert out[0] == 1\n", Notes(do=lambda call: None))
    assert (done.ran, len(done.notes.calls)) == (1, 1)


def test_the_program_gets_the_kernel_that_the_handler_launched(run: Runner):
    done = run("kernel = " + LAUNCH + "assert 'ttgir' in kernel.asm\nassert out[0] == 2\n", Notes(do=_twice))
    assert done.ran == 2


def _twice(call: Call) -> Any:
    call.launch()
    return call.launch()


def test_a_call_is_compiled_and_described_with_its_own_arguments(run: Runner):
    described: list[tuple[Launch, Launch]] = []

    def describe(call: Call) -> None:
        launch = call.described(call.compile())
        described.append((launch, call.on_host(launch)))

    grid = "lambda meta: (triton.cdiv(1000, meta['BLOCK']), 2)"
    done = run(f"x.fill_(5)\nadd[{grid}](x, y, out, 1000, BLOCK=256)\n", Notes(do=describe))
    [(launch, on_host)] = described
    assert done.ran == 1
    assert (launch.kernel, launch.grid, launch.arguments["BLOCK"]) == ("add", (4, 2, 1), 256)
    assert launch.parameters[0][1][0] == 5
    assert on_host.parameters[0][1].shape == (1000,)
    assert on_host.parameters[0][1].data_ptr() != launch.parameters[0][1].data_ptr()


def test_a_grid_is_computed_once(run: Runner):
    body = """
asked = []
def grid(meta):
    asked.append(meta["BLOCK"])
    return (4,)
for _ in range(2):
    add[grid](x, y, out, 1000, BLOCK=256)
assert asked == [256, 256], asked
"""
    assert run(body, Notes(do=_twice)).ran == 3


def test_an_empty_grid_runs_nothing_and_is_no_launch(run: Runner):
    done = run("add[(0,)](x, y, out, 0, BLOCK=256)\nadd[lambda meta: (0, 4)](x, y, out, 0, BLOCK=256)\n")
    assert (done.notes.seen, done.log.empty, done.log.executed) == (0, {"add": 2}, {})


def test_warming_a_kernel_up_is_no_launch(run: Runner):
    done = run("add.warmup(x, y, out, 1000, BLOCK=256, grid=(4,))\n")
    assert (done.notes.seen, done.log.names()) == (0, [])


def test_a_capture_is_left_alone_and_noted(run: Runner):
    body = "graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    " + LAUNCH + "graph.replay()\n" + LAUNCH
    done = run(body)
    assert (done.log.captured, done.log.executed, done.notes.seen) == ({"add": 1}, {"add": 1}, 1)


def test_launches_of_threads_are_handled_one_at_a_time(run: Runner):
    body = """
import threading
def work():
    for _ in range(5):
        add[(4,)](x, y, out, 1000, BLOCK=256)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
"""
    inside: list[int] = []

    def handle(call: Call) -> Any:
        inside.append(1)
        assert len(inside) == 1
        inside.pop()
        return call.launch()

    done = run(body, Notes(tuple(range(20)), do=handle))
    assert (done.ran, done.notes.seen, len(done.notes.calls)) == (20, 20, 20)


def test_launches_within_a_handled_one_are_not_seen(run: Runner):
    body = """
from triton import knobs
depth = 0
def hook(_):
    global depth
    if not depth:
        depth = 1
        add[(4,)](x, y, out, 1000, BLOCK=256)
knobs.runtime.launch_enter_hook = hook
try:
    add[(4,)](x, y, out, 1000, BLOCK=256)
finally:
    knobs.runtime.launch_enter_hook = None
"""
    done = run(body)
    assert (done.ran, done.notes.seen) == (2, 1)


TUNED = """
configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
tuned = triton.autotune(configs, key=["n"])(add)
tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
"""


def test_trials_of_an_autotuner_are_left_alone(run: Runner):
    done = run(TUNED)
    assert (done.notes.seen, len(done.notes.calls), done.log.executed) == (1, 1, {"add": 1})
    assert (done.log.tuned["add"].configurations, done.log.tuned["add"].timed) == (2, 2)
    assert "BLOCK" in done.log.tuned["add"].chosen


def test_the_first_configuration_needs_no_trials(run: Runner):
    done = run(TUNED, first_config=True)
    assert (done.ran, done.notes.seen) == (1, 1)
    assert (done.log.tuned["add"].timed, done.log.tuned["add"].chosen.split(",")[0]) == (0, "BLOCK=64")


@pytest.mark.parametrize("bench", ["do_bench", "do_bench_cudagraph"])
def test_a_benchmark_is_run_once_before_it_begins(run: Runner, bench: str):
    body = f"""
def work():
    add[(4,)](x, y, out, 1000, BLOCK=256)
assert triton.testing.{bench}(work, return_mode="median") > 0
assert triton.testing.{bench}.__name__ == "{bench}"
"""
    done = run(body, Notes((0, 1, 2)))
    assert done.ran >= 2
    assert (done.notes.seen, len(done.notes.calls), done.log.executed) == (1, 1, {"add": 1})


def test_an_autotuner_within_a_benchmark(run: Runner):
    call = "tuned[lambda meta: (triton.cdiv(1000, meta['BLOCK']),)](x, y, out, 1000)"
    body = TUNED.rpartition("tuned[")[0] + f"triton.testing.do_bench(lambda: {call})\n"
    assert run(body).notes.seen == 1


def test_the_script_is_run_as_by_python(run: Runner):
    done = run("import sys\nassert sys.argv[1:] == ['--size', '3']\nsys.exit(5)\n")
    assert done.status == 5


def test_an_error_is_shown_with_the_scripts_frames_alone(run: Runner):
    with pytest.raises(ScriptError) as caught:
        run("def grid(meta):\n    raise LookupError('no grid')\nadd[grid](x, y, out, 1000, BLOCK=256)\n")
    text = str(caught.value)
    assert text.endswith("LookupError: no grid")
    assert "in grid" in text
    assert "tlxviz/" not in text


@pytest.mark.parametrize("number", [0, 1])
def test_a_kernel_that_does_not_compile_is_named(run: Runner, number: int):
    body = "@triton.jit\ndef broken(p):\n    tl.store(p, undefined_name)\nbroken[(1,)](x)\n"
    with pytest.raises(ScriptError, match=r"kernel broken \(.*script.py:\d+\) does not compile"):
        run(body, Notes((number,)))


def test_what_a_handler_raises_leaves_as_it_is(run: Runner):
    error = TlxvizError("the kernel hangs.")

    def fail(call: Call) -> None:
        raise error

    with pytest.raises(TlxvizError) as caught:
        run(LAUNCH, Notes(do=fail))
    assert caught.value is error
    assert run("try:\n    " + LAUNCH + "except Exception:\n    sys = 1\n", Notes(do=fail)).status == 0
    body = "import threading\nthreading.Thread(target=lambda: " + LAUNCH.strip() + ").start()\n"
    with pytest.raises(TlxvizError) as caught:
        run(body, Notes(do=fail))
    assert caught.value is error


def test_a_fault_of_the_handler_is_none_of_the_script(run: Runner):
    def fail(call: Call) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(LAUNCH, Notes(do=fail))


def test_ctrl_c(run: Runner):
    def interrupt(call: Call) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(LAUNCH, Notes(do=interrupt))


def test_there_is_no_such_script(tmp_path: Path):
    with pytest.raises(UsageError, match="no such file"):
        run_on_gpu(tmp_path / "missing.py", [], Notes())


def test_everything_is_taken_back(run: Runner):
    import triton.testing
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    before = JITFunction.run, Autotuner.run, Autotuner._bench, triton.testing.do_bench, threading.Thread.start
    argv = list(sys.argv)
    run(LAUNCH)
    assert before == (JITFunction.run, Autotuner.run, Autotuner._bench, triton.testing.do_bench, threading.Thread.start)
    assert sys.argv == argv
