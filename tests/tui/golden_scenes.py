"""The pictures in `golden`: what is shown, and how.

`PYTHONPATH=.:tests python tests/tui/golden_scenes.py` draws them again.

Traces are synthetic, or kept in `data`, so that neither the toolchain nor the simulator changes a picture.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import hung, pipeline
from textual.app import App
from textual.pilot import Pilot

from tlxviz.trace import LaunchTrace, Trace, load_trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.compare import CompareApp
from tlxviz.tui.linked import Link
from tlxviz.tui.window import Window

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"

Do = Callable[[Any, "Pilot[None]"], Awaitable[None]]


def gemm() -> Trace:
    """One tile of `kernels/hopper_gemm_ws.py`, 8 steps along K, simulated."""
    return load_trace(HERE / "data" / "gemm.tlxtrace")


async def settled(app: App[Any], pilot: Pilot[None]) -> None:
    """Until threads have found out what was asked for, and it is on screen."""
    for _ in range(3):
        await pilot.pause()
        await app.workers.wait_for_complete()
    await pilot.pause()


async def drawn(app: App[Any], size: tuple[int, int], do: Do | None = None) -> str:
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        if do is not None:
            await do(app, pilot)
            await settled(app, pilot)
        picture = app.export_screenshot()
    # names of styles are made unique by a hash of the content, for pages with several pictures
    picture = re.sub(r"terminal-\d+-", "terminal-", picture)
    return "".join(f"{line.rstrip()}\n" for line in picture.splitlines())


def slower() -> LaunchTrace:
    """`pipeline` with fewer iterations."""
    return replace(pipeline(9), cycles=950)


async def opened() -> str:
    return await drawn(TimelineApp(gemm(), "gemm"), (80, 24))


async def stall() -> str:
    """The longest wait, with the arrow from what ended it, and its causes."""

    async def do(app: TimelineApp, pilot: Pilot[None]) -> None:
        await pilot.press("z", "f", "s")

    return await drawn(TimelineApp(gemm(), "gemm"), (120, 36), do)


async def data() -> str:
    """An MMA with the dashed arrows from what filled A and B, on a light screen with the panel beside it."""

    async def do(app: TimelineApp, pilot: Pilot[None]) -> None:
        state = app.state
        events, tracks = state.launch.events, state.launch.tracks
        product = next(
            row
            for row in range(len(events))
            if tracks[events["track"][row]].name == "tensor core" and events["inner"][row] == 5
        )
        state.go_to(product)
        middle = int(events["begin"][product])
        state.window = Window(middle - 3500, middle + 1500)
        await pilot.press("t")

    return await drawn(TimelineApp(gemm(), "gemm"), (170, 30), do)


async def deadlock() -> str:
    async def do(app: TimelineApp, pilot: Pilot[None]) -> None:
        await pilot.press("8")

    return await drawn(TimelineApp(Trace([hung()]), "hung"), (80, 24), do)


async def tensor_memory() -> str:
    """Tiles of a kernel for Blackwell: reads of tensor memory, its slots, and the answers of the block scheduler."""

    async def do(app: TimelineApp, pilot: Pilot[None]) -> None:
        for name in ("cta 0/buffers", "cta 0/barriers"):
            app.state.put_on(name)
            await pilot.press("space")
            await settled(app, pilot)
        app.state.put_on("cta 0/epilogue")
        await pilot.press(".", ".")

    return await drawn(TimelineApp(Trace([tiles(2, 4, asks=True)]), "tiles"), (120, 36), do)


async def comparison() -> str:
    link = Link(Trace([pipeline(12)]), Trace([slower()]))
    return await drawn(CompareApp(link, ("twelve", "nine")), (120, 36))


SCENES: dict[str, Callable[[], Awaitable[str]]] = {
    each.__name__: each for each in (opened, stall, data, deadlock, tensor_memory, comparison)
}


def picture(name: str) -> str:
    async def run() -> str:
        return await SCENES[name]()

    return asyncio.run(run())


if __name__ == "__main__":
    for name in SCENES:
        (GOLDEN / f"{name}.svg").write_text(picture(name), encoding="utf-8")
