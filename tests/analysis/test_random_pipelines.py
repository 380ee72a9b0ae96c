"""What holds of every run: tried on a machine that can be run again with something taking longer."""

from __future__ import annotations

import numpy as np
import pytest
from analysis.random_pipelines import UNIT, Key, Result, Spec, simulate, specs
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tlxviz.analysis.attribution import attribution
from tlxviz.analysis.chains import Stretch, blame, chain
from tlxviz.analysis.dependencies import Activity, Dependencies, dependencies
from tlxviz.analysis.groups import warp_groups
from tlxviz.analysis.occupation import occupation
from tlxviz.analysis.path import CriticalPath, critical_path
from tlxviz.analysis.slack import slacks
from tlxviz.trace import LaunchTrace, TrackKind, Work


def linked(launch: LaunchTrace) -> Dependencies:
    return dependencies(launch, occupation(launch))


def path_of(launch: LaunchTrace) -> CriticalPath:
    occupied = occupation(launch)
    found = critical_path(launch, occupied, dependencies(launch, occupied))
    assert found is not None
    return found


def what(run: Result, step: Stretch) -> Key:
    """What has to take longer for a stretch to be longer."""
    if step.row < 0:
        return run.tails[step.track]
    return ("work", *run.keys[step.row]) if step.activity == Activity.ARITHMETIC else run.keys[step.row]


def queued(run: Result) -> set[Key]:
    """Copies that the engine did not accept at once, and issues of MMAs that had to wait for room."""
    made = linked(run.trace)
    late = (made.activity != Activity.PRODUCT) & ~made.on_group & (made.begin > made.end[made.before])
    late |= (made.work != Work.WAIT) & made.on_group & (made.cause >= 0)
    return {run.keys[row] for row in np.flatnonzero(late).tolist()}


@given(specs)
def test_every_cycle_of_a_warp_group_has_one_cause(spec: Spec) -> None:
    made = simulate(spec).trace
    occupied = occupation(made)
    for group in attribution(made, warp_groups(made), occupied, dependencies(made, occupied)):
        assert sum(group.shares.values()) == pytest.approx(1)
        assert sum(item.cycles for item in group.items) == group.cycles
        assert "other" not in group.shares


@given(specs)
def test_blame_of_a_wait_adds_up_to_its_duration(spec: Spec) -> None:
    made = linked(simulate(spec).trace)
    waits = np.flatnonzero(made.on_group & (made.work == Work.WAIT))
    found = blame(made, waits)
    sums = np.bincount(found.place, weights=found.cycles, minlength=len(waits))
    assert sums.tolist() == (made.end - made.begin)[waits].tolist()
    # one at a time, the chains are the same
    for number, row in enumerate(waits.tolist()):
        here = np.flatnonzero(found.place == number)
        together = [
            (int(found.row[one]), int(found.activity[one]), int(found.begin[one]), int(found.cycles[one]))
            for one in here.tolist()
        ]
        alone = chain(made, row, int(made.begin[row]))
        if alone and alone[-1].begin > made.begin[row]:  # it leads to a warp group that began later
            last = alone.pop()
            assert last.activity == Activity.ARITHMETIC
            assert last.begin == made.lower[last.track]
            alone.append(Stretch(last.row, last.track, last.activity, int(made.begin[row]), last.end))
        assert [(step.row, int(step.activity), step.begin, step.end - step.begin) for step in alone] == together


@given(specs)
def test_the_path_is_as_long_as_the_run(spec: Spec) -> None:
    run = simulate(spec)
    path = path_of(run.trace)
    inside = sum(step.end - step.begin for step in path.stretches)
    assert path.start + inside + path.between + path.rest == path.cycles == run.trace.cycles
    late = spec.late if path.stretches[0].activity == Activity.ARITHMETIC else 0
    assert (path.start, path.between, path.rest) == (spec.gap, spec.gap * (spec.ctas - 1), spec.gap)
    assert path.ctas == tuple(range(spec.ctas))
    assert all(step.end > step.begin for step in path.stretches)
    cta = [run.trace.tracks[step.track].cta for step in path.stretches]
    for one, other, before, after in zip(path.stretches, path.stretches[1:], cta, cta[1:], strict=False):
        assert other.begin - one.end == (spec.gap if before != after else 0)
    assert sum(path.activities.values()) == inside
    assert sum(share.cycles for share in path.shares) == inside
    assert late in (0, spec.late)


@settings(max_examples=60, deadline=None)
@given(specs, st.integers(1, 9))
def test_what_takes_longer_on_the_path_makes_the_run_so_much_longer(spec: Spec, more: int) -> None:
    run = simulate(spec)
    for step in path_of(run.trace).stretches:
        if step.end == run.trace.tracks[step.track].begin:
            continue  # the warp group has not begun
        again = simulate(spec, longer={what(run, step): more * UNIT})
        assert again.ends[-1] == run.ends[-1] + more * UNIT


@settings(max_examples=60, deadline=None)
@given(specs, st.data())
def test_an_event_may_be_late_by_its_slack_and_no_more(spec: Spec, data: st.DataObject) -> None:
    run = simulate(spec)
    made = linked(run.trace)
    slack = slacks(run.trace, made)
    assert (slack >= 0).all()
    row = data.draw(st.integers(0, len(slack) - 1))
    cta = run.trace.tracks[int(made.track[row])].cta
    length = run.ends[cta]

    def end(late: int) -> int:
        again = simulate(spec, later={run.keys[row]: late})
        # what `slacks` does not know: copies that are only now behind others, MMAs that only now find no room
        assume(queued(again) <= queued(run))
        return again.ends[cta]

    assert end(int(slack[row])) == length
    product = run.trace.sites[int(run.trace.events["site"][row])].kind == "mma"
    if made.on_group[row] and not product:
        assert end(int(slack[row]) + UNIT) > length


@given(specs)
def test_events_on_the_path_have_no_slack(spec: Spec) -> None:
    run = simulate(spec)
    made = linked(run.trace)
    slack = slacks(run.trace, made)
    for step in path_of(run.trace).stretches:
        if step.row >= 0 and step.activity != Activity.ARITHMETIC and step.end == made.end[step.row]:
            assert slack[step.row] == 0


def test_the_machine_makes_all_kinds_of_dependencies() -> None:
    """The properties above are only worth what the runs contain."""
    kinds: set[tuple[str, str]] = set()
    for queue, lag in ((1, 1), (4, 0)):
        run = simulate(Spec(3, 6, 2, 2, 2, queue, lag, "waits", True, 0, 1, 0)).trace
        made = linked(run)
        for row in np.flatnonzero(made.cause >= 0).tolist():
            kinds.add((str(run.tracks[int(made.track[row])].kind), run.sites[int(run.events["site"][row])].kind))
    engines = {(str(TrackKind.TENSOR_CORE), "mma"), (str(TrackKind.TMA), "tma_load")}
    waits = {(str(TrackKind.WARP_GROUP), kind) for kind in ("wait", "mma_wait", "named_wait", "mma")}
    assert engines | waits <= kinds
