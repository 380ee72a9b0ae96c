"""Where a view of memory comes from: back through views, loops, conditions, partitions and calls to what made it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tlxviz.ir.operation import Block, Module, Operation, Value
from tlxviz.ir.types import MemDescType, TensorDescType

ALLOCATIONS = frozenset({"ttg.local_alloc", "ttng.tmem_alloc"})
DESCRIPTOR_MAKERS = frozenset({"ttng.reinterpret_tensor_descriptor", "tt.make_tensor_descriptor"})
_VIEWS = frozenset({
    "ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans", "ttg.memdesc_reshape",
    "ttg.memdesc_reinterpret", "ttng.tmem_subslice", "ttng.map_to_remote_buffer", "builtin.unrealized_conversion_cast",
})  # fmt: skip


def has_root(value: Value) -> bool:
    """Whether the value is a view of memory or a descriptor."""
    return isinstance(value.type, MemDescType | TensorDescType)


class Origins:
    """Finds, for each view in a module, the values that made the memory or descriptor behind it."""

    def __init__(self, module: Module, calls: Iterable[Operation] | None = None) -> None:
        """
        Args:
            calls: The calls by which functions are reached; None for all of the module.
        """
        self._calls: dict[str, list[Operation]] = {}
        for operation in module.walk() if calls is None else calls:
            if operation.name == "tt.call":
                self._calls.setdefault(operation.attributes["callee"], []).append(operation)
        self._known: dict[Value, Value | None] = {}

    def origin(self, value: Value) -> Value | None:
        """The allocation, descriptor or kernel argument behind `value`; None where it depends on the way taken."""
        if value in self._known:
            return self._known[value]
        seen: set[Value] = set()
        ends: set[Value] = set()
        open_: list[Value] = [value]
        certain = True
        while open_:
            current = open_.pop()
            if current in seen:
                continue
            seen.add(current)
            before = self._before(current)
            if before is None:
                certain = False
            elif before:
                open_.extend(before)
            else:
                ends.add(current)
        found = ends.pop() if certain and len(ends) == 1 else None
        self._known[value] = found
        return found

    def _before(self, value: Value) -> Sequence[Value] | None:
        """The values that `value` may be a view of or equal to: none if it is an origin, None if nobody can tell."""
        if isinstance(value.owner, Block):
            return self._before_argument(value, value.owner)
        operation = value.owner
        match operation.name:
            case name if name in ALLOCATIONS or name in DESCRIPTOR_MAKERS:
                return ()
            case name if name in _VIEWS:
                return operation.operands[:1]
            case "scf.for":
                return (operation.groups["init"][value.index], _yielded(operation, 0, value.index))
            case "scf.if":
                return [_yielded(operation, region, value.index) for region in range(len(operation.regions))]
            case "scf.while":
                return (_yielded(operation, 0, value.index + 1),)
            case "ttg.warp_specialize":
                return (_yielded(operation, 0, value.index),)
            case "arith.select":
                return operation.operands[1:]
            case "ttng.warp_group_dot_wait":
                return (operation.operands[value.index],)
            case _:
                return None

    def _before_argument(self, value: Value, block: Block) -> Sequence[Value] | None:
        region = block.region
        parent = region.parent if region else None
        if region is None or parent is None or region.entry is not block:
            return None
        match parent.name:
            case "ttg.warp_specialize":
                return (parent.operands[value.index],)
            case "scf.for" if value.index:
                return (parent.groups["init"][value.index - 1], _yielded(parent, 0, value.index - 1))
            case "scf.while" if region is parent.regions[0]:
                return (parent.groups["init"][value.index], _yielded(parent, 1, value.index))
            case "scf.while":
                return (_yielded(parent, 0, value.index + 1),)
            case "tt.func":
                calls = self._calls.get(parent.attributes["sym_name"], ())
                return [call.operands[value.index] for call in calls]
            case _:
                return None


def _yielded(operation: Operation, region: int, index: int) -> Value:
    return operation.regions[region].blocks[-1].yielded[index]
