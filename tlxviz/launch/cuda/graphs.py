"""CUDA graphs: what a capture takes down is executed by each replay, in order and in the memory of the capture.

Operators of torch have to run during the capture, for the shapes of their results. What they write into memory that was
there before is put back at its end; what they make themselves is zero until the first replay. Kernels do not run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

import torch
import torch.cuda.graphs
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from tlxviz.launch import torch_internals
from tlxviz.launch.cuda.runtime import not_simulated
from tlxviz.launch.device.clock import DEFAULT_STREAM
from tlxviz.launch.errors import cuda_error
from tlxviz.launch.patching import Scope
from tlxviz.launch.timing.operators import is_written_in_python, launches, take_time

if TYPE_CHECKING:
    from tlxviz.launch.cuda.streams import GenericEvent
    from tlxviz.launch.device.gpu import Gpu
    from tlxviz.launch.model import Launch
    from tlxviz.launch.tensors.generators import Random
    from tlxviz.launch.tensors.mode import CudaInCpuMemory

_aten = torch.ops.aten
_NEED_VALUES_NAMES = """
_local_scalar_dense nonzero masked_select _unique2 unique_dim unique_consecutive bincount equal
"""
_NEED_VALUES: frozenset[Any] = frozenset(
    packet for name in _NEED_VALUES_NAMES.split() if (packet := getattr(_aten, name, None)) is not None
)
"""Operators that let the host wait for the device."""

_branches = count(0x7700_0000_0000)
"""Handles of the streams that stand for those of a capture while it is replayed; none is used again."""


class _Step(Protocol):
    stream: int

    def run(self, replay: _Replay) -> None: ...

    def describe(self) -> str: ...


@dataclass(slots=True)
class _Replay:
    gpu: Gpu
    random: Random
    reached: dict[int, float] = field(default_factory=dict[int, float])
    """By the identity of an event of the graph: when it was reached."""


@dataclass(slots=True)
class _LaunchStep:
    launch: Launch
    stream: int

    def run(self, replay: _Replay) -> None:
        launch, self.launch = self.launch, replace(self.launch, compile_seconds=0.0)  # it is compiled once
        replay.gpu.submit(launch)

    def describe(self) -> str:
        return self.launch.kernel


@dataclass(slots=True)
class _OperatorStep:
    function: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    results: list[Any]
    draws: bool
    """It takes random numbers from the default generator."""
    stream: int

    def run(self, replay: _Replay) -> None:
        gpu = replay.gpu
        if gpu.deferred:
            gpu.deferred.before(self.function, self.args, self.options)
            gpu.deferred.before(_aten.copy_, self.results, {})
        with replay.random.drawn() if self.draws else nullcontext():
            made = self.function(*self.args, **self.options)
        for result, new in zip(self.results, tree_leaves(made), strict=True):
            if isinstance(result, torch.Tensor) and result.data_ptr() != new.data_ptr():
                result.copy_(new)
        if gpu.measured:
            take_time(gpu, self.function, self.args, self.options, made)

    def describe(self) -> str:
        return str(self.function)


@dataclass(slots=True)
class _RecordStep:
    event: GenericEvent
    stream: int

    def run(self, replay: _Replay) -> None:
        replay.reached[id(self.event)] = replay.gpu.time.end(replay.gpu.stream)
        if self.event.external:
            self.event.reach(replay.gpu.stream)

    def describe(self) -> str:
        return "event record"


@dataclass(slots=True)
class _WaitStep:
    event: GenericEvent
    stream: int

    def run(self, replay: _Replay) -> None:
        reached = replay.reached.get(id(self.event))
        if reached is not None:
            replay.gpu.time.wait(replay.gpu.stream, reached)
        else:  # an external one that something outside records
            self.event.hold(replay.gpu.stream)

    def describe(self) -> str:
        return "event wait"


@dataclass(slots=True)
class _ReplayStep:
    """Another graph that was replayed during the capture."""

    graph: CUDAGraph
    stream: int

    def run(self, replay: _Replay) -> None:
        self.graph.replay()

    def describe(self) -> str:
        return "graph"


class _Operators(TorchDispatchMode):
    """While it is on, operators of torch are taken down."""

    def __init__(self, take: Callable[..., Any]) -> None:
        super().__init__()
        self._take = take

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self._take(func, args, kwargs or {})


Known = dict[int, int]
"""How many steps of each stream are known to come before."""


class GraphCapture:
    """A capture while it lasts.

    Streams that wait for an event of the capture join it; at its end, all of their work has to come before the end.
    """

    def __init__(self, gpu: Gpu, origin: int) -> None:
        self._gpu = gpu
        self.origin = origin
        self.steps: list[_Step] = []
        self.spoiled = False
        self._known: dict[int, Known] = {origin: {}}
        self._events: dict[int, tuple[GenericEvent, Known]] = {}
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        """By address: the bytes of storages that were there before and that operators wrote, and a copy of them."""
        self._made: dict[int, torch.Tensor] = {}
        """By address: the bytes of storages of results."""

    def covers(self, stream: int) -> bool:
        return stream in self._known

    def concerns(self, event: GenericEvent, stream: int) -> bool:
        return self.covers(stream) or self.holds(event)

    def holds(self, event: GenericEvent) -> bool:
        return id(event) in self._events

    def launch(self, launch: Launch) -> None:
        self._append(_LaunchStep(launch, self._gpu.stream))

    def replay(self, graph: CUDAGraph) -> None:
        self._append(_ReplayStep(graph, self._gpu.stream))

    def record(self, event: GenericEvent, stream: int) -> None:
        self._append(_RecordStep(event, stream))
        if not event.external:
            self._events[id(event)] = event, dict(self._known[stream])

    def wait(self, event: GenericEvent, stream: int) -> None:
        if not self.holds(event) and not event.external:
            if event.at is None:  # never recorded: nothing to wait for
                return
            self.spoil()
            raise cuda_error("cudaErrorStreamCaptureIsolation")
        known = self._known.setdefault(stream, {})
        if self.holds(event):
            for other, steps in self._events[id(event)][1].items():
                known[other] = max(known.get(other, 0), steps)
        self._append(_WaitStep(event, stream))

    def operators(self) -> AbstractContextManager[Any]:
        return _Operators(self._operator)

    def refuse(self) -> NoReturn:
        self.spoil()
        raise cuda_error("cudaErrorStreamCaptureUnsupported")

    def refuse_copy(self) -> NoReturn:
        raise RuntimeError(
            "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned. "
            "Please use tensor.pin_memory() or allocate the tensor with pin_memory=True."
        )

    def spoil(self) -> None:
        self.spoiled = True

    def is_joined(self) -> bool:
        """Does all work come before what the first stream does next?"""
        known = self._known[self.origin]
        return all(known.get(stream, 0) == own.get(stream, 0) for stream, own in self._known.items())

    def restore(self) -> None:
        """Memory as it was before, and none of the results."""
        for content, before in self._before.values():
            content.copy_(before)
        for content in self._made.values():
            content.zero_()

    def _append(self, step: _Step) -> None:
        self.steps.append(step)
        known = self._known[step.stream]
        known[step.stream] = known.get(step.stream, 0) + 1

    def _operator(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if is_written_in_python(function):  # its parts are taken down
            return function(*args, **options)
        if function.overloadpacket in _NEED_VALUES:
            self.refuse()
        if not launches(function):
            return function(*args, **options)
        # Aliases, because the script may give its tensors other memory later, and the graph keeps this one.
        kept_args, kept_options = _aliases((args, options))
        self._save_what_it_writes(function, args, options)
        result = function(*args, **options)
        given = {each.untyped_storage().data_ptr() for each in _tensors((args, options))}
        for tensor in _tensors(result):
            address = tensor.untyped_storage().data_ptr()
            if address not in given:
                self._made[address] = _whole_memory(tensor)
        results = tree_leaves(_aliases(result))
        draws = torch.Tag.nondeterministic_seeded in function.tags and options.get("generator") is None
        self._append(_OperatorStep(function, kept_args, kept_options, results, draws, self._gpu.stream))
        return result

    def _save_what_it_writes(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        for position, parameter in enumerate(function._schema.arguments):
            if parameter.alias_info is None or not parameter.alias_info.is_write:
                continue
            value = args[position] if position < len(args) else options.get(parameter.name)
            for tensor in _tensors(value):
                address = tensor.untyped_storage().data_ptr()
                if address not in self._made and address not in self._before:
                    content = _whole_memory(tensor)
                    self._before[address] = content, content.clone()


class CUDAGraph:
    """`torch.cuda.CUDAGraph`."""

    # Set while the stand-in is in force.
    gpu: ClassVar[Gpu]
    mode: ClassVar[CudaInCpuMemory]
    pools: ClassVar[count[int]]

    def __init__(self, keep_graph: bool = False) -> None:
        self._gpu, self._mode = self.gpu, self.mode
        self._steps: list[_Step] | None = None
        self._origin = DEFAULT_STREAM
        self._pool: tuple[int, int] | None = None
        self._random: torch.Tensor | None = None
        self._capture: GraphCapture | None = None
        self._branches: dict[int, int] = {}
        self._debugged = False

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        if self._steps is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        if self._gpu.stream == DEFAULT_STREAM:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        if self._gpu.capture is not None:
            self._gpu.capture.refuse()
        self._pool = pool or self._pool or graph_pool_handle()
        self._origin = self._gpu.stream
        self._random = self._mode.random.generator.get_state()
        self._gpu.capture = self._capture = GraphCapture(self._gpu, self._origin)

    def capture_end(self) -> None:
        capture, self._capture = self._capture, None
        if capture is None:
            raise RuntimeError("capture_end() called before capture_begin().")
        self._gpu.capture = None
        with torch_internals.without_modes():
            capture.restore()
            assert self._random is not None
            self._mode.random.generator.set_state(self._random)
        if capture.spoiled:
            raise cuda_error("cudaErrorStreamCaptureInvalidated")
        if self._gpu.stream != self._origin:
            raise RuntimeError("Capture must end on the same stream it began on.")
        if not capture.is_joined():
            raise cuda_error("cudaErrorStreamCaptureUnjoined")
        if not capture.steps:
            warnings.warn(
                "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong "
                "device or stream.",
                stacklevel=2,
            )
        self._steps = capture.steps
        self._branches = {
            stream: next(_branches) for stream in sorted({step.stream for step in self._steps} - {self._origin})
        }

    def instantiate(self) -> None:
        """A graph needs no preparation here."""
        if self._steps is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")

    def replay(self) -> None:
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        gpu, stream = self._gpu, self._gpu.stream
        if isinstance(gpu.capture, GraphCapture) and gpu.capture.covers(stream):
            gpu.capture.replay(self)
            return
        replay = _Replay(gpu, self._mode.random)
        try:
            # A replay is no function of torch, and what it does is not to be seen as the script's doing.
            with torch_internals.without_modes(), torch.no_grad():
                for branch in self._branches.values():
                    gpu.time.wait(branch, gpu.time.end(stream))
                for step in self._steps:
                    gpu.stream = self._branches.get(step.stream, stream)
                    step.run(replay)
        finally:
            gpu.stream = stream

    def reset(self) -> None:
        self._steps = None
        self._branches = {}

    def pool(self) -> tuple[int, int]:
        if self._pool is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def register_generator_state(self, _generator: torch.Generator) -> None:
        """A generator of its own advances at each replay, as the default one does."""

    def enable_debug_mode(self) -> None:
        self._debugged = True

    def debug_dump(self, debug_path: str) -> None:
        """Write the steps as a Graphviz file, which is what CUDA does with its nodes."""
        if not self._debugged or self._steps is None:
            warnings.warn("CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()", stacklevel=2)
            return
        lines = [f'"{number}" [label="{step.describe()}"];' for number, step in enumerate(self._steps)]
        Path(debug_path).write_text("\n".join(["digraph dot {", *lines, "}", ""]), encoding="utf-8")

    def raw_cuda_graph(self) -> int:
        raise not_simulated("CUDAGraph.raw_cuda_graph")

    def raw_cuda_graph_exec(self) -> int:
        raise not_simulated("CUDAGraph.raw_cuda_graph_exec")

    def get_graph_data(self) -> dict[str, Any]:
        raise not_simulated("CUDAGraph.get_graph_data")


def graph_pool_handle() -> tuple[int, int]:
    return 0, next(CUDAGraph.pools)


def install(scope: Scope, gpu: Gpu, mode: CudaInCpuMemory) -> None:
    """Put it into force until `scope` ends."""

    def is_capturing() -> bool:
        return gpu.capture is not None and gpu.capture.covers(gpu.stream)

    def forget() -> None:
        gpu.capture = None

    for name, value in (("gpu", gpu), ("mode", mode), ("pools", count(1))):
        scope.set_attr(CUDAGraph, name, value)
    # torch._dynamo, which optimizers import, refuses one function under two names: each name gets its own.
    for module in (torch.cuda, torch.cuda.graphs):
        scope.set_attr(module, "CUDAGraph", CUDAGraph)
        scope.set_attr(module, "graph_pool_handle", lambda: graph_pool_handle())
        scope.set_attr(module, "is_current_stream_capturing", lambda: is_capturing())
    # `torch.cuda.graph` and `make_graphed_callables` stay torch's: they ask only what is answered.
    scope.set_attr(torch.cuda.graphs.graph, "default_capture_stream", None)
    scope.set_attr(torch_internals.C, "_host_emptyCache", lambda: None)
    scope.callback(forget)


def _tensors(values: Any) -> list[torch.Tensor]:
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]


def _whole_memory(tensor: torch.Tensor) -> torch.Tensor:
    """All the memory that it is a part of."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _aliases(values: Any) -> Any:
    """The same with other tensors of the same memory."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.detach(), values)
