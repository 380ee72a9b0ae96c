"""What the report says of CTAs that form clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analysis.synthetic_traces import pipeline

from tlxviz.analysis.across import Across, across
from tlxviz.analysis.clusters import crossings
from tlxviz.reporters.across import across_words
from tlxviz.trace import LaunchTrace, TrackKind, load_trace

DATA = Path(__file__).parents[1] / "diagrams" / "data"


def shared_ring() -> LaunchTrace:
    """Two CTAs; six tiles of 8 KiB by multicast, six arrivals and a store of 256 B each way."""
    return load_trace(DATA / "shared_ring.tlxtrace").launches[0]


def test_sums() -> None:
    launch = shared_ring()
    found = across(launch)
    assert found is not None
    assert (found.cluster, found.multicast_bytes, found.stored_bytes) == ((2, 1, 1), 6 * 8192, 2 * 256)
    assert (found.arrivals, found.products, found.waits) == (12, 0, 16)
    assert found.waited == sum(each.waited for each in crossings(launch))
    groups = [track for track in launch.tracks if track.kind is TrackKind.WARP_GROUP]
    assert found.share == found.waited / sum(track.end - track.begin for track in groups)
    assert (found.kind, found.variable, found.line) == ("remote arrival", "empty", 34)


def test_without_clusters_there_is_nothing_to_say() -> None:
    assert across(pipeline()) is None


WORDS = Across((2, 1, 1), 49152, 512, 12, 0, 16, 4800, 0.25, "remote arrival", "empty", 34)


def test_a_sentence() -> None:
    assert across_words(WORDS) == (
        "Between the traced CTAs, in clusters of 2 x 1 x 1: 48 KiB by multicast, 512 B by stores and copies, 12 remote "
        "arrivals; 16 waits for other CTAs take 25.0% of the warp groups' time, mean 300 cycles, most of it for remote "
        "arrival empty (line 34)."
    )


def test_a_sentence_of_pairs_that_wait_for_nobody() -> None:
    alone = replace(WORDS, multicast_bytes=0, stored_bytes=0, arrivals=1, products=2, waits=0)
    assert across_words(alone) == (
        "Between the traced CTAs, in clusters of 2 x 1 x 1: 1 remote arrival, 2 products of pairs; no wait is ended by "
        "another CTA."
    )
