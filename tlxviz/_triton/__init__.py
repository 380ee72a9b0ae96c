"""The only room that knows how Triton versions differ: fbtriton (Meta's, with TLX), and triton with triton-utlx.

Nothing of triton is imported until one of these functions is called, so that the rest of tlxviz starts without it.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tlxviz._distribution import Distribution, installed, package_folder, some
from tlxviz._errors import TlxvizError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

INSTALL = 'pip install "tlxviz[fbtriton]"'
_PLUGIN = "_utlx_autoregister"
"""The module of triton-utlx that tells triton about it."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What is installed."""

    distribution: str
    """`fbtriton` or `triton`: whose files the folder `triton/` holds."""
    version: str
    tlx: str
    """Version of the plugin that adds TLX; that of fbtriton, which contains it; empty where there is none."""
    torch: str

    def versions(self) -> dict[str, str]:
        """Name to version, for a trace's manifest."""
        found = {self.distribution: self.version, "torch": self.torch}
        if self.tlx and self.distribution != "fbtriton":
            found["triton-utlx"] = self.tlx
        return found


@dataclass(frozen=True, slots=True)
class Damage:
    """The folder `triton/` does not hold what was installed."""

    owner: Distribution
    """Whose files should be there."""
    files: list[str]
    """Those that are missing or others."""

    def __str__(self) -> str:
        return (
            f"the folder triton/ in {self.owner.folder} is not what {self.owner.name} {self.owner.version} installed: "
            f"{len(self.files)} of its {len(self.owner.files)} files are missing or not its own ({some(self.files)}). "
            "triton and fbtriton share that folder, and installing or removing one damages the other"
        )

    @property
    def mend(self) -> str:
        return f"pip install --force-reinstall --no-deps {self.owner.name}=={self.owner.version}"


def owner() -> Distribution | None:
    """The distribution that `import triton` imports: the one whose `triton/__init__.py` is there, else fbtriton.

    None where there is no wheel's RECORD to go by, as for an installation from source.
    """
    both = rivals()
    return next((each for each in both if each.has("triton/__init__.py")), both[0] if both else None)


def rivals() -> list[Distribution]:
    """fbtriton and triton, as far as they are installed where `triton/` is imported from."""
    package = package_folder("triton")
    folder = None if package is None else package.parent
    found = (installed(name, "triton", folder) for name in ("fbtriton", "triton"))
    return [each for each in found if each is not None]


def damage(*, hashes: bool = False) -> Damage | None:
    """What is wrong with the files of `triton/`: by size in some milliseconds, by hash in a second."""
    found = owner()
    files = found.damaged(hashes=hashes) if found is not None else []
    return Damage(found, files) if found is not None and files else None


def require() -> None:
    """Raise where triton or torch is missing or in pieces, or where triton would interpret kernels."""
    damaged = damage()
    if damaged is not None:
        raise TlxvizError(f"{damaged}. To mend it: {damaged.mend}")
    missing = [name for name in ("triton", "torch") if find_spec(name) is None]
    if missing:
        raise TlxvizError(f"running kernels needs {' and '.join(missing)}, which this Python lacks: {INSTALL}")
    register_plugin()
    for name in ("triton.knobs", "torch"):  # a folder that was left behind, or an old triton, lacks the former
        try:
            import_module(name)
        except Exception as error:  # a broken installation fails in any way it likes
            if interrupted(error):
                raise KeyboardInterrupt from error
            package = name.partition(".")[0]
            raise TlxvizError(
                f"{package} is installed but cannot be imported ({error}). To mend it: {INSTALL}"
            ) from error
    from triton import knobs

    if knobs.runtime.interpret:
        raise TlxvizError("TRITON_INTERPRET is set: kernels would be interpreted and tlxviz would see none. Unset it")


def register_plugin() -> None:
    """Make triton-utlx known to a triton that is not imported yet.

    It does so itself from a .pth file, which Python reads in site-packages only: not on PYTHONPATH, for one. Without
    it, no kernel could import `triton.language.extra.tlx`.
    """
    if "triton" not in sys.modules and find_spec(_PLUGIN) is not None:
        plugin = import_module(_PLUGIN)
        plugin.register()
        plugin.install_alias_finder()


