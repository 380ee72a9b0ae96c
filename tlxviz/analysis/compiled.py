"""What the compiler made of a kernel: registers, shared memory, occupancy, and what it did otherwise than asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tlxviz.analysis.assembler import Report, Spills, read_report
from tlxviz.analysis.barriers import AddedBarrier, RemovedBarrier, added_barriers, removed_barriers
from tlxviz.analysis.compiler_notes import CompilerNote, Spilling, compiler_notes
from tlxviz.analysis.spilled import GroupSpills, spilled
from tlxviz.devices.model import Limits, TensorMemory
from tlxviz.devices.occupancy import Bound, bounds, most_columns, most_registers, most_shared
from tlxviz.ir import load_program
from tlxviz.ir.program import Program
from tlxviz.trace.model import AgentRow, LaunchTrace

_WARPS_OF_A_GROUP = 4
_MOST_REGISTERS = 256
"""What Triton lets a thread of the default task have."""


@dataclass(frozen=True, slots=True)
class CompiledGroup:
    name: str
    role: str
    task: int
    warps: int
    requested: int | None
    """Registers a thread that the task asks for; None when it asks for none."""
    registers: int | None
    """Registers a thread while the tasks run, after setmaxnreg; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Registers:
    """The SM's registers. Counts are of registers, unless they are `a thread`."""

    at_launch: int | None
    """A thread of the kernel is launched with; None where not known."""
    threads: int
    """Of a CTA, those that fill up warp groups included."""
    requested: int
    """By the tasks that ask for a number, over all their threads in a CTA."""
    per_sm: int
    unused: int | None
    """Of the SM, with as many CTAs on it as fit; None where not known."""
    redistributed: bool | None
    """Whether warp groups give and take registers (setmaxnreg) when the tasks begin; None where not known."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Shared memory of a CTA in bytes."""

    shared: int
    limit: int
    """What the device gives a CTA."""
    named_barriers: int | None
    """That the CTA uses, Triton's own included; None where not known."""
    most_named_barriers: int


@dataclass(frozen=True, slots=True)
class Next:
    """What one more CTA on the SM would need of a resource that keeps it out."""

    resource: str
    """As in `Bound`."""
    now: int
    """Registers a thread, bytes of shared memory, columns of tensor memory, warps of a CTA; CTAs of the SM."""
    at_most: int
    """The same, with which one more would fit; 0 where no number would do."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    ctas_per_sm: int
    bounds: tuple[Bound, ...]
    limited_by: tuple[str, ...]
    """Resources that keep the next CTA out."""
    needed_for_next: tuple[Next, ...]
    """Of each of these: all must be met."""


@dataclass(frozen=True, slots=True)
class Compiled:
    groups: tuple[CompiledGroup, ...]
    registers: Registers
    spills: Spills | None
    """None where nothing is spilled, as far as is known."""
    memory: Memory
    occupancy: Occupancy
    notes: tuple[CompilerNote, ...]
    spilled: tuple[GroupSpills, ...] | None
    """Who spills, and where; None where that is not known."""
    added: tuple[AddedBarrier, ...] | None
    """What the compiler added after the TTGIR; None where that is not known."""
    removed: tuple[RemovedBarrier, ...]
    """Of the source's barrier operations."""


