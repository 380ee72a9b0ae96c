"""What was found in kernels as text, JSON and SARIF, against golden files.

Run as a script, it writes them again: PYTHONPATH=.:tests python tests/reporters/test_check_reporters.py
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reporters.sarif_shape import check_shape

from tlxviz._version import __version__
from tlxviz.check.model import Finding, Place, Severity
from tlxviz.check.report import CheckReport, LaunchReport, Unchecked, gather
from tlxviz.check.rules import RULES
from tlxviz.check.source import Source
from tlxviz.ir.location import Location
from tlxviz.reporters.check_json import CheckJsonReporter
from tlxviz.reporters.check_sarif import sarif_log
from tlxviz.reporters.check_text import CheckTextReporter
from tlxviz.reporters.excerpt import excerpt

GOLDEN = Path(__file__).parent / "golden"
FOLDER = Path("/repo")
FILE = "/repo/kernels/two tiles.py"
SOURCE = Source(
    """@triton.jit
def doubled_tiles(x_ptr, y_desc, TILES, S: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for t in range(TILES):
                tlx.barrier_wait(empty[t % S], 1)
                tlx.local_store(staging[t % S], x + x)
        with tlx.async_task(num_warps=1):
            for t in range(TILES):
                tlx.async_descriptor_store(y_desc, staging[t % S], [first_row + t * SIDE, first_column])
                tlx.barrier_arrive(empty[t % S])
""",
    FILE,
    17,
)


def place(doing: str, role: str, line: int, column: int, variable: str, slot: int = -1, *when: int) -> Place:
    cta, outer, inner = when or (-1, -1, -1)
    return Place(doing, role, Location(FILE, line, column), variable, slot, cta, outer, inner)


RACE = Finding(
    "parity",
    Severity.ERROR,
    "doubled_tiles",
    "compute: local store writes staging[0], and store: TMA store reads staging[0], in any order",
    (
        place("local store writes staging[0]", "compute", 23, 17, "staging", 0, 0, 1, 1),
        place("TMA store reads staging[0]", "store", 26, 17, "staging", 0, 0, 2, 5),
    ),
    (
        "store says that it is done by phase 0 of empty[0] (line 27)",
        "compute waited for empty[0] (line 22), which goes on as soon as 0 phases are complete, and phase 0 takes 1",
    ),
    "Derive the parity from how often empty[0] completes.",
    times=3,
)
COUNT = Finding(
    "arrive-count",
    Severity.WARNING,
    "doubled_tiles",
    "empty[0] counts 2 arrivals a phase, and one line arrives once",
    (place("arrives on empty[0]", "store", 27, 17, "empty", 0),),
    advice="Count 1, or let the other task arrive as well.",
    launch=2,
    schedule="d4-store",
    facts={"have": 1, "need": 2},
)
NOTE = Finding(
    "descriptor", Severity.NOTE, "doubled_tiles", "a tile is written in part", (Place("", "", Location(), "", -1, -1),)
)
KEPT = replace(RACE, rule="slot-reuse", suppressed="the host waits between launches", launch=1)
HANG = Finding(
    "circular-wait",
    Severity.ERROR,
    "other",
    "load and mma wait for each other.",
    tuple(
        Place("waits for full", f"mma.{n}", Location("/elsewhere/other.py", 7 + n), "full", n, 0, 4, 0)
        for n in range(10)
    ),
)


def full() -> CheckReport:
    launches = [
        LaunchReport("doubled_tiles", SOURCE, (KEPT, NOTE, COUNT, RACE), ctas=1200, schedules=20),
        LaunchReport("other", Source("", "/elsewhere/other.py", 5), (HANG,), schedules=1),
        LaunchReport("clean", Source("def clean(): ...", "/repo/clean.py", 1), (), ctas=8, schedules=20),
    ]
    return gather("NVIDIA H100 SXM", launches, [Unchecked("old", "no semantics for ttng.x (old.py:7)")])


def text(report: CheckReport) -> str:
    stream = io.StringIO()
    CheckTextReporter(report).render(stream)
    return stream.getvalue()


def line(report: CheckReport) -> str:
    stream = io.StringIO()
    CheckJsonReporter(report).render(stream)
    return stream.getvalue()


def pictures() -> dict[str, bytes]:
    return {
        "check.txt": text(full()).encode(),
        "check.json": line(full()).encode(),
        "check.sarif": steady_log(),
    }


def steady_log() -> bytes:
    """The log without what changes by itself: the version, and all rules but the first."""
    log = json.loads(sarif_log(full(), FOLDER))
    driver = log["runs"][0]["tool"]["driver"]
    assert driver["version"] == __version__
    driver["version"] = "VERSION"
    del driver["rules"][1:]
    return (json.dumps(log, indent=2) + "\n").encode()


@pytest.mark.parametrize("name", ["check.txt", "check.json", "check.sarif"])
def test_golden_files(name: str):
    assert pictures()[name].decode() == (GOLDEN / name).read_text(encoding="utf-8")


def test_the_json_is_one_line_with_what_is_documented():
    written = line(full())
    assert written.count("\n") == 1
    document = json.loads(written)
    documented = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")
    finding = document["kernels"][0]["findings"][0]
    for keys in (document, document["summary"], document["kernels"][0], finding, finding["places"][0]):
        for key in keys:
            assert f"`{key}`" in documented, key


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = text(full()).splitlines()
    assert max(map(len, lines)) <= min(width, 120)
    if width >= 60:
        below = lines[lines.index(next(each for each in lines if "23 | tlx.local_store" in each)) + 1]
        assert below.split("|")[1].strip() == "^~~~~~~~~~~~~~~"


def test_colour_says_nothing_that_a_shape_does_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = text(full())
    assert "\x1b[1;31m! error" in coloured
    assert "\x1b[33m* warning" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == (GOLDEN / "check.txt").read_text(encoding="utf-8")


def test_a_clean_kernel():
    report = gather("GPU", [LaunchReport("k", Source("", "/k.py", 3), (), ctas=1)])
    assert text(report) == (
        "k  k.py:3  1 launch, 1 CTA, 1 schedule\n  nothing found\n\n"
        "nothing found in 1 kernel, 1 launch, 1 CTA, 1 schedule on GPU\n"
    )


def test_the_text_of_a_kernel_alone():
    report = gather("GPU", [LaunchReport("k", Source(), (), 0, 0, 0)])
    assert text(report).startswith("k  its text alone, which nothing has run\n")
    assert text(report).endswith("\nnothing found in 1 kernel on GPU\n")


# ---------------------------------------------------------------------- excerpts


@pytest.mark.parametrize(
    ("source", "column", "shown", "mark"),
    [
        ("    a = tlx.load(x)  # why", 9, "a = tlx.load(x)  # why", "    ^~~~~~~~"),
        ("\ta = load(x)", 6, "a = load(x)", "    ^~~~"),
        ("x", 1, "x", "^"),
        ("  (x)", 3, "(x)", "^"),
        ("    load(x)", 0, "load(x)", ""),
        ("    load(x)", 3, "load(x)", ""),
        ("    load(x)", 99, "load(x)", ""),
        ("", 1, "", ""),
    ],
)
def test_the_caret_is_under_the_operation(source: str, column: int, shown: str, mark: str):
    assert excerpt(source, column, 70) == (shown, mark)


@pytest.mark.parametrize("column", [5, 13, 27, 37, 44])
def test_long_lines_are_cut_where_the_mark_is_not(column: int):
    source = "    first = second(third, fourth) + fifth.sixth(seven, eight)"
    for width in range(8, 62):
        shown, mark = excerpt(source, column, width)
        assert max(len(shown), len(mark)) <= width
        assert shown[mark.index("^")] == source[column - 1]
        assert shown.removeprefix("…").removesuffix("…") in source
        assert ("…" in shown) == (len(source) - 4 > width)


# ---------------------------------------------------------------------- SARIF


def run(report: CheckReport, folder: Path = FOLDER) -> dict[str, Any]:
    log = json.loads(sarif_log(report, folder))
    check_shape(log)
    return log["runs"][0]


def test_a_log_has_the_shape_of_the_schema():
    found = run(full())
    assert [each["level"] for each in found["results"]] == ["error", "warning", "note", "error", "error"]
    for result in found["results"]:
        assert found["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert not found["invocations"][0]["executionSuccessful"]
    assert run(gather("GPU", []))["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_files_of_the_repository_are_named_from_its_root():
    at = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]
        for each in run(full())["results"]
        if "physicalLocation" in each["locations"][0]
    ]
    assert at[0] == {"uri": "kernels/two%20tiles.py", "uriBaseId": "%SRCROOT%"}
    assert at[-1] == {"uri": "file:///elsewhere/other.py"}


def test_what_is_kept_is_suppressed():
    results = run(full())["results"]
    assert [each["suppressions"] for each in results if each["ruleId"] == "slot-reuse"] == [
        [{"kind": "inSource", "status": "accepted", "justification": "the host waits between launches"}]
    ]
    assert all(not each["suppressions"] for each in results if each["ruleId"] != "slot-reuse")


def test_fingerprints_are_unique():
    twice = LaunchReport("doubled_tiles", SOURCE, (RACE, replace(RACE, message="another slot")))
    results = run(gather("GPU", [twice]))["results"]
    first, second = (each["partialFingerprints"]["tlxvizFinding/v1"] for each in results)
    assert first.removesuffix(":1") == second.removesuffix(":2")


def test_all_rules_are_listed_with_their_page():
    rules = run(gather("GPU", []))["tool"]["driver"]["rules"]
    assert [each["id"] for each in rules] == list(RULES)
    assert rules[0]["properties"]["page"] == f"docs/rules.md#{rules[0]['id']}"
    unknown = LaunchReport("doubled_tiles", SOURCE, (replace(RACE, rule="new-rule"),))
    assert run(gather("GPU", [unknown]))["tool"]["driver"]["rules"][-1]["id"] == "new-rule"


if __name__ == "__main__":
    for file, data in pictures().items():
        (GOLDEN / file).write_bytes(data)
