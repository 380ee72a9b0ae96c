"""Sees the launches of a program on a real GPU, and gives those that somebody wants to a handler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import torch

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.launch.kernels.describe import Describer, padded
from tlxviz.launch.model import HostDescriptor, Launch, LaunchLog
from tlxviz.launch.patching import Scope


class Handler(Protocol):
    """Who wants to see launches on a GPU."""

    def expects(self, kernel: str) -> bool:
        """Is the next launch of the kernel one to record?"""
        ...

    def pass_over(self, kernel: str) -> None:
        """Count a launch that is not handled."""
        ...

    def handle(self, call: Call) -> Any:
        """Do with a launch what it is wanted for, and count it.

        Returns:
            The compiled kernel, if the call has been launched; else None, and it is launched after this.
        """
        ...


class Call:
    """One launch that a program is about to make on a real GPU.

    Args:
        launch: Triton's own `JITFunction.run`.
        function: The kernel's function.
        args: What it is called with.
        grid: CTAs, in one to three dimensions.
        options: Arguments by name, and options of the compiler.
        arguments: All arguments by name, constexprs included.
        describer: Describes launches.
    """

    def __init__(
        self,
        launch: Callable[..., Any],
        function: Any,
        args: tuple[Any, ...],
        grid: Any,
        options: dict[str, Any],
        arguments: dict[str, Any],
        describer: Describer,
    ) -> None:
        self._launch = launch
        self._function = function
        self._args = args
        self._grid = grid
        self._options = options
        self._arguments = arguments
        self._describer = describer
        self.name: str = function.__name__
        """Of the kernel."""
        self.failure: BaseException | None = None
        """What Triton raised last: the program's fault, unless whoever handles the call did something to it."""

    def compile(self) -> Any:
        """Triton's compiled kernel, under the stage hook in force; None if the user's own wants no compilation."""
        __tracebackhide__ = True
        with _triton.recorded_ranges(), self._describer.assembler.listening():
            return _triton.finished(self._run(warmup=True))

    def launch(self) -> Any:
        """Launch it, under the stage hook in force; returns what `JITFunction.run` does, the compiled kernel."""
        __tracebackhide__ = True
        return self._run(warmup=False)

    def described(self, kernel: Any) -> Launch:
        """The launch of `kernel`, which `compile` returned, with the call's own arguments."""
        return self._describer.describe(kernel, self._function, padded(self._grid), self._arguments, 0.0)

    def on_host(self, launch: Launch) -> Launch:
        """The same with parameters in the host's memory: integers as they are now, since they may steer the kernel,
        and other tensors with their shapes alone."""
        return replace(launch, parameters=[(key, _copy(value)) for key, value in launch.parameters])

    def _run(self, *, warmup: bool) -> Any:
        __tracebackhide__ = True
        try:
            return self._launch(self._function, *self._args, grid=self._grid, warmup=warmup, **self._options)
        except BaseException as error:
            self.failure = error
            raise


class Watch:
    """Watches launches on a real GPU, of which most run as if nobody did.

    Args:
        handler: Is given, one at a time, the launches that it expects. Not those in a capture of a CUDA graph, where
            nothing runs, and not trials of an autotuner.
        log: Where it is written down which kernels were launched.
    """

    def __init__(self, handler: Handler, log: LaunchLog | None = None) -> None:
        self._handler = handler
        self._log = log if log is not None else LaunchLog()
        self._describer = Describer()
        self._lock = threading.RLock()
        self._own = threading.local()
        self._pauses = 0
        self.compile_failure: tuple[BaseException, Any] | None = None
        """The last error of the compiler, and the function that it is about."""
        self.failure: BaseException | None = None
        """What the handler raised; it is not the script's fault."""

    def install(self, scope: Scope) -> None:
        """Put it into force until `scope` ends."""
        jit_function, tuner = _triton.jit_function_class(), _triton.autotuner_class()
        launch, bench = jit_function.run, tuner._bench

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            __tracebackhide__ = True
            try:
                # The handler's stage hook holds for all threads: nothing else may be compiled meanwhile.
                with self._lock:
                    if warmup or self._unwatched():
                        return launch(function, *args, grid=grid, warmup=warmup, **options)
                    return self._watched(launch, function, args, grid, options)
            except Exception as error:
                if _triton.is_compile_failure(error):
                    self.compile_failure = error, function
                raise

        def bench_quietly(tuner: Any, *args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            with self._aside():
                return bench(tuner, *args, **options)

        scope.set_attr(jit_function, "run", run)
        scope.set_attr(tuner, "_bench", bench_quietly)
        for owner, name, value in _triton.bypasses():
            scope.set_attr(owner, name, value)
        for namespace, name in _triton.knobs_of_bypasses():
            scope.set_item(namespace, name, False)

    @contextmanager
    def paused(self) -> Generator[None]:
        """A block in which no launch is seen, whichever thread it comes from: a backward pass has its own."""
        with self._lock:
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1

    @property
    def seeing(self) -> bool:
        """Would a launch of this thread be seen now?"""
        return not self._unwatched()

    @contextmanager
    def _aside(self) -> Generator[None]:
        """A block in which no launch of this thread is seen."""
        self._own.depth = getattr(self._own, "depth", 0) + 1
        try:
            yield
        finally:
            self._own.depth -= 1

    def _unwatched(self) -> bool:
        return bool(self._pauses or getattr(self._own, "depth", 0))

    def _watched(
        self, launch: Callable[..., Any], function: Any, args: tuple[Any, ...], grid: Any, options: dict[str, Any]
    ) -> Any:
        __tracebackhide__ = True
        name = function.__name__
        if torch.cuda.is_current_stream_capturing():
            _count(self._log.captured, name)
        else:
            arguments = _triton.bound(function, args, options)
            if callable(grid):
                grid = grid(arguments)
            if 0 in padded(grid):
                _count(self._log.empty, name)
            else:
                _count(self._log.executed, name)
                if self._handler.expects(name):
                    kernel = self._handled(Call(launch, function, args, grid, options, arguments, self._describer))
                    if kernel is not None:
                        return kernel
                else:
                    self._handler.pass_over(name)
        return launch(function, *args, grid=grid, warmup=False, **options)

    def _handled(self, call: Call) -> Any:
        __tracebackhide__ = True
        try:
            with self._aside():
                return self._handler.handle(call)
        except TlxvizError as error:
            self.failure = error
            # Its text is all there is to say: whoever prints the traceback is to see the script's own frames.
            cause = error.__cause__
            raise error.with_traceback(None) from None if isinstance(cause, TlxvizError) else cause
        except BaseException as error:
            if error is not call.failure:
                self.failure = error
            raise


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _copy(value: Any) -> Any:
    match value:
        case torch.Tensor():
            return _on_host(value)
        case HostDescriptor():
            return replace(value, base=_on_host(value.base))
        case _:
            return value


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape in the host's memory; floats are not copied."""
    # "cpu" is said, because the program may have set another default device.
    storage = torch.empty(tensor.untyped_storage().nbytes(), dtype=torch.uint8, device="cpu")
    host = torch.empty(0, dtype=tensor.dtype, device="cpu")
    host.set_(storage.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())
    if not tensor.dtype.is_floating_point:
        _once(host).copy_(_once(tensor))
    return host


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """Each element once: torch does not copy into a tensor that repeats some (an expanded one)."""
    sizes = [1 if stride == 0 and size else size for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return tensor.as_strided(sizes, tensor.stride())
