"""Runs the user's script with the stand-in for CUDA in force."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tlxviz import _triton
from tlxviz._errors import ExitCode, TlxvizError, UsageError
from tlxviz.launch.patching import Scope

if TYPE_CHECKING:
    from tlxviz.devices.model import Device
    from tlxviz.launch.catch import Catcher
    from tlxviz.launch.model import Launch

_OURS = str(Path(__file__).resolve().parents[1])


class ScriptError(TlxvizError):
    """The user's script raised. The text is its traceback."""

    exit_code = ExitCode.SCRIPT_FAILED


def run_script(path: str | Path, argv: Sequence[str], device: Device, execute: Callable[[Launch], None]) -> int:
    """Run a script as `python path *argv` would, with its kernels handed to `execute` instead of a GPU.

    Args:
        path: The script.
        argv: Its arguments, without its own name.
        device: What it is told about the GPU, and what its kernels are compiled for.
        execute: Called for each launch; has to write the outputs into the launch's tensors.

    Returns:
        The script's exit status.

    Raises:
        UsageError: `path` is no Python script.
        ScriptError: The script raised, or a kernel of it does not compile.
        TlxvizError: Triton or torch is missing, or `execute` raised it.
    """
    script = _checked(Path(path))
    _triton.require()
    import runpy

    from tlxviz.launch import cuda, tuning
    from tlxviz.launch.catch import Catcher

    catcher = Catcher(device, execute)
    with Scope() as scope:
        scope.set_list(sys.argv, [str(path), *argv])
        scope.set_list(sys.path, [str(script.parent), *sys.path[1:]])
        try:
            catcher.install(scope)
            tuning.install(scope)
            cuda.install(scope, device)
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            return _status(end)
        except TlxvizError:
            raise
        except Exception as error:
            if error is catcher.execute_failure:
                raise
            raise ScriptError(_explained(error, catcher)) from error
    return 0


def _checked(path: Path) -> Path:
    """The script's absolute path, if Python can read it as a script."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the Python script in it")
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix != ".py":
        try:
            ast.parse(text, str(path))
        except (SyntaxError, ValueError):
            hint = f"; to look at a trace: tlxviz view {path}" if path.suffix == ".tlxtrace" else ""
            raise UsageError(f"{path} is not a Python script{hint}") from None
    return path.resolve()


def _status(end: SystemExit) -> int:
    """What the shell would see."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return 1


def _explained(error: Exception, catcher: Catcher) -> str:
    if catcher.compile_failure is None:
        return _user_traceback(error)
    failure, function = catcher.compile_failure
    chain: BaseException | None = error
    while chain is not None and chain is not failure:
        chain = chain.__cause__ or chain.__context__
    if chain is None:  # an earlier failure, with which the script coped
        return _user_traceback(error)
    source = _triton.source_of(function)
    where = f"kernel {function.__name__} ({source.file}:{source.line}) does not compile"
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
        pending += [part.__cause__, part.__context__]
    return "".join(shown.format()).rstrip()


def _is_ours(file: str) -> bool:
    return file.startswith(_OURS) or file == "<frozen runpy>"
