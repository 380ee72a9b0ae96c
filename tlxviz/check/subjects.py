"""Names and places for what an observer saw: the author's variables, roles and lines."""

from __future__ import annotations

from tlxviz.check.memory import Access
from tlxviz.check.model import Place
from tlxviz.check.order import Meeting, Standing
from tlxviz.ir.accesses import agent_of
from tlxviz.ir.location import Location
from tlxviz.ir.operands import captured, type_text
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import Buffer, Descriptor, Program, SiteKind
from tlxviz.ir.sites import constant_int, kernel_line
from tlxviz.ir.types import MemDescType
from tlxviz.sim.observer import At, View

_NAMED = (SiteKind.NAMED_ARRIVE, SiteKind.NAMED_WAIT)
_VIEWS = ("ttg.memdesc_", "ttng.tmem_subslice", "ttng.map_to_remote")
_RESULTS = frozenset({"dst", "d"})
"""Groups of operands that an operation writes."""
_DOING = {
    "ttng.async_tma_copy_global_to_local": "TMA load",
    "ttng.async_tma_gather": "TMA gather",
    "ttng.async_tma_copy_local_to_global": "TMA store",
    "ttng.async_tma_reduce": "TMA reduction",
    "ttng.async_tma_scatter": "TMA scatter",
    "ttng.async_store": "bulk store",
    "ttng.warp_group_dot": "wgmma",
    "ttng.tc_gen5_mma": "tcgen05.mma",
    "ttng.tc_gen5_mma_scaled": "tcgen05.mma",
    "ttng.tc_gen5_commit": "tcgen05.commit",
    "ttng.tmem_copy": "tcgen05.cp",
    "ttng.tmem_load": "tmem load",
    "ttng.tmem_store": "tmem store",
    "ttng.tmem_alloc": "tmem store",
    "ttg.local_load": "local load",
    "ttg.local_store": "local store",
    "ttg.local_alloc": "local store",
    "ttg.local_gather": "local gather",
    "ttg.local_scatter": "local scatter",
    "ttg.local_atomic_scatter_rmw": "atomic local scatter",
    "ttg.async_copy_global_to_local": "asynchronous copy",
    "ttg.async_remote_shmem_store": "store into another CTA",
    "ttg.remote_shmem_store": "store into another CTA",
    "ttg.async_remote_shmem_copy": "copy into another CTA",
    "ttng.async_clc_try_cancel": "answer of the block scheduler",
    "ttng.clc_query_cancel": "query of an answer",
    "ttng.arrive_barrier": "arrival",
    "tlx.warp_barrier_arrive": "arrival",
    "ttng.barrier_expect": "expectation of bytes",
    "ttng.init_barrier": "initialisation",
    "ttng.wait_barrier": "wait",
    "ttng.wait_barrier_named": "wait",
    "ttng.arrive_barrier_named": "arrival",
    "tlx.named_barrier_wait": "wait",
    "tlx.named_barrier_arrive": "arrival",
}


