"""Time by site, and which sites end waits: `pipeline` of synthetic_traces, by hand."""

from __future__ import annotations

import pytest
from analysis.synthetic_traces import Scene, launch, pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.causes import Cause
from tlxviz.analysis.stalls import EndedWait, ended_waits, site_times


def test_time_by_site() -> None:
    made = pipeline(10)
    found = {made.sites[each.site].kind: each for each in site_times(Account(made)) if each.group == 1}
    assert {kind: (each.cycles, each.waits) for kind, each in found.items()} == {
        "wait": (300, True),
        "mma": (100, False),
        "mma_wait": (500, True),
        "arrive": (40, False),
    }
    assert found["mma_wait"].share == pytest.approx(0.5)
    assert found["wait"].cause is Cause.COPY_LATENCY
    assert found["mma_wait"].cause is Cause.TENSOR_CORE


def test_who_ends_waits() -> None:
    """Of ten waits for a slot or data, nothing ends the first; those for products are ended by the tensor core."""
    assert ended_waits(Account(pipeline(10))) == (
        EndedWait(0, 0, 6, pytest.approx(0.36)),
        EndedWait(1, 3, 2, pytest.approx(0.27)),
        EndedWait(1, 5, 4, pytest.approx(0.5)),
    )


def test_shares_are_over_all_ctas() -> None:
    scene = Scene()
    for cta, cycles in ((0, 100), (1, 300)):
        group = scene.group("only", 0, cycles, cta=cta, sm=cta)
        scene.event(group, "tma_store_wait", 0, 100)
    (only,) = site_times(Account(scene.launch()))
    assert (only.cycles, only.share) == (200, pytest.approx(0.5))


def test_nothing_recorded() -> None:
    account = Account(launch())
    assert site_times(account) == ended_waits(account) == ()
