"""What an operation works on: each operand's variable, where it was made, its type, and which slot of memory it is."""

from __future__ import annotations

from dataclasses import dataclass

from tlxviz.ir.location import Location
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.program import BarrierArray, Buffer, Descriptor, Program, Site, SiteKind
from tlxviz.ir.roots import ALLOCATIONS
from tlxviz.ir.sites import constant_int, kernel_line
from tlxviz.ir.types import MemDescType, PointerType, ScalarType, TensorDescType, TensorType, Type

_PARTS = {
    "a": "A",
    "b": "B",
    "c": "accumulator",
    "d": "accumulator",
    "a_scale": "scale of A",
    "b_scale": "scale of B",
    "inputs": "accumulator",
    "desc": "descriptor",
    "src": "source",
    "ptr": "source",
    "dst": "destination",
    "barrier": "barrier",
    "barriers": "barrier",
    "response": "response",
}
"""Groups of operands that somebody who reads a timeline asks for, and what each is called."""

_WHOLE = frozenset({
    "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans", "ttng.map_to_remote_buffer",
    "ttng.tmem_subslice",
})  # fmt: skip
"""Views that are of the same slot as what they are views of."""
_CASTS = frozenset({"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"})


_RECORDED: dict[SiteKind, str] = {
    SiteKind.WAIT: "barrier",
    SiteKind.ARRIVE: "barrier",
    SiteKind.EXPECT: "barrier",
    SiteKind.MMA_COMMIT: "barrier",
    SiteKind.TMA_LOAD: "barrier",
    SiteKind.TMA_STORE: "src",
    SiteKind.TMA_REDUCE: "src",
    SiteKind.ASYNC_COPY: "dst",
    SiteKind.CLC: "response",
    SiteKind.TMEM_LOAD: "src",
    SiteKind.TMEM_STORE: "dst",
    SiteKind.TMEM_COPY: "dst",
}
_SUMS_IN_MEMORY = frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled"})


def recorded_operand(site: Site) -> str:
    """The group of the operand whose slot an event of a site has in its column `slot`; empty for none."""
    if site.kind is SiteKind.MMA:
        return "d" if site.operation.name in _SUMS_IN_MEMORY else "b"
    return _RECORDED.get(site.kind, "")


@dataclass(frozen=True, slots=True)
class SlotIndex:
    """Which slot of an allocation a view is of: `base + offset`."""

    base: Value | None
    """None where the slot is the constant `offset`."""
    offset: int


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an operation."""

    part: str
    """What it is to the operation: `A`, `barrier`, `descriptor`, `destination`, ..."""
    value: Value
    name: str
    """The variable in the kernel's source; empty where it has none."""
    made: Location
    """Where the memory behind it was allocated, or the value computed."""
    type: str
    """Of the operand itself, such as `64x256 f16 in shared memory`."""
    root: BarrierArray | Buffer | Descriptor | None
    """What it is a view of; None for values in registers."""
    slots: int
    """Slots of the memory that it is a view of; 0 where it has none."""
    index: SlotIndex | None
    """None where nothing tells which slot it is."""


def operands(program: Program, site: Site) -> tuple[Operand, ...]:
    """What the operation of a site works on, in the order in which the operation names it."""
    found: list[Operand] = []
    for group, values in site.operation.groups.items():
        if group in _PARTS:
            found += [_operand(program, _PARTS[group], value) for value in values if _counts(group, value)]
    return tuple(found)


def operand(program: Program, site: Site, group: str) -> Operand | None:
    """The single operand of a group that has a name in `operands`; None where the operation prints none."""
    value = site.operation.operand(group)
    return _operand(program, _PARTS[group], value) if value is not None and _counts(group, value) else None


def _counts(group: str, value: Value) -> bool:
    """Not the number of a named barrier; nor memory that a wait for products keeps from being used again."""
    return not isinstance(value.type, ScalarType) and not (group == "inputs" and isinstance(value.type, MemDescType))


