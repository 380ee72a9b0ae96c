"""What crosses CTAs, as a sentence."""

from __future__ import annotations

from tlxviz.analysis.across import Across
from tlxviz.reporters.layout import percent, plural, size, whole


def across_words(found: Across) -> str:
    """`Between the traced CTAs, in clusters of 2 x 1 x 1: 48 KiB by multicast, 12 remote arrivals; 16 waits ...`."""
    parts = [f"{size(count)} by {way}" for count, way in _moved(found) if count]
    parts += [plural(found.arrivals, "remote arrival")] if found.arrivals else []
    parts += [f"{plural(found.products, 'product')} of pairs"] if found.products else []
    said = ", ".join(parts) or "nothing that is recorded"
    where = f"Between the traced CTAs, in clusters of {' x '.join(map(str, found.cluster))}: {said}"
    if not found.waits:
        return f"{where}; no wait is ended by another CTA."
    share, mean = percent(found.share), whole(found.waited / found.waits)
    waits = f"{plural(found.waits, 'wait')} for other CTAs take {share} of the warp groups' time, mean {mean}"
    what = f"{found.kind} {found.variable}".rstrip() + (f" (line {found.line})" if found.line else "")
    return f"{where}; {waits} cycles, most of it for {what}."


def _moved(found: Across) -> tuple[tuple[int, str], ...]:
    return (found.multicast_bytes, "multicast"), (found.stored_bytes, "stores and copies")
