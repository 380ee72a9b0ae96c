"""The vocabulary covers every kind of site, and the documentation says so too."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_samples import sample_launch

from tlxviz.ir.program import SiteKind
from tlxviz.trace import COLUMNS, MEANINGS, EventMeaning, TrackKind, Work, events_from_rows, meaning, work_of_events

DOCUMENT = (Path(__file__).parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")


def test_every_kind_of_site_has_a_meaning_on_a_warp_groups_track() -> None:
    kinds = {kind for kind, track in MEANINGS if track is TrackKind.WARP_GROUP}
    assert kinds == set(SiteKind) - {SiteKind.RANGE_BEGIN, SiteKind.RANGE_END}


@pytest.mark.parametrize("entry", MEANINGS.values(), ids=lambda entry: f"{entry.track}-{entry.kind}")
def test_every_meaning_stands_in_the_documentation(entry: EventMeaning) -> None:
    assert entry.columns < set(COLUMNS)
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("|") and f"`{entry.kind}`" in line]
    if entry.track is not TrackKind.WARP_GROUP:
        rows = [row for row in rows if f"`{entry.track}`" in row and entry.begin in row and entry.end in row]
    else:
        rows = [row for row in rows if row.startswith(f"| `{entry.kind}` |")]
    assert len(rows) == 1
    for column in entry.columns - {"released_by"}:
        assert f"`{column}`" in rows[0]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_stands_in_the_documentation(column: str) -> None:
    assert f"| `{column}` | int{COLUMNS[column].itemsize * 8} |" in DOCUMENT


def test_a_kind_that_is_not_known() -> None:
    assert meaning("teleport", TrackKind.TMA) is None


def test_work_of_events() -> None:
    launch = sample_launch(
        events=events_from_rows([(0, 0, 1), (1, 0, 2), (0, 1, 3), (2, 1, 4), (0, -1, 5)], ("track", "site", "end"))
    )
    # Nothing is known of a wait on the tensor core's track, nor of an event without a site.
    assert work_of_events(launch).tolist() == [Work.ISSUE, Work.BUSY, Work.WAIT, Work.BUSY, Work.BUSY]
    assert work_of_events(sample_launch(events=events_from_rows([], ("end",)), tracks=[])).tolist() == []
