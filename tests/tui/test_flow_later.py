"""Where data go is found out beside the timeline: what happens when it is known only after somebody went on."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest
from analysis.synthetic_traces import pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.flow import DataFlow
from tlxviz.trace import Trace
from tlxviz.tui import flowing
from tlxviz.tui.compare import CompareApp
from tlxviz.tui.linked import A, B, Link
from tlxviz.tui.state import State


def test_the_focus_stays_where_it_is_when_the_other_traces_data_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, found = Event(), Event()

    def work(account: Account) -> DataFlow:
        go_on.wait(10)
        found.set()
        return account.flow

    monkeypatch.setattr(flowing, "flow_work", work)

    async def main() -> tuple[int, bool]:
        link = Link(Trace([pipeline(12)]), Trace([pipeline(9)]))
        async with CompareApp(link).run_test(size=(120, 40)) as pilot:
            await pilot.press("j", "full_stop")
            assert link.sides[A].event is not None
            await pilot.press("tab")
            assert link.lead == B
            go_on.set()
            while not found.is_set():
                await asyncio.sleep(0)
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
            return link.lead, flowing.flow_of(link.sides[A]) is not None

    assert asyncio.run(main()) == (B, True)


def test_another_launch_has_none_of_the_events_that_the_last_key_could_have_gone_to() -> None:
    state = State.of(Trace([pipeline(12), pipeline(2)]))
    state.go_to(0)
    state.together = (0, len(state.launch.events) - 1)
    state.open_launch(1)
    state.go_to(0)
    assert flowing.among(state, 1) == ""
    assert state.event == 0
