from __future__ import annotations

import csv
import io
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from analysis.synthetic_traces import launch, pipeline
from matplotlib.image import imread
from numpy.typing import NDArray

from tlxviz.commands import main
from tlxviz.exports.errors import CannotExport
from tlxviz.exports.figure.arrows import arrows
from tlxviz.exports.figure.brackets import brackets
from tlxviz.exports.figure.focus import focus
from tlxviz.exports.figure.lanes import COLUMNS, Lane, lanes
from tlxviz.exports.figure.looks import APPEARANCES, Look
from tlxviz.exports.figure.page import POINTS, WIDTH, page
from tlxviz.exports.figure.writers import DOTS_PER_INCH, MOST_LANES, png, svg
from tlxviz.exports.model import Cut
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, SiteRow, Trace, Track, TrackKind, save_trace

GOLDEN = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"


def shown(made: LaunchTrace, selection: Selection | None = None) -> Cut:
    return cut(made, 0, focus(made, selection or Selection()))


def by_label(found: list[Lane]) -> dict[str, Lane]:
    return {lane.label: lane for lane in found}


def boxes(lane: Lane) -> list[tuple[int, int, str]]:
    """Begin, end and look, in order of time; what a warp group is busy with lies below all else."""
    found = zip(lane.boxes.begin.tolist(), lane.boxes.end.tolist(), lane.boxes.look.tolist(), strict=True)
    return [(int(begin), int(end), Look(look).name) for begin, end, look in found]


def texts(figure: bytes) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(figure).iter(f"{SVG}text")]


def test_golden_svg() -> None:
    made = svg([shown(pipeline())])
    assert made.decode() == (GOLDEN / "small.svg").read_text(encoding="utf-8")


def test_svg_is_text_in_two_fonts_at_most_and_as_wide_as_a_page() -> None:
    root = ElementTree.fromstring(svg([shown(pipeline())]))
    assert root.get("width") == f"{WIDTH * POINTS:.0f}pt"
    styles = {each.get("style", "") for each in root.iter(f"{SVG}text")}
    sizes = {float(style.partition("font-size: ")[2].partition("px")[0]) for style in styles if "font-size" in style}
    assert sizes == {7.0, 8.0, 9.0}


def test_four_iterations_of_the_steady_state_of_one_cta_where_nobody_says() -> None:
    made = shown(pipeline())
    assert (made.begin, made.end) == (400, 800)
    found = brackets(made)
    assert found.agent == "load"
    assert [(each.begin, each.end, each.label) for each in found.brackets] == [
        (400, 500, "4"),
        (500, 600, "5"),
        (600, 700, "6"),
        (700, 800, "7"),
    ]
    assert all(each.from_begin and each.to_end for each in found.brackets)


def test_slices_of_an_iteration() -> None:
    found = by_label(lanes(shown(pipeline(), Selection(cycles=(401, 499)))))
    assert list(found) == ["load", "mma", "TMA loads", "tensor core"]
    assert boxes(found["load"]) == [(401, 499, "BUSY"), (401, 440, "WAIT"), (440, 444, "ISSUE"), (444, 450, "ISSUE")]
    assert boxes(found["mma"]) == [
        (401, 499, "BUSY"),
        (401, 430, "WAIT"),
        (430, 440, "ISSUE"),
        (440, 490, "WAIT"),
        (490, 494, "ISSUE"),
    ]
    assert boxes(found["TMA loads"]) == [(401, 430, "LOAD"), (450, 499, "LOAD")]
    assert boxes(found["tensor core"]) == [(435, 485, "MMA")]


def test_copies_that_overlap_have_rows_of_their_own() -> None:
    tracks = [Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=100)]
    sites = [SiteRow("tma_load", 0, "f", 1, "a", "load"), SiteRow("tma_store", 0, "f", 2, "c", "store")]
    rows = [
        (0, site, begin, end, -1, -1, -1, -1, 0, -1)
        for site, begin, end in ((0, 0, 40), (0, 10, 50), (1, 20, 60), (0, 40, 70))
    ]
    found = by_label(lanes(shown(launch(tracks, sites, rows))))
    assert found["TMA loads"].boxes.level.tolist() == [0, 1, 0]
    assert found["TMA loads"].levels == 2
    assert (boxes(found["TMA stores"]), found["TMA stores"].levels) == ([(20, 60, "STORE")], 1)


@pytest.mark.parametrize(("copies", "rows"), [(6, 6), (7, 1)])
def test_more_rows_than_six_are_one(copies: int, rows: int) -> None:
    tracks = [Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=100)]
    sites = [SiteRow("tma_load", 0, "f", 1, "a", "load")]
    made = launch(tracks, sites, [(0, 0, 5 * k, 80 + 2 * k, -1, -1, -1, -1, 0, -1) for k in range(copies)])
    (lane,) = lanes(shown(made))
    assert lane.levels == rows
    # where there is one row, each box ends with the begin of the next
    ends = [5 * k for k in range(1, copies)] + [80 + 2 * copies - 2] if rows == 1 else [80 + 2 * k for k in range(6)]
    assert lane.boxes.end.tolist() == ends


