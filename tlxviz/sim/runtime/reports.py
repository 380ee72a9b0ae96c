"""What a kernel says and how it is stopped: printing, asserts, loops that never end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tlxviz.sim.errors import DeviceAssertError, MemoryAccessError, Refused, RunawayError


def device_print(pid: Sequence[int], prefix: str, values: Sequence[Any], hexadecimal: Sequence[int]) -> None:
    """`tl.device_print`: a line per element, as on a GPU.

    Args:
        pid: The program.
        prefix: Text in front of each value; Triton puts the blanks around it.
        values: Tensors and numbers.
        hexadecimal: For each value the digits to print it with in base 16, or 0 for base 10.
    """
    place = ", ".join(map(str, pid))
    if not values:
        print(f"pid ({place}){prefix}")
    for number, (value, digits) in enumerate(zip(values, hexadecimal, strict=True)):
        operand = f"(operand {number}) " if len(values) > 1 else ""
        if not isinstance(value, torch.Tensor):
            print(f"pid ({place}) idx (){prefix}{operand}{_printed(value, digits)}")
            continue
        widths = [len(str(size - 1)) for size in value.shape]
        for index, item in enumerate(value.reshape(-1).tolist()):
            found = (int(i) for i in torch.unravel_index(torch.tensor(index), value.shape))
            where = ", ".join(f"{i:{width}}" for i, width in zip(found, widths, strict=True))
            print(f"pid ({place}) idx ({where}){prefix}{operand}{_printed(item, digits)}")


def _printed(item: float, digits: int) -> str:
    if isinstance(item, float):
        return f"{item:f}"
    return f"0x{int(item) & ((1 << (4 * digits)) - 1):0{digits}x}" if digits else str(int(item))


def device_assert(pid: Sequence[int], condition: Any, message: str) -> None:
    """`tl.device_assert`."""
    holds = bool(condition.all()) if isinstance(condition, torch.Tensor) else bool(condition)
    if not holds:
        raise DeviceAssertError(f"device_assert failed in program {tuple(pid)}: {message or 'no message'}")


def bad_slot(index: int, slots: int, name: str) -> None:
    """Complains about a slot that does not exist: on a GPU it is memory of something else."""
    have = "only slot 0" if slots == 1 else f"slots 0 to {slots - 1}"
    raise MemoryAccessError(f"{name}[{index}] does not exist, {name} has {have}: mend the index", Refused(slot=index))


def runaway(cycle: int) -> None:
    """Ends an agent that never ends by itself."""
    raise RunawayError(
        f"still running after {cycle:,} cycles: the loop does not end, or waits for memory that nobody writes"
    )
