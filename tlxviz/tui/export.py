"""What is on screen, as a file in the current folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from textual.app import App

from tlxviz._errors import TlxvizError
from tlxviz.trace.file import numbered_path
from tlxviz.trace.whole import write_whole


def screen_text(app: App[Any]) -> str:
    """The screen, line by line, with no space at the ends of lines."""
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "".join(strip.text.rstrip() + "\n" for strip in strips)


def save_screen(app: App[Any], name: str, *, picture: bool) -> str:
    """Writes the screen to `name.svg` or `name.txt`, numbered where that is taken.

    Returns:
        What became of it.
    """
    stem = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "timeline"
    content = app.export_screenshot() if picture else screen_text(app)
    path = Path(stem + (".svg" if picture else ".txt"))
    try:
        path = numbered_path(path)
        write_whole(path, content.encode())
    except TlxvizError as error:
        return str(error)
    except OSError as error:  # the current folder is gone
        return f"cannot write {path}: {error.strerror or error}"
    return f"written: {path}"
