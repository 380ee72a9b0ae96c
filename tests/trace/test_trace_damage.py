"""Whatever is wrong within a trace file is one message that names it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import TRACK, damaged, npy, rewrite, rewrite_manifest

from tlxviz.trace import load_trace

MEMBERS: list[tuple[Callable[[dict[str, bytes]], object], str | None]] = [
    (lambda members: members.pop(TRACK), f"it has no {TRACK}"),
    (
        lambda members: members.update({"manifest.json": b"{"}),
        "manifest.json is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
    ),
    (lambda members: members.update({"manifest.json": b"[]"}), "manifest.json is not an object"),
    (
        lambda members: members.update({TRACK: npy([0, 0], "<i4")}),
        f"{TRACK} is <i4[2], the manifest says <i4[3]",
    ),
    (
        lambda members: members.update({TRACK: npy([0, 0, 0], "<i8")}),
        f"{TRACK} is <i8[3], the manifest says <i4[3]",
    ),
    (
        lambda members: members.update({TRACK: npy([0, 0, 0], "<i4")[:-4]}),
        f"{TRACK} has 8 bytes of numbers, not 12",
    ),
    (
        lambda members: members.update({TRACK: npy([0] * 10_000_000, "<i4")}),
        f"{TRACK} has 40000128 bytes, more than the 1036 that it may have",
    ),
    (
        lambda members: members.update({TRACK: npy([0, 3, 0], "<i4")}),
        f"{TRACK} has a number outside 0 to 2",
    ),
    (
        lambda members: members.update({"launches/1/released_by.npy": npy([-2, 0, 0], "<i8")}),
        "launches/1/released_by.npy has a number outside -1 to 2",
    ),
    (
        lambda members: members.update({TRACK: b"\x93NUMPY\x02\x00" + members[TRACK][8:]}),
        f"{TRACK} is of version 2.0 of the .npy format, not 1.0",
    ),
    (
        lambda members: members.update({TRACK: members[TRACK].replace(b"'descr'", b"(((((((")}),
        None,
    ),
    (lambda members: members.update({TRACK: b""}), None),
    (lambda members: members.update({"manifest.json": b"[" * 100_000}), None),
]
"""Changes to the members of a trace, and what the message says; None where it is not tlxviz's own."""

