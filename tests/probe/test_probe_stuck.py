"""A kernel that does not end: who stands where is told from what its warp groups have recorded so far.

The streams of a launch that ended are cut short, as if the GPU had stopped there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from probe_samples import Recorded, recorded

from tlxviz.ir.program import SiteKind
from tlxviz.probe.buffer import without_starts
from tlxviz.probe.stuck import stuck_report
from tlxviz.sim.rows import BARRIER, CODE, ROUND, RUN, SLOT

WARPS = {"load": 0, "mma.0": 4, "mma.1": 8, "epilogue": 0, "compute.0": 4, "compute.1": 4, "store.0": 4, "store.1": 8}


def cut(
    found: Recorded, passed: dict[str, int], *, ended: bool = False, late: bool = False, **options: Any
) -> tuple[str, dict[str, Any]]:
    """The report if each warp group had passed so many points; those that are not named have passed all."""
    part = found.streams.parts[0]
    headers = part.headers.copy()
    if not ended:
        headers["end_clock"][0] = headers["end_ns"][0] = 0
    if late:
        headers[headers["end_clock"] == 0] = np.zeros((), headers.dtype)
        headers = without_starts(headers)
    rings: dict[tuple[int, int], NDArray[np.uint32]] = {}
    for (cta, warp), ring in part.rings.items():
        kept = ring.copy()
        for name, count in passed.items():
            if WARPS[name] == warp and name in found.names:
                kept[count:] = 0
        rings[cta, warp] = kept
    arguments = {"recorded": [0], "seconds": 20.0, **options}
    return stuck_report(
        found.program, found.points, found.plan, 0, found.replayed, arguments["recorded"], headers, rings,
        arguments["seconds"],
    )  # fmt: skip


def marks(found: Recorded, name: str) -> list[int]:
    return found.cta.agents[found.names.index(name)].marks.tolist()


def before(found: Recorded, name: str, kind: SiteKind, variable: str, nth: int) -> int:
    """Points recorded when `name` has just come to its `nth` wait of that kind, from 0."""
    seen = -1
    passed = marks(found, name)
    for place, mark in enumerate(passed):
        for number in found.points[mark].begins:
            site = found.program.sites[number]
            if (site.kind, site.variable) == (kind, variable):
                seen += 1
                if seen == nth:
                    return sum(not found.points[each].in_header for each in passed[: place + 1])
    raise AssertionError("it does not come there")


def line_of(found: Recorded, group: str, kind: SiteKind, variable: str) -> int:
    [line] = {
        site.location.line
        for site in found.program.sites
        if (site.agent.name, site.kind, site.variable) == (group, kind, variable)
    }
    return line


def test_a_consumer_that_does_not_arrive() -> None:
    """mma.1 stops at its third A; mma.0 goes on until B is missing, and load until a slot of B is not given back."""
    found = recorded("gemm")
    passed = {
        "load": before(found, "load", SiteKind.WAIT, "b_empty", 5),
        "mma.0": before(found, "mma.0", SiteKind.WAIT, "b_full", 5),
        "mma.1": before(found, "mma.1", SiteKind.WAIT, "a_full", 2),
    }
    message, report = cut(found, passed)
    load, first, second = report["waiters"]
    assert [each["agent"] for each in report["waiters"]] == ["load", "mma.0", "mma.1"]
    assert (load["operation"], load["variable"], load["slot"], load["phase"]) == ("wait", "b_empty", 1, 0)
    # of the two arrivals that give slot 1 back, mma.0's has come
    assert (load["count"], load["pending"], load["completed_phases"]) == (2, 1, 0)
    assert (load["outer"], load["inner"]) == (0, 5)
    assert load["last_arrival"]["agent"] == "mma.0"
    assert (first["variable"], first["slot"], first["phase"]) == ("b_full", 1, 1)
    assert (second["variable"], second["slot"], second["phase"]) == ("a_full", 6, 0)
    assert load["line"] == line_of(found, "load", SiteKind.WAIT, "b_empty")
    place = f"{load['file']}:{load['line']}"
    assert f"load waits for b_empty[1], phase 0, at {place} (it has 1 of 2 arrivals)" in message
    assert message.startswith(
        "kernel hopper_gemm_ws has not ended within 20 s (--timeout) on the GPU: in CTA 0, load waits"
    )
    assert message.endswith("this depends on the order in which things happen")
    assert (report["cta"], report["ctas"], report["ended"]) == (0, 1, [])
    assert {each["variable"] for each in report["arrivers"]} >= {"b_empty"}
    assert {each["agent"] for each in report["arrivers"] if each["variable"] == "b_empty"} == {"mma.0", "mma.1"}


@pytest.mark.parametrize("nth", [0, 3, 4, 9, 15])
@pytest.mark.parametrize("variable", ["a_full", "b_full"])
@pytest.mark.parametrize("group", ["mma.0", "mma.1"])
def test_the_wait_is_the_one_of_its_iteration(group: str, variable: str, nth: int) -> None:
    found = recorded("gemm")
    count = before(found, group, SiteKind.WAIT, variable, nth)
    _, report = cut(found, {group: count})
    [waiter] = [each for each in report["waiters"] if each["agent"] == group]
    half = 4 if (group, variable) == ("mma.1", "a_full") else 0
    assert (waiter["variable"], waiter["slot"], waiter["phase"]) == (variable, nth % 4 + half, nth // 4 % 2)
    assert (waiter["inner"], waiter["completed_phases"]) == (nth, nth // 4)
    assert waiter["line"] == line_of(found, group, SiteKind.WAIT, variable)
    # the others have passed all of their points
    assert report["ended"] == [name for name in found.names if name not in ("load", group)]
    assert report["waiters"][0]["operation"] == "join"


def test_arrivals_are_counted_as_the_replay_counts_them() -> None:
    found = recorded("gemm")
    for nth in range(4, 16):
        for done in range(0, len(marks(found, "mma.0")), 7):
            _, report = cut(
                found, {"load": before(found, "load", SiteKind.WAIT, "b_empty", nth), "mma.0": done, "mma.1": 1}
            )
            waiter = report["waiters"][0]
            events = cut_events(found, "mma.0", done)
            barrier = next(each.index for each in found.program.barriers if each.name == "b_empty")
            arrived = sum(
                1
                for row in events
                if found.program.sites[row[CODE]].kind is SiteKind.ARRIVE
                and (row[BARRIER], row[SLOT], row[ROUND]) == (barrier, nth % 4, nth // 4 - 1)
            )
            assert (waiter["variable"], waiter["count"] - waiter["pending"]) == ("b_empty", arrived)


def cut_events(found: Recorded, name: str, passed: int) -> list[list[int]]:
    """Rows of a warp group's events that have ended when it has passed so many points."""
    number = found.names.index(name)
    agent = found.cta.agents[number]
    if not passed:
        return []
    whole = found.cta.rows[: int(agent.places[passed - 1])].tolist()
    return [row for row in whole if row[RUN] == number and row[CODE] < found.sites]


