"""Shared memory under several names as views of one allocation, which is what the rest of tlxviz knows.

fbtriton makes views of `storage_alias_spec` and of `local_alloc(reuse=...)` before TTGIR; triton-utlx does it after.
"""

from __future__ import annotations

from tlxviz.ir.operation import Module, Operation
from tlxviz.ir.types import MemDescType, ScalarType, bytes_of

_STORAGE = "tlx.storage_alias_spec"
_VIEWS = frozenset({"tlx.storage_alias_local_alloc", "tlx.local_alias"})


def make_views(module: Module) -> None:
    """Turn the aliases of the module into allocations and `ttg.memdesc_reinterpret`, in place."""
    storages: list[Operation] = []
    for operation in module.walk():
        if operation.name == _STORAGE:
            storages.append(operation)
        elif operation.name in _VIEWS:
            operation.name = "ttg.memdesc_reinterpret"
            storage, view = operation.operands[0].owner, operation.result.type
            if isinstance(storage, Operation) and storage.name == _STORAGE and isinstance(view, MemDescType):
                _grow(storage, view)
    for storage in storages:
        storage.name = "ttg.local_alloc"


def _grow(storage: Operation, view: MemDescType) -> None:
    """Make the storage an allocation of bytes that `view` fits into."""
    before = storage.result.type
    shape = (max(bytes_of(before), bytes_of(view)),)
    storage.result.type = MemDescType(shape, ScalarType("i8"), view.encoding, view.space, True, shape)
