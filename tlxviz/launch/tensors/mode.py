"""Tensors "on cuda" in CPU memory: a mode that sees every torch function that the script calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from tlxviz.launch import torch_internals
from tlxviz.launch.errors import check_ordinal
from tlxviz.launch.tensors import autocasting, generators, mixing
from tlxviz.launch.tensors.places import ON_HOST, Place, names_cuda, note, on_cpu, place_of
from tlxviz.launch.timing.operators import OperatorTime

if TYPE_CHECKING:
    from tlxviz.launch.device.gpu import Capture, Gpu

Answer = Callable[..., Any]
"""What is called in place of a torch function: with the mode and the arguments of the function."""


@dataclass(frozen=True, slots=True)
class _Role:
    """What is to be done about a function beside calling it."""

    constructs: bool
    """It makes a tensor on the default device if it is given none."""
    mixes: bool
    """Its tensors have to be on one device."""
    widens: bool
    """Under CUDA's autocast, it computes in single precision."""
    draws: bool
    """It draws random numbers."""


_SPECIAL = {"constructs": torch_internals.CONSTRUCTORS, "mixes": mixing.FUNCTIONS, "widens": autocasting.IN_FULL}
_SPECIAL["draws"] = generators.DRAW
_ROLES = {
    function: _Role(**{role: function in functions for role, functions in _SPECIAL.items()})
    for function in frozenset[Any]().union(*_SPECIAL.values())
}
_NAMES_OF_DEVICES = frozenset({str, torch.device})
_FOLLOWS_ITS_DATA = frozenset({torch.tensor, torch.as_tensor, torch.asarray})
"""Constructors that leave a tensor where it is as long as no default device is set."""


