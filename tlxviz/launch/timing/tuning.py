"""The autotuner on simulated time: each configuration is simulated without values, the fastest one runs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from math import inf, isinf
from typing import Any

from tlxviz import _triton
from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.model import LaunchLog, Tuning
from tlxviz.launch.patching import Scope
from tlxviz.launch.timing.benchmark import duration


def install(
    scope: Scope, gpu: Gpu, log: LaunchLog, lock: AbstractContextManager[Any], *, first_config: bool = False
) -> None:
    """Put it into force until `scope` ends.

    Args:
        scope: Takes it back.
        gpu: The simulated device.
        log: Where it is written down what was chosen.
        lock: Held while a tuned kernel is launched.
        first_config: Take the first configuration that the kernel's own pruning leaves, without any trial.
    """
    tuner_class = _triton.autotuner_class()
    choose, measure = tuner_class.run, tuner_class._bench
    seen: dict[int, Any] = {}

    def run(tuner: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        with lock:
            if id(tuner) not in seen:
                seen[id(tuner)] = tuner
                _isolate(scope, tuner)
                new = True
            else:
                new = False
            if first_config:
                return run_first(tuner, log, args, options, reset=new)
            before = tuner.configs_timings
            result = choose(tuner, *args, **options)
            if tuner.configs_timings is not before:
                note(tuner, log)
            return result

    def do_bench(tuner: Any) -> Any:
        def bench(kernel_call: Any, quantiles: Any) -> list[float]:
            __tracebackhide__ = True
            return [duration(gpu, kernel_call, trial=True)] * len(quantiles)

        return bench

    def measure_named(tuner: Any, *args: Any, config: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return measure(tuner, *args, config=config, **options)
        except TlxvizError as error:
            if error.exit_code is ExitCode.CANNOT_RUN:  # something that is not simulated: others may do without it
                return [inf] * 3
            # The kernel hangs, say: which of many does?
            text = f"{error}\n\nIt was tried by the autotuner with {_triton.configuration(config)}"
            error.args = (text, *error.args[1:])
            raise

    scope.set_attr(tuner_class, "run", run)
    scope.set_attr(tuner_class, "_bench", measure_named)
    # A property goes before what an instance has cached or was given.
    scope.set_attr(tuner_class, "do_bench", property(do_bench))


def _isolate(scope: Scope, tuner: Any) -> None:
    """What was chosen for another device does not hold here, nor the other way round, on disk either."""
    scope.callback(_restore, tuner, dict(vars(tuner)))
    scope.set_attr(tuner, "cache", {})
    scope.set_attr(tuner, "cache_results", False)
    if not hasattr(tuner, "configs_timings"):
        scope.set_attr(tuner, "configs_timings", {})


def _restore(tuner: Any, attributes: dict[str, Any]) -> None:
    vars(tuner).clear()
    vars(tuner).update(attributes)


def note(tuner: Any, log: LaunchLog) -> None:
    """Write down what a tuner has chosen after its trials."""
    timings = tuner.configs_timings.values()
    failed = sum(isinf(min(each) if isinstance(each, list) else each) for each in timings)
    log.tuned[_triton.tuned_name(tuner)] = Tuning(
        len(tuner.configs), len(timings), failed, _triton.configuration(tuner.best_config)
    )


def run_first(tuner: Any, log: LaunchLog, args: tuple[Any, ...], options: dict[str, Any], *, reset: bool) -> Any:
    """Launch a tuned kernel with its first configuration; `reset` its outputs before as trials would."""
    __tracebackhide__ = True
    tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
    configs = tuner.configs if len(tuner.configs) == 1 else list(tuner.prune_configs(options))
    config = tuner.best_config = configs[0]
    if len(tuner.configs) > 1:
        log.tuned[_triton.tuned_name(tuner)] = Tuning(len(tuner.configs), 0, 0, _triton.configuration(config))
    arguments = {**tuner.nargs, **options, **config.all_kwargs()}
    if reset:  # outputs that trials would have dirtied, and that a kernel adds into, start at zero
        tuner.pre_hook(arguments, reset_only=True)
    if config.pre_hook is not None:
        config.pre_hook(arguments)
    try:
        return tuner.fn.run(*args, **options, **config.all_kwargs())
    finally:
        tuner.nargs = None