def interrupted(error: BaseException) -> bool:
    """Is Ctrl-C what it came from? C++ code that runs while a module is imported makes an ImportError of it."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop()
        if isinstance(link, KeyboardInterrupt):
            return True
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            pending += [link.__cause__, link.__context__]
    return False


def toolchain() -> Toolchain:
    """Versions of what is imported, which is not always what pip lists: fbtriton and triton own the same folder."""
    import triton

    version = str(triton.__version__)
    distribution = "fbtriton" if is_fbtriton(version) else "triton"
    plugin = version if distribution == "fbtriton" else _installed("triton-utlx")
    return Toolchain(distribution, version, plugin, _installed("torch"))


def is_fbtriton(version: str) -> bool:
    """Is it fbtriton whose `triton.__version__` this is?"""
    return "+fb" in version or _installed("fbtriton") == version.split("+")[0]


def _installed(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def jit_function_class() -> Any:
    from triton.runtime.jit import JITFunction

    return JITFunction


def autotuner_class() -> Any:
    from triton.runtime.autotuner import Autotuner

    return Autotuner


def tuned_name(tuner: Any) -> str:
    """Name of the kernel that an autotuner tunes, perhaps through other decorators."""
    function = tuner
    while not isinstance(function, jit_function_class()) and hasattr(function, "fn"):
        function = function.fn
    return str(getattr(function, "__name__", "?"))


def configuration(config: Any) -> str:
    """What an autotuner's configuration sets: `BM=128, BN=256, num_warps=4`."""
    return ", ".join(f"{name}={value}" for name, value in config.all_kwargs().items() if value is not None)


def active_driver_slot() -> tuple[Any, str]:
    """Object and attribute that hold the driver in use. Reading the public property would create the GPU's driver."""
    from triton.runtime.driver import driver

    return driver, "_active"


def testing_module() -> ModuleType:
    import triton.testing

    return triton.testing


def knobs_of_bypasses() -> Iterator[tuple[dict[str, Any], str]]:
    """Namespace and name of the settings with which launches go past `JITFunction.run` in C.

    Setting the attribute itself would change the environment, too.
    """
    from triton import knobs

    for group, name in (("nvidia", "use_triton_dispatcher"), ("nvidia", "use_autotune_c_cache")):
        holder = getattr(knobs, group, None)
        if any(name in vars(each) for each in type(holder).__mro__):
            yield vars(holder), name


def bypasses() -> Iterator[tuple[Any, str, Any]]:
    """Object, attribute and value by which no tuned launch goes past `JITFunction.run`."""
    if hasattr(autotuner_class(), "_try_fast_path"):
        yield autotuner_class(), "_try_fast_path", lambda *_: None


def without_reproducers() -> Iterator[tuple[Any, str, Callable[..., None]]]:
    """Object, attribute and value that keep the whole PTX off stdout when ptxas refuses it."""
    from triton.backends.nvidia import compiler

    def print_other(*values: Any, **options: Any) -> None:
        if not any("please share the reproducer" in str(value) for value in values):
            print(*values, **options)

    yield compiler, "print", print_other


def target(capability: tuple[int, int]) -> Any:
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", capability[0] * 10 + capability[1], 32)


def compiles_for_cuda() -> bool:
    """Has this Triton a compiler for NVIDIA's GPUs?"""
    from triton.backends import backends

    return "nvidia" in backends


def finished(kernel: Any) -> Any:
    """A compiled kernel, also where compilation goes on in another thread."""
    return kernel.result() if hasattr(kernel, "result") else kernel


def load(kernel: Any) -> None:
    """Ask the driver in use to load a compiled kernel.

    Raises:
        Exception: Triton's OutOfResources, where it does not fit the device.
    """
    kernel._init_handles()


