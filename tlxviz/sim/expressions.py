"""Python expressions as text."""

from __future__ import annotations

from collections.abc import Iterable

from tlxviz.sim.representation import Part


def is_literal(code: str) -> bool:
    """Whether an expression is a number, a bool or None."""
    text = code.removeprefix("-")
    return text.replace(".", "", 1).replace("e", "", 1).replace("-", "", 1).replace("+", "", 1).isdigit() or code in (
        "True",
        "False",
        "None",
        "inf",
        "-inf",
        "nan",
    )


def tuple_code(items: Iterable[object]) -> str:
    """A tuple display of expressions; None stays None."""
    inside = [str(item) for item in items]
    return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"


def parts_code(parts: tuple[Part | None, ...]) -> str:
    """A tuple display of the parts of an index tensor."""
    return tuple_code(part.code if part else None for part in parts)