def test_a_warp_group_that_computes() -> None:
    found = recorded("gemm")
    mark = next(place for place, mark in enumerate(marks(found, "mma.0")) if not found.points[mark].begins and place)
    message, report = cut(found, {"load": 3, "mma.0": mark + 1, "mma.1": 1})
    busy = [each for each in report["waiters"] if each["operation"] == "busy"]
    assert [each["agent"] for each in busy] == ["load", "mma.0", "mma.1"]
    assert "mma.0 was last seen at " in message
    assert "stands at no barrier" in message


def test_warp_groups_that_have_ended_are_said_to_have() -> None:
    found = recorded("gemm")
    message, report = cut(found, {"mma.1": before(found, "mma.1", SiteKind.WAIT, "a_full", 1)})
    assert report["ended"] == ["mma.0"]  # load cannot end before the CTA does
    assert "; ended: mma.0" in message
    assert "mma.1 waits for a_full[5], phase 0, at " in message


def test_a_default_task_that_waits_for_the_others_joins() -> None:
    """It has come to the end of its task, and stands at no barrier of the kernel's."""
    found = recorded("hand_off")
    _, report = cut(found, {"epilogue": 2, "compute.0": 1})
    first = report["waiters"][0]
    assert (first["agent"], first["operation"]) == ("epilogue", "join")


@pytest.mark.parametrize(("passed", "variable"), [({"epilogue": 1, "compute.0": 1}, "first_full")])
def test_two_hand_offs(passed: dict[str, int], variable: str) -> None:
    found = recorded("hand_off")
    _, report = cut(found, passed)
    assert report["waiters"][0]["variable"] == variable
    assert report["waiters"][0]["pending"] == 1