def launch_hooks(kernel: Any, grid: tuple[int, int, int], stream: int, arguments: Iterable[Any]) -> Iterator[Any]:
    """The hooks that are to be called before and after a launch, each with what it is to be given; None for none."""
    from triton import knobs

    described = kernel.launch_metadata(grid, stream, *arguments)
    for hook in (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook):
        yield (lambda hook=hook: hook(described)) if hook else None


def request_scratch(kernel: Any, grid: tuple[int, int, int], stream: int) -> None:
    """Ask the script's allocator for the memory that the kernel needs beside its arguments, as a launch does.

    Raises:
        RuntimeError: there is no allocator.
    """
    from triton.runtime import _allocation

    size = int(getattr(kernel.metadata, "global_scratch_size", 0) or 0)
    if size:
        x, y, z = grid
        total = size * x * y * z * int(getattr(kernel.metadata, "num_ctas", 1) or 1)
        allocator = _allocation._allocator.get()  # pyright: ignore[reportPrivateUsage] # the setter alone is public
        allocator(total, int(kernel.metadata.global_scratch_align), stream)


def plain_metadata(kernel: Any) -> dict[str, Any]:
    """What the compiler reports about a kernel, as JSON can hold it."""
    return {name: _plain(value) for name, value in kernel.metadata._asdict().items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "backend") and hasattr(value, "arch"):
        return {"backend": value.backend, "arch": value.arch, "warp_size": value.warp_size}
    return str(value)


