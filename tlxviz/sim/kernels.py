"""Kernels as programs and as Python, and the arguments that they are called with."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from tlxviz.devices.model import Device
from tlxviz.ir import load_program, name_from_source
from tlxviz.ir.program import Program
from tlxviz.ir.types import PointerType, ScalarType, TensorDescType, Type, element_of
from tlxviz.sim.compiler import CompiledKernel, compile_program
from tlxviz.sim.descriptors import TileDescriptor, TileStore
from tlxviz.sim.dtypes import torch_dtype
from tlxviz.sim.effects import written_arguments
from tlxviz.sim.environment import Environment
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.pointers import AddressSpace, flat
from tlxviz.sim.record import tensor_of
from tlxviz.sim.unit import Options

CYCLE_LIMIT = 250_000_000
"""Cycles after which an agent counts as running away: a tenth of a second and more of GPU time."""
_KEPT = 128  # kernels


@contextmanager
def quiet_process() -> Generator[None]:
    """Torch on one thread: tiles are too small for more, and results are then the same every time. And no garbage
    collector, which would look through a million events again and again."""
    threads = torch.get_num_threads()
    collecting = gc.isenabled()
    torch.set_num_threads(1)
    gc.disable()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if collecting:
            gc.enable()


class Kernels:
    """The kernels of a program's launches, each read and compiled once."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._programs: dict[str, Program] = {}
        self._compiled: dict[tuple[str, Options], CompiledKernel] = {}
        self.bind(())

    @property
    def compiled(self) -> Sequence[CompiledKernel]:
        """All that are compiled."""
        return list(self._compiled.values())

    @property
    def programs(self) -> Sequence[Program]:
        """All that have been read."""
        return list(self._programs.values())

    def program(self, launch: CaughtLaunch) -> Program:
        """The program of a launch."""
        found = self._programs.get(launch.ttgir)
        if found is None:
            if len(self._programs) >= _KEPT:  # a tuner's trials, most of which never come again
                self._programs.clear()
                self._compiled.clear()
            found = self._programs[launch.ttgir] = load_program(launch.ttgir, f"<TTGIR of {launch.kernel}>")
            name_from_source(found, launch.source, launch.source_file, launch.source_line)
        return found

    def kernel(self, launch: CaughtLaunch, options: Options) -> CompiledKernel:
        """The kernel of a launch as Python."""
        found = self._compiled.get((launch.ttgir, options))
        if found is None:
            found = compile_program(self.program(launch), self._device, options)
            self._compiled[launch.ttgir, options] = found
            found.bind(space=self._space, environment=self._environment)
        return found

    def arguments(self, launch: CaughtLaunch) -> list[Any]:
        """Arguments as the entry function takes them: a pointer becomes a flat tensor and an offset, a descriptor a
        TileDescriptor. Kernels see the memory of these tensors from now on, and no other."""
        program = self.program(launch)
        written = _written_storages(launch, program)
        tiles = TileStore()
        tensors: list[torch.Tensor] = []
        values: list[Any] = []
        for (_, value), parameter in zip(launch.parameters, program.kernel.regions[0].entry.arguments, strict=True):
            tensor = tensor_of(value)
            if tensor is None:
                values.append(value)
                continue
            tensors.append(tensor)
            base, offset = flat(tensor, _held_as(parameter.type)), int(tensor.storage_offset())
            if tensor is value:
                values += (base, offset)
                continue
            kept = tiles if written is not None and tensor.untyped_storage().data_ptr() not in written else None
            padding = float("nan") if value.padding == "nan" else 0.0
            # Triton's launcher makes it for the block that the compiler chose: half of the script's in pairs of CTAs
            block = parameter.type.block.shape if isinstance(parameter.type, TensorDescType) else value.block
            values.append(TileDescriptor(base, offset, value.shape, value.strides, block, padding, kept))
        self.bind(tensors)
        return values

    def bind(self, tensors: Sequence[torch.Tensor]) -> None:
        """Let kernels see the memory of `tensors`, and no other."""
        self._space = AddressSpace(tensors)
        self._environment = Environment(self._space, self._device.limits.sms, self._device.clock.sustained_mhz)
        for kernel in self._compiled.values():
            kernel.bind(space=self._space, environment=self._environment)


def written_tensors(launch: CaughtLaunch, program: Program) -> tuple[torch.Tensor, ...] | None:
    """The tensors that a launch may write among its arguments; None where that cannot be told."""
    positions = written_arguments(program)
    if positions is None:
        return None
    tensors = [tensor_of(launch.parameters[position][1]) for position in positions]
    return tuple(tensor for tensor in tensors if tensor is not None)


def _written_storages(launch: CaughtLaunch, program: Program) -> set[int] | None:
    """Addresses of the storages that the launch may write; None where that cannot be told."""
    written = written_tensors(launch, program)
    return None if written is None else {tensor.untyped_storage().data_ptr() for tensor in written}


def _held_as(type_: Type) -> torch.dtype | None:
    """The dtype in which a parameter's memory is read: TTGIR knows no unsigned integers; None to read it as it is."""
    pointee = type_.pointee if isinstance(type_, PointerType) else element_of(type_)
    return torch_dtype(pointee) if isinstance(pointee, ScalarType) and pointee.is_integer else None
