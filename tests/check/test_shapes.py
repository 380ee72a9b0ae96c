"""Nasty sizes of scripts, and the smallest that shows something."""

from __future__ import annotations

from itertools import islice

import pytest

from tlxviz.check.explore import Tried, explore
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.shapes import Shape, Traits, nasty, numbers_in, shapes, with_number
from tlxviz.devices.file import load_device
from tlxviz.ir.location import Location

TRAITS = Traits(frozenset({3}), frozenset({64}))


def test_integers_among_arguments():
    arguments = ["--k", "512", "--stages=3", "fp16", "7", "-q", "0.5", "--name=x1", "1e3"]
    assert numbers_in(arguments) == [(1, 512), (2, 3), (4, 7)]
    assert with_number(arguments, 2, 1)[2] == "--stages=1"
    assert with_number(arguments, 4, 0)[4] == "0"


def test_nasty_are_none_one_the_ring_one_more_and_ragged():
    found = nasty(512, TRAITS)
    assert found == sorted(found)
    assert {0, 1, 3, 4, 7, 64, 3 * 64, 4 * 64, 65, 96, 544, 513, 511} <= set(found)
    assert 512 not in found
    assert max(found) <= 4 * 512
    assert max(nasty(2, TRAITS)) <= 8  # not a number of elements: nothing of tiles


def test_numbers_take_turns_and_persistent_kernels_have_few_sms():
    found = [str(shape) for shape in islice(shapes(("--m", "64", "--k", "5"), TRAITS, True), 6)]
    assert found == [
        "--m 64 --k 5 on 2 SMs",
        "--m 64 --k 5 on 3 SMs",
        "--m 0 --k 5",
        "--m 0 --k 5 on 1 SM",
        "--m 64 --k 0",
        "--m 64 --k 0 on 1 SM",
    ]
    assert not any(shape.sms for shape in shapes(("--m", "64"), TRAITS, False))


def test_a_gpu_with_few_sms():
    device = Shape((), 2).on(load_device("h200"))
    assert device.limits.sms == 2
    assert device.cluster.groups == (2,)
    assert Shape(()).on(device) is device


# ---------------------------------------------------------------------- exploring


def _finding(line: int, severity: Severity = Severity.ERROR, rule: str = "parity") -> Finding:
    return Finding(
        rule, severity, "kernel", "message", (Place("waits", "load", Location("k.py", line), "empty", 0, 0),)
    )


def _explored(run, *arguments: str, seconds: float = 60.0):
    return explore(run, Shape(arguments), seconds)


def test_what_is_found_is_made_small():
    def run(shape: Shape) -> Tried:
        count = int(shape.arguments[1])
        return Tried((_finding(7),) if count > 3 and count != 9 else (), TRAITS)

    found = _explored(run, "--k", "9")
    (shown,) = found.shown
    assert shown.shape == Shape(("--k", "4"))
    assert shown.finding.why[-1] == "the script shows it with --k 4"
    assert shown.finding.schedule == ""


def test_few_sms_are_part_of_the_schedule():
    def run(shape: Shape) -> Tried:
        finds = shape.sms == 1
        return Tried((_finding(7),) if finds else (), TRAITS, ((1 if finds else 4, 1, 1),))

    (shown,) = _explored(run, "--m", "256").shown
    assert shown.finding.schedule == "n1"
    assert shown.finding.why[-1] == "the script shows it with --m 0 on 1 SM"


def test_what_the_own_shape_shows_and_what_says_nothing_are_left_out():
    own = _finding(7)
    outside = _finding(8, Severity.WARNING, "descriptor")

    def run(shape: Shape) -> Tried:
        return Tried((own, outside, _finding(9, Severity.NOTE)), TRAITS)

    found = _explored(run, "--k", "9")
    assert found.shown == []
    assert found.tried == 1 + len(set(shapes(("--k", "9"), TRAITS, False)))  # and once with one SM


def test_refused_shapes_are_counted():
    def run(shape: Shape) -> Tried:
        return Tried((), TRAITS, refused="" if int(shape.arguments[0]) > 2 else "assert k > 2")

    found = _explored(run, "9")
    assert found.refused == 3


@pytest.mark.parametrize("seconds", [0.0])
def test_no_time_no_runs(seconds: float):
    def run(shape: Shape) -> Tried:
        return Tried((), TRAITS, ((1, 1, 1),))

    assert _explored(run, "9", seconds=seconds).tried == 0
