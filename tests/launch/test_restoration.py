"""What running a script patches is as it was afterwards, however the script ends."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch._dynamo  # replaces `torch.manual_seed` when it is first imported, which is not to look like our doing
import triton.testing
from torch.overrides import _len_torch_function_stack
from torch.utils._device import DeviceContext
from triton import knobs
from triton.backends.nvidia import compiler
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tlxviz.launch.script import ScriptError

Runner = Callable[..., Any]


MODULES = (
    *(
        torch,
        torch.cuda,
        torch.accelerator,
        torch.cuda.memory,
        torch.cuda.random,
        torch.cuda.graphs,
        torch.cuda.streams,
    ),
    *(torch.cuda.nvtx, torch.cuda.profiler, torch.backends.cuda, torch.backends.cudnn, torch._C, torch._utils),
    *(torch.autograd, torch.autograd.profiler, torch.autocast, torch.UntypedStorage, torch.Tensor),
    *(Autotuner, JITFunction, threading, threading.Thread, triton.testing, compiler),
    *(
        torch.cuda.graphs.graph,
        torch.library.Library,
        torch.autograd.profiler.profile,
        torch.autograd.profiler.emit_nvtx,
    ),
)


def surroundings() -> dict[str, Any]:
    found: dict[str, Any] = {
        "driver": vars(driver).get("_active"),
        "dispatcher": vars(knobs.nvidia).get("use_triton_dispatcher"),
        "generator": torch.Generator,
        "version": torch.version.cuda,
        "context": DeviceContext.__init__,
        "default": torch.get_default_device(),
        "modes": _len_torch_function_stack(),
        "argv": list(sys.argv),
        "path": list(sys.path),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "main": sys.modules["__main__"],
    }
    for module in MODULES:
        for name, value in vars(module).items():
            if not isinstance(value, ModuleType):  # one that is imported stays imported
                found[f"{module.__name__}.{name}"] = value
    return found


@pytest.fixture(autouse=True)
def untouched():
    before = surroundings()
    yield
    after = surroundings()
    changed = [name for name, value in before.items() if after.get(name) is not value and after.get(name) != value]
    assert changed == []
    assert after.keys() - before.keys() == set()


ALL = """
stream = torch.cuda.Stream()
torch.cuda.set_stream(stream)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
graph.replay()
with torch.autocast("cuda"), torch.cuda.nvtx.range("here"), torch.profiler.profile():
    (x.requires_grad_() * 2).sum().backward()
library = torch.library.Library("restored", "FRAGMENT")
"""

LAUNCH = "add[(4,)](x, y, out, 1000, BLOCK=256)\n"


def test_after_success(run: Runner):
    assert len(run(LAUNCH).launches) == 1


def test_after_an_error_of_the_script(run: Runner):
    with pytest.raises(ScriptError, match="ZeroDivisionError"):
        run(LAUNCH + "1 / 0\n")


def test_after_a_kernel_that_does_not_compile(run: Runner):
    with pytest.raises(ScriptError, match="does not compile"):
        run("add[(4,)](x, y, out, 1000, BLOCK=100)\n")


def test_after_everything_was_used(run: Runner):
    assert run(ALL).status == 0


@pytest.mark.parametrize("where", ["torch.cuda.graph(graph)", "torch.autocast('cuda')", "torch.cuda.stream(stream)"])
def test_after_an_error_in_the_middle_of_something(run: Runner, where: str):
    body = "graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()\n"
    with pytest.raises(ScriptError, match="ZeroDivisionError"):
        run(f"{body}with {where}:\n    x.add_(1)\n    1 / 0\n")


def test_after_sys_exit(run: Runner):
    assert run("raise SystemExit(7)\n").status == 7


def test_after_control_c(run: Runner):
    with pytest.raises(KeyboardInterrupt):
        run("raise KeyboardInterrupt\n")


def test_after_a_script_that_changes_the_same_things(run: Runner):
    run("""
        import sys
        torch.set_default_device("cuda")
        torch.cuda.synchronize = None
        sys.argv.append("more")
        sys.path.insert(0, "/nowhere")
        assert torch.ones(3).sum() == 3
    """)


def test_a_kernel_that_outlives_the_run_is_not_unloaded_by_another_driver(run: Runner):
    kernels: list[Any] = []
    run(f"""
        import sys
        kernel = {LAUNCH.strip()}
        kernel._init_handles()
        sys.modules["tlxviz"].kept = kernel
    """)
    import tlxviz

    kernels.append(vars(tlxviz).pop("kept"))
    assert kernels.pop().module is None
