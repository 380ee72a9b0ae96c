"""How long the terminal timeline takes from a key to its picture: `view.py [MILLIONS]`. view.md says what came out.

The trace is that of `analysis.py`: `kernels/hopper_gemm_ws.py` at 8192 cubed, simulated: 19 CTAs are a million events.
220 columns and 60 lines, with CTAs, barriers and buffers unfolded until lanes fill the screen. A key is timed from when
it arrives until what the terminal would be sent is complete, as bytes; there is no terminal. No line that was drawn
before a key is used again. Up to 17 ms of a time are the wait for Textual's next frame; "computing" is the processor
time of a key, in which there is no such wait. A trace of several millions holds that of one million several times, one
launch after the other; it is made by a process of its own, so that the memory is that of looking at it.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from analysis import least, several, simulated  # noqa: E402
from rich.console import RenderableType  # noqa: E402
from textual._compositor import CompositorUpdate  # noqa: E402
from textual.events import Key  # noqa: E402
from textual.screen import Screen  # noqa: E402

from tlxviz.trace import load_trace, save_trace  # noqa: E402
from tlxviz.trace.model import Trace  # noqa: E402
from tlxviz.tui.app import TimelineApp  # noqa: E402
from tlxviz.tui.timeline import Timeline  # noqa: E402
from tlxviz.tui.toolkit import settle  # noqa: E402

SIZE = (220, 60)
LANES = 48
PRESSES = 60
QUIET = 0.04
"""Seconds without an update after which a picture counts as complete; more than a frame of Textual."""
SCENES = (("the CTA", 0), ("a tenth", 3), ("a thousandth", 10), ("a few events", 14))
KEYS = (("pan", "d"), ("zoom", "ws"), ("next slice", "."), ("lane", "jk"), ("fold", " "))
_NAMES = {".": "full_stop", " ": "space"}


class TimedApp(TimelineApp):
    """Knows when it last gave the terminal something to show."""

    first = 0.0
    """When it was for the first time."""
    shown = 0.0

    def _display(self, screen: Screen, renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        if isinstance(renderable, CompositorUpdate):
            renderable.render_segments(self.console)  # which Textual leaves out without a terminal
        self.shown = time.perf_counter()
        self.first = self.first or self.shown

    async def complete(self, since: float) -> float:
        """Seconds from `since` until the picture was complete; 0 if nothing changed."""
        while time.perf_counter() - max(self.shown, since) < QUIET:
            await asyncio.sleep(0.001)
        return max(0.0, self.shown - since)


async def first_picture(path: Path) -> tuple[float, float]:
    """Seconds from a path to the first picture, and until nothing is added to it any more, loading included."""
    start = time.perf_counter()
    app = TimedApp(load_trace(path), path.name)
    async with app.run_test(size=SIZE):
        whole = await app.complete(start)
        return app.first - start, whole


async def keys(path: Path) -> None:
    app = TimedApp(load_trace(path), path.name)
    async with app.run_test(size=SIZE) as pilot:
        state, timeline = app.state, app.query_one(Timeline)
        app.query_one("#drawer").add_class("hidden")
        state.folded -= {f"cta {cta}" for cta in state.seen.lanes.ctas[:4]}
        state.visible()
        state.folded = {key for key in state.folded if not key.startswith(("cta 0/", "cta 1/"))}
        state.changed()
        await pilot.pause()
        settle()
        lanes = sum(timeline.layout_now.lane_at(y) >= 0 for y in range(timeline.size.height))
        assert lanes >= LANES, lanes
        for scene, zooms in SCENES:
            state.window, state.cursor = state.cta_window(), sum(state.seen.lanes.life(0)) // 2
            state.changed()
            await pilot.press(*"w" * zooms)
            await app.complete(time.perf_counter())
            for what, presses in KEYS:
                state.lane = 0 if what == "fold" else 1  # one with events
                times: list[float] = []
                computing: list[float] = []
                for number in range(PRESSES):
                    timeline.forget()  # else what was drawn before is drawn in no time
                    start, before = time.perf_counter(), time.process_time()
                    key = presses[number % len(presses)]
                    app.post_message(Key(_NAMES.get(key, key), key))
                    times.append(await app.complete(start))
                    computing.append(time.process_time() - before)
                times.sort()
                computing.sort()
                p50, p95, most = (1e3 * times[place] for place in (PRESSES // 2, PRESSES * 95 // 100, -1))
                cpu = 1e3 * computing[PRESSES * 95 // 100]
                print(f"| {scene} | {what} | {p50:.0f} ms | {p95:.0f} ms | {most:.0f} ms | {cpu:.0f} ms |", flush=True)


def make(path: Path, millions: int) -> None:
    simulated(path)
    if millions > 1:
        [launch] = load_trace(path).launches
        save_trace(Trace([several(launch, millions)]), path, force=True)


def main() -> None:
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
        return
    millions = sys.argv[1] if len(sys.argv) > 1 else "1"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.tlxtrace"
        subprocess.run([sys.executable, __file__, "--make", path, millions], check=True)
        read = least(lambda: load_trace(path))
        count = len(load_trace(path).launches[0].events)
        first, whole = min(asyncio.run(first_picture(path)) for _ in range(5))
        print(f"{count:,} events: read in {1e3 * read:.0f} ms, first picture after {1e3 * first:.0f} ms, ", end="")
        print(f"all of it after {1e3 * whole:.0f} ms\n")
        print("| on screen | key | median | p95 | most | computing, p95 |")
        print("| --- | --- | ---: | ---: | ---: | ---: |")
        asyncio.run(keys(path))
        print(f"\nAt most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB of memory")


if __name__ == "__main__":
    main()
