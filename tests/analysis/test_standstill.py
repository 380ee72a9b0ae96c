"""Who waits for whom in a launch that hangs."""

from __future__ import annotations

from typing import Any

from synthetic_traces import hung, launch

from tlxviz.analysis.hang import Hang, hang_of
from tlxviz.analysis.standstill import standstill


def _hang(waiting: dict[str, str], arriving: dict[str, list[str]], ended: tuple[str, ...] = (), **more: Any) -> Hang:
    """Warp groups that wait at barriers, and who arrives at each."""
    waiters = [{"agent": agent, "operation": "wait", "variable": name, "slot": 0} for agent, name in waiting.items()]
    arrivers = [
        {"agent": agent, "variable": name, "slot": -1, "ended": agent in ended}
        for name, agents in arriving.items()
        for agent in agents
    ]
    found = hang_of(launch(hang={"cta": 0, "waiters": waiters, "arrivers": arrivers, "ended": list(ended)} | more))
    assert found is not None
    return found


def test_two_that_wait_for_each_other_go_in_a_circle() -> None:
    why = standstill(_hang({"load": "empty", "mma": "full"}, {"empty": ["mma"], "full": ["load"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["load", "mma"])


def test_the_shortest_circle_without_those_who_only_wait_for_it() -> None:
    waiting = {"store": "done", "a": "x", "b": "y", "c": "z"}
    why = standstill(_hang(waiting, {"done": ["a"], "x": ["b"], "y": ["c", "a"], "z": ["a"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["a", "b"])


def test_one_may_wait_for_itself() -> None:
    why = standstill(_hang({"a": "x"}, {"x": ["a"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["a"])


def test_a_row_leads_to_somebody_who_has_ended() -> None:
    found = hang_of(hung())
    assert found is not None
    why = standstill(found)
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters], why.ended) == (False, ["mma"], ("load",))
    why = standstill(_hang({"a": "x", "b": "y"}, {"x": ["b"], "y": ["load"]}, ("load",)))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters], why.ended) == (False, ["a", "b"], ("load",))


def test_nobody_is_blamed_where_the_recorder_did_not_look() -> None:
    found = hang_of(launch(hang={"waiters": [{"agent": "a", "operation": "wait", "variable": "x", "slot": 0}]}))
    assert found is not None
    assert standstill(found) is None
    assert standstill(_hang({}, {})) is None


def test_a_barrier_at_which_nothing_arrives() -> None:
    why = standstill(_hang({"a": "x"}, {}))
    assert why is not None
    assert (why.circle, why.ended) == (False, ())
