"""Beside a real GPU: the program's launches run as they do, and those to be recorded are simulated as well."""

from __future__ import annotations

import warnings
from typing import Protocol

import torch

from tlxviz._errors import TlxvizError
from tlxviz.launch.kernels.watch import Call
from tlxviz.launch.model import Executed, Launch


class NotSimulated(UserWarning):
    """A launch on a GPU could not be simulated beside."""


class Executor(Protocol):
    """Who simulates launches."""

    def expects(self, kernel: str) -> bool:
        """Is the next launch of the kernel one to record?"""
        ...

    def pass_over(self, kernel: str) -> None:
        """Count a launch that is not executed."""
        ...

    def execute(self, launch: Launch) -> Executed | None: ...


class Shadow:
    """Handles launches on a real GPU by simulating them, before they run as they do.

    Args:
        executor: Simulates the launches that it expects, from copies of their arguments: integers as they are before
            the launch, since they may steer it, and other tensors with their shapes alone.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def expects(self, kernel: str) -> bool:
        return self._executor.expects(kernel)

    def pass_over(self, kernel: str) -> None:
        self._executor.pass_over(kernel)

    def handle(self, call: Call) -> None:
        kernel = call.compile()
        if kernel is None:
            return
        launch = call.on_host(call.described(kernel))
        try:
            with torch.no_grad():
                self._executor.execute(launch)
        except TlxvizError as error:  # a fault of the kernel, or a gap of the simulator: the program goes on
            warnings.warn(f"tlxviz: simulating kernel {call.name} failed: {error}", NotSimulated, stacklevel=6)
