"""Schedules by name, and what they do to a run."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring_programs import Ring, ttgir_of

from tlxviz._errors import UsageError
from tlxviz.check.exploration import explored, simplest
from tlxviz.check.model import Finding, Severity
from tlxviz.check.runs import Ran
from tlxviz.check.schedules import Delay, Schedule, adversarial, engines_of
from tlxviz.ir import load_program
from tlxviz.sim.observer import ENGINES

_RING = Ring(2, 5, 1, 2, 1, "wgmma", 0, False, 1, False)

_who = st.one_of(st.sampled_from(["w", *ENGINES]), st.from_regex(r"[wr][0-9]", fullmatch=True))
_delays = st.one_of(
    st.builds(Delay, _who, st.integers(0, 10**6), st.integers(-1, 99)),
    st.builds(Delay, _who, st.integers(0, 10**6), random=st.just(True)),
)


@given(st.lists(_delays, max_size=4), st.integers(0, 10**6), st.lists(st.integers(0, 99), max_size=2))
def test_a_name_is_the_schedule(delays: list[Delay], seed: int, clusters: list[int]):
    seed = seed if any(delay.random for delay in delays) else 0
    schedule = Schedule(tuple(delays), seed, tuple(clusters))
    assert Schedule.parse(str(schedule)) == schedule


@pytest.mark.parametrize("text", ["", "w1", "w1@3=5", "loads=5.oops", "x3=5", "s"])
def test_what_is_no_schedule(text: str):
    with pytest.raises(UsageError, match="is no schedule"):
        Schedule.parse(text)


def test_the_usual_one_comes_first_and_all_are_the_same_each_time():
    program = load_program(ttgir_of(_RING))
    first, second = (list(islice(adversarial(program), 20)) for _ in range(2))
    assert first == second
    assert str(first[0]) == "usual"
    assert len({str(schedule) for schedule in first}) == 20


def test_each_warp_group_and_engine_of_the_kernel_is_slow_in_some():
    program = load_program(ttgir_of(_RING))
    assert engines_of(program) == ["loads", "stores", "wgmma"]
    steady = {str(schedule) for schedule in islice(adversarial(program), 20)}
    assert {"w0=2000", "w1=2000", "w2=2000", "loads=6000", "stores=6000", "wgmma=6000"} <= steady


def test_in_words():
    program = load_program(ttgir_of(_RING))
    said = Schedule.parse("w0@3+500.loads~40.w=7.s1").said(program)
    assert said == (
        f"{program.agents[0].name}: held up 500 cycles at operation 3; TMA loads: late up to 40 cycles each time; "
        "each warp group: held up 7 cycles each time"
    )


# ---------------------------------------------------------------------- looking for the simplest


def test_the_simplest_has_the_one_delay_that_matters_as_short_as_it_may_be():
    def shows(schedule: Schedule) -> bool:
        return any(delay.who == "w1" and delay.cycles >= 900 for delay in schedule.delays)

    found = simplest(Schedule.parse("c3.w0=2000.w1~8000.loads~50.s9"), shows)
    assert str(found) == "w1=1000"


def _ran(findings: list[Finding], ended: Finding | None = None) -> Ran:
    return Ran(tuple(findings), ended, 1, 10)


def _finding(rule: str, **more: Any) -> Finding:
    return Finding(rule, Severity.ERROR, "kernel", "message", (), **more)


def test_what_the_usual_schedule_shows_has_no_other_one():
    race = _finding("slot-reuse")
    result = explored(lambda schedule: _ran([race]), [Schedule(), Schedule.parse("w1=2000")])
    assert [finding.schedule for finding in result.findings] == [""]
    assert result.schedules == 2


def test_what_others_show_has_the_simplest():
    hang = _finding("circular-wait")

    def run(schedule: Schedule) -> Ran:
        return _ran([], hang if any(delay.cycles > 300 for delay in schedule.delays) else None)

    result = explored(run, [Schedule(), Schedule.parse("w1=2000.w2=100"), Schedule.parse("w0=9000")])
    assert [finding.schedule for finding in result.findings] == ["w1=500"]
    assert not result.ended


def test_a_launch_that_cannot_end_runs_once():
    result = explored(lambda schedule: _ran([], _finding("parity")), adversarial(load_program(ttgir_of(_RING))))
    assert result.schedules == 1
    assert result.ended


def test_few_schedules_of_a_launch_that_costs_much():
    result = explored(lambda schedule: _ran([]), adversarial(load_program(ttgir_of(_RING))), steps=5)
    assert result.schedules == 4
