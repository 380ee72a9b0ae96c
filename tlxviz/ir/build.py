"""Builds a `Program` from a module: agents, barriers, buffers, descriptors and sites."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from tlxviz.ir.aliases import make_views
from tlxviz.ir.errors import TtgirError
from tlxviz.ir.generated import generated_names
from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.markers import is_marker
from tlxviz.ir.operation import Module, Operation, Region, Value
from tlxviz.ir.parser import parse_module
from tlxviz.ir.program import Agent, BarrierArray, Buffer, Descriptor, Program, Role, Site
from tlxviz.ir.roles import infer_role, unique_names
from tlxviz.ir.roots import ALLOCATIONS, DESCRIPTOR_MAKERS, Origins, has_root
from tlxviz.ir.sites import constant_int, kernel_line, site_bytes, site_form, site_variable
from tlxviz.ir.types import MemDescType, ScalarType, TensorDescType, bytes_of

_WARPS_OF_A_GROUP = 4
_Made = TypeVar("_Made", MemDescType, TensorDescType)


def load_program(text: str, source: str = "<ttgir>") -> Program:
    """Parse TTGIR text and build its program."""
    return build_program(parse_module(text, source))


def build_program(module: Module) -> Program:
    """What the module's kernel is made of. Aliases of shared memory become views in the module.

    Raises TtgirError where it has no function.
    """
    if not module.functions:
        first = module.text.partition("\n")[0]
        raise TtgirError("the module holds no `tt.func`", source=module.source, line=1, column=1, text=first)
    make_views(module)
    return _Builder(module).build()


@dataclass(frozen=True, slots=True)
class _Placed:
    """An operation and the agent that runs it."""

    operation: Operation
    agent: Agent


class _Builder:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._kernel = module.kernel
        self._origins = Origins(module)
        self._operations = list(module.walk())

    def build(self) -> Program:
        agents = self._agents()
        program = Program(
            module=self._module,
            kernel=self._kernel,
            name=str(self._kernel.attributes["sym_name"]),
            agents=agents,
            barriers=[],
            buffers=[],
            descriptors=[],
            sites=[],
            num_warps=agents[0].warps,
            total_warps=self._total_warps(agents[0].warps),
            cluster=self._cluster(),
            ctas_of_program=int(self._module.attributes.get("ttg.num-ctas", 1)),
        )
        self._add_memory(program)
        self._add_roots(program)
        self._add_sites(program)
        return program

    # ---- agents

    def _agents(self) -> list[Agent]:
        default = self._kernel.regions[0]
        tasks: list[tuple[Region, int, int | None, int]] = []
        for operation in self._kernel.walk():
            if operation.name == "ttg.warp_specialize":
                registers = operation.attributes.get("requestedRegisters", [])
                for task, region in enumerate(operation.regions[1:], 1):
                    # -1: a task of a loop that the compiler divided, which takes what is left
                    asked = registers[task - 1] if task <= len(registers) and registers[task - 1] > 0 else None
                    tasks.append((region, task, asked, region.attributes["num_warps"]))
        roles = [infer_role(list(_own(default))) if tasks else Role.COMPUTE]
        roles += [infer_role(list(region.walk())) for region, *_ in tasks]
        names = unique_names([str(role) for role in roles])
        warps = int(self._module.attributes.get("ttg.num-warps", _WARPS_OF_A_GROUP))
        agents = [Agent(0, names[0], roles[0], 0, warps, None, default, kernel_line(self._kernel.location))]
        for index, (region, task, asked, partition_warps) in enumerate(tasks, 1):
            place = _first_place(region, self._kernel.location)
            agents.append(Agent(index, names[index], roles[index], task, partition_warps, asked, region, place))
        return agents

    def _total_warps(self, default: int) -> int:
        """Warps of a launch: Triton rounds those of the partitions up to whole warp groups."""
        told = self._module.attributes.get("ttg.total-num-warps")
        if told is not None:
            return int(told)
        extra = [
            sum(region.attributes["num_warps"] for region in operation.regions[1:])
            for operation in self._operations
            if operation.name == "ttg.warp_specialize"
        ]
        return default + math.ceil(max(extra, default=0) / _WARPS_OF_A_GROUP) * _WARPS_OF_A_GROUP

    def _cluster(self) -> tuple[int, int, int]:
        attributes = self._module.attributes
        x, y, z = (int(attributes.get(f"ttg.cluster-dim-{axis}", 1)) for axis in "xyz")
        # Triton's own num_ctas makes a cluster without giving it dimensions
        return (int(attributes.get("ttg.num-ctas", 1)), 1, 1) if x * y * z == 1 else (x, y, z)

    # ---- memory

    def _add_memory(self, program: Program) -> None:
        allocations = list(self._made(ALLOCATIONS, MemDescType))
        arguments = [(v, v.type) for v in self._kernel.regions[0].entry.arguments if isinstance(v.type, TensorDescType)]
        built = [(value, type_) for _, value, type_ in self._made(DESCRIPTOR_MAKERS, TensorDescType)]
        descriptors = [*arguments, *built]
        values = [value for _, value, _ in allocations]
        generated = generated_names(self._operations, self._origins, _variable)
        made = [*values, *(value for value, _ in descriptors)]
        names = unique_names([generated.get(value) or _variable(value) for value in made])
        barriers = self._barrier_values()
        counts = self._counts()
        indexed = self._indexed()
        for (operation, value, type_), name in zip(allocations, names, strict=False):
            if value in barriers:
                slots = type_.shape[0] if type_.shape else 1
                given = counts.get(value, {})
                slot_counts = tuple(given.get(slot, given.get(-1, 0)) for slot in range(slots))
                program.barriers.append(BarrierArray(len(program.barriers), name, slots, slot_counts, operation))
            else:
                slots = type_.shape[0] if value in indexed else 1
                program.buffers.append(Buffer(len(program.buffers), name, bytes_of(type_), slots, operation))
        for (value, type_), name in zip(descriptors, names[len(values) :], strict=True):
            program.descriptors.append(Descriptor(len(program.descriptors), name, type_.block.shape, value))

    def _made(self, makers: frozenset[str], kind: type[_Made]) -> Iterator[tuple[Operation, Value, _Made]]:
        """Operations of `makers` with their first result and its type, which is of `kind`."""
        for operation in self._operations:
            if operation.name in makers and operation.results:
                value = operation.results[0]
                if isinstance(value.type, kind):
                    yield operation, value, value.type

    def _barrier_values(self) -> set[Value]:
        """Allocations of i64 that something uses as mbarriers."""
        found: set[Value] = set()
        for operation in self._operations:
            for part in ("barrier", "barriers"):
                for value in operation.groups.get(part, ()):
                    origin = self._origins.origin(value) if has_root(value) else None
                    if origin and isinstance(origin.type, MemDescType) and origin.type.element == ScalarType("i64"):
                        found.add(origin)
        return found

    def _counts(self) -> dict[Value, dict[int, int]]:
        """Arrival counts by slot, -1 standing for every slot that no constant index names."""
        found: dict[Value, dict[int, int]] = {}
        for operation in self._operations:
            barrier = operation.operand("barrier") if operation.name == "ttng.init_barrier" else None
            origin = self._origins.origin(barrier) if barrier else None
            if barrier is None or origin is None:
                continue
            slot: int | None = 0
            if isinstance(barrier.owner, Operation) and barrier.owner.name == "ttg.memdesc_index":
                slot = constant_int(barrier.owner.operand("index"))
            found.setdefault(origin, {})[-1 if slot is None else slot] = operation.attributes["count"]
        return found

    def _indexed(self) -> set[Value]:
        """Allocations whose leading dimension is indexed: multi-buffered ones."""
        found: set[Value] = set()
        for operation in self._operations:
            if operation.name == "ttg.memdesc_index":
                source = operation.operands[0]
                origin = self._origins.origin(source)
                if (
                    origin is not None
                    and isinstance(origin.type, MemDescType)
                    and isinstance(source.type, MemDescType)
                    and origin.type.shape == source.type.shape
                ):
                    found.add(origin)
        return found

    def _add_roots(self, program: Program) -> None:
        roots: dict[Value, BarrierArray | Buffer | Descriptor] = {}
        for made in (*program.barriers, *program.buffers):
            roots[made.operation.results[0]] = made
        for descriptor in program.descriptors:
            roots[descriptor.value] = descriptor
        for value in self._values():
            if has_root(value):
                origin = self._origins.origin(value)
                if origin in roots:
                    program.roots[value] = roots[origin]

    def _values(self) -> Iterator[Value]:
        for operation in self._operations:
            yield from operation.results
            for region in operation.regions:
                for block in region.blocks:
                    yield from block.arguments

    # ---- sites

    def _add_sites(self, program: Program) -> None:
        def name_of(value: Value) -> str:
            root = program.roots.get(value)
            return root.name if root else ""

        for placed in self._placed(program.agents):
            form = site_form(placed.operation)
            if form is None:
                continue
            site = Site(
                index=len(program.sites),
                kind=form.kind,
                agent=placed.agent,
                operation=placed.operation,
                location=kernel_line(placed.operation.location, self._kernel.location),
                variable=site_variable(placed.operation, form, name_of),
                bytes=site_bytes(placed.operation, form),
            )
            program.sites.append(site)
            program.site_of[placed.operation] = site

    def _placed(self, agents: list[Agent]) -> Iterator[_Placed]:
        """Every operation of the module in textual order with its agent; a function belongs to its first caller."""
        agent_of_region = {agent.region: agent for agent in agents}
        owners: dict[str, Agent] = {}
        placed: dict[Operation, Agent] = {}

        def place(region: Region, agent: Agent) -> None:
            agent = agent_of_region.get(region, agent)
            for block in region.blocks:
                for operation in block.operations:
                    placed[operation] = agent
                    if operation.name == "tt.call":
                        owners.setdefault(operation.attributes["callee"], agent)
                    for inner in operation.regions:
                        place(inner, agent)

        place(self._kernel.regions[0], agents[0])
        rest = [name for name, function in self._module.functions.items() if function is not self._kernel]
        # each round places the functions that those placed before call
        while ready := [name for name in rest if name in owners]:
            for name in ready:
                place(self._module.functions[name].regions[0], owners[name])
                rest.remove(name)
        for operation in self._operations:
            if operation in placed:
                yield _Placed(operation, placed[operation])


def _own(region: Region) -> Iterator[Operation]:
    """Operations of the kernel's region outside every partition."""
    for block in region.blocks:
        for operation in block.operations:
            yield operation
            inner = operation.regions[:1] if operation.name == "ttg.warp_specialize" else operation.regions
            for nested in inner:
                yield from _own(nested)


def _first_place(region: Region, function: Location) -> Location:
    """The first place in the kernel's source that the region's operations name; `function` is its heading."""
    for operation in region.walk():
        place = kernel_line(operation.location, function)
        if place.file and not is_marker(operation):
            return place
    return UNKNOWN


def _variable(value: Value) -> str:
    """The kernel's own name for what the operation makes; the printed name where it has none."""
    place: Location | None = value.location
    while place is not None:
        if place.name:
            return place.name
        place = place.caller
    printed = value.name.removeprefix("%")
    return printed if not printed[:1].isdigit() else value.name
