"""What the simulator refuses because hardware leaves it undefined, as findings."""

from __future__ import annotations

from tlxviz.check.model import Finding, Place, Severity
from tlxviz.ir.program import Program
from tlxviz.sim.errors import BarrierError, ClusterError, LaunchControlError, MemoryAccessError, SimulationError

_RULES: dict[type[SimulationError], str] = {
    BarrierError: "arrive-count",
    ClusterError: "cluster",
    LaunchControlError: "cluster",
    MemoryAccessError: "out-of-bounds",
}


def finding_of_refusal(error: SimulationError, program: Program) -> Finding:
    """The finding that an error of the simulator stands for."""
    rule = next((name for kind, name in _RULES.items() if isinstance(error, kind)), "refused")
    place = Place("", "", program.kernel.location, "", -1, -1)
    return Finding(rule, Severity.ERROR, program.name, str(error), (place,))
