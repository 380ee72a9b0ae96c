"""Where the compiler puts what a kernel has in shared and tensor memory."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tlxviz._triton import parsed_in, target

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

_one_at_a_time = threading.Lock()


def allocation(ttgir: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Where the compiler puts what a kernel has in shared and tensor memory, as `allocation` in docs/trace.md has it.

    The passes are those that the compiler itself runs on the way to LLVM, up to the two that allocate memory.

    Args:
        ttgir: TTGIR for an NVIDIA GPU as Triton prints it, before those passes.
        options: What the kernel was compiled with, or its metadata; where they are not known, none.

    Returns:
        The table; empty where this Triton cannot tell, or an operation cannot be found again behind the passes.
    """
    target_of = re.search(r'ttg\.target = "cuda:(\d+)"', ttgir)
    if target_of is None:
        return {}
    with suppress(Exception):  # of another Triton; nothing is known then, and nobody needs it to go on
        from triton._C.libtriton import ir
        from triton.backends.compiler import Language
        from triton.compiler.compiler import make_backend

        backend: Any = make_backend(target(divmod(int(target_of[1]), 10)))
        stages: dict[str, Callable[[Any, dict[str, Any]], Any]] = {}
        # the others are for other stages, or mean something else in metadata: `num_warps` counts those of all tasks
        told = {name: options[name] for name in ("arch", "ptx_version", "instrumentation_mode") if options.get(name)}
        backend.add_stages(stages, backend.parse_options(told), Language.TRITON)
        context: Any = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        module = parsed_in(context, ttgir)
        before = _operations(module)
        with _stopped_when_allocated():
            try:
                stages["llir"](module, {})
            except _Allocated as reached:
                reached.passes.run(module, "allocation")
        return _found_again(ttgir, before, _operations(module), module)
    return {}


def conversion_scratch(ttgir: str, conversions: Mapping[int, int]) -> dict[int, int]:
    """Bytes of shared memory that the compiler sets aside for changes of layout, each by itself.

    Args:
        ttgir: TTGIR for an NVIDIA GPU as Triton prints it.
        conversions: Lines of `ttg.convert_layout`, from 1, to the warps that run them.

    Returns:
        Lines to bytes; without those about which this Triton cannot tell.
    """
    target_of = re.search(r'ttg\.target = "cuda:(\d+)"', ttgir)
    if target_of is None:
        return {}
    lines = ttgir.splitlines()
    aliases = "\n".join(line for line in lines if line.startswith("#") and not line.startswith("#loc"))
    known: dict[tuple[str, int], int | None] = {}
    found: dict[int, int] = {}
    for line, warps in conversions.items():
        types = _CONVERSION.search(lines[line - 1]) if 0 < line <= len(lines) else None
        if types is None:
            continue
        key = types[0], warps
        if key not in known:
            known[key] = _scratch(aliases, types[1], types[2], warps, int(target_of[1]))
        size = known[key]
        if size is not None:
            found[line] = size
    return found


# tensor<64xf16, #mma> -> tensor<64xf16, #blocked>   behind the operation's name and attributes
_CONVERSION = re.compile(r"ttg\.convert_layout %[^:]* : (tensor<.*>) -> (tensor<.*>)(?= loc\(|\s*$)")


def _scratch(aliases: str, source: str, target_type: str, warps: int, capability: int) -> int | None:
    """What a function that does nothing but change a layout has of shared memory."""
    module_of = (
        f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, '
        f'ttg.target = "cuda:{capability}", "ttg.threads-per-warp" = 32 : i32}} {{'
    )
    body = f"%y = ttg.convert_layout %x : {source} -> {target_type}"
    text = f"{aliases}\n{module_of}\ntt.func public @f(%x: {source}) {{\n{body}\ntt.return\n}}\n}}\n"
    with suppress(Exception):  # as above
        from triton._C.libtriton import ir, nvidia
        from triton.backends.nvidia.compiler import get_ptx_version_from_options
        from triton.compiler.compiler import make_backend

        backend: Any = make_backend(target(divmod(capability, 10)))
        context: Any = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        module = parsed_in(context, text)
        passes: Any = ir.pass_manager(context)
        version = get_ptx_version_from_options(backend.parse_options({}), capability)
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(passes, capability, version)
        passes.run(module, "allocation")
        return int(module.get_int_attr("ttg.shared"))
    return None


class _Allocated(Exception):
    """The list of passes has come to where memory is allocated."""

    def __init__(self, passes: Any) -> None:
        super().__init__()
        self.passes = passes


@contextmanager
def _stopped_when_allocated() -> Generator[None]:
    """A block in which `_Allocated` ends the list of passes that this thread makes once it allocates all memory.

    Other threads go on compiling, but one at a time is in such a block: each puts back what it found.
    """
    from triton._C.libtriton import nvidia

    passes: Any = nvidia.passes
    slots = (passes.ttgpuir, "add_allocate_shared_memory_nv"), (passes.ttnvgpuir, "add_allocate_tensor_memory")
    left = {name for _, name in slots}
    own = threading.get_ident()

    def stopping(name: str, add: Callable[..., None]) -> Callable[..., None]:
        def added(manager: Any, *args: Any) -> None:
            add(manager, *args)
            if threading.get_ident() == own:
                left.discard(name)
                if not left:
                    raise _Allocated(manager)

        return added

    with _one_at_a_time:
        before = [getattr(*slot) for slot in slots]
        try:
            for (holder, name), add in zip(slots, before, strict=True):
                setattr(holder, name, stopping(name, add))
            yield
        finally:
            for (holder, name), add in zip(slots, before, strict=True):
                setattr(holder, name, add)


_PLACED = {"offset": "allocation.offset", "column": "tensor_memory_col_offset", "row": "tensor_memory_row_offset"}


def _operations(module: Any) -> dict[str, list[tuple[str, dict[str, int]]]]:
    """By name, in order: what an operation is known by again, and where the memory is that it has."""
    found: dict[str, list[tuple[str, dict[str, int]]]] = {}

    def note(operation: Any) -> None:
        mark = ""
        if operation.get_num_results():
            result = operation.get_result(0)
            mark = f"{result.get_type()} {result.get_loc()}"
        values = {key: operation.get_int_attr(name) for key, name in _PLACED.items()}
        placed = {key: value for key, value in values.items() if value is not None}
        found.setdefault(operation.get_name(), []).append((mark, placed))

    module.walk(note)
    return found


def _found_again(
    ttgir: str,
    before: dict[str, list[tuple[str, dict[str, int]]]],
    after: dict[str, list[tuple[str, dict[str, int]]]],
    module: Any,
) -> dict[str, Any]:
    operations: list[dict[str, Any]] = []
    for name, found in after.items():
        if name not in before or not any(placed for _, placed in found):
            continue  # made by the passes, or without memory
        printed = re.compile(rf'^ *(?:%[^=]*= )?"?{re.escape(name)}(?![\w.])', re.MULTILINE)
        lines = [ttgir.count("\n", 0, each.start()) + 1 for each in printed.finditer(ttgir)]
        if [mark for mark, _ in before[name]] != [mark for mark, _ in found] or len(lines) != len(found):
            return {}
        operations += (
            {"name": name, "line": line, **placed} for line, (_, placed) in zip(lines, found, strict=True) if placed
        )
    return {
        "shared": module.get_int_attr("ttg.shared"),
        "operations": sorted(operations, key=lambda each: each["line"]),
    }
