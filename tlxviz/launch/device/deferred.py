"""Launches that were only timed: their outputs are computed when somebody looks, which is rarely the case.

A benchmark of a large problem would take hours if it computed what it measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from tlxviz.launch.model import Launch
    from tlxviz.launch.patching import Scope


@dataclass(frozen=True, slots=True)
class _Pending:
    launch: Launch
    run: Callable[[Launch], Any]
    written: dict[int, torch.Tensor]
    """By the address of its storage, a tensor of each storage that is to be written."""
    read: frozenset[int]
    """Addresses of the other storages."""
    hidden: list[torch.Tensor]
    """Of those that are to be written, the ones that are no arguments: an address leads to them."""


class Deferred:
    """Launches that still owe their outputs, in order.

    Its methods look at tensors themselves: they are called where no mode of the stand-in sees that.
    """

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock
        """Held while launches execute: no thread is to see half of what is owed."""
        self._pending: list[_Pending] = []

    def __bool__(self) -> bool:
        return bool(self._pending)

    def install(self, scope: Scope) -> None:
        """Watch backward passes until `scope` ends: their operators are no functions that the script calls."""
        name = "_engine_run_backward"  # what every backward pass goes through
        run = getattr(torch.autograd, name)

        def run_watched(*arguments: Any, **options: Any) -> Any:
            with _Watch(self) if self else nullcontext():
                return run(*arguments, **options)

        scope.set_attr(torch.autograd, name, run_watched)

    def add(self, launch: Launch, written: Sequence[torch.Tensor] | None, run: Callable[[Launch], Any]) -> None:
        """Keep a launch, to be executed by `run` when a tensor that it writes is looked at.

        Args:
            launch: What was timed.
            written: The tensors that it may write, also those that are no arguments; None if any of its arguments.
            run: Executes it with values.
        """
        # Without the caller's own arguments, whose life must not depend on this list.
        later = replace(launch, arguments={}, values=True, counted=False)
        own = {_address(tensor): tensor for tensor in _tensors(later)}
        outputs = own if written is None else {_address(tensor): tensor for tensor in written}
        hidden = [tensor for address, tensor in outputs.items() if address not in own]
        outputs = {address: own.get(address, tensor) for address, tensor in outputs.items()}
        self._pending.append(_Pending(later, run, outputs, frozenset(own) - outputs.keys(), hidden))

    def before(self, function: Any, arguments: Iterable[Any], options: dict[str, Any]) -> None:
        """Called before the script calls a function of torch: pays what it could notice."""
        arguments = tuple(arguments)
        if _is_blind(function, arguments, options):
            return
        try:
            touched = {_address(tensor) for tensor in _within((*arguments, *options.values()))}
        except NotImplementedError:  # it stands for others: within `torch.vmap`, or where it is sparse
            self.settle()
            return
        if not touched:
            return
        changes = _may_change(function, options)
        with self._lock:
            if any(touched & each.written.keys() or (changes and touched & each.read) for each in self._pending):
                self.settle()

    def before_launch(self, launch: Launch) -> None:
        """Called before another launch: it may read what is owed, and write what that is computed from.

        One that is only timed does neither, but integers steer loops, so it needs those.
        """
        tensors = [tensor for tensor in _tensors(launch) if launch.values or not tensor.dtype.is_floating_point]
        touched = set(map(_address, tensors))
        if any(touched & (each.written.keys() | each.read) for each in self._pending):
            self.settle()

    def settle(self) -> None:
        """Compute everything that is owed."""
        with self._lock:
            self.forget_unreachable()
            while self._pending:
                owed = self._pending.pop(0)
                owed.run(owed.launch)

    def forget_unreachable(self) -> None:
        """Drop launches whose outputs nobody else has, nor a later launch that is kept."""
        with self._lock:
            self._forget_unreachable()

    def _forget_unreachable(self) -> None:
        ours = Counter(_address(tensor) for each in self._pending for tensor in (*_tensors(each.launch), *each.hidden))
        kept: list[_Pending] = []
        needed: set[int] = set()
        for each in reversed(self._pending):
            if any(
                address in needed or _references(tensor) > ours[address] for address, tensor in each.written.items()
            ):
                kept.append(each)
                needed |= each.read
        self._pending = kept[::-1]


def _references(tensor: torch.Tensor) -> int:
    """How many tensors, and other holders, a storage has."""
    storage = tensor.untyped_storage()
    # The Python object that was made for the question is one of them.
    return torch._C._storage_Use_Count(storage._cdata) - 1  # pyright: ignore


def _tensors(launch: Launch) -> Iterator[torch.Tensor]:
    for _, value in launch.parameters:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(base := getattr(value, "base", None), torch.Tensor):
            yield base


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _within(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _within(value)
        elif isinstance(value, dict):
            yield from _within(value.values())


def _is_blind(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Does it tell nothing of a tensor's contents?"""
    name = getattr(function, "__name__", "")
    return name in _BLIND and not options and (name != "type" or len(arguments) == 1)


def _may_change(function: Any, options: dict[str, Any]) -> bool:
    """Could it write into one of its arguments, or let somebody do so unseen?"""
    name = getattr(function, "__name__", "")
    if name in ("__set__", "__delete__"):
        return getattr(getattr(function, "__self__", None), "__name__", "") not in _BESIDE
    return (
        "out" in options
        or bool(options.get("inplace"))
        or options.get("max_norm") is not None  # embedding, which scales down what it looks up
        or name in _ESCAPES
        or name in _UPDATES
        or (name.endswith("_") and not name.endswith("__"))
        or name.startswith("__i")  # __iadd__ and the like
        or name == "__setitem__"
        or _writes(function)
    )


def _writes(function: Any) -> bool:
    """Is it an operator, by itself or as a name for several, that says of itself that it writes into an argument?"""
    operators: Any = torch._ops  # pyright: ignore[reportPrivateUsage] # nothing public names these classes
    if isinstance(function, operators.OpOverload):
        return function._schema.is_mutable
    if isinstance(function, operators.OpOverloadPacket):
        return any(getattr(function, name)._schema.is_mutable for name in function.overloads())
    return False


class _Watch(TorchDispatchMode):
    """While it is on, every operator pays what it could notice."""

    def __init__(self, deferred: Deferred) -> None:
        super().__init__()
        self._deferred = deferred

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        # The mode for CUDA, which is on in backward passes, would take the operator for a call of the script.
        with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            if self._deferred and not func.is_view:
                self._deferred.before(func, args, options)
            return func(*args, **options)


_BLIND = frozenset(
    (
        *("dim", "ndimension", "size", "stride", "numel", "nelement", "element_size", "storage_offset", "__len__"),
        *("is_contiguous", "is_floating_point", "is_complex", "is_leaf", "get_device", "type", "detach", "__get__"),
    )
)
"""Functions that tell nothing of a tensor's contents; what they return is looked at in its turn."""

_BESIDE = frozenset(("grad", "requires_grad", "names"))
"""Attributes of a tensor that can be set, and say nothing of its contents."""

_UPDATES = frozenset(("batch_norm", "instance_norm", "native_batch_norm"))
"""Functions that write into arguments without a sign of it: means and variances that they keep."""

_ESCAPES = frozenset(
    ("numpy", "__array__", "data_ptr", "untyped_storage", "storage", "__dlpack__", "share_memory_", "tolist")
)
