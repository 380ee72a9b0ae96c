"""What a warp group is there for, inferred from the operations that it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tlxviz.ir.markers import is_marker
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Role

_LOADS = (
    "ttng.async_tma_copy_global_to_local",
    "ttng.async_tma_gather",
    "ttg.async_copy_global_to_local",
    "tt.descriptor_load",
    "tt.descriptor_gather",
)
_MMAS = ("ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "tt.dot", "tt.dot_scaled")
_EXPONENTIALS = ("math.exp", "math.exp2")
_STORES = (
    "ttng.async_tma_copy_local_to_global",
    "ttng.async_tma_reduce",
    "ttng.async_tma_scatter",
    "ttng.async_store",
    "tt.descriptor_store",
    "tt.descriptor_reduce",
    "tt.descriptor_scatter",
    "tt.store",
    "tt.atomic_rmw",
)
_NOTHING = ("ttg.warp_return", "arith.constant")
"""What a task consists of for which a loop that the compiler divided had no work."""
_REGISTER_WORK = ("ttng.tmem_load", "ttg.local_store", "ttg.local_alloc", "arith.truncf", "ttg.convert_layout")


def infer_role(operations: Iterable[Operation]) -> Role:
    """The role of a warp group that runs `operations`."""
    operations = [operation for operation in operations if not is_marker(operation)]
    count = Counter(operation.name for operation in operations)

    def any_of(names: Sequence[str]) -> bool:
        return any(count[name] for name in names)

    if not count.keys() - set(_NOTHING):
        return Role.IDLE
    exponentials = any_of(_EXPONENTIALS) or any("ex2.approx" in text for text in _assembly(operations))
    match any_of(_MMAS), exponentials, any_of(_LOADS), any_of(_STORES):
        case True, True, _, _:
            return Role.SOFTMAX
        case True, False, _, _:
            return Role.MMA
        # on Blackwell another warp group issues the MMAs of a softmax: it reads scores from tensor memory
        case False, True, False, _ if count["ttng.tmem_load"] and count["ttng.tmem_store"]:
            return Role.SOFTMAX
        case False, _, True, False:
            return Role.LOAD
        case False, _, False, True:
            return Role.EPILOGUE if any_of(_REGISTER_WORK) else Role.STORE
        case False, _, True, True if _stores_only_shared(count):
            return Role.LOAD
        case _:
            return Role.COMPUTE


def _assembly(operations: Iterable[Operation]) -> list[str]:
    return [str(op.attributes["asm_string"]) for op in operations if op.name == "tt.elementwise_inline_asm"]


def _stores_only_shared(count: Counter[str]) -> bool:
    """Whether a group that loads and stores computes nothing between: it moves data."""
    return not any(count[name] for name in _REGISTER_WORK)


def unique_names(wanted: Sequence[str]) -> list[str]:
    """`wanted`, numbered where a name repeats: `load`, `mma.0`, `mma.1`."""
    count = Counter(wanted)
    given: Counter[str] = Counter()
    names: list[str] = []
    taken = set(wanted)
    for name in wanted:
        if count[name] == 1:
            names.append(name)
            continue
        candidate = f"{name}.{given[name]}"
        while candidate in taken:
            given[name] += 1
            candidate = f"{name}.{given[name]}"
        given[name] += 1
        taken.add(candidate)
        names.append(candidate)
    return names