def test_a_named_barrier_says_whose_threads_are_missing() -> None:
    """store.1 has signalled 9 once; store.0 waits for its second time there, with its own 128 threads."""
    found = recorded("ping_pong")
    message, report = cut(
        found,
        {
            "store.0": before(found, "store.0", SiteKind.NAMED_WAIT, "", 1),
            "store.1": before(found, "store.1", SiteKind.NAMED_WAIT, "", 0),
        },
    )
    waits = {each["agent"]: each for each in report["waiters"]}
    first, second = waits["store.0"], waits["store.1"]
    assert (first["operation"], first["slot"], first["count"], first["pending"]) == ("named_wait", 9, 256, 128)
    assert (second["operation"], second["slot"]) == ("named_wait", 10)
    assert "store.0 waits at named barrier 9 at " in message
    assert "(it has 128 of 256 threads" in message


def test_ctas_that_are_not_recorded() -> None:
    found = recorded("gemm")
    part = found.streams.parts[0]
    headers = part.headers.copy()
    headers["end_clock"][[3, 9, 11]] = 0
    message, report = stuck_report(
        found.program, found.points, found.plan, 0, found.replayed, [0], headers, part.rings, 2.5
    )
    assert message == (
        "kernel hopper_gemm_ws has not ended within 2.5 s (--timeout) on the GPU. CTA 3 and 2 others have not ended; "
        "to see why, record one: --ctas 3"
    )
    assert (report["cta"], report["ctas"], report["queued"], report["waiters"]) == (3, 3, 0, [])
    headers["end_clock"][[9, 11]] = 1
    message, _ = stuck_report(found.program, found.points, found.plan, 0, found.replayed, [0], headers, part.rings, 2.5)
    assert ". CTA 3 has not ended; to see why, record one: --ctas 3" in message


def test_a_launch_of_which_nothing_runs() -> None:
    found = recorded("gemm")
    headers = np.zeros_like(found.streams.parts[0].headers)
    rings = found.streams.parts[0].rings
    message, report = stuck_report(found.program, found.points, found.plan, 0, found.replayed, [0], headers, rings, 20)
    assert message.endswith("and no CTA of it is running: the GPU is busy with something else")
    assert (report["queued"], report["cta"]) == (32, -1)


def test_what_is_known_of_a_hang_becomes_a_trace() -> None:
    """Events until the cut as in the whole trace; the wait that stands lasts until the last that anybody recorded."""
    found = recorded("gemm")
    whole = found.assembled(correction=False)
    part = found.streams.parts[0]
    rings = dict(part.rings)
    count = before(found, "mma.1", SiteKind.WAIT, "a_full", 2)
    ring = rings[0, 8].copy()
    ring[count:] = 0
    rings[0, 8] = ring
    made = found.assembler(correction=False).assemble([replace(part, rings=rings)], ended=False)

    def told(trace: Any, name: str) -> list[tuple[int, int, int]]:
        rows = [row for row, track in enumerate(trace.events["track"]) if trace.tracks[track].name == name]
        return sorted((int(trace.events["begin"][row]), int(trace.events["end"][row]),
                       int(trace.events["site"][row])) for row in rows)  # fmt: skip

    assert told(made, "load") == told(whole, "load")
    seen, all_of_it = told(made, "mma.1"), told(whole, "mma.1")
    assert seen[:-1] == all_of_it[: len(seen) - 1]
    assert (seen[-1][0], seen[-1][2]) == (all_of_it[len(seen) - 1][0], all_of_it[len(seen) - 1][2])
    assert found.program.sites[seen[-1][2]].variable == "a_full"
    last = max(track.end for track in made.tracks)
    assert seen[-1][1] == last


def test_where_headers_come_late_places_are_the_same() -> None:
    found = recorded("gemm")
    passed = {
        "load": before(found, "load", SiteKind.WAIT, "a_empty", 4),
        "mma.0": before(found, "mma.0", SiteKind.WAIT, "b_full", 2),
        "mma.1": 0,
    }
    message, report = cut(found, passed)
    late_message, late = cut(found, passed, late=True)
    assert late_message == message
    # times count from the first point on, in place of the start
    assert 0 < report["cycle"] - late["cycle"] < 5_000
    for each in (report, late):
        each["cycle"] = 0
        for waiter in each["waiters"]:
            assert waiter.pop("since", 0) >= 0
    assert late == report


def test_where_headers_come_late_a_cta_that_has_recorded_nothing_is_not_the_one_that_is_explained() -> None:
    found = recorded("gemm")
    part = found.streams.parts[0]
    replayed = replace(found.replayed, ctas=(replace(found.cta, cta=7), found.cta))
    rings = dict(part.rings) | {(7, warp): np.zeros_like(ring) for (_, warp), ring in part.rings.items()}
    headers = without_starts(np.zeros_like(part.headers))
    _, report = stuck_report(found.program, found.points, found.plan, 0, replayed, [0, 7], headers, rings, 2.5)
    assert report["cta"] == 0