MANIFESTS: list[tuple[Callable[[Any], object], str]] = [
    (lambda m: m["launches"][0].pop("kernel"), "launches[0].kernel is missing"),
    (lambda m: m["launches"][0].update(cycles=True), "launches[0].cycles is not an integer"),
    (lambda m: m["launches"][1].update(kernel=3), "launches[1].kernel is not text"),
    (lambda m: m["launches"][0].update(clock_mhz="fast"), "launches[0].clock_mhz is not a number"),
    (lambda m: m["launches"][0].update(complete=1), "launches[0].complete is not true or false"),
    (lambda m: m["launches"][0].update(grid=[1, 1]), "launches[0].grid is not three integers"),
    (lambda m: m["launches"][0].update(arguments=[]), "launches[0].arguments is not an object"),
    (lambda m: m["launches"][0].update(hang=[]), "launches[0].hang is not an object"),
    (lambda m: m["launches"][0].update(ttgir=9), "launches[0].ttgir names text 9 of 2"),
    (lambda m: m["launches"][0].update(sites={}), "launches[0].sites is not a list"),
    (lambda m: m["launches"][0]["sites"][1].pop("file"), "launches[0].sites[1].file is missing"),
    (
        lambda m: m["launches"][0]["agents"][0].update(registers="x"),
        "launches[0].agents[0].registers is not an integer",
    ),
    (lambda m: m["launches"][0]["barriers"][0].update(counts=1), "launches[0].barriers[0].counts is not a list"),
    (
        lambda m: m["launches"][0]["tracks"][2].update(kind="gpu"),
        "launches[0].tracks[2].kind is 'gpu', which is no kind of track",
    ),
    (
        lambda m: m["launches"][0]["tracks"][2].update(kind=[]),
        "launches[0].tracks[2].kind is [], which is no kind of track",
    ),
    (lambda m: m["launches"][0].update(cycles=2**70), "launches[0].cycles is an integer of more than 64 bits"),
    (lambda m: m["launches"][0].update(cycles=-1), "launches[0].cycles is -1"),
    (
        lambda m: m["launches"][0].update(clock_mhz={"$float": "nan"}),
        "launches[0].clock_mhz is nan, which is no figure",
    ),
    (lambda m: m["launches"][0].update(clock_mhz=-5.5), "launches[0].clock_mhz is -5.5"),
    (
        lambda m: m["launches"][0]["tracks"][0].update(end=-(2**64)),
        "launches[0].tracks[0].end is an integer of more than 64 bits",
    ),
    (
        lambda m: m["launches"][0]["statistics"]["busy"].update(tma={"$float": "inf"}),
        "launches[0].statistics.busy.tma is inf, which is no figure",
    ),
    (
        lambda m: m["launches"][0]["statistics"].update(ctas=[0, 2**64]),
        "launches[0].statistics.ctas[1] is an integer of more than 64 bits",
    ),
    (
        lambda m: m["launches"][0]["hang"].update(cycle=2**63),
        "launches[0].hang.cycle is an integer of more than 64 bits",
    ),
    (
        lambda m: m["launches"][0].update(statistics={"sm_cycles": float("nan")}),
        "manifest.json is not JSON: NaN is no number there",
    ),
    (lambda m: m["launches"][0].update(clock_mhz=1e-300), "launches[0].clock_mhz is 1e-300"),
    (lambda m: m["launches"][0].update(clock_mhz=1e10), "launches[0].clock_mhz is 10000000000.0"),
    (
        lambda m: m["launches"][0]["metadata"].update(shared="x"),
        "launches[0].metadata.shared is not an integer",
    ),
    (lambda m: m["launches"][0]["hang"].update(waiters="x"), "launches[0].hang.waiters is not a list"),
    (lambda m: m["launches"][0]["hang"].update(waiters=[1]), "launches[0].hang.waiters[0] is not an object"),
    (
        lambda m: m["launches"][0]["hang"].update(waiters=[{"last_arrival": 3}]),
        "launches[0].hang.waiters[0].last_arrival is not an object",
    ),
    (
        lambda m: m["launches"][0]["hang"].update(waiters=[{"missing_bytes": "x"}]),
        "launches[0].hang.waiters[0].missing_bytes is not an integer",
    ),
    (
        lambda m: m["launches"][0]["hang"].update(waiters=[{"absent": [{"cta": 0, "count": 1}]}]),
        "launches[0].hang.waiters[0].absent[0].pending is not an integer",
    ),
    (lambda m: m["launches"][0]["hang"].update(arrivers=[[]]), "launches[0].hang.arrivers[0] is not an object"),
    (lambda m: m["launches"][0]["hang"].update(cluster=["a"]), "launches[0].hang.cluster[0] is not an integer"),
    (lambda m: m["launches"][0]["hang"].update(ended=[0]), "launches[0].hang.ended[0] is not text"),
    (lambda m: m["launches"][0]["events"].update(rows=-1), "launches[0].events.rows is -1"),
    (
        lambda m: m["launches"][0]["events"]["columns"].update(slot="<f8"),
        "launches[0].events.columns.slot is '<f8', not '<i4'",
    ),
    (
        lambda m: m["launches"][0]["events"]["columns"].update(peer="<i8"),
        "launches[0].events.columns.peer is '<i8', not '<i4'",
    ),
    (
        lambda m: m["launches"][0].update(cluster=[5, 1, 1]),
        "launches[0].cluster is [5, 1, 1], which does not divide the grid [132, 1, 1]",
    ),
    (
        lambda m: m["launches"][0].update(cluster=[0, 1, 1]),
        "launches[0].cluster is [0, 1, 1], which does not divide the grid [132, 1, 1]",
    ),
    (lambda m: m.update(version=[1]), "version must be two integers"),
    (lambda m: m.update(version="1.0"), "version is not a list"),
    (lambda m: m.pop("texts"), "texts is not a list"),
]
"""Changes to the manifest, and what the message says."""


@pytest.mark.parametrize(("change", "reason"), MEMBERS)
def test_members_that_are_wrong(path: Path, change: Callable[[dict[str, bytes]], object], reason: str | None) -> None:
    rewrite(path, change)
    found = damaged(path)
    assert reason is None or found == reason


def test_a_pickled_column_is_refused(path: Path) -> None:
    data = io.BytesIO()
    np.save(data, np.array([None, None, None], object), allow_pickle=True)
    rewrite(path, lambda members: members.update({TRACK: data.getvalue()}))
    assert damaged(path) == f"{TRACK} is |O[3], the manifest says <i4[3]"


def test_arguments_may_be_any_numbers(path: Path) -> None:
    def change(manifest: Any) -> None:
        manifest["launches"][0]["arguments"] = {"mask": 2**64 - 1, "scale": {"$float": "-inf"}}

    rewrite_manifest(path, change)
    assert load_trace(path).launches[0].arguments == {"mask": 2**64 - 1, "scale": float("-inf")}


@pytest.mark.parametrize(("change", "reason"), MANIFESTS)
def test_manifests_that_are_wrong(path: Path, change: Callable[[Any], object], reason: str) -> None:
    rewrite_manifest(path, change)
    assert damaged(path) == reason
