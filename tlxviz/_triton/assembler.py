"""ptxas and nvdisasm as Triton calls them, and what is kept beside a compiled kernel."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlxviz._triton import compiles_for_cuda

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@contextmanager
def assembler_reports(listener: Callable[[str, str], None]) -> Generator[None]:
    """A block in which `listener` is given the PTX and the report of each call that Triton makes of ptxas."""
    if not compiles_for_cuda():
        yield
        return
    from triton.backends.nvidia import compiler

    before: Any = compiler.subprocess
    compiler.subprocess = _Listening(before, listener)  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        compiler.subprocess = before


class _Listening:
    """`subprocess` for Triton's compiler, which has ptxas write its report into a file and removes that."""

    def __init__(self, module: Any, listener: Callable[[str, str], None]) -> None:
        self._module = module
        self._listener = listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def run(self, command: Any, *args: Any, **options: Any) -> Any:
        done = self._module.run(command, *args, **options)
        report = getattr(options.get("stderr"), "name", None)
        source = next((each for each in command if str(each).endswith(".ptx")), None)
        if source is not None and isinstance(report, str):
            with suppress(OSError, UnicodeDecodeError):
                texts = [Path(file).read_text(encoding="utf-8") for file in (source, report)]
                self._listener(*texts)
        return done


def assemble(kernel: Any, ptx: str) -> None:
    """Let ptxas assemble a compiled kernel again, with the options that it was compiled with, for its report alone."""
    from triton.compiler.compiler import make_backend

    target = kernel.metadata.target
    with suppress(Exception):  # a Triton that does it otherwise: there is no report, and nobody needs one to go on
        backend: Any = make_backend(target)
        backend.make_cubin(ptx, {}, kernel.metadata, target.arch)


def disassembled(cubin: bytes) -> str:
    """SASS with source lines, by the nvdisasm that Triton brings along; empty where there is none."""
    import subprocess
    import tempfile

    from triton import knobs

    with suppress(Exception), tempfile.TemporaryDirectory() as folder:
        tool: Any = getattr(knobs.nvidia, "nvdisasm", None)
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        done = subprocess.run([tool.path, "-c", "-gi", str(file)], capture_output=True, timeout=60, check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
    return ""


def kept_with(kernel: Any, suffix: str) -> str:
    """A text that `keep_with` put beside a compiled kernel; empty if there is none."""
    from triton.runtime.cache import get_cache_manager

    with suppress(OSError, UnicodeDecodeError):
        file = get_cache_manager(kernel.hash).get_file(f"{kernel.metadata.name[:100]}.{suffix}")
        if file is not None:
            return Path(file).read_text(encoding="utf-8")
    return ""


def keep_with(kernel: Any, suffix: str, text: str) -> None:
    """Put a text beside a compiled kernel into Triton's cache, as far as that can be written to."""
    from triton.runtime.cache import get_cache_manager

    with suppress(OSError):
        get_cache_manager(kernel.hash).put(text, f"{kernel.metadata.name[:100]}.{suffix}", binary=False)