def bound(jit_function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, defaults and constexprs included."""
    caches = jit_function.device_caches
    if not caches:  # nothing was compiled yet
        from triton.runtime.driver import driver

        active: Any = driver.active
        caches[active.get_current_device()]
    binder = next(iter(caches.values()))[-1]
    return dict(binder(*args, **options)[0])


def argument_names(jit_function: Any) -> list[str]:
    return list(jit_function.arg_names)


def signature(kernel: Any) -> list[Any]:
    """The compiled kernel's argument types in order, tuples nested; `constexpr` for what is no run-time argument."""
    return list(kernel.src.signature.values())


def is_descriptor_type(kind: Any) -> bool:
    return isinstance(kind, str) and kind.startswith("tensordesc")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a kernel is written."""

    text: str
    """The kernel alone, decorators included."""
    file: str
    """Absolute, except for a name such as `<stdin>`."""
    line: int
    """Of the first line of `text`."""


def marks_layouts() -> bool:
    """Whether TLX marks, in a kernel's first form, the layouts that its author gave."""
    from triton._C.libtriton import ir

    return hasattr(ir.builder, "make_user_layout_attr")


def source_of(jit_function: Any) -> Source:
    lines = getattr(jit_function, "raw_src", None) or []
    return Source("".join(lines), _file_of(jit_function), int(jit_function.starting_line_number))


def _file_of(jit_function: Any) -> str:
    file = str(jit_function.fn.__code__.co_filename)
    if not file.startswith("<"):
        with suppress(OSError):  # the current folder may be gone
            file = os.path.abspath(file)
    return file


def files_of_helpers(jit_function: Any) -> set[str]:
    """Files of the functions that a kernel refers to by name, directly or through others."""
    jit = jit_function_class()
    found: dict[int, Any] = {}
    pending = [jit_function]
    while pending:
        function = pending.pop()
        code = function.fn.__code__
        names = {*code.co_names, *code.co_freevars}
        scopes = [function.fn.__globals__, inspect.getclosurevars(function.fn).nonlocals]
        seen: set[int] = set()
        while scopes:
            scope = scopes.pop()
            for value in [scope[name] for name in names if name in scope]:
                if isinstance(value, jit) and id(value) not in found:
                    found[id(value)] = value
                    pending.append(value)
                elif isinstance(value, ModuleType) and id(value) not in seen:  # helpers.twice
                    seen.add(id(value))
                    scopes.append(vars(value))
    return {_file_of(function) for function in found.values()}


def builtin(function: Any) -> Any:
    """A function that kernels may call and that writes code itself."""
    from triton.language import core

    return core.builtin(function)


def constant(value: Any) -> Any:
    """What a kernel's compile-time constant is."""
    from triton.language import core

    return value.value if isinstance(value, core.constexpr) else value


def write_assembly(text: str, constraints: str, semantic: Any) -> None:
    """Write inline assembly without arguments and with one result that nobody uses into the kernel being compiled."""
    from triton.language import core

    core.inline_asm_elementwise(text, constraints, [], core.int32, is_pure=False, pack=1, _semantic=semantic)


class RangesHook:
    """The hook into the compiler's stages by which `tlxviz.language` knows that ranges are recorded.

    Its key keeps kernels with ranges apart from the same kernels without, in memory and on disk. A recorder that hooks
    into the stages itself inherits from it.

    Args:
        user: The hook that was in force, which goes on as before.
    """

    KEY = "tlxviz ranges"

    def __init__(self, user: Any = None) -> None:
        self._user = user

    def __call__(self, *stages: Any) -> Any:
        if stages:
            return self._user(*stages) if self._user is not None else None
        key, digest = (self.KEY, self.KEY) if self._user is None else self._user()
        return (key, digest) if self._user is None else (f"{key} {self.KEY}", f"{digest} {self.KEY}")


@contextmanager
def recorded_ranges() -> Generator[None]:
    """A block in which kernels are compiled with their ranges.

    Nothing changes where no kernel can have any, since `tlxviz.language` is not imported.
    """
    from triton import knobs

    settings: Any = knobs.runtime
    before = settings.add_stages_inspection_hook
    if "tlxviz.language" not in sys.modules or isinstance(before, RangesHook):
        yield
        return
    settings.add_stages_inspection_hook = RangesHook(before)
    try:
        yield
    finally:
        settings.add_stages_inspection_hook = before


def ranges_recorded() -> bool:
    """Is the kernel that is being compiled compiled with its ranges?"""
    from triton import knobs

    return isinstance(knobs.runtime.add_stages_inspection_hook, RangesHook)


def is_internal(file: str) -> bool:
    """Is it a file of Triton's machinery, rather than of its language or of kernels that it ships?"""
    path = file.replace("\\", "/")
    return any(f"/triton/{folder}/" in path for folder in ("runtime", "compiler", "backends"))


def is_compile_failure(error: BaseException) -> bool:
    """Was it raised by the compiler, rather than by what surrounds a launch?"""
    frame = error.__traceback__
    while frame is not None:
        path = frame.tb_frame.f_code.co_filename.replace("\\", "/")
        if path.endswith(("triton/compiler/compiler.py", "triton/compiler/code_generator.py")):
            return True
        frame = frame.tb_next
    return False


def assembler_errors(error: BaseException) -> list[str]:
    """What ptxas printed, if it is ptxas that refused the kernel."""
    before, found, after = str(error).partition("`ptxas` stderr:")
    if not found:
        return []
    printed = [line for line in after.partition("Repro command:")[0].splitlines() if line.strip()]
    return printed or [before.strip()]


def stage_hook_slot() -> tuple[Any, str]:
    """Object and attribute that hold the hook into the compiler's stages."""
    from triton import knobs

    return knobs.runtime, "add_stages_inspection_hook"


def parsed(text: str, module: Any) -> Any:
    """The module of a TTGIR text, in the context of another module."""
    return parsed_in(module.context, text)


def parsed_in(context: Any, text: str) -> Any:
    """The module of a TTGIR text, in a context of MLIR that has the dialects."""
    from triton._C.libtriton import ir

    with tempfile.NamedTemporaryFile("w", suffix=".ttgir") as file:
        file.write(text)
        file.flush()
        made = ir.parse_mlir_module(file.name, context)
    made.context = context
    return made


@contextmanager
def profile_scratch(address: int) -> Generator[None]:
    """A block in which kernels that ask for profile scratch memory are given `address`."""
    from triton.runtime import _allocation

    class Scratch:
        def data_ptr(self) -> int:
            return address

    held: Any = _allocation._profile_allocator  # pyright: ignore[reportPrivateUsage] # only the setter is public
    before = held.get()
    held.set(lambda size, alignment, stream: Scratch())
    try:
        yield
    finally:
        held.set(before)
