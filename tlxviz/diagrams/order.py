"""Where the tracks of a CTA stand from left to right."""

from __future__ import annotations

from collections.abc import Iterable

from tlxviz.analysis.cta_view import CtaView
from tlxviz.trace.model import TrackKind


def from_left_to_right(view: CtaView, of: Iterable[int]) -> list[int]:
    """Tracks from left to right: those who copy, their engine, and the tensor core beside those who multiply."""
    tracks = list(dict.fromkeys(of))
    kinds = {
        track: {view.launch.sites[int(site)].kind for site in view.launch.events["site"][view.occupied.of_track(track)]}
        for track in tracks
    }

    def rank(track: int) -> int:
        row = view.launch.tracks[track]
        if row.kind is TrackKind.TMA:
            return 1
        if row.kind is TrackKind.TENSOR_CORE:
            return 3
        if row.kind is TrackKind.LAUNCH_CONTROL:
            return 6
        if "mma" in kinds[track]:
            return 2
        return 0 if "tma_load" in kinds[track] else 5

    tracks.sort(key=lambda track: (rank(track), view.launch.tracks[track].agent, track))
    multiplying = [track for track in tracks if rank(track) == 2]
    if any(rank(track) == 3 for track in tracks):
        for track in multiplying[(len(multiplying) + 1) // 2 :]:  # behind the tensor core
            tracks.remove(track)
            tracks.insert(max(at for at, each in enumerate(tracks) if rank(each) in (2, 3)) + 1, track)
    return tracks