def test_at_most_ten_arrows_are_drawn() -> None:
    made = shown(pipeline(30), Selection(cycles=(400, 2400)))
    assert len(arrows(made, lanes(made))) == 10


def test_a_png_is_1400_pixels_wide() -> None:
    assert int.from_bytes(png([shown(pipeline())])[16:20], "big") == 1400


def test_arrows_go_from_what_released_to_the_longest_waits() -> None:
    made = shown(pipeline())
    found = lanes(made)
    names = [lane.label for lane in found]
    said = sorted((names[each.source], each.begin, names[each.target], each.end) for each in arrows(made, found))
    # the wait for `full` is over when the copy of the iteration before lands; the one at 400 began with the figure
    assert said == [
        ("TMA loads", 430, "mma", 430),
        ("TMA loads", 530, "mma", 530),
        ("TMA loads", 630, "mma", 630),
        ("TMA loads", 730, "mma", 730),
        ("tensor core", 485, "mma", 490),
        ("tensor core", 585, "mma", 590),
        ("tensor core", 685, "mma", 690),
        ("tensor core", 785, "mma", 790),
    ]


def test_an_iteration_that_goes_on_beyond_has_no_end() -> None:
    (first, *_, last) = brackets(shown(pipeline(), Selection(cycles=(420, 750)))).brackets
    assert (first.begin, first.from_begin, first.to_end, first.label) == (420, False, True, "4")
    assert (last.end, last.from_begin, last.to_end, last.label) == (750, True, False, "7")


def test_the_last_iteration_ends_with_its_last_event() -> None:
    last = brackets(shown(pipeline(3), Selection(cycles=(0, 5000)))).brackets[-1]
    assert (last.begin, last.end, last.to_end) == (200, 250, False)


def test_more_events_than_a_page_has_pixels_are_added_up() -> None:
    made = shown(pipeline(3 * COLUMNS), Selection(cycles=(0, 3 * COLUMNS * 100)))
    found = by_label(lanes(made))
    assert all(lane.coarse for lane in found.values())
    # of three iterations, `load` is busy for 150 cycles and waits for 120, `mma` waits for 240
    assert boxes(found["load"]) == [(0, made.end, "BUSY")]
    assert boxes(found["mma"]) == [(0, made.end, "WAIT")]
    assert boxes(found["tensor core"]) == [(0, made.end, "MMA")]  # half of the time, no less than nothing
    said = svg([made])
    assert "each 300 cycles show what prevails in them" in said.decode()
    assert "0 to 2699" in texts(said)
    assert len(said) < 100_000


def test_labels_stand_only_where_they_fit() -> None:
    wide, narrow = (texts(svg([shown(pipeline(), Selection(cycles=(400, end)))])) for end in (500, 1200))
    assert "full[0]" in wide
    assert "issue MMA" in wide
    assert "issue MMA" not in narrow


def test_what_is_written_is_no_markup() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "a_$x_1$ <b>", 0, 0, 0, begin=0, end=100)]
    assert "a_$x_1$ <b>" in texts(svg([shown(launch(tracks, kernel="<script>&"))]))


def test_pixels_show_the_slices() -> None:
    made = shown(pipeline())
    found = lanes(made)
    laid = page(found, bracketed=True)
    picture = imread(io.BytesIO(png([made])))[:, :, :3]
    assert picture.shape[:2] == (pytest.approx(laid.height * DOTS_PER_INCH, abs=1), WIDTH * DOTS_PER_INCH)

    def at(lane: int, cycle: float) -> NDArray[np.float64]:
        """Pixels in the lower part of a lane, where there is no label, from 2 cycles before one to 2 after."""
        x = (laid.left + laid.inside * (cycle - 400) / 400) * DOTS_PER_INCH
        y = (laid.height - laid.bottom - laid.body + laid.rows[lane].bottom - 0.02) * DOTS_PER_INCH
        wide = 2 * laid.inside / 400 * DOTS_PER_INCH
        return picture[round(y) - 1 : round(y) + 1, round(x - wide) : round(x + wide)].reshape(-1, 3)

    def is_filled(pixels: NDArray[np.float64], look: Look) -> bool:
        fill = [int(APPEARANCES[look].fill[each : each + 2], 16) / 255 for each in (1, 3, 5)]
        return bool(np.allclose(pixels, fill, atol=0.02))

    assert is_filled(at(0, 475), Look.BUSY)
    assert is_filled(at(1, 435), Look.ISSUE)
    assert is_filled(at(2, 480), Look.LOAD)
    assert is_filled(at(3, 460), Look.MMA)
    waiting = at(0, 420)
    assert not is_filled(waiting, Look.WAIT)  # but hatched in red
    assert (waiting[:, 0] - waiting[:, 2]).max() > 0.4


