"""Runs the user's script, with the stand-in for CUDA in force or on a real GPU."""

from __future__ import annotations

import ast
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tlxviz import _triton
from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.launch.model import LaunchLog
from tlxviz.launch.patching import Scope

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.kernels.watch import Handler
    from tlxviz.launch.model import Executed, Launch

_ASSEMBLER_LINES = 10
"""Lines of what the assembler printed that are shown."""
_OURS = str(Path(__file__).resolve().parents[1])


class ScriptError(TlxvizError):
    """The user's script raised. The text is its traceback."""

    exit_code = ExitCode.SCRIPT_FAILED


@dataclass(frozen=True, slots=True)
class Module:
    """A module to be run as `python -m name` would."""

    name: str


Target = str | Path | Module
"""What can be run."""


class Host(Protocol):
    """What a program runs on."""

    @property
    def compile_failure(self) -> tuple[BaseException, Any] | None:
        """The last error of the compiler, and the function that it is about."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """What whoever is given launches has raised last; it is not the script's fault."""
        ...

    def install(self, scope: Scope, thread_failed: Callable[[threading.ExceptHookArgs], object]) -> None:
        """Put it into force until `scope` ends; `thread_failed` is told what ended a thread."""
        ...

    def join(self) -> None:
        """Wait for the program's threads."""
        ...

    def explain_refusal(self, error: BaseException) -> None:
        """Say more about `error`, if that was raised because a kernel does not fit.

        Raises:
            TlxvizError: with what there is to say.
        """
        ...


def run_script(
    target: Target,
    argv: Sequence[str],
    device: Device,
    execute: Callable[[Launch], Executed | None],
    log: LaunchLog | None = None,
    *,
    first_config: bool = False,
) -> int:
    """Run a script or a module as Python would, with its kernels handed to `execute` instead of a GPU.

    Args:
        target: The script, or the module.
        argv: Its arguments, without its own name.
        device: What it is told about the GPU, and what its kernels are compiled for.
        execute: Called for each launch, one at a time; has to write the outputs into the launch's tensors.
        log: Where it is written down which kernels were launched, also when the script fails.
        first_config: Whether tuned kernels run with their first configuration, without trials.

    Returns:
        The script's exit status.

    Raises:
        UsageError: There is no such script or module.
        ScriptError: The script raised, or a kernel of it does not compile.
        TlxvizError: Triton or torch is missing, or `execute` raised it.
    """
    program = _program(target)
    _triton.require()
    from tlxviz.launch.stand_in import StandIn

    noted = log if log is not None else LaunchLog()
    return _run(program, argv, StandIn(device, execute, noted, first_config=first_config))


def run_on_gpu(
    target: Target,
    argv: Sequence[str],
    handler: Handler,
    log: LaunchLog | None = None,
    *,
    first_config: bool = False,
) -> int:
    """Run a script or a module as Python would, on the machine's GPU, with those launches handed on that are expected.

    Args:
        target: The script, or the module.
        argv: Its arguments, without its own name.
        handler: Is given the launches that it expects, one at a time; all others run as if nobody saw them.
        log: Where it is written down which kernels were launched, also when the script fails.
        first_config: Whether tuned kernels run with their first configuration, without trials.

    Returns:
        The script's exit status.

    Raises:
        UsageError: There is no such script or module.
        ScriptError: The script raised, or a kernel of it does not compile.
        TlxvizError: Triton or torch is missing, or `handler` raised it.
    """
    program = _program(target)
    _triton.require()
    from tlxviz.launch.real import RealGpu

    noted = log if log is not None else LaunchLog()
    return _run(program, argv, RealGpu(handler, noted, first_config=first_config))


def _run(program: _Program, argv: Sequence[str], host: Host) -> int:
    fault_of_thread: list[BaseException] = []

    def thread_failed(failed: threading.ExceptHookArgs) -> None:
        error = failed.exc_value
        if error is None or isinstance(error, SystemExit):
            return
        if isinstance(error, TlxvizError) or error is host.failure:
            fault_of_thread.append(error)
            return
        name = failed.thread.name if failed.thread is not None else "?"
        _print_error(f"Exception in thread {name}:\n{_explained(error, host)}")

    status = 0
    with Scope() as scope:
        scope.set_list(sys.argv, [program.name, *argv])
        scope.set_list(sys.path, [program.folder, *sys.path[1:]])
        try:
            host.install(scope, thread_failed)
            _run_to_end(program.run, host)
        except SystemExit as end:
            status = _status(end)
        except (TlxvizError, KeyboardInterrupt):
            raise
        except BaseException as error:  # GeneratorExit, say: Python ends with a traceback for any
            if error is host.failure:
                raise
            if isinstance(error, ImportError) and _triton.interrupted(error):
                raise KeyboardInterrupt from error
            if isinstance(error, ImportError) and program.module and _is_before_the_script(error):
                raise UsageError(f"cannot run module {program.module}: {error}") from error
            host.explain_refusal(error)
            raise ScriptError(_explained(error, host)) from error
    if fault_of_thread:
        raise fault_of_thread[0]
    return status


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    """What it sees as `sys.argv[0]`; runpy puts a module's file there."""
    folder: str
    """Where its imports are looked for first."""
    run: Callable[[], object]
    module: str = ""
    """Its name as a module, if it is run as one."""


