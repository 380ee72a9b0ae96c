"""Which launches of a trace somebody names."""

from __future__ import annotations

from tlxviz._errors import UsageError


def check_launches(trace: str, count: int, number: int | None = None) -> None:
    """Raises UsageError unless a trace of so many launches has any; and launch `number`, if one is named."""
    if not count:
        raise UsageError(f"{trace} holds no launch.")
    if number is not None and not 0 <= number < count:
        holds = "it holds only launch 0" if count == 1 else f"it holds 0 to {count - 1}"
        raise UsageError(f"{trace} has no launch {number}: {holds}.")
