"""Figures and pages of kernels whose names no font, page or file has a place for."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from analysis.synthetic_traces import launch, pipeline
from exports.page_traces import page_of

from tlxviz.exports.figure.focus import focus
from tlxviz.exports.figure.wording import fitted, width
from tlxviz.exports.figure.writers import png, svg
from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, SiteRow, Track, TrackKind

CONTROL = "\x1b[31m\f\0\x7f\udcff\uffff"


def renamed(name: str) -> LaunchTrace:
    """`pipeline` with something behind each of its names."""
    plain = pipeline()
    return replace(
        plain,
        kernel=f"{plain.kernel}{name}",
        tracks=[replace(each, name=f"{each.name}{name}") for each in plain.tracks],
        agents=[replace(each, name=f"{each.name}{name}") for each in plain.agents],
        sites=[replace(each, variable=each.variable and f"{each.variable}{name}") for each in plain.sites],
    )


def shown(made: LaunchTrace) -> Cut:
    return cut(made, 0, focus(made, Selection()))


@pytest.mark.parametrize("name", [CONTROL, "\n\t\r two", "🚀漢", "<b>&'\"$x$"], ids=ascii)
def test_figures_of_any_names(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = svg([shown(renamed(name))])
        assert png([shown(renamed(name))]).startswith(b"\x89PNG")
    texts = [each.text or "" for each in ElementTree.fromstring(made).iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("pipeline") and "\n" not in text for text in texts)


def test_names_of_thousands_of_characters_take_no_longer() -> None:
    begin = time.perf_counter()
    svg([shown(renamed("x" * 5000))])
    assert time.perf_counter() - begin < 20  # minutes, where each character was tried


@pytest.mark.parametrize("text", ["a" * 400, "il" * 2000, "short", "", "two\nlines"])
def test_as_much_of_a_text_as_there_is_room_for(text: str) -> None:
    found = fitted(text, 7, 100)
    assert width(found, 7) <= 100
    if found.endswith("…"):
        assert width(text.replace("\n", " ")[: len(found)] + "…", 7) > 100
    else:
        assert found == text.replace("\n", " ")


def test_a_page_of_any_names() -> None:
    page = page_of(renamed(CONTROL)).decode("utf-8")
    assert "<title>pipeline\ufffd[31m" in page
    document = page.split('id="document">', 1)[1].split("</script>", 1)[0]
    assert json.loads(document)["launches"]


def test_a_range_is_called_by_as_much_of_its_name_as_fits() -> None:
    tracks = [Track(TrackKind.RANGE, "a ranges", 0, 0, 0, begin=0, end=1000)]
    sites = [SiteRow("range_begin", 0, "f", 1, name, "") for name in ("sum up everything " * 3, "ab")]
    stretches = [(0, 0, 300), (0, 310, 320), (1, 400, 450), (1, 500, 501)]
    rows = [(0, site, begin, end, -1, -1, -1, -1, 0, -1) for site, begin, end in stretches]
    made = svg([shown(launch(tracks, sites, rows, cycles=1000))])
    texts = [each.text or "" for each in ElementTree.fromstring(made).iter("{http://www.w3.org/2000/svg}text")]
    [cut_short] = [text for text in texts if text.startswith("sum up everything")]
    assert cut_short.endswith("…")
    assert len(cut_short) > 20
    assert texts.count("ab") == 1
    assert not any(text.startswith("s") and len(text) < 5 for text in texts)
