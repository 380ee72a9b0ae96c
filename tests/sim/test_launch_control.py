"""Cluster launch control: CTAs that run take over others that have not started."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import pytest
import torch
from cluster_runner import PAIR, events
from kernel_runner import b200, compile_kernel, execute, executes, fbtriton_only, h200

from tlxviz.analysis.clusters import CrossingKind, crossings
from tlxviz.launch.model import Launch
from tlxviz.sim.errors import HangError, LaunchControlError, UnsupportedOperation
from tlxviz.sim.replay import replay
from tlxviz.trace import TrackKind
from tlxviz.trace.model import LaunchTrace

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("3.8 has no cluster launch control")

SMS = b200().limits.sms
WORK = 101
LATENCY = 600
"""launch_control.response_cycles of the B200."""
WAKE = 84
"""sync.mbarrier_wake of the B200."""


def test_figures_that_the_expectations_are_made_of():
    control = b200().launch_control
    assert control is not None
    assert (control.response_cycles, b200().sync.mbarrier_wake) == (LATENCY, WAKE)
    assert b200().launch.next_cta_cycles == 1


@triton.jit
def tiles(done_ptr, MULTI: tl.constexpr, WORK: tl.constexpr):
    """Notes for each tile which CTA did it, as its how-many-th."""
    context = tlx.clc_create_context(num_consumers=2 if MULTI else 1)
    tile = tl.program_id(0)
    producer, consumer, count = 1, 0, 0
    while tile != -1:
        tlx.clc_producer(context, producer, multi_ctas=MULTI)
        producer ^= 1
        tl.store(done_ptr + 2 * tile, tl.program_id(0))
        tl.store(done_ptr + 2 * tile + 1, count)
        for _ in range(WORK * (tl.program_id(0) % 2)):
            tl.debug_barrier()
        count += 1
        tile = tlx.clc_consumer(context, consumer, multi_ctas=MULTI)
        consumer ^= 1


def launched(grid: int, *, multi: bool = False, work: int = 0, **options: Any) -> tuple[Launch, torch.Tensor]:
    """A launch with one CTA an SM, and what it writes: a row for each tile."""
    done = torch.full((grid, 2), -1, dtype=torch.int32)
    launch = compile_kernel(tiles, (grid,), done, MULTI=multi, WORK=work, device=b200(), **options)
    launch.metadata["shared"] = b200().limits.shared_memory_per_block
    return launch, done


def run(launch: Launch, **options: Any) -> LaunchTrace:
    return execute(launch, device=b200(), **options).trace


@executes("ttng.async_clc_try_cancel", "ttng.clc_query_cancel")
def test_first_come_first_served():
    """CTAs begin a cycle after each other and do the same: the first four get what is left, the others nothing."""
    launch, done = launched(SMS + 4)
    trace = run(launch)
    assert done[:, 0].tolist() == [*range(SMS), 0, 1, 2, 3]
    assert done[:, 1].tolist() == [0] * SMS + [1] * 4
    assert trace.statistics["ctas_taken_over"] == 4
    assert trace.statistics["ctas_simulated"] == SMS + 4


def test_an_answer_comes_a_latency_after_the_request_and_releases_the_wait():
    launch, _ = launched(SMS + 1)
    trace = run(launch)
    requests = [each for each in events(trace, "clc", 0) if each["bytes"] == 16]
    queries = [each for each in events(trace, "clc", 0) if each not in requests]
    answers = events(trace, "clc", 0, engine=True)
    waits = [each for each in events(trace, "wait", 0) if each["released_by"] in [each["row"] for each in answers]]
    assert len(requests) == len(answers) == len(queries) == len(waits) == 2
    assert {each["bytes"] for each in queries} == {0}
    assert [answer["released_by"] for answer in answers] == [request["row"] for request in requests]
    assert [(answer["begin"], answer["end"]) for answer in answers] == [
        (request["end"], request["end"] + LATENCY) for request in requests
    ]
    # the one CTA that is left, then none
    assert [answer["slot"] for answer in answers] == [SMS, -1]
    assert [answer["phase"] for answer in answers] == [0, 1]
    assert {trace.tracks[answer["track"]].kind for answer in answers} == {TrackKind.LAUNCH_CONTROL}
    assert [wait["released_by"] for wait in waits] == [answer["row"] for answer in answers]
    assert [wait["end"] - request["end"] for wait, request in zip(waits, requests, strict=True)] == [LATENCY + WAKE] * 2
    assert [request["phase"] for request in requests] == [0, 1]
    assert all(query["begin"] == wait["end"] for query, wait in zip(queries, waits, strict=True))


def test_who_is_done_first_gets_the_next():
    """CTAs of odd numbers take longer for a tile, and so get fewer: those that CTAs which ask in turn would get."""
    grid = 6 * SMS
    launch, done = launched(grid, work=WORK)
    trace = run(launch, ctas=[0, 1])
    asks = [[each["end"] for each in events(trace, "clc", cta) if each["bytes"]] for cta in (0, 1)]
    period = [times[1] - times[0] for times in asks]
    assert period[1] > 1.5 * period[0]
    for cta, times in enumerate(asks):
        assert times == [times[0] + number * period[cta] for number in range(len(times))]
    # CTA n begins n cycles after the first; its k-th request comes k periods after its first
    queue = [(asks[n % 2][0] - n % 2 + n, n) for n in range(SMS)]
    heapq.heapify(queue)
    owner = list(range(SMS))
    while len(owner) < grid:
        time, cta = heapq.heappop(queue)
        assert time != queue[0][0]
        owner.append(cta)
        heapq.heappush(queue, (time + period[cta % 2], cta))
    assert done[:, 0].tolist() == owner
    assert done[:, 1].tolist() == [owner[:tile].count(cta) for tile, cta in enumerate(owner)]


def test_equal_runs_are_equal():
    first, second = (run(launched(3 * SMS, work=WORK)[0]) for _ in range(2))
    assert first.cycles == second.cycles
    for name, column in first.events.columns.items():
        assert np.array_equal(column, second.events[name]), name


def test_pairs_take_over_pairs():
    """The answer comes to both CTAs, and names the first of the pair; each adds its rank."""
    grid = SMS + 6
    launch, done = launched(grid, multi=True, **PAIR)
    trace = run(launch, ctas=[0])
    assert done[:, 0].tolist() == [*range(SMS), 0, 1, 2, 3, 4, 5]
    assert trace.statistics["ctas_taken_over"] == 6
    for cta in (0, 1):
        (request,) = [each for each in events(trace, "clc", 0) if each["phase"] == 0]
        (answer,) = [each for each in events(trace, "clc", 0, engine=True) if each["phase"] == 0]
        assert (answer["slot"], answer["released_by"]) == (SMS, request["row"])
        wait = next(each for each in events(trace, "wait", cta) if each["released_by"] == answer["row"])
        assert wait["end"] == request["end"] + LATENCY + WAKE
    assert not [each for each in events(trace, "clc", 1) if each["phase"] >= 0]  # CTA 1 does not ask
    (found,) = [each for each in crossings(trace) if each.kind is CrossingKind.ANSWER]
    answers = len(events(trace, "clc", 0, engine=True))
    assert (found.source, found.target, found.count, found.bytes) == (0, 1, answers, 16 * answers)
    assert found.waits == answers


def test_times_are_the_same_without_values():
    for options in ({}, {"multi": True, **PAIR}):
        launch, _ = launched(SMS + 20, **options)
        with_values, without = run(launch), run(launch, values=False)
        assert with_values.cycles == without.cycles
        for name, column in with_values.events.columns.items():
            assert np.array_equal(column, without.events[name]), name


def test_of_a_long_launch_some_sms_run_and_share_the_work(monkeypatch: pytest.MonkeyPatch):
    """Without values: a part of the SMs does its part of the tiles, each of which counts once."""
    monkeypatch.setattr("tlxviz.sim.recorder._BUDGET", 2000)
    launch, _ = launched(SMS * 20)
    whole = run(launch)
    part = run(launch, values=False)
    assert whole.statistics["ctas_simulated"] == SMS * 20
    assert 20 <= part.statistics["ctas_simulated"] < SMS * 20
    assert part.statistics["ctas_simulated"] % 20 == 0
    assert part.cycles == pytest.approx(whole.cycles, rel=0.01)


def test_a_cta_that_never_started_is_said_to_be_taken_over():
    launch, _ = launched(SMS + 4)
    trace = run(launch, ctas=[SMS + 2, 5])
    assert trace.statistics["taken_over"] == [[SMS + 2, 2]]
    assert {track.cta for track in trace.tracks} == {5}


def test_room_for_all_leaves_nothing_to_take_over():
    launch, done = launched(SMS + 4)
    launch.metadata["shared"] = 1024
    trace = run(launch)
    assert done[:, 0].tolist() == list(range(SMS + 4))
    assert "ctas_taken_over" not in trace.statistics


@triton.jit
def two_dimensions(done_ptr):
    """The place of the CTA that is taken over has three numbers."""
    context = tlx.clc_create_context(num_consumers=1)
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    producer, consumer = 1, 0
    while x != -1:
        tlx.clc_producer(context, producer)
        producer ^= 1
        wide, high = tl.num_programs(0), tl.num_programs(1)
        tl.store(done_ptr + x + wide * (y + high * z), 1 + x + 100 * y + 10000 * z)
        x, y, z = tlx.clc_consumer(context, consumer, return_3d=True)
        consumer ^= 1


def test_places_in_three_dimensions():
    done = torch.zeros(11, 7, 5, dtype=torch.int32)
    launch = compile_kernel(two_dimensions, (5, 7, 11), done, device=b200())
    launch.metadata["shared"] = b200().limits.shared_memory_per_block
    trace = run(launch)
    z, y, x = torch.meshgrid(torch.arange(11), torch.arange(7), torch.arange(5), indexing="ij")
    assert torch.equal(done, (1 + x + 100 * y + 10000 * z).int())
    assert trace.statistics["ctas_taken_over"] == 5 * 7 * 11 - SMS


@triton.jit
def asks_once_more(done_ptr):
    context = tlx.clc_create_context(num_consumers=1)
    producer, consumer, tile = 1, 0, 0
    for _ in range(3):
        tlx.clc_producer(context, producer)
        producer ^= 1
        tile = tlx.clc_consumer(context, consumer)
        consumer ^= 1
        tlx.barrier_arrive(context._clc_mbars_empty[0], 1)
    tl.store(done_ptr, tile)


def test_asking_again_after_the_last_is_undefined():
    launch = compile_kernel(asks_once_more, (1,), torch.zeros(1, dtype=torch.int32), device=b200())
    with pytest.raises(LaunchControlError, match="asks for another CTA after an answer that none is left"):
        run(launch)


@triton.jit
def only_the_first_expects(done_ptr):
    responses = tlx._alloc_clc_responses(1)
    full = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    tlx.barrier_expect_bytes(full[0], 16, pred=rank == 0)
    tlx._clc_issue(responses[0], full[0])
    tlx.barrier_wait(full[0], 0)
    tl.store(done_ptr + tl.program_id(0), tlx._clc_query(responses[0])[0])


def test_an_answer_to_a_cta_that_does_not_expect_it_hangs():
    launch = compile_kernel(only_the_first_expects, (2,), torch.zeros(2, dtype=torch.int32), device=b200(), **PAIR)
    with pytest.raises(HangError) as caught:
        run(launch)
    (waiter,) = caught.value.report["waiters"]
    assert (waiter["cta"], waiter["pending"], waiter["missing_bytes"]) == (1, 1, -16)
    assert "it got 16 bytes that nothing announced" in str(caught.value)


def test_hopper_has_none():
    launch, _ = launched(4)
    with pytest.raises(UnsupportedOperation, match=r"which NVIDIA H200 SXM does not have: simulate a B200"):
        execute(launch, device=h200())


def test_a_replay_is_refused():
    launch, _ = launched(SMS + 4)
    with pytest.raises(UnsupportedOperation, match="kernel tiles cannot be replayed: its CTAs take over others"):
        replay(launch, b200(), (0,))
