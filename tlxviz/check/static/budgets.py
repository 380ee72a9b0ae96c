"""What a CTA asks for against what an SM has: registers, threads, shared and tensor memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.devices.occupancy import most_registers
from tlxviz.ir.program import Agent, Buffer
from tlxviz.ir.tensor_slots import columns_of
from tlxviz.ir.types import MemDescType

_FEWEST = 24
"""Registers that a thread of the default task has to be left with; Triton makes no request at all otherwise."""
_UNIT = 8


@rule
def registers(kernel: Kernel) -> Iterator[Finding]:
    """Requests for registers that can never be granted."""
    program, limits = kernel.program, kernel.device.limits
    asking = [agent for agent in program.agents if agent.registers]
    default = next((agent for agent in program.agents if not agent.task), None)
    if not asking or default is None or not default.warps:
        return
    share = most_registers(limits, warps=program.total_warps, ctas=1)
    others = [agent for agent in program.agents if agent is not default]
    asked = sum((agent.registers or share) * agent.warps for agent in others)
    grouped = sum(agent.warps for agent in others) + default.warps
    left = (share * grouped - asked) // default.warps // _UNIT * _UNIT
    if left >= _FEWEST:
        return
    wanted = ", ".join(f"{agent.name} {agent.registers}" for agent in asking)
    total = 32 * sum((agent.registers or 0) * agent.warps for agent in asking)
    yield kernel.finding(
        "registers",
        Severity.WARNING,
        f"the tasks ask for {total:,} registers ({wanted} a thread), which leaves {default.name} {max(left, 0)} a "
        f"thread: an SM has {limits.registers_per_sm:,}, which is {share} for each thread of this kernel",
        [_asks(kernel, agent) for agent in asking],
        (f"Triton grants no request at all where {default.name} would have fewer than {_FEWEST}",),
        f"Ask for less: what the tasks take above {share} a thread has to be left over by others.",
    )


def _asks(kernel: Kernel, agent: Agent) -> Place:
    """The heading of the task in the source, where that is at hand."""
    at = agent.location
    headings = (line for line in range(at.line, 0, -1) if "async_task(" in kernel.facts.line(at.file, line))
    place = replace(at, line=next(headings, at.line))
    return Place(f"asks for {agent.registers} registers a thread", agent.name, place, "", -1, -1)


@rule
def threads(kernel: Kernel) -> Iterator[Finding]:
    """More threads than a CTA has."""
    most, wanted = kernel.device.limits.threads_per_block, 32 * kernel.program.total_warps
    if wanted > most:
        yield kernel.finding(
            "limits",
            Severity.ERROR,
            f"the tasks have {wanted:,} threads in all, and {kernel.device.title} gives a CTA {most:,}",
            [Place(f"{agent.warps} warps", agent.name, agent.location, "", -1, -1) for agent in kernel.program.agents],
            (),
            "Use fewer warps or fewer async tasks.",
        )


@rule
def memory(kernel: Kernel) -> Iterator[Finding]:
    """More shared or tensor memory than an SM has."""
    limits, tensor = kernel.device.limits, kernel.device.tensor_memory
    shared = [each for each in kernel.program.buffers if each.operation.name != "ttng.tmem_alloc"]
    columns = [each for each in kernel.program.buffers if each.operation.name == "ttng.tmem_alloc"]
    used = int(kernel.facts.metadata.get("shared") or 0) or sum(each.bytes for each in _lasting(kernel, shared))
    if used > limits.shared_memory_per_block:
        yield _too_much(kernel, shared, f"{used:,} bytes of shared memory", f"{limits.shared_memory_per_block:,}")
    taken = int(kernel.facts.metadata.get("tmem_size") or 0) or sum(map(_columns, _lasting(kernel, columns)))
    there = tensor.columns if tensor is not None else 0
    if taken > there:
        yield _too_much(kernel, columns, f"{taken:,} columns of tensor memory", f"{there:,}" if there else "none")


def _lasting(kernel: Kernel, buffers: list[Buffer]) -> list[Buffer]:
    """Those that live as long as the kernel; others can take turns."""
    entry = kernel.program.kernel.regions[0].entry
    freed = {op.operands[0] for op in kernel.program.module.walk() if op.name == "ttg.local_dealloc"}
    return [each for each in buffers if each.operation.block is entry and each.operation.result not in freed]


def _columns(buffer: Buffer) -> int:
    type_ = buffer.operation.result.type
    return columns_of(type_) if isinstance(type_, MemDescType) else 0


def _too_much(kernel: Kernel, buffers: list[Buffer], used: str, there: str) -> Finding:
    largest = sorted(buffers, key=lambda each: -each.bytes)[:3]
    return kernel.finding(
        "limits",
        Severity.ERROR,
        f"the kernel takes {used}, and {kernel.device.title} has {there} for a CTA",
        [kernel.place_of(each.operation, f"takes {each.bytes:,} bytes", each.name) for each in largest],
        (),
        "Use fewer stages or smaller tiles.",
    )
