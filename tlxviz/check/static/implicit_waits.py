"""Products that the author asked for asynchronously, and that the compiler waits for at once."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.additions import additions
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.location import Location
from tlxviz.ir.operation import Operation
from tlxviz.ir.program import Buffer, Site, SiteKind

_MADE_SYNC = "async-mma-made-sync"
_OPERANDS = ("a", "b")


@rule
def waited_for_at_once(kernel: Kernel) -> Iterator[Finding]:
    """A wait behind a product that the source does not have."""

    def line_of(place: Location) -> str:
        return kernel.facts.line(place.file, place.line)

    if not kernel.facts.source:
        return
    told: set[tuple[int, Location]] = set()
    for each in additions(kernel.program, line_of):
        if each.id == _MADE_SYNC and (each.agent, each.place) not in told:
            told.add((each.agent, each.place))
            product = _product(kernel, each.agent, each.place)
            if product is not None:
                yield _finding(kernel, product)


def _product(kernel: Kernel, agent: int, place: Location) -> Site | None:
    products = (site for site in kernel.program.sites if site.kind is SiteKind.MMA and site.agent.index == agent)
    return next((site for site in products if site.location == place), None)


def _finding(kernel: Kernel, product: Site) -> Finding:
    released = _released(kernel, product.operation)
    why = ["the compiler waits where it cannot tell that nothing touches the product before your own wait"]
    if released is not None:
        why.append(f"whoever waits for {released.variable} may overwrite the operands while the product reads them")
    places = [*_operands(kernel, product)]
    role, severity = product.agent.name, Severity.NOTE
    message = f"{role}: the compiler waits for this product where it is issued, so that nothing overlaps it"
    if released is not None:
        places.append(kernel.place(released, f"arrives on {released.variable}"))
        severity = Severity.WARNING
        message = (
            f"{role} arrives on {released.variable} before it waits for this product: only a wait that the compiler "
            "adds keeps its operands"
        )
    return kernel.finding(
        "async-not-waited",
        severity,
        message,
        places,
        why,
        "Wait for the product (tlx.async_dot_wait) before its slots are given back, and let nothing else come between.",
    )


def _operands(kernel: Kernel, product: Site) -> Iterator[Place]:
    for part in _OPERANDS:
        value = product.operation.operand(part)
        root = kernel.program.roots.get(value) if value is not None else None
        if isinstance(root, Buffer):
            yield Place(f"wgmma reads {root.name}", product.agent.name, product.location, root.name, -1, -1)


def _released(kernel: Kernel, product: Operation) -> Site | None:
    """The arrival between a product and the author's wait for it."""
    block = product.block
    if block is None:
        return None
    for op in block.operations[block.operations.index(product) + 1 :]:
        site = kernel.program.site_of.get(op)
        if site is None:
            continue
        if site.kind is SiteKind.ARRIVE:
            return site
        if site.kind is SiteKind.MMA or (site.kind is SiteKind.MMA_WAIT and site.location != _place(kernel, product)):
            return None
    return None


def _place(kernel: Kernel, op: Operation) -> Location | None:
    site = kernel.program.site_of.get(op)
    return None if site is None else site.location
