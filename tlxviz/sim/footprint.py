"""How many bytes the tensors of a launch have."""

from __future__ import annotations

from tlxviz.ir.program import Program
from tlxviz.sim.effects import computes_addresses
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.pointers import reached_from
from tlxviz.sim.record import tensor_of

_LOWEST_ADDRESS = 1 << 32
"""A smaller argument is taken for a size or a count: looking for tensors takes time."""


def footprint(launch: CaughtLaunch, program: Program) -> int:
    """Bytes of the launch's tensors: of its arguments, and of those that it reaches through addresses among them."""
    values = [value for _, value in launch.parameters]
    tensors = [tensor for tensor in map(tensor_of, values) if tensor is not None]
    if computes_addresses(program):
        addresses = [value for value in values if type(value) is int and value >= _LOWEST_ADDRESS]
        tensors += reached_from(tensors, addresses)[0]
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())