def test_looks_differ_on_a_grey_page() -> None:
    """By lightness, or by a hatch."""
    of_group, of_engine = (Look.BUSY, Look.ISSUE, Look.WAIT, Look.NAMED), (Look.LOAD, Look.STORE, Look.MMA)
    for looks in (of_group, of_engine):
        plain = [APPEARANCES[each] for each in looks if not APPEARANCES[each].hatch]
        shades = sorted(_grey(each.fill) for each in plain)
        assert all(b - a > 0.12 for a, b in pairwise(shades))
        assert len([each for each in looks if APPEARANCES[each].hatch]) == 1


def _grey(color: str) -> float:
    red, green, blue = (int(color[each : each + 2], 16) / 255 for each in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


@pytest.mark.parametrize(
    "made",
    [
        launch(),
        launch([Track(TrackKind.WARP_GROUP, "a", 0, 0, 0)]),
        launch([Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1)], clock_mhz=0.0),
        launch(
            [Track(TrackKind.WARP_GROUP, "a", 0, 0, 0, begin=0, end=5)],
            [SiteRow("wait", 0, "f", 1, "b", "")],
            [(0, 0, 2, 2, -1, -1, -1, -1, 0, -1)],
        ),
    ],
    ids=["nothing", "no time", "no events", "one event of no time"],
)
def test_little_is_drawn_as_well(made: LaunchTrace) -> None:
    assert ElementTree.fromstring(svg([shown(made)])).tag == f"{SVG}svg"
    assert png([shown(made)]).startswith(b"\x89PNG")


def test_settings_of_the_user_are_neither_used_nor_changed() -> None:
    with matplotlib.rc_context({"font.size": 30, "axes.linewidth": 9, "hatch.linewidth": 5}):
        assert svg([shown(pipeline())]).decode() == (GOLDEN / "small.svg").read_text(encoding="utf-8")
        assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["hatch.linewidth"]) == (30, 5)


def test_ctas_that_were_chosen_stand_below_each_other() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "a", cta, 0, 0, begin=0, end=10 + cta) for cta in range(3)]
    made = launch(tracks)
    assert {lane.cta for lane in lanes(shown(made))} == {2}
    assert [lane.cta for lane in lanes(shown(made, Selection(ctas=(0, 2))))] == [0, 2]
    # CTA 2 took longest, but the one that is there
    late = launch([*tracks, Track(TrackKind.WARP_GROUP, "a", 3, 0, 0, begin=20, end=25)])
    assert {lane.cta for lane in lanes(shown(late, Selection(cycles=(20, 30))))} == {3}


def test_more_lanes_than_a_page_holds_are_refused() -> None:
    tracks = [Track(TrackKind.WARP_GROUP, "a", cta, 0, 0, begin=0, end=10) for cta in range(MOST_LANES + 1)]
    with pytest.raises(CannotExport, match="choose some by --ctas and --roles"):
        svg([shown(launch(tracks), Selection(ctas=tuple(range(MOST_LANES + 1))))])


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(Trace([pipeline()]), "x.tlxtrace")
    assert main(["export", "--to", "svg", "x.tlxtrace"]) == 0
    assert Path("x.svg").read_text(encoding="utf-8") == (GOLDEN / "small.svg").read_text(encoding="utf-8")
    assert main(["export", "-q", "-o", "a.svg", "--iterations", "2:4", "x.tlxtrace"]) == 0
    assert "CTA 0, cycles 200 to 400, simulated" in Path("a.svg").read_text(encoding="utf-8")
    assert main(["export", "-q", "-o", "a.csv", "--iterations", "11:12", "x.tlxtrace"]) == 0
    with Path("a.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    times = {(row["track"], row["kind"], row["variable"], row["begin_cycles"], row["end_cycles"]) for row in rows}
    assert ("load", "wait", "empty", "1100", "1140") in times
    assert capsys.readouterr().err == "export: x.svg\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--iterations", "12:14"], "launch 0 (pipeline) has no iterations 12:14 in CTA 0: it has 0:12."),
        (["--iterations", "1:2", "--range", "0:9"], "--range and --iterations both choose a stretch of time"),
    ],
)
def test_iterations_that_are_not_there(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(Trace([pipeline()]), "x.tlxtrace")
    assert main(["export", "-o", "a.svg", *options, "x.tlxtrace"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("a.svg").exists()


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_trace(Trace([pipeline()]), "x.tlxtrace")
    for name in [each for each in sys.modules if each.startswith(("matplotlib", "tlxviz.exports.figure"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["export", "--to", "png", "x.tlxtrace"]) == 3
    said = "this format needs the package matplotlib: pip install 'tlxviz[export]'"
    assert capsys.readouterr().err == f"tlxviz: error: {said}\n"
    assert main(["export", "-q", "--to", "csv", "x.tlxtrace"]) == 0
