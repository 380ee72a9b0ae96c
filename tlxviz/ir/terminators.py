"""Checks that a region ends as it must: what notices a file that lost lines."""

from __future__ import annotations

from tlxviz.ir.errors import Mismatch
from tlxviz.ir.operation import Operation, Region

_BRANCHES = ("cf.br", "cf.cond_br", "ub.unreachable", "llvm.unreachable")


def check_end(operation: Operation, region: Region, results: int) -> None:
    """Raise a `Mismatch` where a block of `region`, which closes now, does not end with its terminator."""
    expected, values = _expected(operation, region, results)
    labels = {block.label for block in region.blocks}
    for block in region.blocks:
        last = block.operations[-1] if block.operations else None
        if last is not None and last.name in _BRANCHES:
            for label in last.attributes.get("successors", ()):
                if label not in labels:
                    raise Mismatch(f"a branch goes to `^{label}`, which the region does not have", 0)
        elif expected and (last is None or last.name != expected):
            if results or operation.name not in ("scf.for", "scf.if"):
                raise Mismatch(f"expected {expected} at the end of the region of {operation.name}", 0)
        elif last is not None and values is not None:
            given = len(last.operands) - (1 if expected == "scf.condition" else 0)
            if given != values:
                raise Mismatch(f"expected {values} operands of the {expected} above, found {given}", 0)


def _expected(operation: Operation, region: Region, results: int) -> tuple[str, int | None]:
    """The terminator and how many values it carries; empty if any will do, None if any number."""
    match operation.name:
        case "tt.func":
            return "tt.return", len(operation.attributes["result_types"])
        case "scf.for" | "scf.if":
            return "scf.yield", results
        case "scf.while":
            if operation.regions[0] is region:
                return "scf.condition", results
            return "scf.yield", len(operation.operands)
        case "ttg.warp_specialize":
            return ("ttg.warp_yield", None) if region.name == "default" else ("ttg.warp_return", None)
        case "tt.reduce" | "tt.scan" | "tt.map_elementwise":
            return f"{operation.name}.return", None
        case _:
            return "", None