class Subjects:
    """What the operations of a kernel are called.

    Args:
        program: The kernel.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def kernel(self) -> str:
        return self._program.name

    @property
    def kernel_place(self) -> Location:
        """Where the kernel begins."""
        return self._program.kernel.location

    def subject(self, op: Operation) -> str:
        """The variable of the barrier or buffer that an operation works on; empty if it works on none."""
        site = self._program.site_of.get(op)
        if site is not None:
            return site.variable
        found = (self._program.roots.get(value) for value in (*op.results, *op.operands))
        return next((root.name for root in found if root is not None), "")

    def place(self, op: Operation) -> Location:
        """The kernel's own line of an operation."""
        return kernel_line(op.location, self._program.kernel.location)

    def role(self, who: Standing) -> str:
        """The name of a warp group."""
        return self._program.agents[who.agent].name

    def role_of(self, op: Operation) -> str:
        """The name of the warp group that an operation belongs to; empty in a function that several call."""
        agent = agent_of(self._program, op)
        return "" if agent is None else agent.name

    def doing(self, op: Operation) -> str:
        """What an operation is, in the field's words."""
        return _DOING.get(op.name, op.name.partition(".")[2].replace("_", " "))

    def barrier(self, meeting: Meeting) -> str:
        """`full[1]`, or `named barrier 9`."""
        if meeting.array < 0:
            return f"named barrier {meeting.slot}" if meeting.slot >= 0 else "the cluster's barrier"
        return f"{self._program.barriers[meeting.array].name}[{meeting.slot}]"

    def barriers(self, array: int) -> str:
        """The variable of the mbarriers of an allocation."""
        return self._program.barriers[array].name

    def array(self, meeting: Meeting) -> str:
        """The variable of an mbarrier; the number of a named barrier; empty for that of the cluster."""
        if meeting.array >= 0:
            return self._program.barriers[meeting.array].name
        return str(meeting.slot) if meeting.slot >= 0 else ""

    def variable(self, access: Access) -> str:
        """The variable that an access goes through: an alias by its own name."""
        if access.view is None:
            return self.descriptor(access.op)
        return self._name(access, access.view, self._operand(access, access.view))

    def memory(self, access: Access) -> str:
        """The variable with the slot: `tiles[1]`."""
        slot = self._slot(access)
        name = self.variable(access)
        return name if slot < 0 else f"{name}[{slot}]"

    def access(self, access: Access) -> Place:
        """An access as part of a finding."""
        verb = "writes" if access.writes else "reads"
        return Place(
            f"{self.doing(access.op)} {verb} {self.memory(access)}",
            self.role(access.who),
            self.place(access.op),
            self.variable(access),
            self._slot(access),
            access.who.cta,
            *access.at[1:],
        )

    def event(self, doing: str, who: Standing, op: Operation, at: At, variable: str = "", slot: int = -1) -> Place:
        """Anything else that a warp group does, as part of a finding."""
        return Place(doing, self.role(who), self.place(op), variable, slot, who.cta, *at[1:])

    def through(self, access: Access) -> str:
        """The variable that memory is touched through, an alias with its type: `scores`, `scores as f16`."""
        if access.view is None:
            return self.descriptor(access.op)
        name, step = self.variable(access), self._operand(access, access.view)
        while step is not None and isinstance(captured(step).owner, Operation):
            made = captured(step).owner
            assert isinstance(made, Operation)
            if made.name == "ttg.memdesc_reinterpret" and isinstance(made.result.type, MemDescType):
                shape = "x".join(map(str, made.result.type.shape))
                return f"{name} as {shape}x{type_text(made.result.type.element)}"
            if not made.name.startswith(_VIEWS) or not made.operands:
                break
            step = made.operands[0]
        return name

    def waits_in_vain(self, who: Standing) -> bool:
        """Whether a warp group waits for TMA stores, and starts none."""
        kinds = {site.kind for site in self._program.sites if site.agent.index == who.agent}
        return SiteKind.TMA_STORE_WAIT in kinds and kinds.isdisjoint({SiteKind.TMA_STORE, SiteKind.TMA_REDUCE})

    def users(self, number: int) -> tuple[Place, ...]:
        """All places of the kernel that use a named barrier."""
        found: list[Place] = []
        for site in self._program.sites:
            numbers = site.operation.groups.get("barrier", ()) if site.kind in _NAMED else ()
            if any(constant_int(captured(value)) in (None, number) for value in numbers):
                doing = f"{self.doing(site.operation)} at named barrier {number}"
                found.append(Place(doing, site.agent.name, site.location, str(number), number, -1))
        return tuple(found)

    @staticmethod
    def _slot(access: Access) -> int:
        return -1 if access.view is None else access.view.slot

    def descriptor(self, op: Operation) -> str:
        """The variable of the descriptor that an operation makes or uses."""
        value = op.operand("desc")
        root = self._program.roots.get(value) if value is not None else None
        if isinstance(root, Descriptor):
            return root.name
        made = [each for each in self._program.descriptors if self._made_from(each.value) is value]
        return made[0].name if made else "the descriptor"

    @staticmethod
    def _made_from(value: Value) -> Value | None:
        owner = value.owner
        return owner.operand("desc") if isinstance(owner, Operation) else None

    def _operand(self, access: Access, view: View) -> Value | None:
        """The operand by which an operation reaches the memory that it touches."""
        fitting = [
            (part, value)
            for part, values in access.op.groups.items()
            for value in values
            if isinstance(root := self._program.roots.get(value), Buffer) and root.index == view.buffer
        ]
        wanted = [value for part, value in fitting if (part in _RESULTS) == access.writes]
        found = wanted or [value for _, value in fitting]
        return found[0] if found else next(iter(access.op.results), None)

    def _name(self, access: Access, view: View, value: Value | None) -> str:
        step = value
        while step is not None and isinstance(step.owner, Operation) and step.owner.operands:
            owner = step.owner
            if owner.name == "ttg.memdesc_reinterpret" and step.location.name:
                return step.location.name
            if owner.name == "ttg.memdesc_reinterpret" and owner.location.name:
                return owner.location.name
            if not owner.name.startswith(_VIEWS):
                break
            step = owner.operands[0]
        return self._program.buffers[view.buffer].name
