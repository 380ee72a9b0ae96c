"""torch's profiler, which finds no GPU to listen to: it records what the host does."""

from __future__ import annotations

from typing import Any

import torch.autograd.profiler

from tlxviz.launch.patching import Scope


def install(scope: Scope) -> None:
    """Put it into force until `scope` ends."""
    prepare: Any = torch.autograd.profiler.profile.__init__

    def __init__(self: Any, enabled: bool = True, **options: Any) -> None:
        if options.get("use_device") == "cuda":
            options["use_device"] = None
        options["use_cuda"] = False
        prepare(self, enabled, **options)

    def nothing(*_error: Any) -> None:
        """Marks ranges for a profiler that is not there."""

    scope.set_attr(torch.autograd.profiler.profile, "__init__", __init__)
    scope.set_attr(torch.autograd.profiler.emit_nvtx, "__enter__", lambda self: self)
    scope.set_attr(torch.autograd.profiler.emit_nvtx, "__exit__", nothing)
