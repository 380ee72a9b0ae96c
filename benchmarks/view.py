"""How long the terminal timeline takes from a key to the picture: `view.py [EVENTS_IN_MILLIONS]`. view.md says what came out.

The trace is that of `analysis.py`: `kernels/hopper_gemm_ws.py` at 8192 cubed, 19 CTAs, a million events. Several CTAs are
unfolded so that 48 lanes are on screen, 220 columns wide. A key is timed from the press to the bytes that the terminal
would be sent; the terminal itself is none.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from analysis import least, several, simulated  # noqa: E402

from tlxviz.trace import load_trace, save_trace  # noqa: E402
from tlxviz.trace.model import Trace  # noqa: E402
from tlxviz.tui.app import TimelineApp  # noqa: E402
from tlxviz.tui.timeline import Timeline  # noqa: E402

WIDTH, HEIGHT = 220, 60
LANES = 48
PRESSES = 40
Press = Callable[[str], Awaitable[None]]


def percentile(times: list[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


async def first_picture(path: Path) -> float:
    """Seconds from a path to the first picture."""
    start = time.perf_counter()
    app = TimelineApp(load_trace(path), path.name)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.pause(0)
        await drawn(app)
        return time.perf_counter() - start


async def drawn(app: TimelineApp) -> None:
    """Until everything that waits to be drawn has been."""
    screen = app.screen
    for _ in range(200):
        await asyncio.sleep(0)
        if not screen._dirty_widgets and not screen._callbacks and screen._message_queue.empty():
            break
    screen._on_timer_update()
    app.screen._compositor.render_update(full=False)


async def keys(path: Path) -> None:
    app = TimelineApp(load_trace(path), path.name)
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        await pilot.pause()
        state, timeline = app.state, app.query_one(Timeline)
        app.query_one("#drawer").add_class("hidden")
        for cta in state.seen.lanes.ctas[1:4]:
            state.folded.discard(f"cta {cta}")
        for key in list(state.folded):
            if key.startswith("cta 0/") or key.startswith("cta 1/"):
                state.folded.discard(key)
        state.changed()
        await pilot.pause()
        lines = sum(timeline.lane_at(y) >= 0 for y in range(timeline.size.height))
        assert lines >= LANES, lines

        async def timed(key: str, times: list[float]) -> None:
            start = time.perf_counter()
            app.post_message(_key(key))
            await drawn_after(app, start, times)

        for name, zooms in (("whole", 0), ("a tenth", 3), ("a thousandth", 10), ("a few events", 14)):
            app.action_whole()
            await pilot.pause()
            for _ in range(zooms):
                await pilot.press("w")
            await pilot.pause()
            for what, presses in (("pan", "d"), ("zoom", "ws"), ("cursor", "."), ("lane", "jk")):
                times: list[float] = []
                for number in range(PRESSES):
                    await timed(presses[number % len(presses)], times)
                p50, p95 = (1e3 * percentile(times, each) for each in (50, 95))
                print(f"| {name} | {what} | {p50:.0f} ms | {p95:.0f} ms |", flush=True)


def _key(key: str):  # noqa: ANN202
    from textual.events import Key

    return Key({".": "full_stop"}.get(key, key), key if len(key) == 1 else None)


async def drawn_after(app: TimelineApp, start: float, times: list[float]) -> None:
    """Appends the seconds from `start` until the picture has changed, the update being rendered at once."""
    done = asyncio.Event()
    written = app._driver.write if app._driver else None
    last = [0.0]
    display = app._display

    def timed_display(screen: object, renderable: object) -> None:
        display(screen, renderable)  # pyright: ignore
        last[0] = time.perf_counter()
        done.set()

    app._display = timed_display  # type: ignore[method-assign]
    try:
        await asyncio.wait_for(done.wait(), 2)
        # what follows within a frame belongs to it
        while True:
            done.clear()
            try:
                await asyncio.wait_for(done.wait(), 0.04)
            except TimeoutError:
                break
    except TimeoutError:
        last[0] = start
    finally:
        app._display = display  # type: ignore[method-assign]
    del written
    times.append(last[0] - start)


async def main() -> None:
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder) / "first.tlxtrace"
        if len(sys.argv) <= 2:
            simulated(path)
        if millions > 1:
            [launch] = load_trace(path).launches
            path = Path(folder) / "more.tlxtrace"
            save_trace(Trace([several(launch, millions)]), path)
        read = least(lambda: load_trace(path))
        events = len(load_trace(path).launches[0].events)
        opened = min([await first_picture(path) for _ in range(3)])
        print(f"{events:,} events: read {1e3 * read:.0f} ms, first picture {1e3 * opened:.0f} ms, {opened / read:.1f} times")
        print("| on screen | key | median | p95 |")
        print("| --- | --- | ---: | ---: |")
        await keys(path)


if __name__ == "__main__":
    asyncio.run(main())
