"""A page in a browser, with what tests ask of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


class OpenPage:
    """A page in a window of its own, 1200 x 800 unless told otherwise."""

    def __init__(self, browser: Any, file: Path, *, size: tuple[int, int] = (1200, 800), **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.url = file.as_uri()
        self.page.goto(self.url)
        self.page.wait_for_selector("body[data-ready]", state="attached", timeout=10_000)
        self.drawn()

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def close(self) -> None:
        self.context.close()

    def drawn(self) -> None:
        """Waits until what was asked for is on screen; not for ever, if the browser draws no frames."""
        self.page.evaluate("""() => new Promise((done) => {
            requestAnimationFrame(() => requestAnimationFrame(done));
            setTimeout(done, 2000);
        })""")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.drawn()

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def type(self, text: str) -> None:
        """Searches."""
        self.press("/")
        self.page.keyboard.type(text)

    def says(self, text: str) -> None:
        """Waits until the line below the timeline says something."""
        self.page.locator("#status", has_text=text).wait_for(timeout=5000)

    @property
    def status(self) -> str:
        return self.text("#status")

    @property
    def window(self) -> tuple[float, float]:
        """SM cycles at the left and the right edge of the timeline."""
        return tuple(float(self.page.get_attribute("#timeline", f"data-{edge}")) for edge in ("begin", "end"))

    def place(self, lane: int, cycle: float) -> tuple[float, float]:
        """Where on the page a cycle of a lane is, counted from the top, as lanes stand that have room enough."""
        box = self.page.locator("#timeline").bounding_box()
        begin, end = self.window
        gutter = 118 if box["width"] < 600 else 160
        heights = [round(height * 1.6) for height in (20, *[24] * lane)]
        x = box["x"] + gutter + (cycle - begin) / (end - begin) * (box["width"] - gutter)
        return x, box["y"] + 24 + sum(heights[:lane]) + heights[lane] / 2

    def click(self, lane: int, cycle: float) -> None:
        self.page.mouse.click(*self.place(lane, cycle))
        self.drawn()

    def pixels(self, lane: int) -> np.ndarray:
        """Red, green and blue of the lane on screen: rows, columns, colours."""
        _, middle = self.place(lane, 0)
        top = middle - self.page.locator("#timeline").bounding_box()["y"] - 8
        script = """([top]) => {
            const canvas = document.getElementById("timeline");
            return Array.from(canvas.getContext("2d").getImageData(160, top, canvas.width - 160, 16).data);
        }"""
        data = self.page.evaluate(script, [round(top)])
        return np.array(data, np.uint8).reshape(16, -1, 4)[:, :, :3]
