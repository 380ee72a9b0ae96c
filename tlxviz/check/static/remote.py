"""Clusters: barriers that others may reach before they are initialised."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.check.control import precedes
from tlxviz.check.model import Finding, Severity
from tlxviz.check.static.registry import Kernel, rule
from tlxviz.ir.program import BarrierArray, Site, SiteKind

_INTO_OTHERS = frozenset({"ttg.async_remote_shmem_store", "ttg.async_remote_shmem_copy", "ttg.remote_shmem_store"})
_ORDERING = (SiteKind.WAIT, SiteKind.CLUSTER_WAIT)


@rule
def reached_too_early(kernel: Kernel) -> Iterator[Finding]:
    """Stores into other CTAs with nothing before them that tells that those have made their barriers.

    For arrivals and multicasts the compiler lets the CTAs meet first; for these it does not.
    """
    if not kernel.clustered:
        return
    told: set[int] = set()
    for site in kernel.program.sites:
        barrier = site.operation.operand("barrier")
        root = kernel.program.roots.get(barrier) if barrier is not None else None
        if site.operation.name not in _INTO_OTHERS or not isinstance(root, BarrierArray) or root.index in told:
            continue
        if not any(precedes(each.operation, site.operation) for each in _ordering(kernel, site)):
            told.add(root.index)
            yield _unordered(kernel, site, root)


def _ordering(kernel: Kernel, site: Site) -> Iterator[Site]:
    """What a warp group, or the default task before it, may wait for others at."""
    for each in kernel.program.sites:
        if each.kind in _ORDERING and (each.agent is site.agent or not each.agent.task):
            yield each


def _unordered(kernel: Kernel, site: Site, array: BarrierArray) -> Finding:
    doing = kernel.subjects.doing(site.operation)
    return kernel.finding(
        "barrier-lifetime",
        Severity.ERROR,
        f"{site.agent.name}: {doing} tells {array.name} of another CTA, which may not be initialised yet",
        [
            kernel.place_of(site.operation, f"{doing} tells {array.name}", array.name),
            kernel.place_of(array.operation, f"makes {array.name}", array.name),
        ],
        (f"nothing that {site.agent.name} waits for before it comes after the initialisation in the other CTA",),
        "Let all CTAs of the cluster meet once their barriers are initialised: tlx.cluster_barrier().",
    )
