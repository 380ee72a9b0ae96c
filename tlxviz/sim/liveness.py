"""Which values a run has to compute.

With values on, what reaches memory, control flow or a barrier. With values off, only what feeds control flow,
addresses, barriers and scalar memory traffic, says where rows of narrow accesses begin and what asynchronous copies
leave out, together with the shared and global memory that this is read from.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Buffer, Program
from tlxviz.ir.roots import ALLOCATIONS
from tlxviz.ir.types import (
    MemDescType,
    PointerType,
    ScalarType,
    TensorDescType,
    TensorType,
    TokenType,
    element_of,
)
from tlxviz.sim.sectors import narrow

_CONTROL = frozenset({"scf.if", "scf.for", "scf.while", "scf.condition", "cf.cond_br", "cf.br"})
_TENSOR_DATA = {
    "tt.store": ("value", "ptr", "mask"),
    "ttg.local_store": ("value",),
    "ttg.local_scatter": ("value", "indices"),
    "ttng.tmem_store": ("value",),
    "ttng.tmem_alloc": ("init",),
    "ttg.remote_shmem_store": ("src",),
    "ttg.async_remote_shmem_store": ("src",),
    "ttg.local_atomic_scatter_rmw": ("value", "indices", "mask"),
    "ttg.async_copy_global_to_local": ("ptr", "mask", "other"),
    "tt.print": ("args",),
    "tt.assert": ("condition",),
    "tt.descriptor_store": ("src",),
    "tt.descriptor_reduce": ("src",),
}
"""Operations that do nothing but move tensor data, with the operands that only the data needs."""
_READ = {
    "ttg.local_load": ("src",),
    "ttg.local_gather": ("src",),
    "ttg.local_atomic_scatter_rmw": ("dst",),
    "ttng.warp_group_dot": ("a", "b"),
    "ttng.tmem_load": ("src",),
}
"""Operations whose results depend on shared or tensor memory, with the operands that are views of it."""
_PRODUCTS = frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})
"""Operations that write tensor memory."""
_SOURCES = ("src", "a", "b", "a_scale", "b_scale")
"""Operands that are read for what is written into a buffer."""
_NUMBERS = frozenset(
    {
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.trans",
        "tt.make_range",
        "tt.get_program_id",
        "tt.get_num_programs",
        "ttg.convert_layout",
    }
)
"""Beside arithmetic, what masks are made of that depend on no memory."""
_PURE = ("arith.", "math.")
_PURE_OPERATIONS = frozenset(
    {
        "tt.splat",
        "tt.unsplat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.trans",
        "tt.split",
        "tt.join",
        "tt.cat",
        "tt.make_range",
        "tt.addptr",
        "tt.bitcast",
        "tt.fp_to_fp",
        "tt.int_to_ptr",
        "tt.ptr_to_int",
        "tt.get_program_id",
        "tt.get_num_programs",
        "tt.load",
        "tt.dot",
        "tt.reduce",
        "tt.scan",
        "tt.gather",
        "tt.histogram",
        "tt.clampf",
        "tt.mulhiui",
        "tt.precise_sqrt",
        "tt.precise_divf",
        "tt.map_elementwise",
        "tt.extern_elementwise",
        "tt.descriptor_load",
        "ttg.convert_layout",
        "ttg.fp4_to_fp",
        "ttg.local_load",
        "ttg.local_gather",
        "ttng.warp_group_dot",
        "ttng.tmem_load",
        "ttng.tmem_subslice",
        "gpu.thread_id",
        "nvg.cluster_id",
    }
)


class Liveness:
    """Values and buffers that have to be computed."""

    def __init__(self, program: Program, values: bool) -> None:
        self.program = program
        self.live: set[Value] = set()
        self.buffers: set[int] = set()
        """Buffers whose contents are needed."""
        self._work: list[Value] = []
        self._sources: dict[Value, list[Value]] = {}
        self._definition: dict[Value, Operation] = {}
        self._writers: dict[int, list[Operation]] = {}
        self._stores: list[Operation] = []
        self._values = values
        self._read: set[Value | None] = set()
        """Kernel arguments through which memory is read that has to be right; None for addresses from anywhere else."""
        operations = list(program.module.walk())
        for op in operations:
            self._index(op)
        for op in operations:
            self._roots(op, values)
        if values:
            self.buffers.update(buffer.index for buffer in program.buffers)
        self._close()

    def _index(self, op: Operation) -> None:
        for result in op.results:
            self._definition[result] = op
        for argument, source in flows(op):
            self._sources.setdefault(argument, []).append(source)
        if op.name == "tt.call":
            self._index_call(op)
        target = op.operand("dst") or (op.results[0] if op.name in ALLOCATIONS and op.operands else None)
        if op.name in _PRODUCTS:
            target = op.operand("d")
        if target is not None:
            root = self.program.roots.get(target)
            if isinstance(root, Buffer):
                self._writers.setdefault(root.index, []).append(op)
        if op.name == "tt.store":
            self._stores.append(op)

    def _index_call(self, op: Operation) -> None:
        function = self.program.module.functions.get(str(op.attributes["callee"]))
        if function is None:
            return
        for argument, operand in zip(function.regions[0].entry.arguments, op.operands, strict=True):
            self._sources.setdefault(argument, []).append(operand)
        for inner in function.walk():
            if inner.name == "tt.return":
                for result, value in zip(op.results, inner.operands, strict=True):
                    self._sources.setdefault(result, []).append(value)

    def _roots(self, op: Operation, values: bool) -> None:
        # views are what records and barriers are made of, and cost nothing to have
        self._need(tuple(value for value in op.operands if isinstance(value.type, (MemDescType, TensorDescType))))
        if op.name in _CONTROL:
            self._control(op)
            return
        if narrow(op) is not None:
            self._need(op.groups["ptr"])
        if self.leaves_out(op):
            self._need(op.groups["mask"])
        if op.name.startswith(_PURE) or op.name in _PURE_OPERATIONS or _passes_through(op):
            return
        data = _TENSOR_DATA.get(op.name, ())
        tensor_data = any(isinstance(value.type, TensorType) for value in op.operands)
        for part, members in op.groups.items():
            if values or part not in data or not tensor_data:
                self._need(members)
        if not op.groups and (values or not tensor_data):
            self._need(op.operands)

    def _control(self, op: Operation) -> None:
        match op.name:
            case "scf.if" | "scf.condition" | "cf.cond_br":
                self._need(op.operands[:1])
            case "scf.for":
                for part in ("lower", "upper", "step"):
                    self._need(op.groups[part])
            case _:
                pass

    def _need(self, values: tuple[Value, ...]) -> None:
        self._work += [value for value in values if value not in self.live]

    def _close(self) -> None:
        while self._work:
            value = self._work.pop()
            if value in self.live:
                continue
            self.live.add(value)
            self._need(tuple(self._sources.get(value, ())))
            op = self._definition.get(value)
            if op is None or op.name in _CONTROL or op.name == "ttg.warp_specialize":
                continue
            if isinstance(value.type, TokenType):
                continue  # its operation is executed anyway, whatever it computes
            self._need(op.operands)
            for region in op.regions:
                for inner in region.walk():
                    self._need(inner.operands)
            self._contents(op)

    def _contents(self, op: Operation) -> None:
        """A live read makes what it reads live, and with it whatever writes that."""
        if op.name == "tt.load" and not self._values:
            new = self._places(op.groups["ptr"][0]) - self._read
            self._read |= new
            for store in self._stores if new else ():
                if not new.isdisjoint(self._places(store.groups["ptr"][0])):
                    self._need(store.operands)
        for part in _READ.get(op.name, ()):
            root = self.program.roots.get(op.groups[part][0])
            if isinstance(root, Buffer):
                self._fill(root.index)

    def _fill(self, buffer: int) -> None:
        if buffer not in self.buffers:
            self.buffers.add(buffer)
            for writer in self._writers.get(buffer, ()):
                self._need(writer.operands)
                for part in _SOURCES:
                    source = writer.operand(part)
                    root = self.program.roots.get(source) if source is not None else None
                    if isinstance(root, Buffer):  # a copy from buffer to buffer, or a product of buffers
                        self._fill(root.index)

    def _places(self, pointer: Value) -> set[Value | None]:
        """The kernel arguments that a pointer is made from; with None if it, or a part of it, comes from elsewhere."""
        found: set[Value | None] = set()
        seen: set[Value] = set()
        work = [pointer]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            origins = list(self._sources.get(value, ()))
            op = self._definition.get(value)
            if op is not None and op.name not in ("tt.load", "tt.int_to_ptr", "tt.call"):
                origins += [operand for operand in op.operands if isinstance(element_of(operand.type), PointerType)]
            if not origins:
                found.add(value if op is None else None)
            work += origins
        return found

    def leaves_out(self, op: Operation) -> bool:
        """Whether an asynchronous copy has a mask that says how much of it moves: one that depends on no memory."""
        mask = op.operand("mask")
        if op.name != "ttg.async_copy_global_to_local" or mask is None:
            return False
        seen: set[Value] = set()
        work = [mask]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            element = element_of(value.type)
            if not isinstance(element, ScalarType) or element.is_float:
                return False
            work += self._sources.get(value, ())
            made_by = self._definition.get(value)
            if made_by is not None and made_by.name not in _CONTROL:
                work += made_by.operands
                if not made_by.name.startswith("arith.") and made_by.name not in _NUMBERS:
                    return False
        return True

    def stores(self, op: Operation, values: bool) -> bool:
        """Whether a `tt.store` has to write.

        With values always. Without, if it stores a scalar, or if it writes through an argument from which something is
        read that has to be right: two arguments are taken not to overlap.
        """
        if values or not any(isinstance(value.type, TensorType) for value in op.operands):
            return True
        return not self._read.isdisjoint(self._places(op.groups["ptr"][0]))


def _passes_through(op: Operation) -> bool:
    return op.name in (
        "scf.yield",
        "ttg.warp_yield",
        "ttg.warp_return",
        "tt.return",
        "ttg.warp_specialize",
        "tt.reduce.return",
        "tt.scan.return",
        "tt.map_elementwise.return",
        "tt.func",
        "ttng.warp_group_dot_wait",
        "tt.call",
    ) or op.name.startswith("ttg.memdesc_")


def flows(op: Operation) -> Iterator[tuple[Value, Value]]:
    """Pairs (value, where it comes from) of an operation with regions, or of a wait that passes its operands on."""
    match op.name:
        case "scf.for":
            body = op.regions[0].entry
            initial = op.groups.get("init", ())
            for argument, source in zip(body.arguments[1:], initial, strict=True):
                yield argument, source
            for argument, result, source in zip(body.arguments[1:], op.results, body.yielded, strict=True):
                yield argument, source
                yield result, argument
        case "scf.while":
            before, after = op.regions[0].entry, op.regions[1].entry
            passed = before.yielded[1:]
            for argument, first, again in zip(before.arguments, op.operands, after.yielded, strict=True):
                yield argument, first
                yield argument, again
            for argument, result, source in zip(after.arguments, op.results, passed, strict=True):
                yield argument, source
                yield result, source
        case "scf.if":
            for region in op.regions:
                if region.blocks:
                    for result, source in zip(op.results, region.entry.yielded, strict=False):
                        yield result, source
        case "ttg.warp_specialize":
            for region in op.regions:
                if region.name != "default":
                    yield from zip(region.entry.arguments, op.operands, strict=True)
                else:
                    yield from zip(op.results, region.entry.yielded, strict=False)
        case "ttng.warp_group_dot_wait":
            yield from zip(op.results, op.operands, strict=True)
        case "cf.br" | "cf.cond_br":
            yield from branchflows(op)
        case _:
            pass


def branchflows(op: Operation) -> Iterator[tuple[Value, Value]]:
    """(block argument, operand) pairs of a `cf` branch."""
    assert op.block is not None
    assert op.block.region is not None
    blocks = {block.label: block for block in op.block.region.blocks}
    labels = op.attributes["successors"]
    lists = (
        [op.groups.get("true_args", ()), op.groups.get("false_args", ())]
        if op.name == "cf.cond_br"
        else [op.groups.get("args", op.operands)]
    )
    for label, values in zip(labels, lists, strict=True):
        yield from zip(blocks[label].arguments, values, strict=True)


def narrow_buffers(program: Program) -> set[int]:
    """Buffers that keep their own dtype since their bytes are read as another type."""
    found: set[int] = set()
    for op in program.module.walk():
        if op.name == "ttg.memdesc_reinterpret":
            root = program.roots.get(op.operands[0])
            if isinstance(root, Buffer):
                found.add(root.index)
    return found


def borrowing_buffers(program: Program) -> set[int]:
    """Buffers whose slots only TMA loads write, each as a whole, and that nobody touches but by slots."""
    refused: set[int] = set()
    for op in program.module.walk():
        for value in op.operands:
            root = program.roots.get(value)
            if isinstance(root, Buffer) and not _by_slots(op, value):
                refused.add(root.index)
    return {buffer.index for buffer in program.buffers if buffer.index not in refused and not buffer.operation.operands}


_READERS_OF_SLOTS = _PRODUCTS | {
    "ttg.memdesc_trans",
    "ttng.warp_group_dot",
    "ttng.warp_group_dot_wait",
    "ttg.local_load",
    "ttng.wait_barrier",
}


def _by_slots(op: Operation, value: Value) -> bool:
    if not isinstance(value.type, MemDescType):
        return True
    if op.name in ("ttg.warp_specialize", "ttg.memdesc_index", "ttg.local_dealloc"):
        return True
    if not (isinstance(value.owner, Operation) and value.owner.name in ("ttg.memdesc_index", "ttg.memdesc_trans")):
        return False
    if value.owner.name == "ttg.memdesc_index" and op.name == "ttng.async_tma_copy_global_to_local":
        return True
    return op.name in _READERS_OF_SLOTS
