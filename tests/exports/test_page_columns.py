"""Events in a page: all of them, to the bit, in few bytes, the same for the same trace."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
from analysis.synthetic_traces import launch, pipeline
from exports.page_traces import HOSTILE, by_track, dense, hostile, page_of
from hypothesis import given, settings
from hypothesis import strategies as some

from tlxviz.exports.html import bundle
from tlxviz.exports.html.columns import NAMES, Packed, packed
from tlxviz.exports.html.writer import page
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, SiteRow, Track, TrackKind

GOLDEN = Path(__file__).parent / "golden" / "small.html"
BLOCK = re.compile(r'(?<=class="events">)[^<]*(?=</script>)')


def numbers(made: Packed) -> dict[str, list[int]]:
    """What stands in the columns, before it is made of differences again."""
    data, rows, found = zlib.decompress(made.data), sum(made.counts), {}
    for name, planes in zip(NAMES, made.planes, strict=True):
        part, data = data[: rows * planes], data[rows * planes :]
        found[name] = [sum(part[plane * rows + row] << 8 * plane for plane in range(planes)) for row in range(rows)]
    assert not data
    return found


def signed(number: int) -> int:
    return -(number + 1) // 2 if number % 2 else number // 2


def unpacked(of: LaunchTrace) -> list[tuple[int, ...]]:
    """The events that a reader gets: track, site, begin, end, outer, inner, slot, phase, bytes, released_by."""
    made = packed(of)
    columns, rows, at = numbers(made), [], 0
    for track, count in enumerate(made.counts):
        begin = outer = inner = 0
        last: dict[int, tuple[int, int]] = {}
        for row in range(at, at + count):
            site = columns["site"][row] - 1
            begin += signed(columns["begin"][row])
            outer += signed(columns["outer"][row])
            inner += signed(columns["inner"][row])
            phase, by = last.get(site, (-1, -1))
            phase, by = phase + signed(columns["phase"][row]), by + signed(columns["released_by"][row])
            last[site] = phase, by
            moved = signed(columns["bytes"][row]) + (of.sites[site].bytes if site >= 0 else 0)
            end = begin + columns["cycles"][row]
            rows.append((track, site, begin, end, outer, inner, columns["slot"][row] - 1, phase, moved, by))
        at += count
    return rows


def test_events_come_back_as_they_were() -> None:
    assert unpacked(pipeline()) == by_track(pipeline())


BIG = some.integers(0, 2**45)


@settings(max_examples=40, deadline=None)
@given(
    some.lists(
        some.tuples(
            some.integers(0, 2), some.integers(-1, 1), BIG, BIG, some.integers(-1, 2**31 - 1), some.integers(-1, 5),
            some.integers(-1, 3), some.integers(-1, 2**31 - 1), some.integers(0, 2**40), some.integers(-1, 30),
        ),
        max_size=30,
    )
)  # fmt: skip
def test_so_does_any_table_of_events(rows: list[tuple[int, ...]]) -> None:
    tracks = [Track(kind, "track", 0, 0, 0) for kind in (TrackKind.WARP_GROUP, TrackKind.TMA, TrackKind.RANGE)]
    sites = [SiteRow("wait", 0, "a.py", 1, "full", ""), SiteRow("tma_load", 0, "a.py", 2, "a", "", 4096)]
    table = sorted(
        ((*row[:3], row[2] + row[3], *row[4:9], min(row[9], len(rows) - 1)) for row in rows), key=lambda row: row[3]
    )
    of = launch(tracks, sites, table)
    assert [row[:9] for row in unpacked(of)] == [row[:9] for row in by_track(of)]


def test_a_million_regular_events_take_few_bytes() -> None:
    assert len(packed(dense(100_000)).data) < 1500


def test_no_events() -> None:
    made = packed(launch())
    assert made.counts == []
    assert made.planes == [0] * len(NAMES)
    assert numbers(made) == {name: [] for name in NAMES}


def test_equal_traces_give_equal_bytes() -> None:
    assert page_of(pipeline(), hostile()) == page_of(pipeline(), hostile())


def test_launches_of_one_kernel_share_its_source() -> None:
    text = page_of(pipeline(), pipeline()).decode()
    assert text.count("barrier_wait(full[slot], phase)") == 1


def test_nothing_in_a_trace_ends_a_script() -> None:
    text = page_of(hostile()).decode()
    assert text.count("</script>") == 3  # the document, one launch's events, the program
    assert HOSTILE not in text
    [document] = re.findall(r'<script type="application/json" id="document">(.*?)</script>', text)
    assert not set("<>&\u2028") & set(document)
    assert json.loads(document)["launches"][0]["kernel"] == HOSTILE


def test_a_page_of_a_part_says_so() -> None:
    part, all_of_it = (
        page([cut(pipeline(), 0, chosen)], style="", script="") for chosen in (Selection(roles=("load",)), Selection())
    )
    assert '"partial":true' in part
    assert '"partial":false' in all_of_it


def test_modules_of_the_page_name_nothing_twice() -> None:
    """They become one, in which nothing may be."""
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", bundle.script(), re.MULTILINE)
    assert len(names) > 100
    assert sorted({each for each in names if names.count(each) > 1}) == []
    assert not re.search(r"^(import|export)\b", bundle.script(), re.MULTILINE)


def test_keys_do_what_they_do_in_the_terminal() -> None:
    """By the names and keys of docs/view.md, which are those of the table of keys there."""
    view = (Path(__file__).parents[2] / "docs" / "view.md").read_text(encoding="utf-8")
    terminal: dict[str, str] = {}
    for keys, name in re.findall(r"^\| (`.*`) \| .* \| `(\w+)` \|$", view.partition("| In panels")[0], re.MULTILINE):
        terminal |= dict.fromkeys(re.findall(r"`(\S)`", keys), name)
    ours = {
        key: name
        for name, keys in re.findall(r'\{ name: "(\w+)", keys: \[(.*?)\], says', bundle.script())
        for key in re.findall(r'"(\S)"', keys)
    }
    own = {"S": "stretch", "F": "fit"}
    assert len(ours) > 30
    assert {key: name for key, name in ours.items() if terminal.get(key) != name} == own
    assert not set(own) & set(terminal)


def inflated(text: str) -> str:
    """A page with its events as they are before they are deflated, which depends on the zlib."""
    return BLOCK.sub(lambda found: zlib.decompress(base64.b64decode(found[0])).hex(), text)


def small() -> str:
    """The page of a small trace, without its style and program."""
    return page([cut(pipeline(2), 0, Selection()), cut(launch(), 1, Selection())], style="", script="")


def test_golden_page() -> None:
    """`PYTHONPATH=.:tests python tests/exports/test_page_columns.py` writes it again."""
    assert inflated(small()) == inflated(GOLDEN.read_text(encoding="utf-8"))


def test_golden_events_are_those_of_the_trace() -> None:
    blocks = BLOCK.findall(GOLDEN.read_text(encoding="utf-8"))
    first = np.frombuffer(zlib.decompress(base64.b64decode(blocks[0])), np.uint8)
    assert len(first) == 18 * sum(packed(pipeline(2)).planes)


if __name__ == "__main__":
    GOLDEN.write_text(small(), encoding="utf-8")
