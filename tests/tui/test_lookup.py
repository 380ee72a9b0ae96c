"""Finding events by line and by warp group."""

from __future__ import annotations

from analysis.synthetic_traces import Scene, launch

from tlxviz.tui.lookup import last_of, longest_at, next_at, sites_at

SCENE = Scene()
_A, _B = SCENE.group("a", 0, 100), SCENE.group("b", 0, 100)
FIRST = SCENE.event(_A, "wait", 0, 10, variable="full", line=3)
SECOND = SCENE.event(_A, "wait", 20, 40, variable="full", line=3)
OTHERS = SCENE.event(_B, "wait", 20, 60, variable="full", line=3)
THIRD = SCENE.event(_A, "wait", 50, 70, variable="full", line=3)
LAUNCH = SCENE.launch()
LINE = sites_at(LAUNCH, "elsewhere/scene.py", 3)


def test_sites_of_a_line_are_those_of_all_warp_groups_whatever_the_directory() -> None:
    assert sorted(LINE) == [0, 1]
    assert sites_at(LAUNCH, "other.py", 3) == frozenset()


def test_the_longest_event_of_a_line() -> None:
    assert longest_at(LAUNCH, LINE) == SCENE.row(OTHERS)
    assert longest_at(LAUNCH, LINE, "a") == SCENE.row(SECOND)
    assert longest_at(LAUNCH, LINE, "c") is None
    assert longest_at(LAUNCH, frozenset()) is None


def test_events_of_a_line_come_one_after_the_other_and_round_again() -> None:
    found = [next_at(LAUNCH, LINE, 0, 0)]
    for _ in range(4):
        found.append(next_at(LAUNCH, LINE, 0, 0, found[-1]))
    assert found == [SCENE.row(each) for each in (FIRST, SECOND, OTHERS, THIRD, FIRST)]
    assert next_at(LAUNCH, LINE, 0, 45) == SCENE.row(THIRD)
    assert next_at(LAUNCH, LINE, 0, 99) == SCENE.row(FIRST)
    assert next_at(LAUNCH, LINE, 1, 0) is None


def test_the_last_event_of_a_warp_group() -> None:
    assert last_of(LAUNCH, "a", 0) == SCENE.row(THIRD)
    assert last_of(LAUNCH, "a", None) == SCENE.row(THIRD)
    assert last_of(LAUNCH, "a", 7) is None
    assert last_of(launch(), "a", 0) is None
