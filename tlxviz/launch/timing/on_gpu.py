"""Benchmarks and tuning on a real GPU: they measure what they always do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Protocol

import torch

from tlxviz import _triton
from tlxviz.launch.model import LaunchLog
from tlxviz.launch.patching import Scope
from tlxviz.launch.timing import tuning
from tlxviz.launch.timing.benchmark import benchmarks


class Watch(Protocol):
    """Who sees launches."""

    @property
    def seeing(self) -> bool:
        """Would a launch be seen now?"""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """A block in which none is seen."""
        ...


def install(scope: Scope, watch: Watch, log: LaunchLog, *, first_config: bool = False) -> None:
    """Put it into force until `scope` ends.

    Args:
        scope: Takes it back.
        watch: Sees no launch of a benchmark but one of its function, which is called once more before it begins: many
            a script launches its kernels in benchmarks alone.
        log: Where it is written down what was tuned.
        first_config: Whether tuned kernels run with their first configuration, without trials.
    """
    testing = _triton.testing_module()
    for name in benchmarks():
        scope.set_attr(testing, name, _unseen(getattr(testing, name), watch))
    _install_tuning(scope, log, first_config=first_config)


def _unseen(measure: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    @wraps(measure)
    def benchmark(fn: Callable[[], Any], *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if watch.seeing:  # an autotuner's trial is a benchmark as well
            fn()
            torch.cuda.synchronize()
        with watch.paused():
            return measure(fn, *args, **options)

    return benchmark


def _install_tuning(scope: Scope, log: LaunchLog, *, first_config: bool) -> None:
    tuner_class = _triton.autotuner_class()
    choose = tuner_class.run
    begun: dict[int, Any] = {}

    def run(tuner: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if first_config:
            new = id(tuner) not in begun
            begun[id(tuner)] = tuner
            return tuning.run_first(tuner, log, args, options, reset=new)
        before = getattr(tuner, "configs_timings", None)
        result = choose(tuner, *args, **options)
        if getattr(tuner, "configs_timings", None) is not before:
            tuning.note(tuner, log)
        return result

    scope.set_attr(tuner_class, "run", run)
