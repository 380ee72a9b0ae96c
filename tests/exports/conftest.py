"""A browser for the pages that exports make."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from exports.open_page import OpenPage

CHROMIUM = ("chromium", "google-chrome", "chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Headless Chromium. Of one module: as long as Playwright runs, no other test can have an event loop."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium: Debian's package chromium has one")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser, tmp_path: Path) -> Iterator[Callable[..., OpenPage]]:
    """Opens a page of these bytes in a window; fails at the end if it has said an error or asked for anything."""
    opened: list[OpenPage] = []

    def opening(data: bytes, **options: object) -> OpenPage:
        file = tmp_path / f"page{len(opened)}.html"
        file.write_bytes(data)
        opened.append(OpenPage(browser, file, **options))
        return opened[-1]

    yield opening
    for each in opened:
        each.close()
        assert not each.errors
        assert each.requests == [each.url]
