"""`triton.testing.do_bench` on simulated time: one run says what a hundred say on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tlxviz import _triton
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.patching import Scope

RESOLUTION_MS = 0.0005
"""Of CUDA events, according to the CUDA Runtime API's cudaEventElapsedTime; nothing takes less."""
_DIGITS = 9
"""Of a duration in ms: far below a cycle. What equal work takes is then equal whenever it runs, and an autotuner takes
the first of its fastest configurations."""

Statistics = float | list[float] | None


def duration(gpu: Gpu, function: Callable[[], Any], *, trial: bool = False) -> float:
    """Milliseconds that the device works for one call of `function`.

    Launches in it are timed; their outputs are computed only if somebody looks at them later.

    Args:
        gpu: The simulated device.
        function: What is measured.
        trial: Whether it is an autotuner's trial, whose outputs nobody needs and whose launches do not count.
    """
    __tracebackhide__ = True
    gpu.time.synchronize()
    begin = gpu.time.end(gpu.stream)
    with gpu.timing(trial=trial):
        function()
    return max(round((gpu.time.end(gpu.stream) - begin) / 1e6, _DIGITS), RESOLUTION_MS)


def install(scope: Scope, gpu: Gpu) -> None:
    """Put it into force until `scope` ends."""

    def do_bench(
        fn: Callable[[], Any],
        warmup: float = 25,
        rep: float = 100,
        grad_to_none: Iterable[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
    ) -> Statistics:
        __tracebackhide__ = True
        for tensor in grad_to_none or ():
            tensor.grad = None
        return _statistics(duration(gpu, fn), quantiles, return_mode)

    def do_bench_cudagraph(
        fn: Callable[[], Any],
        rep: float = 20,
        grad_to_none: Iterable[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
    ) -> Statistics:
        __tracebackhide__ = True
        return do_bench(fn, 0, rep, grad_to_none, quantiles, return_mode)

    testing = _triton.testing_module()
    for name in benchmarks():
        scope.set_attr(testing, name, do_bench_cudagraph if "cudagraph" in name else do_bench)


def benchmarks() -> list[str]:
    """Names of the functions of `triton.testing` that measure others."""
    names = ("do_bench", "do_bench_proton", "do_bench_cudagraph", "do_bench_cudagraph_proton")
    testing = _triton.testing_module()
    return [name for name in names if hasattr(testing, name)]  # fbtriton lacks those with Proton, triton 3.8's profiler


def _statistics(milliseconds: float, quantiles: Sequence[float] | None, return_mode: str) -> Statistics:
    """As Triton summarises runs that all take the same time."""
    assert return_mode in ("min", "max", "mean", "median", "all")
    if quantiles is not None:
        return [milliseconds] * len(quantiles) if len(quantiles) > 1 else milliseconds
    return [milliseconds] if return_mode == "all" else milliseconds
