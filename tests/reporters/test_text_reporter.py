from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import MEASURED, hung, launch, pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.summary import Summary, summarise
from tlxviz.reporters.text import NAMES, TextReporter
from tlxviz.trace import AgentRow

GOLDEN = Path(__file__).parent / "golden"


def rendered(*summaries: Summary) -> str:
    stream = io.StringIO()
    TextReporter(summaries).render(stream)
    return stream.getvalue()


def golden(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def test_a_pipeline() -> None:
    assert rendered(summarise(pipeline(), strip_columns=68)) == golden("pipeline.txt")


def test_tiles_in_tensor_memory() -> None:
    assert rendered(summarise(tiles(1, 8, asks=True), strip_columns=68)) == golden("tiles.txt")


def test_a_hang() -> None:
    assert rendered(summarise(hung(), strip_columns=68)) == golden("hang.txt")


def test_several_launches_of_little() -> None:
    made = [launch(), launch(agents=[AgentRow("compute", "compute", 0, 4)], complete=False, cycles=70)]
    assert rendered(*map(summarise, made)) == golden("little.txt")


def test_ctas_that_do_not_exist() -> None:
    stream = io.StringIO()
    made = summarise(launch(agents=[AgentRow("compute", "compute", 0, 4)]))
    TextReporter([made, summarise(pipeline())], ["kernel k has only CTA 0: ...", None]).render(stream)
    first, second = stream.getvalue().split("Launch 1")
    assert "\nkernel k has only CTA 0: ...\n" in first
    assert "compute          4     -  no such CTA" in first
    assert "not traced" not in first
    assert "no such CTA" not in second


@pytest.mark.parametrize("width", [20, 40, 64, 72, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    columns = TextReporter.strip_columns(io.StringIO())
    for made in (pipeline(), hung(), launch()):
        text = rendered(summarise(made, strip_columns=columns))
        assert max(map(len, text.splitlines())) <= min(width, 120)
        if width >= 40:
            assert all(line == line.rstrip() for line in text.splitlines() if "·" not in line)


@pytest.mark.parametrize("width", [20, 40, 64, 72, 80, 120])
def test_sections_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for made in (pipeline(), hung(), launch(), launch(agents=[AgentRow("compute", "compute", 0, 4)], cycles=70)):
        account = Account(made)
        stream = io.StringIO()
        TextReporter([summarise(account)], (), [account], NAMES).render(stream)
        lines = stream.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        for title in ("Findings", "Critical path", "Roofline", "What the compiler made of it"):
            assert any(line.startswith(title[:8]) for line in lines)


def test_one_section() -> None:
    account = Account(pipeline())
    stream = io.StringIO()
    TextReporter([summarise(account)], (), [account], ["slack", "causes"]).render(stream)
    text = stream.getvalue()
    assert text.index("Where the time of each warp group goes") < text.index("Slack of barriers")
    assert "\n  synchronization  " in text
    assert "Critical path" not in text
    assert "Steady state" not in text


def test_a_strip_that_is_too_wide_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, rendered(summarise(pipeline(), strip_columns=600)).splitlines())) <= 40


def test_long_names_fit() -> None:
    made = pipeline()
    made.agents[1] = replace(made.agents[1], name="a_very_long_warp_group_name_indeed.0")
    made.sites[3] = replace(
        made.sites[3], variable="a_barrier_whose_name_is_long_too", file="a_long_file_name_for_it.py"
    )
    made.tracks[1] = replace(made.tracks[1], name="a_very_long_warp_group_name_indeed.0")
    assert max(map(len, rendered(summarise(made)).splitlines())) <= 80


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = summarise(pipeline())
    assert "\x1b[" not in rendered(summary)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31m" in rendered(summary)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in rendered(summary)


def test_ascii_shapes_where_the_stream_has_no_others() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    TextReporter([summarise(pipeline())]).render(stream)
    stream.seek(0)
    text = stream.read()
    assert "# busy  + issue  . wait" in text


def test_what_measuring_cost() -> None:
    text = rendered(summarise(pipeline(provenance=MEASURED)))
    assert text.startswith("pipeline on NVIDIA H200 SXM, measured\n")
    assert " MHz" in text.splitlines()[1]
    says = "timestamps slow the kernel down by 0.4% (3.31 to 3.323 ms), traced CTAs by 10.9%; corrected by -9.8%"
    assert says in " ".join(text.split())
    assert "missing" not in text


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"correction_percent": 0.0}, "traced CTAs by 10.9%; not corrected"),
        ({"parts": 2}, "corrected by -9.8%; in 2 parts"),
        ({"missing": 7}, "7 records missing beside 12,345: the trace does not hold all that the traced CTAs did"),
        ({"slow_down_percent": None}, "what the timestamps cost is not known"),
    ],
)
def test_how_a_launch_was_measured(facts: dict[str, object], says: str) -> None:
    probe: Any = {**MEASURED["probe"], **facts}
    made = pipeline(provenance={"recorder": "measured", "probe": probe}, complete=not probe["missing"])
    text = " ".join(rendered(summarise(made)).split())
    assert says in text
    assert "interrupted" not in text


def test_a_measured_launch_of_an_unknown_recorder() -> None:
    assert "not known" in rendered(summarise(pipeline(provenance={"recorder": "measured"})))
