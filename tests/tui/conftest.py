"""What tests of the timeline share."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from time import monotonic

import pytest
import textual._wait
from textual._context import active_app
from textual.app import App, ScreenStackError


async def _quiet(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Returns when nothing is left to do but to wait for a key, and all of it is on screen."""
    loop, app, until = asyncio.get_running_loop(), active_app.get(), monotonic() + max_sleep
    while monotonic() < until:
        while loop._ready and monotonic() < until:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        if any(each.is_running for each in app.workers):
            await textual._wait.wait_for_idle(min_sleep, until - monotonic())
        _draw(app)
        if not loop._ready:  # type: ignore[attr-defined]
            break


def _draw(app: App[object]) -> None:
    """What Textual does with its next frame, now."""
    try:
        app.screen._on_timer_update()
    except ScreenStackError:  # the app is at its end
        return


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has Textual's pilot go on as soon as a key is dealt with, where it sleeps 20 ms at a time; with no animations."""
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", _quiet)


@pytest.fixture(scope="session", autouse=True)
def rare_collections() -> Iterator[None]:
    """Has garbage collection go through what all those programs leave less often: a sixth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    yield
    gc.set_threshold(*before)


@pytest.fixture
def folders_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the user's own."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
