"""What happened in a launch, in words: events, tracks, and the launch itself."""

from __future__ import annotations

import math

from tlxviz._errors import UsageError
from tlxviz.analysis.account import Account
from tlxviz.analysis.cta_view import CtaView, cta_view, reference, typical
from tlxviz.trace.model import LaunchTrace, TrackKind
from tlxviz.trace.vocabulary import answer_text, meaning

_NAMED = frozenset({"named_wait", "named_arrive"})
_IN_TENSOR_MEMORY = "ttng.tc_gen5_mma"
"""How the names of the operations begin whose sums are in tensor memory, and have names of their own."""


def event_words(launch: LaunchTrace, row: int) -> str:
    """What an event does, and to what: `wait full[3]`."""
    events, number = launch.events, int(launch.events["site"][row])
    track = launch.tracks[int(events["track"][row])]
    if number < 0:
        return track.name
    site, slot = launch.sites[number], int(events["slot"][row])
    if track.kind is TrackKind.LAUNCH_CONTROL:
        return answer_text(slot)
    known = meaning(site.kind, track.kind)
    verb = known.label if known is not None else site.kind
    if site.kind in _NAMED:
        return f"{verb} {slot}" if slot >= 0 else verb
    if not site.variable or (site.kind == "mma" and not site.text.startswith(_IN_TENSOR_MEMORY)):
        return verb
    which = f"[{slot}]" if slot >= 0 and known is not None and "slot" in known.columns else ""
    # what the compiler made has no name that anybody knows
    name = "a barrier" if site.variable.startswith("%") and site.kind == "wait" else f"{site.variable}{which}"
    return f"{verb} {name}"


def line_of_event(launch: LaunchTrace, row: int) -> int:
    """In the kernel's source; 0 where none is known."""
    number = int(launch.events["site"][row])
    return launch.sites[number].line if number >= 0 else 0


def track_name(view: CtaView, track: int, beside: int | None = None) -> str:
    """With its CTA where it is another one than that of the track `beside`, or else than the view's."""
    row = view.launch.tracks[track]
    own = view.cta if beside is None else view.launch.tracks[beside].cta
    return row.name if row.cta == own else f"{row.name} of CTA {row.cta}"


def doer_words(view: CtaView, row: int) -> str:
    """Which warp group is behind an event, and in which iteration: `mma.0, iteration 7`."""
    doer, track = view.doer(row), view.doer_track(row)
    name = track_name(view, track if track >= 0 else int(view.made.track[row]))
    number = view.iteration_of(doer) if doer >= 0 else -1
    return f"{name}, iteration {number}" if number >= 0 else name


def viewed(launch: LaunchTrace, cta: int | None) -> tuple[Account, CtaView]:
    """A CTA of a launch. Raises UsageError where nothing of it is known."""
    account = Account(launch)
    traced = sorted({track.cta for track in launch.tracks if track.kind is TrackKind.WARP_GROUP})
    ctas = math.prod(launch.grid)
    if cta is not None and cta >= ctas:
        raise UsageError(f"{launch.kernel} has no CTA {cta}: it has 0 to {ctas - 1}.")
    if not len(launch.events) or not traced:
        raise UsageError(f"no event of {launch.kernel} was recorded, so there is no time to show.")
    view = cta_view(account, cta)
    if view is None:
        more = "" if len(traced) <= 8 else f" and {len(traced) - 8} more"
        raise UsageError(f"CTA {cta} was not traced: there is {', '.join(map(str, traced[:8]))}{more}.")
    return account, view


def chosen_iterations(view: CtaView, given: tuple[int, int] | None, count: int) -> tuple[int, int, int]:
    """The warp group that sets the pace, and its first and last iteration to show.

    Args:
        given: As somebody asked for them, with the one behind the last; None for `count` typical ones.

    Raises UsageError where it has none such.
    """
    track = reference(view)
    if track is None:
        raise UsageError(f"no warp group of CTA {view.cta} has a loop whose iterations were recorded.")
    name, there = view.launch.tracks[track].name, len(view.loops[track])
    if given is None:
        first = typical(view, track, count)
        if first is None:
            has = f"{name} has {there}" if there > 1 else f"{name} has one"
            option = "--iteration 0" if count == 1 else f"--iterations 0:{there}"
            raise UsageError(
                f"CTA {view.cta} has no steady state, which takes some iterations of about one length: {has}. "
                f"{option} shows {'the first' if count == 1 else 'them'}."
            )
        return track, first, min(first + count, there) - 1
    if given[0] >= there:
        raise UsageError(f"{name} of CTA {view.cta} has no iteration {given[0]}: it has 0 to {there - 1}.")
    return track, given[0], min(given[1], there) - 1
