"""What goes from one CTA to another: exact counts of small kernels."""

from __future__ import annotations

from analysis.cluster_kernels import SLOTS, STEPS, TILE_BYTES, VECTOR_BYTES, copied, pair, shared
from analysis.synthetic_traces import pipeline
from sim.kernel_runner import fbtriton_only

from tlxviz.analysis.clusters import CrossingKind, clusters_of, crossings, sources_of_waits
from tlxviz.trace import LaunchTrace
from tlxviz.trace.clusters import Clusters

mapped = fbtriton_only("triton-utlx reaches no other CTA of a cluster")
Found = list[tuple[str, str, int, int, int, int, int]]


def found(launch: LaunchTrace) -> Found:
    """Kind, variable, source, target, count, bytes and waits of each, by source and target."""
    return [
        (str(each.kind), launch.sites[each.site].variable, each.source, each.target, each.count, each.bytes, each.waits)
        for each in crossings(launch)
    ]


def test_ranks_and_members() -> None:
    clusters = Clusters((4, 3, 2), (2, 1, 2))
    assert clusters.members(0) == (0, 1, 12, 13)
    assert [clusters.cluster_of(cta) for cta in (0, 1, 2, 13, 23)] == [0, 0, 1, 0, 5]
    assert [clusters.rank_of(cta) for cta in clusters.members(5)] == [0, 1, 2, 3]
    assert all(clusters.cluster_of(cta) == at for at in range(6) for cta in clusters.members(at))


def test_ctas_without_clusters_are_alone() -> None:
    clusters = Clusters((4, 3, 2), (1, 1, 1))
    assert (clusters.size, clusters.cluster_of(13), clusters.rank_of(13), clusters.members(13)) == (1, 13, 0, (13,))


@mapped
def test_arrivals_multicast_and_stores() -> None:
    launch = shared(4, ctas=[2]).trace
    # of each step, both consumers arrive on both barriers, and every wait for a slot that was used before is ended by
    # the arrival that takes longer, which is the one from the other CTA
    reused = STEPS - SLOTS
    assert found(launch) == [
        ("remote arrival", "empty", 2, 3, STEPS, 0, reused),
        ("remote store", "sums", 2, 3, 1, VECTOR_BYTES, 1),
        ("multicast", "tiles", 2, 3, STEPS, STEPS * TILE_BYTES, STEPS),
        ("remote arrival", "empty", 3, 2, STEPS, 0, reused),
        ("remote store", "sums", 3, 2, 1, VECTOR_BYTES, 1),
    ]
    assert clusters_of(launch).cluster_of(3) == 1


@mapped
def test_waits_are_as_long_as_their_events() -> None:
    launch = shared().trace
    events = launch.events
    waited = {(each.source, each.target, each.kind): each.waited for each in crossings(launch)}
    by_hand = 0
    for row in range(len(events)):
        cause = int(events["released_by"][row])
        kind = launch.sites[events["site"][row]].kind
        if kind == "wait" and cause >= 0 and launch.sites[events["site"][cause]].kind == "arrive":
            tracks = (launch.tracks[events["track"][each]].cta for each in (cause, row))
            by_hand += int(events["end"][row] - events["begin"][row]) if tuple(tracks) == (1, 0) else 0
    assert waited[1, 0, CrossingKind.ARRIVAL] == by_hand > 0


@mapped
def test_a_load_for_both_is_from_the_one_that_issued_it() -> None:
    launch = shared().trace
    sources = sources_of_waits(launch)
    for cta in (0, 1):
        rows = [
            row
            for row in range(len(launch.events))
            if launch.tracks[launch.events["track"][row]].cta == cta
            and launch.sites[launch.events["site"][row]].variable == "full"
            and launch.sites[launch.events["site"][row]].kind == "wait"
        ]
        assert [int(sources[row]) for row in rows] == [0] * STEPS


@mapped
def test_products_and_commits_of_a_pair() -> None:
    assert found(pair().trace) == [
        ("product of the pair", "sums", 0, 1, 1, 0, 1),
        ("product of the pair", "sums", 0, 1, 1, 0, 1),
        ("commit of the pair", "done", 0, 1, 1, 0, 0),
        ("remote arrival", "ready", 1, 0, 1, 0, 0),
    ]


@mapped
def test_copies_and_barriers_of_the_cluster() -> None:
    """CTA 1 comes last to both barriers: it expects bytes before the first, and waits for them before the second."""
    assert found(copied().trace) == [
        ("remote copy", "buf", 0, 1, 1, VECTOR_BYTES, 1),
        ("cluster barrier", "", 1, 0, 1, 0, 1),
        ("cluster barrier", "", 1, 0, 1, 0, 1),
    ]


def test_nothing_crosses_where_there_is_one_cta() -> None:
    assert crossings(pipeline()) == ()