def _operand(program: Program, part: str, value: Value) -> Operand:
    root = program.roots.get(value)
    function = program.kernel.location
    if root is not None:
        made = root.value if isinstance(root, Descriptor) else root.operation.results[0]
        slots = 0 if isinstance(root, Descriptor) else root.slots
        place = kernel_line(_location(made), function)
        return Operand(part, value, root.name, place, type_text(value.type), root, slots, slot_index(value))
    source = _computed(value)
    place = kernel_line(_location(source), function)
    return Operand(part, value, _name(source), place, type_text(value.type), None, 0, None)


def _computed(value: Value) -> Value:
    """What the source computes, behind changes of layout, waits for products and what loops carry."""
    seen: set[Value] = set()
    while value not in seen:
        seen.add(value)
        made = value.owner
        if isinstance(made, Block):
            loop = made.region.parent if made.region is not None else None
            if loop is not None and loop.name == "scf.for" and value.index:
                value = _carried(loop, value.index - 1)
        elif made.name == "scf.for":
            value = _carried(made, value.index)
        elif made.name == "ttg.convert_layout" or made.name == "ttng.warp_group_dot_wait":
            value = made.operands[value.index]
    return value


def _carried(loop: Operation, index: int) -> Value:
    """What a loop passes on to its next iteration."""
    return loop.regions[0].blocks[-1].yielded[index]


def _location(value: Value) -> Location:
    return value.owner.location if isinstance(value.owner, Operation) else value.location


def _name(value: Value) -> str:
    """The variable that the source assigns the value to. Of several results all have the location of one."""
    if isinstance(value.owner, Operation) and len(value.owner.results) > 1:
        return ""
    place: Location | None = value.location
    while place is not None:
        if place.name:
            return place.name
        place = place.caller
    return ""


def slot_index(value: Value) -> SlotIndex | None:
    """Which slot of its allocation a view is of: the leading index that was taken on the way; 0 where none was.

    None where the way leads through what a loop or condition carries, or through another view of the memory's bytes.
    """
    leading: Value | None = None
    while True:
        value = captured(value)
        if not isinstance(value.owner, Operation):
            return None
        made = value.owner
        if made.name in ALLOCATIONS:
            return affine(leading) if leading is not None else SlotIndex(None, 0)
        if made.name == "ttg.memdesc_index":
            leading = made.operands[1]
        elif made.name not in _WHOLE:
            return None
        value = made.operands[0]


def affine(value: Value) -> SlotIndex:
    """A number as another number and a constant that is added to it."""
    offset = 0
    while True:
        value = captured(value)
        constant = constant_int(value)
        if constant is not None:
            return SlotIndex(None, offset + constant)
        made = value.owner
        if not isinstance(made, Operation):
            return SlotIndex(value, offset)
        constants = [constant_int(captured(each)) for each in made.operands]
        match made.name, constants:
            case "arith.addi", [None, int(added)]:
                offset, value = offset + added, made.operands[0]
            case "arith.addi", [int(added), None]:
                offset, value = offset + added, made.operands[1]
            case "arith.subi", [None, int(taken)]:
                offset, value = offset - taken, made.operands[0]
            case name, [None] if name in _CASTS:
                value = made.operands[0]
            case _:
                return SlotIndex(value, offset)


def captured(value: Value) -> Value:
    """What a partition's argument is outside of it."""
    while isinstance(value.owner, Block) and value.owner.region is not None:
        parent = value.owner.region.parent
        if parent is None or parent.name != "ttg.warp_specialize":
            break
        value = parent.operands[value.index]
    return value


def type_text(type_: Type) -> str:
    """A type for people: `64x256 f16 in shared memory`."""
    match type_:
        case MemDescType(element=ScalarType("i64"), shape=(1,)):
            return "mbarrier"
        case MemDescType():
            return f"{_shape(type_.shape)}{type_text(type_.element)} in {type_.space.replace('_', ' ')}"
        case TensorType():
            return f"{_shape(type_.shape)}{type_text(type_.element)}{'' if _points(type_) else ' in registers'}"
        case TensorDescType():
            return f"blocks of {_shape(type_.block.shape)}{type_text(type_.block.element)} in global memory"
        case PointerType():
            return f"pointers to {type_text(type_.pointee)}"
        case ScalarType():
            return type_.name
        case _:
            return ""


def _points(type_: TensorType) -> bool:
    return isinstance(type_.element, PointerType)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) + " " if shape else ""
