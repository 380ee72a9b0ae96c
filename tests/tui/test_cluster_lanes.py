"""CTAs of a cluster in the timeline: their group, and arrows from one to another."""

from __future__ import annotations

import asyncio

import numpy as np
from textual.pilot import Pilot
from tui.cluster_scene import rings
from tui.golden_scenes import settled
from tui.ring_scene import ARRIVE, EMPTY, LOAD, event, look, ring

from tlxviz.trace import Trace
from tlxviz.tui.app import TimelineApp
from tlxviz.tui.arrows import arrows
from tlxviz.tui.lanes import Lanes
from tlxviz.tui.legend import lane_text
from tlxviz.tui.lines import head
from tlxviz.tui.state import State

LOAD_0, MMA_0, TMA_0, LOAD_1, MMA_1, TMA_1 = 0, 1, 2, 4, 5, 6


def names(state: State) -> list[str]:
    return [f"{' ' * lane.depth}{lane.label}" for lane in state.visible()]


class TestGroups:
    def test_ctas_stand_below_their_cluster(self) -> None:
        state = State.of(Trace([rings()]))
        assert names(state)[:3] == ["cluster 0", " CTA 0 rank 0", "  load"]
        assert names(state)[-2:] == [" CTA 1 rank 1", "cluster 1"]

    def test_without_clusters_there_is_no_group(self) -> None:
        assert names(State.of(Trace([ring(ctas=2)])))[0] == "CTA 0"

    def test_a_cluster_is_folded(self) -> None:
        state = State.of(Trace([rings()]))
        state.lane = 0
        state.fold()
        assert names(state) == ["cluster 0", "cluster 1"]

    def test_a_lane_in_a_cluster_folds_what_it_is_in(self) -> None:
        state = State.of(Trace([rings()]))
        state.put_on("cta 1")
        state.fold()
        assert state.cta == 1
        assert " CTA 1 rank 1" in names(state)
        assert names(state).count("  load") == 2

    def test_a_cluster_shows_what_its_ctas_do(self) -> None:
        lanes = Lanes(rings())
        whole = lanes.roots[0].slices
        parts = [lanes.heads[cta].slices for cta in (0, 1)]
        assert whole.life == (0, 500)
        edges = np.arange(0, 501, 20)
        assert np.array_equal(whole.coverage(edges), sum(part.coverage(edges) for part in parts))

    def test_a_cluster_is_found_by_its_key(self) -> None:
        lanes = Lanes(rings())
        found = lanes.find("cluster 1")
        assert found is not None
        assert [lane.label for lane in found.own] == ["CTA 2 rank 0", "CTA 3 rank 1"]
        assert lanes.find("cluster 7") is None
        assert lane_text(lanes.launch, found) == ("the CTAs of a cluster, by what they do; <fold> hides or shows them")


class TestWays:
    def test_arrows_know_that_they_cross(self) -> None:
        launch = rings()
        wait = event(launch, LOAD_0, EMPTY, 2)
        assert [(each.source, each.target, each.crosses) for each in arrows(launch, wait)] == [
            (event(launch, MMA_1, ARRIVE, 0), wait, True)
        ]
        issue = event(launch, LOAD_0, LOAD, 1)
        assert [(each.target, each.crosses) for each in arrows(launch, issue)] == [
            (event(launch, TMA_0, LOAD, 1), False),
            (event(launch, TMA_1, LOAD, 1), True),
        ]

    def test_a_release_leads_to_the_other_cta_and_time_stays(self) -> None:
        launch = rings()
        state = State.of(Trace([launch]))
        state.go_to(event(launch, LOAD_0, EMPTY, 2))
        window = state.window = state.window.zoomed(0.5, 200, state.seen.whole)
        state.go_to(event(launch, MMA_1, ARRIVE, 0))
        assert (state.cta, state.window) == (1, window)
        current = state.current()
        assert current is not None
        assert current.key == "cta 1/mma"

    def test_an_event_of_another_cluster_opens_it(self) -> None:
        launch = rings()
        state = State.of(Trace([launch]))
        state.go_to(event(launch, 8, EMPTY, 2))
        assert state.cta == 2
        assert names(state).index("cluster 1") < names(state).index(" CTA 2 rank 0")
        assert state.folded.isdisjoint({"cluster 1", "cta 2"})


def lines(keys: str, size: tuple[int, int] = (80, 30)) -> list[str]:
    async def press(app: TimelineApp, pilot: object) -> None:
        assert isinstance(pilot, Pilot)
        state = app.state
        state.go_to(event(state.launch, LOAD_0, EMPTY, 2))
        state.changed()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await settled(app, pilot)

    return asyncio.run(look(rings(), size, press))


def test_the_line_above_names_the_rank() -> None:
    state = State.of(Trace([rings()]))
    state.open_cta(3)
    assert head(state, 80).startswith("kernel  CTA 3  rank 1 of cluster 1  ")


class TestOnScreen:
    def test_an_arrow_from_another_cta_is_double(self) -> None:
        """The second CTA is folded into its own line, from which the arrow comes."""
        shown = lines("")
        first, second = (next(line for line in shown if label in line) for label in ("load ", "CTA 1 rank 1"))
        assert "═▶" in first or "▲" in first
        assert "╝" in second
        assert any("║" in line for line in shown)

    def test_a_key_follows_it(self) -> None:
        shown = lines("[")
        mma = [line for line in shown if line.lstrip().startswith("mma")]
        assert "▶" in mma[1][:17]  # where the cursor is
        assert "╔" in next(line for line in shown if "load " in line)
        assert "║" in next(line for line in shown if "CTA 1 rank 1" in line)

    def test_everything_fits_into_60_columns(self) -> None:
        assert {len(line) for line in lines("", (60, 24))} == {60}
