"""Compiles a Program into Python: one generator function per warp group."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.ir.markers import probe_number
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Agent, Program
from tlxviz.ir.sites import kernel_line
from tlxviz.ir.types import PointerType, TensorDescType
from tlxviz.sim.effects import waiting_loops
from tlxviz.sim.emitter import Emitter
from tlxviz.sim.errors import BarrierError, MemoryAccessError, SimulationError, UnsupportedOperation
from tlxviz.sim.liveness import Liveness, borrowing_buffers, narrow_buffers
from tlxviz.sim.representation import Pointer, Scalar
from tlxviz.sim.runtime import namespace
from tlxviz.sim.semantics.agents import write_agent
from tlxviz.sim.semantics.cluster_barriers import initial_meeting
from tlxviz.sim.unit import Line, Options, Unit
from tlxviz.sim.warps import first_threads


@dataclass(eq=False, slots=True)
class CompiledKernel:
    """A kernel as Python."""

    program: Program
    source: str
    _lines: list[Line]
    _filename: str
    _globals: dict[str, Any]
    default: Agent
    first_thread: int

    def bind(self, **names: Any) -> None:
        """Sets globals of the generated code: the address space and the environment of a launch."""
        self._globals.update(names)

    @property
    def entry(self) -> Callable[..., Any]:
        """The generator function of the default task: `entry(cta, agent, *arguments)`."""
        return self._globals[f"agent_{self.default.index}"]

    def place_of(self, error: BaseException) -> tuple[Operation, int] | None:
        """The operation that was running when `error` was raised, and the number of its CTA; None if none was."""
        found: tuple[Operation, int] | None = None
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == self._filename and 0 < line <= len(self._lines):
                op = self._lines[line - 1][2]
                cta = frame.f_locals.get("cta")
                if op is not None:
                    found = op, cta.index if cta is not None else -1
        return found


def compile_program(program: Program, device: Device, options: Options) -> CompiledKernel:
    """Writes and compiles the Python of a kernel.

    Raises:
        UnsupportedOperation: the kernel does something that the simulator has no semantics for; the message names
            the place.
    """
    liveness = Liveness(program, options.values)
    unit = Unit(program, device, options, liveness, narrow_buffers(program), borrowing_buffers(program), namespace())
    unit.agent_of = {agent.region: agent for agent in program.agents}
    unit.first_thread = first_threads(program)
    unit.meets_after = initial_meeting(program)
    unit.polls = bool(waiting_loops(program))
    unit.marked = any(probe_number(op) is not None for op in program.module.walk())
    default = next(agent for agent in program.agents if agent.task == 0)
    entry = Emitter(unit, default, default.warps)
    try:
        parameters = _parameters(entry, program)
        write_agent(entry, f"agent_{default.index}", parameters, program.kernel.regions[0])
    except TlxvizError as error:
        raise located(error, program, _innermost(entry, error)) from None
    text = "\n".join("    " * indent + line for indent, line, _ in unit.lines)
    filename = f"<tlxviz {program.name} {id(unit)}>"
    exec(compile(text, filename, "exec"), unit.namespace)
    return CompiledKernel(
        program, text, unit.lines, filename, unit.namespace, default, unit.first_thread[default.index]
    )


def _innermost(entry: Emitter, error: BaseException) -> Operation | None:
    """The operation whose semantics were being written when `error` was raised."""
    found = entry.operation
    for frame, _ in traceback.walk_tb(error.__traceback__):
        op = frame.f_locals.get("op")
        if isinstance(op, Operation):
            found = op
    return found


def _parameters(e: Emitter, program: Program) -> list[str]:
    names: list[str] = []
    for argument in program.kernel.regions[0].entry.arguments:
        name = e.fresh("p")
        match argument.type:
            case PointerType():
                e.set(argument, Pointer(name, f"{name}_offset"))
                names += [name, f"{name}_offset"]
            case TensorDescType() | _:
                e.set(argument, Scalar(name))
                names.append(name)
    return names


def located(error: BaseException, program: Program, op: Operation | None, cta: int = -1) -> TlxvizError:
    """The same error with kernel, line, role and CTA in front."""
    kind = type(error) if isinstance(error, TlxvizError) else SimulationError
    text = str(error)
    match error:
        case IndexError():
            kind, text = MemoryAccessError, f"an index is outside its buffer ({error})"
        case ValueError() if "range() arg 3" in text:
            text = "the step of the loop is 0"
        case TlxvizError():
            pass
        case _:
            text = f"a defect of tlxviz, please report it ({type(error).__name__}: {error})"
    site = None if op is None else program.site_of.get(op)
    if kind is BarrierError and site is not None:
        text = f"{site.variable}{text}"
    place = ""
    if op is not None:
        location = kernel_line(op.location, program.kernel.location)
        where = str(location) if location.file else f"line {op.line} of its TTGIR"
        place = f" at {where} ({op.name})"
        if cta >= 0:
            role = f"{_role(program, op)} of " if len(program.agents) > 1 else ""
            place += f", {role}CTA {cta}"
    message = f"kernel {program.name}{place}: {text}"
    if kind is UnsupportedOperation:
        message += "; see docs/architecture.md for what the simulator covers"
    made = kind.__new__(kind)
    if isinstance(made, SimulationError):
        SimulationError.__init__(made, message, getattr(error, "refused", None))
        made.detail, made.operation, made.cta = text, op, cta
    else:
        Exception.__init__(made, message)
    return made


def _role(program: Program, op: Operation) -> str:
    """The name of the warp group that an operation belongs to."""
    names = {agent.region: agent.name for agent in program.agents}
    block = op.block
    while block is not None and block.region is not None:
        if block.region in names:
            return names[block.region]
        parent = block.region.parent
        block = parent.block if parent is not None else None
    return program.agents[0].name
