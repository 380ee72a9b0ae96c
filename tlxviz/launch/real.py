"""A real GPU that a program runs on, with some of its launches given to a handler."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from tlxviz import _triton
from tlxviz.launch.kernels.watch import Handler, Watch
from tlxviz.launch.threads import Threads
from tlxviz.launch.timing import on_gpu

if TYPE_CHECKING:
    from tlxviz.launch.model import LaunchLog
    from tlxviz.launch.patching import Scope

_NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"


class RealGpu:
    """The machine's own GPU: programs run on it as they always do.

    Args:
        handler: Is given the launches that it expects.
        log: Where it is written down what the script does with its kernels.
        first_config: Whether tuned kernels run with their first configuration, without trials.
    """

    def __init__(self, handler: Handler, log: LaunchLog, *, first_config: bool = False) -> None:
        self._log = log
        self._first_config = first_config
        self._watch = Watch(handler, log)
        self._threads = Threads()

    def install(self, scope: Scope, thread_failed: Callable[[threading.ExceptHookArgs], object]) -> None:
        """Put it into force until `scope` ends; `thread_failed` is told what ended a thread."""
        self._watch.install(scope)
        on_gpu.install(scope, self._watch, self._log, first_config=self._first_config)
        for owner, name, value in _triton.without_reproducers():
            scope.set_attr(owner, name, value)
        self._threads.install(scope, nullcontext(), thread_failed)

    def join(self) -> None:
        self._threads.join()

    @property
    def compile_failure(self) -> tuple[BaseException, Any] | None:
        return self._watch.compile_failure

    @property
    def failure(self) -> BaseException | None:
        return self._watch.failure

    def explain_refusal(self, error: BaseException) -> None:
        """Triton says itself what does not fit."""


def obstacle() -> str | None:
    """Why no kernel can run on a GPU here; None if they can.

    Asked without initialising CUDA, which a script may want to do in its own way: in forks, or with another
    CUDA_VISIBLE_DEVICES.
    """
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    before = os.environ.get(_NVML_CHECK)
    os.environ[_NVML_CHECK] = "1"
    try:
        available = torch.cuda.is_available()
    finally:
        if before is None:
            del os.environ[_NVML_CHECK]
        else:
            os.environ[_NVML_CHECK] = before
    if not available:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES={visible})"
        return f"torch sees no GPU{hidden}"
    if not _triton.compiles_for_cuda():
        return "this Triton has no compiler for NVIDIA GPUs"
    return None


def gpu_name() -> str:
    """What CUDA calls the GPU in use. It initialises CUDA."""
    return torch.cuda.get_device_name()