def _program(target: Target) -> _Program:
    return _module(target) if isinstance(target, Module) else _script(Path(target))


def _script(path: Path) -> _Program:
    script = str(_checked(path))
    return _Program(str(path), os.path.dirname(script), lambda: runpy.run_path(script, run_name="__main__"))


def _module(module: Module) -> _Program:
    """As `python -m` finds it: from the current folder, a package's `__main__`."""
    folder = os.getcwd()
    top = module.name.partition(".")[0]
    with Scope() as scope:
        scope.set_list(sys.path, [folder, *sys.path[1:]])
        try:
            found = find_spec(top)  # of a submodule it would import the package, which is not to happen yet
        except (ImportError, ValueError, AttributeError):
            found = None
    if found is None:
        hint = " To run a file, leave out -m." if module.name.endswith(".py") else ""
        raise UsageError(f"there is no module {module.name} to run.{hint}")
    return _Program(
        "-m", folder, lambda: runpy.run_module(module.name, run_name="__main__", alter_sys=True), module.name
    )


def _run_to_end(run: Callable[[], object], host: Host) -> None:
    """As Python does, wait for the script's threads, also where the script itself fails."""
    try:
        run()
    except KeyboardInterrupt:
        raise
    except BaseException:
        host.join()
        raise
    host.join()


def _checked(path: Path) -> Path:
    """The script's absolute path, if Python can read it as a script."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name the Python script in it")
        if not path.exists():
            raise UsageError(f"{path}: no such file")
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix != ".py":
        try:
            ast.parse(text, str(path))
        except (SyntaxError, ValueError):
            hint = f"; to look at a trace: tlxviz report {path}" if path.suffix == ".tlxtrace" else ""
            raise UsageError(f"{path} is not a Python script{hint}") from None
    return path.resolve()


def _status(end: SystemExit) -> int:
    """What the shell would see."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    _print_error(str(end.code))
    return 1


def _print_error(text: str) -> None:
    """To stderr, unless the script was given none or has closed it."""
    stream = sys.stderr
    if stream is not None:  # pyright: ignore[reportUnnecessaryComparison] # it is None where descriptor 2 is closed
        with suppress(OSError, ValueError):
            print(text, file=stream, flush=True)


def _explained(error: BaseException, host: Host) -> str:
    if host.compile_failure is None:
        return _user_traceback(error)
    failure, function = host.compile_failure
    chain: BaseException | None = error
    while chain is not None and chain is not failure:
        chain = chain.__cause__ or chain.__context__
    if chain is None:  # an earlier failure, with which the script coped
        return _user_traceback(error)
    source = _triton.source_of(function)
    where = f"kernel {function.__name__} ({source.file}:{source.line}) does not compile"
    printed = _triton.assembler_errors(failure)
    if printed:
        return "\n".join([where, *printed[-_ASSEMBLER_LINES:]])
    return f"{where}\n{_user_traceback(error, without=_triton.is_internal)}"


def _user_traceback(error: BaseException, without: Callable[[str], bool] = lambda file: False) -> str:
    """As Python prints it, without the frames of tlxviz, of runpy and of files that `without` picks."""
    shown = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [shown]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        shown_frames = [frame for frame in part.stack if not _is_ours(frame.filename) and not without(frame.filename)]
        part.stack = traceback.StackSummary.from_list(shown_frames)
        pending += [part.__cause__, part.__context__, *(part.exceptions or ())]
    return "".join(shown.format()).rstrip()


def _is_before_the_script(error: BaseException) -> bool:
    """Was it raised on the way to the script's first line?"""
    frames = traceback.extract_tb(error.__traceback__)
    return all(_is_ours(frame.filename) or frame.filename.startswith("<frozen importlib") for frame in frames)


def _is_ours(file: str) -> bool:
    return file.startswith(_OURS) or file == "<frozen runpy>"
