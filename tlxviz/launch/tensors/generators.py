"""Random numbers "of the GPU": a sequence of its own beside the host's, as on a GPU, though of other numbers."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Self

import torch
from torch.nn import functional

from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors.places import Place, names_cuda, note, on_cpu

_TAKE_GENERATOR = """
rand randn randint randperm normal bernoulli multinomial poisson normal_ uniform_ random_ exponential_ log_normal_
geometric_ cauchy_ bernoulli_
"""
_TAKE_NONE = """
rand_like randn_like randint_like dropout alpha_dropout feature_dropout rrelu dropout1d dropout2d dropout3d
feature_alpha_dropout gumbel_softmax scaled_dot_product_attention multi_head_attention_forward
"""


def _functions(names: str) -> frozenset[Any]:
    owners = (torch, torch.Tensor, functional)
    return frozenset(getattr(owner, name) for owner in owners for name in names.split() if hasattr(owner, name))


TAKE_GENERATOR = _functions(_TAKE_GENERATOR)
"""Functions of torch that draw random numbers and can be given a generator."""
DRAW = TAKE_GENERATOR | _functions(_TAKE_NONE)
"""Functions of torch that draw random numbers."""

_SEED = 67280421310721
"""What torch seeds every generator with at first."""


class Generator(torch.Generator):
    """`torch.Generator` on any device; one "on cuda" is one of the CPU that says so."""

    def __new__(cls, device: Any = "cpu") -> Self:
        # The stub of torch gives the constructor no `__new__`.
        made = super().__new__(cls, on_cpu(device))  # pyright: ignore[reportCallIssue]
        vars(made)["named"] = torch.device(device) if names_cuda(device) else None
        return made

    @property
    def device(self) -> torch.device:  # pyright: ignore[reportIncompatibleVariableOverride]
        return vars(self)["named"] or super().device

    def get_state(self) -> torch.Tensor:
        return _noted(super().get_state())


class Random:
    """The sequence that functions draw from which make numbers on the GPU and are given no generator."""

    def __init__(self) -> None:
        self.generator = Generator("cuda").manual_seed(_SEED)

    @contextmanager
    def drawn(self) -> abc.Generator[None]:
        """Meanwhile the default generator of the CPU is the GPU's."""
        default = torch.default_generator
        host = default.get_state()
        default.set_state(self.generator.get_state())
        try:
            yield
        finally:
            self.generator.set_state(default.get_state())
            default.set_state(host)


def refuse_mismatch(generator: torch.Generator, cuda: bool) -> None:
    """Raise what torch raises where a generator belongs to another device than the numbers."""
    expected, found = "cuda" if cuda else "cpu", generator.device.type
    if expected != found:
        raise RuntimeError(f"Expected a '{expected}' device type for generator but found '{found}'")


def install(scope: Scope, random: Random) -> None:
    """Put it into force until `scope` ends."""
    generator = random.generator
    scope.set_attr(torch, "Generator", Generator)
    scope.set_attr(torch.cuda, "default_generators", (generator,))
    state = torch.get_rng_state
    scope.set_attr(torch, "get_rng_state", lambda: _noted(state()))
    for module in (torch.cuda, torch.cuda.random):
        for name, value in _answers(generator).items():
            scope.set_attr(module, name, value)


# torch._dynamo, which optimizers import, refuses one function under two names: each name gets its own.
def _answers(generator: torch.Generator) -> dict[str, Callable[..., Any]]:
    def seeder() -> Callable[[int], None]:
        def manual_seed(seed: int) -> None:
            generator.manual_seed(int(seed))

        return manual_seed

    def reseeder() -> Callable[[], None]:
        def seed() -> None:
            generator.seed()

        return seed

    def get_rng_state(device: Any = "cuda") -> torch.Tensor:
        return generator.get_state()

    def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
        generator.set_state(new_state)

    return {
        "manual_seed": seeder(),
        "manual_seed_all": seeder(),
        "seed": reseeder(),
        "seed_all": reseeder(),
        "initial_seed": lambda: generator.initial_seed(),
        "get_rng_state": get_rng_state,
        "get_rng_state_all": lambda: [get_rng_state()],
        "set_rng_state": set_rng_state,
        "set_rng_state_all": lambda new_states: set_rng_state(next(iter(new_states))),
    }


def _noted(state: torch.Tensor) -> torch.Tensor:
    note(state, Place.HOST)  # torch keeps the states of all generators there
    return state
