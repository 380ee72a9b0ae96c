"""Catches every kernel launch: compiles it with Triton, describes it as a `Launch` and hands it on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils._python_dispatch import _disable_current_modes  # pyright: ignore[reportPrivateUsage]

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.launch.device.gpu import Gpu, Need
from tlxviz.launch.kernels.describe import Describer, padded
from tlxviz.launch.kernels.driver import SimulatedDriver
from tlxviz.launch.kernels.parameters import check_pointers
from tlxviz.launch.model import Executed, Launch
from tlxviz.launch.patching import Scope

Execute = Callable[[Launch], Executed | None]
"""Executes a launch: writes its outputs if `values` says so. None as an answer means that it took no time."""


_SPILLED = 158.0
"""Spilled bytes a thread that double the time of a trial, so that none is chosen for what its simulation leaves out.
A line from nothing spilled through one measurement: hopper_gemm_ws at 4096^3 on an H200 takes 7.5 times as long with
tiles of 256 x 256, whose accumulators spill 1,024 bytes (benchmarks/data/h200_tuning.json)."""


class Catcher:
    """The stand-in for compiling and launching on a GPU, while its scope lasts."""

    def __init__(self, gpu: Gpu, execute: Execute) -> None:
        self._gpu = gpu
        self._execute = execute
        self._log = gpu.log
        self.lock = gpu.lock
        self._describer = Describer()
        self._compiled: dict[int, tuple[Any, Any]] = {}
        """By the identity of its source object: each compiled kernel, and the function that it comes from."""
        self._cached: dict[int, Any] = {}
        """Functions whose cache of compiled kernels is replaced: what is in it may be for another device."""
        self.compile_failure: tuple[BaseException, Any] | None = None
        """The last error of the compiler, and the function that it is about."""
        self.refused: tuple[BaseException, Launch] | None = None
        """The last error that Triton raised because a kernel does not fit the device, and the launch."""
        self.execute_failure: BaseException | None = None
        """What `execute` raised; it is not the script's fault."""
        gpu.submit = self._submit

    def install(self, scope: Scope) -> None:
        jit_function = _triton.jit_function_class()
        compile_and_launch = jit_function.run

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            __tracebackhide__ = True  # pytest leaves out such frames
            with self.lock:
                self._isolate_cache(scope, function)
                return self._call(compile_and_launch, function, args, grid, warmup, options)

        scope.set_attr(jit_function, "run", run)
        for owner, name, value in (*_triton.bypasses(), *_triton.without_reproducers()):
            scope.set_attr(owner, name, value)
        for namespace, name in _triton.knobs_of_bypasses():
            scope.set_item(namespace, name, False)
        slot, name = _triton.active_driver_slot()
        scope.set_attr(slot, name, SimulatedDriver(self._gpu, self._launch_compiled))
        scope.callback(self._disown_kernels)

    def _disown_kernels(self) -> None:
        """A compiled kernel that outlives the scope must not ask the driver of then to unload it."""
        for kernel, _ in self._compiled.values():
            kernel.module = None

    def _isolate_cache(self, scope: Scope, function: Any) -> None:
        if id(function) not in self._cached:
            self._cached[id(function)] = function
            scope.set_attr(function, "device_caches", type(function.device_caches)(function.create_binder))

    def _call(
        self, compile_and_launch: Any, function: Any, args: tuple[Any, ...], grid: Any, warmup: bool, options: Any
    ) -> Any:
        __tracebackhide__ = True
        with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage] # nothing public turns modes off
            kernel, seconds = self._compile(compile_and_launch, function, args, grid, options)
            if kernel is None or warmup:  # None: a hook of the user's wants no compilation
                return kernel
            arguments = _triton.bound(function, args, options)
        if callable(grid):
            grid = grid(arguments)
        self._hand_on(kernel, function, padded(grid), arguments, seconds)
        return kernel

    def _compile(
        self, compile_and_launch: Any, function: Any, args: tuple[Any, ...], grid: Any, options: dict[str, Any]
    ) -> tuple[Any, float]:
        """The kernel of this specialisation, and the seconds it took if it is a new one."""
        __tracebackhide__ = True
        begin = perf_counter()
        try:
            with _triton.recorded_ranges(), self._describer.assembler.listening():
                kernel = _triton.finished(compile_and_launch(function, *args, grid=grid, warmup=True, **options))
        except Exception as error:
            if _triton.is_compile_failure(error):
                self.compile_failure = (error, function)
            raise
        seconds = perf_counter() - begin
        if kernel is None or id(kernel.src) in self._compiled:
            return kernel, 0.0
        self._compiled[id(kernel.src)] = (kernel, function)
        return kernel, seconds

    def _launch_compiled(self, source: Any, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        """A script compiled by `warmup` and launches the result: `kernel[grid](*args)`."""
        __tracebackhide__ = True
        kernel, function = self._compiled[id(source)]
        with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            names = _triton.argument_names(function)
            arguments = dict(zip(names, values, strict=False))
            for name in names[len(values) :]:  # left out: constexprs, whose values are compiled in
                arguments[name] = None
        with self.lock:
            self._hand_on(kernel, function, grid, arguments, 0.0)

    def _hand_on(
        self, kernel: Any, function: Any, grid: tuple[int, int, int], arguments: dict[str, Any], seconds: float
    ) -> None:
        __tracebackhide__ = True
        name = function.__name__
        stream = self._gpu.stream
        with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            launch = self._describer.describe(kernel, function, grid, arguments, seconds)
            try:
                _triton.load(kernel)
            except Exception as error:
                self.refused = error, launch
                raise
        if 0 in grid:  # as on a GPU: nothing runs
            self._log.empty[name] = self._log.empty.get(name, 0) + 1
            return
        check_pointers(kernel, arguments)
        _triton.request_scratch(kernel, grid, stream)
        enter, leave = _triton.launch_hooks(kernel, grid, stream, arguments.values())
        if enter is not None:
            enter()
        capture = self._gpu.capture
        if capture is not None and capture.covers(stream):
            capture.launch(launch)
        else:
            self._submit(launch)
        if leave is not None:
            leave()

    def explain_refusal(self, error: BaseException) -> None:
        """Let whoever executes launches say more about `error`, if that was raised because a kernel does not fit.

        Raises:
            TlxvizError: what they say.
        """
        if self.refused is not None and error is self.refused[0]:
            self._execute(self.refused[1])

    def _submit(self, launch: Launch) -> None:
        """Execute a launch as far as it is needed now."""
        __tracebackhide__ = True
        gpu = self._gpu
        launch.values = gpu.need is Need.VALUES
        launch.counted = gpu.need is not Need.TRIAL
        if launch.counted:
            self._log.executed[launch.kernel] = self._log.executed.get(launch.kernel, 0) + 1
        # A mode left on would see, and slow down, every operation of the simulator.
        with self.lock, torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            gpu.deferred.before_launch(launch)
            executed = self._run(launch)
            if executed is None:
                return
            duration = gpu.device.clock.ns(executed.cycles)
            if gpu.need is Need.TRIAL:
                duration *= 1 + int(launch.metadata.get("spilled_bytes", 0)) / _SPILLED
            gpu.time.work(gpu.stream, duration, executed.sms)
            if gpu.need is Need.TIME:
                gpu.deferred.add(launch, executed.written, self._run)

    def _run(self, launch: Launch) -> Executed | None:
        __tracebackhide__ = True
        with self.lock, torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            try:
                with torch.no_grad(), _plain_torch():
                    return self._execute(launch)
            except TlxvizError as error:
                self.execute_failure = error
                # Its text is all there is to say: whoever prints the traceback is to see the script's own frames.
                cause = error.__cause__
                raise error.with_traceback(None) from None if isinstance(cause, TlxvizError) else cause
            except BaseException as error:
                self.execute_failure = error
                raise


@contextmanager
def _plain_torch() -> Generator[None]:
    """Operators do what they do by themselves: a launch may come from amid a backward pass, or from `torch.func`."""
    with _disable_current_modes(), temporarily_clear_interpreter_stack():
        yield
