"""Control flow of a warp group: what may still be executed, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.ir.operands import captured
from tlxviz.ir.operation import Block, Operation, Value
from tlxviz.ir.sites import constant_int

_LOOPS = frozenset({"scf.for", "scf.while"})
THREAD = frozenset({"gpu.thread_id", "ttg.warp_id", "ttng.elect", "ttg.lane_id"})
"""Operations whose results differ between the threads of a warp group."""
RANK = frozenset({"nvg.cluster_id"})
"""Operations whose results differ between the CTAs of a cluster."""


def around(op: Operation) -> Iterator[Operation]:
    """The operation, and those that hold it, from the innermost on."""
    step: Operation | None = op
    while step is not None:
        yield step
        region = step.block.region if step.block is not None else None
        step = region.parent if region is not None else None


def reaches(standing: Operation, target: Operation) -> bool:
    """Whether a warp group that stands at an operation, and has not done it, may come to another one."""
    if standing is target:
        return True
    meeting = _meeting(standing, target)
    if meeting is None or _branches(standing):  # in a function that others call, or jumps
        return True
    if _is_before(*meeting):
        return True
    holders = set(around(target))
    return any(each.name in _LOOPS and each in holders and each is not standing for each in around(standing))


def precedes(one: Operation, other: Operation) -> bool:
    """Whether one comes before the other in the text of the same function, and is not in another branch."""
    meeting = _meeting(one, other)
    return meeting is not None and _is_before(*meeting)


def _is_before(here: Operation, there: Operation) -> bool:
    """Whether one operation comes before another one of its block."""
    block = here.block
    return here is not there and block is not None and block.operations.index(here) < block.operations.index(there)


def _branches(op: Operation) -> bool:
    """Whether something around an operation has blocks that jump to each other."""
    regions = [each.block.region for each in around(op) if each.block is not None]
    return any(region is not None and len(region.blocks) > 1 for region in regions)


def _meeting(one: Operation, other: Operation) -> tuple[Operation, Operation] | None:
    """What holds each of two operations in the innermost block that holds both; twice the same where they are in
    different regions of it; None in different functions."""
    path = {each.block: each for each in around(one) if each.block is not None}
    last: Operation | None = None
    for each in around(other):
        if each.block in path:
            return path[each.block], each
        last = each
    held = {id(each): each for each in around(one)}
    return None if last is None or id(last) not in held else (last, last)


def loops(op: Operation) -> tuple[Operation, ...]:
    """The loops around an operation, from the outermost on."""
    return tuple(reversed([each for each in around(op) if each.name in _LOOPS and each is not op]))


def guards(op: Operation) -> tuple[Value, ...]:
    """The conditions under which an operation takes effect: predicates, and those of the branches around it."""
    found: list[Value] = []
    predicate = op.operand("pred")
    if predicate is not None and constant_int(captured(predicate)) is None:
        found.append(predicate)
    found += [each.operands[0] for each in around(op) if each.name == "scf.if" and each is not op]
    return tuple(found)


def depends(value: Value, names: frozenset[str]) -> bool:
    """Whether a scalar is computed from the results of operations of these names."""
    seen: set[Value] = set()
    open_ = [value]
    while open_:
        step = captured(open_.pop())
        if step in seen:
            continue
        seen.add(step)
        owner = step.owner
        if isinstance(owner, Block):
            open_ += _carried(step, owner)
        elif owner.name in names:
            return True
        else:
            open_ += owner.operands
            open_ += [region.blocks[-1].yielded[step.index] for region in owner.regions if _yields(owner, step.index)]
    return False


def _yields(op: Operation, index: int) -> bool:
    return op.name in ("scf.if", "scf.for") and all(len(r.blocks[-1].yielded) > index for r in op.regions if r.blocks)


def _carried(value: Value, block: Block) -> list[Value]:
    parent = block.region.parent if block.region is not None else None
    if parent is None or parent.name != "scf.for" or not value.index:
        return [] if parent is None or parent.name != "scf.for" else list(parent.operands[:3])
    index = value.index - 1
    return [parent.groups["init"][index], block.yielded[index]]
