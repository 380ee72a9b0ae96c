"""The autotuner, without trials: a tuned kernel runs with the first of its configurations that fits the problem.

What a configuration would cost is not simulated. The order is the author's, after the kernel's own early pruning.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from tlxviz import _triton
from tlxviz.launch.model import LaunchLog
from tlxviz.launch.patching import Scope


def install(scope: Scope, log: LaunchLog, lock: AbstractContextManager[Any]) -> None:
    """Put it into force until `scope` ends; `lock` is held while a tuned kernel is launched."""
    seen: dict[int, Any] = {}

    def run(tuner: Any, *args: Any, **options: Any) -> Any:
        with lock:
            return launch(tuner, *args, **options)

    def launch(tuner: Any, *args: Any, **options: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        configs = tuner.configs if len(tuner.configs) == 1 else list(tuner.prune_configs(options))
        config = configs[0]
        if len(tuner.configs) > 1:
            log.tuned[_triton.tuned_name(tuner)] = len(tuner.configs)
        tuner.best_config = config
        arguments = {**tuner.nargs, **options, **config.all_kwargs()}
        if id(tuner) not in seen:  # outputs that trials would have dirtied, and that a kernel adds into, start at zero
            seen[id(tuner)] = tuner
            tuner.pre_hook(arguments, reset_only=True)
        if config.pre_hook is not None:
            config.pre_hook(arguments)
        try:
            return tuner.fn.run(*args, **options, **config.all_kwargs())
        finally:
            tuner.nargs = None

    scope.set_attr(_triton.autotuner_class(), "run", run)
