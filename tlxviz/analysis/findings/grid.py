"""Rules about the grid and the launch."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings.finding import Finding, Severity, rule
from tlxviz.trace.model import TrackKind

_EVEN = 0.85
_LAUNCH = 0.2
_SHORT_CYCLES = 20_000


@rule("lopsided-grid")
def lopsided_grid(account: Account) -> Iterator[Finding]:
    """The last wave leaves SMs without work."""
    seen = account.coverage
    sms = account.launch.device.get("limits", {}).get("sms")
    if not (seen.ctas and seen.ctas_per_sm and seen.waves and isinstance(sms, int)):
        return
    room = seen.waves * seen.ctas_per_sm * sms
    filled = seen.ctas / room
    if filled >= _EVEN:
        return
    if seen.waves == 1:
        who = "1 CTA leaves" if seen.ctas == 1 else f"{seen.ctas} CTAs leave"
        text = f"{who} {1 - filled:.0%} of the {sms} SMs' room without work"
        advice = "smaller tiles, or split K, give more CTAs; as many as SMs take, or a multiple of that"
    elif any(each.kind is TrackKind.LAUNCH_CONTROL for each in account.launch.tracks):
        wave = seen.ctas_per_sm * sms
        text = f"{seen.ctas} tiles for {wave} CTAs at a time: {1 - filled:.0%} of the room stays empty at the end"
        advice = (
            "a number of tiles just below a multiple of what the SMs take, smaller tiles, or split K for the last "
            "ones; cluster launch control evens out tiles that differ in length, and no number of them"
        )
    else:
        wave = seen.ctas_per_sm * sms
        text = f"{seen.ctas} CTAs take {seen.waves} waves of {wave}: {1 - filled:.0%} of the room stays empty"
        advice = (
            "a number of tiles just below a multiple of what the SMs take, split K for the last ones, or a persistent "
            "kernel"
        )
    yield Finding(
        "lopsided-grid",
        Severity.PROBLEM if seen.waves > 1 else Severity.HINT,
        1 - filled,
        text,
        advice,
        evidence={"ctas": seen.ctas, "waves": seen.waves, "filled": filled},
    )


@rule("short-launch")
def short_launch(account: Account) -> Iterator[Finding]:
    """A launch that is hardly longer than launching takes."""
    path = account.path
    if path is None or not path.cycles or path.cycles > _SHORT_CYCLES:
        return
    share = (path.start + path.between + path.rest) / path.cycles
    if share < _LAUNCH:
        return
    yield Finding(
        "short-launch",
        Severity.HINT,
        share,
        f"{share:.0%} of these {path.cycles:,} cycles go by before, between and after the CTAs",
        "do more in one launch, or fuse it with its neighbours; a CUDA graph hides the host's part only",
        evidence={"share": share, "cycles": path.cycles},
    )
