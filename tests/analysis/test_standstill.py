"""Who waits for whom in a launch that hangs."""

from __future__ import annotations

from typing import Any

from synthetic_traces import hung, launch, pipeline

from tlxviz.analysis.hang import hang_of
from tlxviz.analysis.hang_words import reason
from tlxviz.analysis.standstill import Standstill, standstill
from tlxviz.trace import LaunchTrace


def why_of(made: LaunchTrace) -> Standstill | None:
    found = hang_of(made)
    assert found is not None
    return standstill(made, found)


def _hang(
    waiting: dict[str, str], arriving: dict[str, list[str]], ended: tuple[str, ...] = (), **more: Any
) -> LaunchTrace:
    """Warp groups that wait at barriers, and who arrives at each."""
    waiters = [{"agent": agent, "operation": "wait", "variable": name, "slot": 0} for agent, name in waiting.items()]
    arrivers = [
        {"agent": agent, "variable": name, "slot": -1, "ended": agent in ended}
        for name, agents in arriving.items()
        for agent in agents
    ]
    return launch(hang={"cta": 0, "waiters": waiters, "arrivers": arrivers, "ended": list(ended)} | more)


def test_two_that_wait_for_each_other_go_in_a_circle() -> None:
    why = why_of(_hang({"load": "empty", "mma": "full"}, {"empty": ["mma"], "full": ["load"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["load", "mma"])


def test_the_shortest_circle_without_those_who_only_wait_for_it() -> None:
    waiting = {"store": "done", "a": "x", "b": "y", "c": "z"}
    why = why_of(_hang(waiting, {"done": ["a"], "x": ["b"], "y": ["c", "a"], "z": ["a"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["a", "b"])


def test_one_may_wait_for_itself() -> None:
    why = why_of(_hang({"a": "x"}, {"x": ["a"]}))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["a"])


def test_a_row_leads_to_somebody_who_has_ended() -> None:
    why = why_of(hung())
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters], why.ended) == (False, ["mma"], ("load",))
    why = why_of(_hang({"a": "x", "b": "y"}, {"x": ["b"], "y": ["load"]}, ("load",)))
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters], why.ended) == (False, ["a", "b"], ("load",))


def test_nobody_is_blamed_where_the_recorder_did_not_look() -> None:
    waiter = {"agent": "a", "operation": "wait", "variable": "x", "slot": 0}
    assert why_of(launch(hang={"waiters": [waiter]})) is None
    assert why_of(_hang({}, {})) is None


def test_a_barrier_at_which_nothing_arrives() -> None:
    why = why_of(_hang({"a": "x"}, {}))
    assert why is not None
    assert (why.circle, why.ended) == (False, ())


def test_who_has_arrived_in_the_phase_is_not_waited_for() -> None:
    made = pipeline(1)
    # in this trace `mma` arrives once on empty[0], at phase 0
    made.hang = {
        "cta": 0,
        "waiters": [
            {"agent": "load", "operation": "wait", "variable": "empty", "slot": 0, "cta": 0}
            | {"count": 2, "pending": 1, "completed_phases": 0},
            {"agent": "mma", "operation": "wait", "variable": "full", "slot": 0, "cta": 0},
            {"agent": "other", "operation": "wait", "variable": "full", "slot": 0, "cta": 0},
        ],
        "arrivers": [
            {"agent": "mma", "variable": "empty", "slot": -1, "line": 47},
            {"agent": "other", "variable": "empty", "slot": -1, "line": 50},
            {"agent": "load", "variable": "full", "slot": -1, "line": 40},
        ],
    }
    why = why_of(made)
    assert why is not None
    assert (why.circle, [each.agent for each in why.waiters]) == (True, ["load", "other"])
    made.hang["waiters"][0]["completed_phases"] = 1
    why = why_of(made)
    assert why is not None
    assert [each.agent for each in why.waiters] == ["load", "mma"]


def test_ctas_of_a_cluster_are_told_apart() -> None:
    """CTA 1 has gone on to the cluster's barrier without its arrival on the barrier of CTA 0."""
    made = launch(
        hang={
            "cluster": [0, 1],
            "waiters": [
                {"agent": "compute", "operation": "wait", "variable": "empty", "slot": 0, "cta": 0},
                {"agent": "compute", "operation": "cluster_wait", "variable": "", "cta": 1}
                | {"absent": [{"cta": 0, "pending": 4, "count": 4}]},
            ],
            "arrivers": [{"agent": "compute", "variable": "empty", "slot": -1, "line": 9, "remote": True}],
        }
    )
    why, found = why_of(made), hang_of(made)
    assert why is not None
    assert found is not None
    assert reason(why, found) == (
        "In a circle: compute of CTA 0 waits on empty[0] for compute of CTA 1, "
        "compute of CTA 1 waits on the barrier of the cluster for compute of CTA 0."
    )