class CudaInCpuMemory(TorchFunctionMode):
    """While it is on, CUDA devices are CPU memory, and tensors say where they would be on a machine with a GPU."""

    def __init__(self, gpu: Gpu, answers: Mapping[Any, Answer]) -> None:
        super().__init__()
        self.gpu = gpu
        self._answers = answers
        """By function: what is called in its place."""
        self.random = generators.Random()
        self._observed = threading.local()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.gpu.deferred:
            self.gpu.deferred.before(func, args, kwargs or {})
        answer = self._answers.get(func)
        if answer is not None:
            return answer(self, *args, **(kwargs or {}))
        return self.call(func, args, kwargs or {})

    def call(self, func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call a torch function with CPU memory for every CUDA device, and note where its results are."""
        named: Place | None = None
        if options:
            if options.get("device") is not None or "pin_memory" in options:
                named, options = _taken_apart(options)
            options = {name: on_cpu(value) for name, value in options.items()}
        for each in args:
            if type(each) in _NAMES_OF_DEVICES and names_cuda(each):
                args, named = tuple(map(on_cpu, args)), Place.CUDA
                break
        role = _ROLES.get(func)
        if role is not None:
            if role.constructs and named is None:
                named = _default_place(func, args)
            if role.mixes:
                mixing.check(func, args, options)
            if role.widens and autocasting.is_on():
                args, options = autocasting.widened(args), autocasting.widened(options)
        generator = options.get("generator") if options else None
        if generator is not None and (place := named or _place_among(args, options)) is not None:
            generators.refuse_mismatch(generator, place is Place.CUDA)
        gpu = self.gpu
        draws = role is not None and role.draws and generator is None
        observed = gpu.measured or gpu.capture is not None
        if (observed or draws) and (named or _place_among(args, options)) in ON_HOST:
            observed = draws = False
        if draws and func in generators.TAKE_GENERATOR:
            draws, options = False, {**options, "generator": self.random.generator}
        if observed or draws:
            with self.random.drawn() if draws else nullcontext(), self.observing():
                result = func(*args, **options)
        else:
            result = func(*args, **options)
        if isinstance(result, torch.Tensor):
            if place_of(result) is None:
                self._note(result, named, args, options)
        elif isinstance(result, (tuple, list)):
            for each in result:
                if isinstance(each, torch.Tensor) and place_of(each) is None:
                    self._note(each, named, args, options)
        return result

    @staticmethod
    def _note(result: torch.Tensor, named: Place | None, args: Sequence[Any], options: dict[str, Any]) -> None:
        place = named or _place_among(args, options)
        if place is not None:
            note(result, place)

    @property
    def capture(self) -> Capture | None:
        """The capture of this thread's current stream."""
        capture = self.gpu.capture
        return capture if capture is not None and capture.covers(self.gpu.stream) else None

    @contextmanager
    def observing(self) -> Generator[None]:
        """Operators of torch that run meanwhile are taken down by a graph or take time."""
        observer = self._observer()
        if observer is None or getattr(self._observed, "now", False):
            yield
            return
        self._observed.now = True
        try:
            with observer:
                yield
        finally:
            self._observed.now = False

    def _observer(self) -> AbstractContextManager[Any] | None:
        if (capture := self.capture) is not None:
            return capture.operators()
        return OperatorTime(self.gpu) if self.gpu.measured else None

    @contextmanager
    def again(self) -> Generator[None]:
        """On within a function that the mode itself has called, where torch turns it off."""
        if any(isinstance(mode, CudaInCpuMemory) for mode in torch_internals.active_modes()):
            yield
            return
        with self:
            yield

    @contextmanager
    def afresh(self) -> Generator[None]:
        """On within an operator that is written in Python, whose parts are to be seen instead of the operator."""
        before = getattr(self._observed, "now", False)
        self._observed.now = False
        try:
            with self.again():
                yield
        finally:
            self._observed.now = before

    def host_waits(self, *tensors: Any) -> None:
        """The host needs the values of the tensors: it waits for the stream, which it must not do in a capture."""
        if all(place_of(tensor) in ON_HOST for tensor in tensors):
            return
        if (capture := self.capture) is not None:
            capture.refuse()
        self.gpu.time.synchronize(self.gpu.time.end(self.gpu.stream))


def _taken_apart(options: dict[str, Any]) -> tuple[Place | None, dict[str, Any]]:
    """The place that options name, and the options without pinning, which a machine without a GPU refuses."""
    options = dict(options)
    pinned = options.pop("pin_memory", False)
    device = options.get("device")
    if isinstance(device, int) and not isinstance(device, bool):
        device = options["device"] = torch.device("cuda", device)
    if names_cuda(device):
        check_ordinal(device)
        return Place.CUDA, options
    if device is not None and torch.device(device).type != "cpu":
        return None, options
    if pinned:
        return Place.PINNED, options
    return (Place.HOST if device is not None else None), options


def _default_place(func: Any, args: Sequence[Any]) -> Place | None:
    default = torch_internals.default_device()
    if default is not None:
        return Place.CUDA if names_cuda(default) else Place.HOST
    if func in _FOLLOWS_ITS_DATA and args and isinstance(args[0], torch.Tensor):
        return place_of(args[0])
    return Place.HOST


def _place_among(args: Iterable[Any], options: dict[str, Any]) -> Place | None:
    """Where an operator with these arguments works; None if that is not known."""
    place = Place.HOST
    for value in (*args, *options.values()) if options else args:
        if isinstance(value, torch.Tensor):
            found = place_of(value)
        elif isinstance(value, (tuple, list)):
            found = _place_among(value, {})
        else:
            continue
        if found is Place.CUDA:
            return found
        if found is None:
            place = None
    return place


def answering(answers: dict[Any, Answer]) -> Callable[..., Callable[[Answer], Answer]]:
    """A decorator that enters into `answers` what is called in place of the functions which it is given."""

    def answer(*functions: Any) -> Callable[[Answer], Answer]:
        def register(given: Answer) -> Answer:
            answers.update(dict.fromkeys(functions, given))
            return given

        return register

    return answer


def getter(name: str) -> Any:
    """The function by which the mode knows that a property of tensors is read."""
    return getattr(torch.Tensor, name).__get__
