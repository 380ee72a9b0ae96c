"""How fast the page of `tlxviz export --to html` is: `page.py [MILLIONS]`. export.md says what came out.

The trace is that of `analysis.py`, a million events or several. The page is looked at in headless Chromium, which draws
without a GPU, at 1440 x 900 and two densities of pixels, with lanes of CTAs unfolded that fill the screen. A frame's
time is that between two calls of requestAnimationFrame while every frame pans, so it is 17 ms at least; "drawing" is
what the page's own code takes of it. Each scene is measured several times, and the best is taken: other programs share
the cores.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from analysis import least  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from view import make  # noqa: E402

from tlxviz.exports.html.writer import html  # noqa: E402
from tlxviz.exports.selection import Selection, cut  # noqa: E402
from tlxviz.trace import load_trace  # noqa: E402

SCENES = (("everything", 0), ("a tenth", 6), ("a thousandth", 17), ("a few events", 25))
FRAMES = 120
TIMES = 5

TIMED = """
    const next = requestAnimationFrame.bind(window);
    window.untimed = next;
    window.drawing = [];
    window.requestAnimationFrame = (draw) => next((now) => {
        const start = performance.now();
        draw(now);
        window.drawing.push(performance.now() - start);
    });
"""
"""Notes how long each of the page's own frames takes."""
PAN = """frames => new Promise(done => {
    const times = [];
    window.drawing.length = 0;
    let last = 0, left = frames;
    const frame = now => {
        if (last) times.push(now - last);
        last = now;
        if (!left--) return done([times, window.drawing]);
        document.dispatchEvent(new KeyboardEvent("keydown", {key: left % 40 < 20 ? "d" : "a"}));
        untimed(frame);
    };
    untimed(frame);
})"""


def read(path: Path) -> int:
    """Loads a trace and goes over its columns once."""
    [launch] = load_trace(path).launches
    return sum(int(column.sum()) for column in launch.events.columns.values())


def write(path: Path) -> bytes:
    [launch] = load_trace(path).launches
    return html([cut(launch, 0, Selection())])


def panning(page: Page, density: int) -> None:
    lane = 1
    for head in (7, 14, 21):  # unfolds CTAs 1 to 3: lanes fill the screen
        for _ in range(head - lane):
            page.keyboard.press("ArrowDown")
        page.keyboard.press(" ")
        lane = head
    for scene, zooms in SCENES:
        page.keyboard.press("0")
        for _ in range(zooms):
            page.keyboard.press("w")
        runs = [[sorted(each) for each in page.evaluate(PAN, FRAMES)] for _ in range(TIMES)]
        frames, drawing = min(runs, key=lambda run: run[0][FRAMES * 95 // 100])
        median, p95, most = (frames[place] for place in (FRAMES // 2, FRAMES * 95 // 100, -1))
        own = f"{drawing[len(drawing) // 2]:.1f} ms | {drawing[len(drawing) * 95 // 100]:.1f} ms"
        print(f"| {density} | {scene} | {median:.0f} ms | {p95:.0f} ms | {most:.0f} ms | {own} |", flush=True)


def main() -> None:
    millions = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder) / "first.tlxtrace", Path(folder) / "first.html"
        make(path, millions)
        reading, writing = least(lambda: read(path)), least(lambda: write(path))
        file.write_bytes(write(path))
        count = len(load_trace(path).launches[0].events)
        print(
            f"{count:,} events, {path.stat().st_size / 1e6:.2f} MB: read in {1e3 * reading:.0f} ms, exported in ",
            end="",
        )
        print(f"{1e3 * writing:.0f} ms ({writing / reading:.1f} times), page of {file.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for density in (1, 2):
                page = browser.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=density)
                page.add_init_script(TIMED)
                start = time.perf_counter()
                page.goto(file.as_uri())
                page.wait_for_selector("body[data-ready]", state="attached")
                if density == 1:
                    print(f"shown after {time.perf_counter() - start:.2f} s\n")
                    print("| density | on screen | median | p95 | most | drawing, median | p95 |")
                    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: |")
                panning(page, density)
                page.close()
            browser.close()


if __name__ == "__main__":
    main()
