"""The pieces into which a kernel's code falls where tasks begin and end, and the loops in them.

Triton makes of all tasks one function. Their warps wait in a loop for work, and all warps of a CTA meet at barrier 1
when tasks begin and when they end. A piece is what can be reached from the same of these meetings, or from the kernel's
beginning, without another of them: the code of one task, or what the compiler made of equal code of several. Which task
a piece belongs to, the numbers of the barriers tell at which its own warps meet: 0 for the default task, and from 2 on
for the others in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tlxviz.launch.kernels.listing import Instruction, Label, Listing

_SWITCH = {"barrier.sync": "1", "bar.sync": "1", "BAR.SYNC.DEFER_BLOCKING": "0x1", "BAR.SYNC": "0x1"}
"""Barrier 1 of the whole CTA, without a number of threads."""


@dataclass(slots=True)
class _Block:
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    begins: bool = False
    """Whether the kernel begins here, or it follows a meeting of all warps."""
    targets: set[int] = field(default_factory=set[int])
    sources: set[int] = field(default_factory=set[int])


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction, with the loops around it."""

    instruction: Instruction
    loops: int
    innermost: bool
    """Whether it is in a loop that has no other in it."""


def pieces(listing: Listing) -> list[list[Placed]]:
    """The pieces of a kernel, each in the order of the listing."""
    blocks = _blocks(listing)
    found: list[list[Placed]] = []
    reached = _reached(blocks)
    for connected in _connected(blocks):
        around = _loops_around(blocks, connected)
        groups: dict[frozenset[int], list[int]] = {}
        for member in connected:
            groups.setdefault(reached[member], []).append(member)
        found += [
            [Placed(each, *around[member]) for member in members for each in blocks[member].instructions]
            for members in groups.values()
        ]
    return [piece for piece in found if piece]


def _is_switch(instruction: Instruction) -> bool:
    return _SWITCH.get(instruction.name) == instruction.operands and not instruction.guarded


def _blocks(listing: Listing) -> list[_Block]:
    """Basic blocks, which also end behind the meetings of all warps; from these no control flow goes on."""
    blocks = [_Block(begins=True)]
    labels: dict[str, int] = {}
    falls: set[int] = set()
    for each in listing:
        if isinstance(each, Label):
            if blocks[-1].instructions:
                falls.add(len(blocks) - 1)
                blocks.append(_Block())
            labels[each.name] = len(blocks) - 1
            continue
        blocks[-1].instructions.append(each)
        if each.targets or not each.goes_on or _is_switch(each):
            if each.goes_on and not _is_switch(each):
                falls.add(len(blocks) - 1)
            blocks.append(_Block(begins=_is_switch(each)))
    for index, block in enumerate(blocks):
        names = block.instructions[-1].targets if block.instructions else ()
        block.targets = {labels[name] for name in names if name in labels}
        if index in falls and index + 1 < len(blocks):
            block.targets.add(index + 1)
        for target in block.targets:
            blocks[target].sources.add(index)
    return blocks


def _reached(blocks: list[_Block]) -> list[frozenset[int]]:
    """For each block the beginnings from which control flow reaches it."""
    found: list[set[int]] = [set() for _ in blocks]
    for first, block in enumerate(blocks):
        waiting = [first] if block.begins else []
        while waiting:
            index = waiting.pop()
            if first not in found[index]:
                found[index].add(first)
                waiting += blocks[index].targets
    return [frozenset(each) for each in found]


def _connected(blocks: list[_Block]) -> list[list[int]]:
    """Blocks that control flow connects, in whatever direction."""
    seen: set[int] = set()
    found: list[list[int]] = []
    for first in range(len(blocks)):
        if first in seen:
            continue
        seen.add(first)
        members, waiting = [first], [first]
        while waiting:
            block = blocks[waiting.pop()]
            for neighbour in (block.targets | block.sources) - seen:
                seen.add(neighbour)
                members.append(neighbour)
                waiting.append(neighbour)
        found.append(sorted(members))
    return found


def _loops_around(blocks: list[_Block], members: list[int]) -> dict[int, tuple[int, bool]]:
    """For each block how many loops are around it, and whether the closest of them has no other in it."""
    loops = _loops(blocks, members)
    around: dict[int, tuple[int, bool]] = {}
    for member in members:
        mine = [head for head, body in loops.items() if member in body]
        closest = min(mine, key=lambda head: len(loops[head]), default=None)
        alone = closest is not None and not any(head in loops[closest] for head in loops if head != closest)
        around[member] = len(mine), alone
    return around


def _loops(blocks: list[_Block], members: list[int]) -> dict[int, set[int]]:
    """Natural loops: head to body, the head included."""
    dominators = _dominators(blocks, members)
    loops: dict[int, set[int]] = {}
    for member in members:
        for head in blocks[member].targets:
            if not dominators[member] >> head & 1:
                continue
            body = loops.setdefault(head, {head})
            waiting = [member]
            while waiting:
                block = waiting.pop()
                if block not in body:
                    body.add(block)
                    waiting += blocks[block].sources
    return loops


def _dominators(blocks: list[_Block], members: list[int]) -> dict[int, int]:
    """For each block the blocks without which none of the piece's beginnings leads to it, as bits of a number."""
    everything = sum(1 << member for member in members)
    beginnings = {member for member in members if not blocks[member].sources} or {members[0]}
    dominators = {member: 1 << member if member in beginnings else everything for member in members}
    changed = True
    while changed:
        changed = False
        for member in members:
            if member in beginnings:
                continue
            common = everything
            for source in blocks[member].sources:
                common &= dominators[source]
            common |= 1 << member
            if common != dominators[member]:
                dominators[member], changed = common, True
    return dominators