def compiled(launch: LaunchTrace, program: Program | None = None) -> Compiled | None:
    """What the compiler made of a launch's kernel; None where the trace names no limits or no warp groups.

    Args:
        program: The kernel; None to have its TTGIR read.

    Raises:
        TtgirError: the TTGIR in the trace is damaged.
    """
    limits = _figures(launch.device, "limits", Limits)
    if limits is None or not launch.agents:
        return None
    metadata = launch.metadata
    report = read_report(map(str, metadata.get("ptxas") or ()))
    spills = report.spills
    if spills is None and not metadata.get("ptxas") and metadata.get("spilled_bytes"):
        spills = Spills(int(metadata["spilled_bytes"]), None, None)
    if program is None and launch.ttgir:
        program = load_program(launch.ttgir, f"TTGIR of {launch.kernel}")
    warps = program.total_warps if program is not None else sum(agent.warps for agent in launch.agents)
    at_launch = int(metadata.get("registers") or 0) or report.registers
    shared = int(metadata.get("shared") or 0)
    columns = int(metadata.get("tmem_size") or 0)
    given = _figures(launch.device, "tensor_memory", TensorMemory)
    occupancy = _occupancy(limits, given, warps=warps, registers=at_launch or 0, shared=shared, columns=columns)
    switches = _switches(metadata, report)
    requested = sum(32 * agent.warps * (agent.registers or 0) for agent in launch.agents)
    who = spilled(launch, program) if program is not None and spills is not None else None
    gone = removed_barriers(launch, program) if program is not None else ()
    taken = next((bound.per_cta for bound in occupancy.bounds if bound.resource == "registers"), 0)
    return Compiled(
        groups=tuple(_groups(launch.agents, at_launch, warps, switches)),
        registers=Registers(
            at_launch=at_launch,
            threads=32 * warps,
            requested=requested,
            per_sm=limits.registers_per_sm,
            unused=limits.registers_per_sm - occupancy.ctas_per_sm * taken if at_launch else None,
            redistributed=None if switches is None else bool(switches),
        ),
        spills=spills,
        memory=Memory(shared, limits.shared_memory_per_block, report.barriers, limits.named_barriers),
        occupancy=occupancy,
        notes=compiler_notes(launch, program, report, Spilling(spills, who or ()), gone),
        spilled=who,
        added=added_barriers(launch, program) if program is not None else None,
        removed=gone,
    )


_Section = TypeVar("_Section", Limits, TensorMemory)


def _figures(device: Mapping[str, Any], section: str, kind: type[_Section]) -> _Section | None:
    """A section of what the trace says of the device; None where it lacks some of it."""
    given: Mapping[str, Any] = device.get(section, {})
    names = [field.name for field in fields(kind)]
    return kind(**{name: given[name] for name in names}) if all(name in given for name in names) else None


def _switches(metadata: Mapping[str, Any], report: Report) -> list[int] | None:
    """The numbers of registers of the setmaxnreg instructions that are in force; None where not known."""
    if any(remark.id == "setmaxnreg-ignored" for remark in report.remarks):
        return []
    found = metadata.get("setmaxnreg")
    return None if found is None else [int(count) for count in found]


def _groups(
    agents: Sequence[AgentRow], at_launch: int | None, warps: int, switches: list[int] | None
) -> list[CompiledGroup]:
    have = [_registers(agent, at_launch, switches) for agent in agents]
    if switches and at_launch:
        have[0] = _left(agents, have[1:], at_launch * warps, switches)
    return [
        CompiledGroup(agent.name, agent.role, agent.task, agent.warps, agent.registers, registers)
        for agent, registers in zip(agents, have, strict=True)
    ]


def _registers(agent: AgentRow, at_launch: int | None, switches: list[int] | None) -> int | None:
    if switches is None:
        return None
    if not switches:
        return at_launch
    return agent.registers if agent.registers in switches else None


def _left(agents: Sequence[AgentRow], have: list[int | None], budget: int, switches: list[int]) -> int | None:
    """Registers a thread of the default task: what the others leave of `budget`, in multiples of 8."""
    taken = 0
    for agent, registers in zip(agents[1:], have, strict=True):
        if registers is None or agent.warps % _WARPS_OF_A_GROUP:  # warps that share a group have one number
            return None
        taken += agent.warps * registers
    left = min(_MOST_REGISTERS, (budget - taken) // agents[0].warps // 8 * 8)
    return left if left in switches else None


def _occupancy(
    limits: Limits, memory: TensorMemory | None, *, warps: int, registers: int, shared: int, columns: int
) -> Occupancy:
    found = bounds(limits, memory, warps=warps, registers=registers, shared=shared, columns=columns)
    ctas = max(1, min(bound.ctas for bound in found))
    binding = [bound.resource for bound in found if bound.ctas <= ctas]
    needs = {
        "registers": Next("registers", registers, most_registers(limits, warps=warps, ctas=ctas + 1)),
        "shared memory": Next("shared memory", shared, most_shared(limits, ctas=ctas + 1)),
        "tensor memory": Next("tensor memory", columns, most_columns(memory, ctas=ctas + 1)),
        "warps": Next("warps", warps, limits.warps_per_sm // (ctas + 1)),
        "CTAs": Next("CTAs", ctas, limits.blocks_per_sm if ctas < limits.blocks_per_sm else 0),
    }
    return Occupancy(ctas, found, tuple(binding), tuple(needs[name] for name in binding))
