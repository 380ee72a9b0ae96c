"""The page in a browser: what a reader of a pull request does with it. Figures are those of `pipeline`, by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import hung, launch, pipeline
from exports.page_traces import HOSTILE, by_track, dense, hostile, many_lanes, one_event, page_of

from tlxviz.exports.html import bundle
from tlxviz.exports.html.writer import page
from tlxviz.exports.selection import Selection, cut
from tlxviz.trace import LaunchTrace, SiteRow, Track, TrackKind

PIPELINE = page_of(pipeline())
LOAD, MMA, TMA, CORE = 1, 2, 3, 4
"""Lanes, below that of the CTA."""


@pytest.fixture
def opened(open_page):
    return open_page(PIPELINE)


def test_opens_with_the_whole_cta_and_what_holds_it(opened) -> None:
    assert opened.text("#kernel") == "pipeline"
    assert "1,250 cycles = 1.25 us, 1000 TFLOP/s, NVIDIA H200 SXM, simulated" in opened.text("#figures")
    assert opened.window == (0, 1230)
    assert opened.text("#extent") == "1,230 cycles on screen, 100 %"
    assert opened.page.title() == "pipeline"


def test_clicking_an_event_says_all_about_it(opened) -> None:
    opened.click(MMA, 715)  # iteration 7 waits for `full` from 700 to 730
    assert opened.status == "wait full[1], mma, CTA 0, 30 cycles, pipeline.py:43"
    names, values = (opened.page.locator(f"#event {tag}").all_inner_texts() for tag in ("dt", "dd"))
    assert dict(zip(names, values, strict=True)) == {
        "role": "mma, CTA 0, SM 0",
        "kind": "waiting: ttng.wait_barrier",
        "takes": "30 cycles = 30 ns",
        "begins": "700 cycles = 700 ns",
        "source": "pipeline.py:43\ntlx.barrier_wait(full[slot], phase)",
        "variable": "full",
        "slot": "1",
        "phase": "1",
        "iteration": "7 of outer 0",
    }
    assert opened.text("#event ul") == "TMA: load a[0] 80 cycles"


def test_a_tile_that_the_block_scheduler_gives_and_a_read_of_tensor_memory(open_page) -> None:
    opened = open_page(page_of(tiles(2, 4, asks=True)))
    opened.click(5, 110)  # below the CTA, three warp groups and the tensor core
    assert opened.status.startswith("answer: CTA 148, CLC, CTA 0, 200 cycles")
    names, values = (opened.page.locator(f"#event {tag}").all_inner_texts() for tag in ("dt", "dd"))
    assert dict(zip(names, values, strict=True))["next CTA"] == "148"
    opened.click(2, 340)
    assert opened.status.startswith("read TMEM acc[0], epilogue, CTA 0, 60 cycles")
    looks = opened.page.locator(".legend li").all_inner_texts()
    assert {"TMEM access", "asking for a tile"} <= set(looks)


def test_the_line_of_the_selected_event_is_lit(opened) -> None:
    assert opened.page.locator(".line.current").count() == 0
    opened.click(MMA, 715)
    assert opened.page.locator(".line.current").all_inner_texts() == ["43\n    tlx.barrier_wait(full[slot], phase)"]
    opened.press("Escape")
    assert opened.page.locator(".line.current").count() == 0


def test_clicking_a_line_goes_to_its_longest_event(opened) -> None:
    opened.page.click("#line-44")
    assert opened.status.startswith("wait empty[")
    assert "40 cycles" in opened.status


def test_arrows_lead_along_releases_both_ways(opened) -> None:
    opened.click(MMA, 715)
    opened.press("[")
    assert opened.status == "load a[0], TMA, CTA 0, 80 cycles, pipeline.py:42"
    opened.press("]")
    assert opened.status == "wait full[1], mma, CTA 0, 30 cycles, pipeline.py:43"
    opened.press("[", "[")
    assert "nothing released it, as far as the trace says" in opened.status
    opened.press("Backspace")
    assert opened.status.startswith("wait full[1]")


def test_the_arrow_to_what_released_it_is_drawn(opened) -> None:
    before = opened.page.locator("#timeline").screenshot()
    opened.click(MMA, 715)
    pixels = opened.page.evaluate("""() => {
        const canvas = document.getElementById("timeline");
        const data = canvas.getContext("2d").getImageData(0, 24, canvas.width, canvas.height - 24).data;
        let found = 0;
        for (let at = 0; at < data.length; at += 4) {
            found += data[at] === 163 && data[at + 1] === 77 && data[at + 2] === 0;
        }
        return found;
    }""")
    assert pixels > 20  # of its colour
    assert before != opened.page.locator("#timeline").screenshot()


def test_links_of_the_panel_jump(opened) -> None:
    opened.click(MMA, 715)
    opened.page.click("#event .link >> text=load a[0]")
    assert opened.status.startswith("load a[0], TMA")


def test_zooming_keeps_the_cycle_under_the_pointer(opened) -> None:
    x, y = opened.place(LOAD, 300)
    opened.page.mouse.move(x, y)
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, -500)
    opened.page.keyboard.up("Control")
    opened.drawn()
    begin, end = opened.window
    assert end - begin == pytest.approx(1230 * np.exp(-2), rel=0.01)
    assert opened.place(LOAD, 300)[0] == pytest.approx(x, abs=np.exp(2))  # the pointer is on whole pixels


def test_keys_zoom_pan_and_fit(opened) -> None:
    opened.press("w")
    begin, end = opened.window
    assert end - begin == pytest.approx(1230 / 1.5)
    opened.press("d")
    assert opened.window[0] == pytest.approx(begin + (end - begin) / 10)
    opened.press("a", "s")
    assert opened.window == pytest.approx((0, 1230))
    opened.click(MMA, 715)
    opened.press("f")
    assert opened.window == pytest.approx((685, 745))
    opened.press("0")
    assert opened.window == (0, 1230)


@pytest.mark.parametrize("scale", [0.5, 1.25, 3])
def test_a_zoomed_browser_has_a_pixel_for_each_of_the_screen(open_page, scale: float) -> None:
    opened = open_page(PIPELINE, device_scale_factor=scale)
    canvas = opened.page.locator("#timeline")
    box = canvas.bounding_box()
    assert canvas.evaluate("each => [each.width, each.height]") == [
        round(box["width"] * scale), round(box["height"] * scale)
    ]  # fmt: skip
    opened.click(MMA, 715)
    assert opened.status.startswith("wait full[1], mma")


def test_keys_held_down_stay_in_the_launch(opened) -> None:
    for key in "dwas":
        opened.press(*key * 60)
        begin, end = opened.window
        assert end - begin >= 4
        assert begin >= -150
        assert end <= 1500


def test_dragging_pans(opened) -> None:
    opened.press("w", "w")
    begin, _ = opened.window
    x, y = opened.place(LOAD, 600)
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x - 100, y, steps=4)
    opened.page.mouse.up()
    opened.drawn()
    assert opened.place(LOAD, 600)[0] == pytest.approx(x - 100, abs=1)
    assert opened.window[0] > begin
    assert "wait" not in opened.status  # a drag selects nothing


def test_dragging_with_shift_selects_a_range_and_adds_it_up(opened) -> None:
    (left, y), (right, _) = opened.place(LOAD, 200), opened.place(LOAD, 400)
    opened.page.keyboard.down("Shift")
    opened.page.mouse.move(left, y)
    opened.page.mouse.down()
    opened.page.mouse.move(right, y, steps=4)
    opened.page.mouse.up()
    opened.page.keyboard.up("Shift")
    opened.drawn()
    length = int(re.match(r"range: (\d+) cycles", opened.text("#event h3"))[1])
    assert length == pytest.approx(200, abs=2)  # the pointer is on whole pixels
    assert "busy 50 %, waiting 40 %, issuing 10 %" in opened.text("#event")


def test_two_fingers_zoom(open_page) -> None:
    opened = open_page(PIPELINE, size=(390, 844), has_touch=True, is_mobile=True)
    session = opened.context.new_cdp_session(opened.page)
    x, y = opened.place(LOAD, 600)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": each, "y": y, "id": number} for number, each in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", x - 30)
    touch("touchStart", x - 30, x + 30)
    for apart in (40, 50, 60):
        touch("touchMove", x - apart, x + apart)
    touch("touchEnd")
    opened.drawn()
    begin, end = opened.window
    assert end - begin == pytest.approx(615, rel=0.02)
    assert opened.place(LOAD, 600)[0] == pytest.approx(x, abs=2)


def test_stepping_through_a_lane(opened) -> None:
    opened.click(LOAD, 610)
    assert opened.status.startswith("wait empty[0], load")
    opened.press(".")
    assert opened.status.startswith("expect full[0]")
    opened.press(",")
    assert opened.status.startswith("wait empty[0]")
    opened.press("x")
    assert opened.status.startswith("wait empty[1]")


def test_search_counts_and_goes_on(opened) -> None:
    opened.type("wait full[1]")
    opened.says("6 found")
    opened.page.keyboard.press("Enter")
    assert "hit 4 of 6" in opened.status  # the first behind the middle of the screen, 615
    assert opened.status.startswith("wait full[1], mma")
    opened.press("Escape")


@pytest.mark.parametrize(
    ("query", "count"),
    [("line:44", 12), ("role:tma", 12), (">=80", 12), ("kind:mma_wait slot:0", 0), ("i:3", 9), ("var:a issue", 12)],
)
def test_words_of_a_search(opened, query: str, count: int) -> None:
    opened.type(query)
    opened.says(f"{count} found")


def test_a_search_that_nobody_understands_says_so(opened) -> None:
    opened.type("line:x")
    opened.says("wants a number")


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")])
def test_light_and_dark_follow_the_reader_and_a_button(open_page, scheme: str, paper: str) -> None:
    opened = open_page(PIPELINE, color_scheme=scheme)
    background = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(background) == paper
    before = opened.pixels(CORE + 1).mean()
    opened.page.click("[data-action=theme]")
    opened.drawn()
    assert opened.page.evaluate(background) != paper
    assert abs(opened.pixels(CORE + 1).mean() - before) > 100


@pytest.mark.parametrize("size", [(390, 844), (320, 480), (844, 390), (200, 200)])
def test_fits_small_windows(open_page, size: tuple[int, int]) -> None:
    opened = open_page(PIPELINE, size=size)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for button in opened.page.locator(".tools button").all():
        box = button.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]


def test_prints_header_figures_findings_and_a_picture(opened) -> None:
    opened.click(MMA, 715)
    opened.page.emulate_media(media="print")
    for shown in ("#kernel", "#figures", "#verdict", "#findings", "#paper", "#summary"):
        assert opened.page.is_visible(shown)
    for hidden in ("#scroller", ".tools", "#event", "#source"):
        assert not opened.page.is_visible(hidden)
    colours = opened.page.evaluate(
        "new Set(document.getElementById('paper').getContext('2d').getImageData(0, 0, 1500, 300).data).size"
    )
    assert colours > 20
    assert opened.page.pdf().startswith(b"%PDF")


def test_dense_columns_show_how_much_they_hold(open_page) -> None:
    pixels = open_page(page_of(dense())).pixels(LOAD)
    red = (pixels[..., 0].astype(int) - pixels[..., 2] > 30).mean(axis=0)
    assert (red > 0.3).mean() > 0.97  # no column is empty
    assert np.ptp(red) < 0.5  # and all are alike, as the trace is


def test_findings_lead_to_events(open_page) -> None:
    opened = open_page(PIPELINE)
    opened.page.locator("#findings .link", has_text="mma").first.click()
    assert ", mma, CTA 0" in opened.status
    assert opened.page.locator(".line.current").count() == 1


def test_worst_waits_lead_to_events(opened) -> None:
    opened.page.click("#summary .link >> text=mma mma_wait")
    assert opened.status.startswith("MMA wait, mma, CTA 0, 50 cycles")


def test_a_hang_says_who_waits_and_leads_there(open_page) -> None:
    opened = open_page(page_of(hung()))
    assert opened.text("#verdict") == "Hang at cycle 5,000 in CTA 0: 1 warp group waits forever."
    said = opened.text("#findings")
    assert "mma waits on full[1], phase 1, since cycle 300, iteration 3" in said
    assert "1 of 1 arrivals pending, 4,096 bytes missing, 1 phase completed so far" in said
    assert "arrives on it: load (ended), pipeline.py:42" in said
    opened.page.click("#findings .link")
    assert ", mma, CTA 0" in opened.status


def test_an_interrupted_launch_says_so(open_page) -> None:
    opened = open_page(page_of(replace(pipeline(), complete=False)))
    assert "Recording was interrupted" in opened.text("#findings")


def test_a_launch_without_events(open_page) -> None:
    opened = open_page(page_of(launch()))
    assert "it has no events" in opened.text("#event")
    opened.press(*".,[]xzwsadkj0f{}neiZ", " ", "?", "Escape")
    opened.page.mouse.click(600, 300)


def test_a_launch_of_one_event_without_source(open_page) -> None:
    opened = open_page(page_of(one_event()))
    assert "no source" in opened.text("#source")
    opened.press(".")
    assert opened.status.startswith("arrive full[0], load, CTA 0, 3 cycles, other.py:3")
    opened.press("f", "w", "w", "w", "w", "[", "]")


def test_a_part_of_a_launch_keeps_the_figures_of_all(open_page) -> None:
    opened = open_page(page_of(pipeline(), selection=Selection(roles=("mma",), cycles=(300, 500))))
    assert opened.text("#verdict") == open_page(PIPELINE).text("#verdict")
    assert "This page holds a part of the launch" in opened.text("#findings")
    opened.press("/")
    opened.page.keyboard.type("role:load")
    opened.says("0 found")


def test_names_are_shown_and_never_run(open_page) -> None:
    opened = open_page(page_of(hostile()))
    visible = HOSTILE.replace("\u2028", "")
    assert opened.text("#kernel").replace("\u2028", "") == visible
    opened.click(MMA, 715)
    assert opened.status.replace("\u2028", "").startswith(f"wait {visible}[1]")
    assert opened.page.locator("img").count() == 0
    opened.type("onerror=alert(1)>&amp;")
    opened.says("108 found")


def test_launches_are_chosen(open_page) -> None:
    opened = open_page(page_of(*(replace(pipeline(at + 3), kernel=f"kernel {at}") for at in range(10))))
    opened.click(MMA, 15)
    opened.page.select_option("#launch", "7")
    opened.page.wait_for_selector("body[data-launch='7']")
    opened.drawn()
    assert opened.text("#kernel") == "kernel 7"
    assert opened.window == (0, 1030)
    assert "No event is selected" in opened.text("#event")


def test_hundreds_of_lanes_scroll(open_page) -> None:
    opened = open_page(page_of(many_lanes()))
    opened.press(*["ArrowDown"] * 299)
    assert opened.status == "group 299, CTA 0"
    opened.press(".")
    assert opened.status.startswith("arrive full[0], group 299")
    assert opened.page.evaluate("document.getElementById('scroller').scrollTop") > 6000


def test_iterations_are_walked(opened) -> None:
    opened.click(MMA, 715)
    opened.press("i")
    assert opened.status == "wait full[0], mma, CTA 0, 30 cycles, pipeline.py:43 · iteration 8"
    opened.press(".", "I")
    assert opened.status.endswith("iteration 7")
    opened.press(*"I" * 8)
    assert opened.status.endswith("no earlier iteration")


def test_help_lists_the_keys_and_closes(opened) -> None:
    opened.press("?")
    assert "what released the selected event" in opened.text("#help-body")
    opened.press("Escape")
    assert not opened.page.is_visible("#help")


def test_controls_have_names_and_take_the_focus(opened) -> None:
    for control in opened.page.locator("button, select, input, [tabindex='0']").all():
        named = control.get_attribute("aria-label") or control.inner_text() or control.get_attribute("id") == "launch"
        assert named
    assert opened.page.get_attribute("#status", "aria-live") == "polite"
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.dataset.action") == "zoom_in"
    opened.press("Enter")
    assert opened.window[1] - opened.window[0] == pytest.approx(820)


BIG = [
    (0, 0, 2**45, 2**45 + 2**33, 2**31 - 1, -1, 3, 2**31 - 1, 2**40, -1),
    (0, -1, 2**46, 2**46, -1, -1, -1, -1, 0, 0),
]


@pytest.mark.parametrize(
    "of",
    [pipeline(), launch(), launch([Track(TrackKind.TMA, "TMA", 0, 0, -1)], [SiteRow("wait", 0, "", 1, "", "")], BIG)],
)
def test_the_browser_reads_the_events_that_were_written(open_page, of: LaunchTrace) -> None:
    reading = "unpack(blocks[0].textContent, held.launches[0]).then((events) => (window.unpacked = events));"
    data = page([cut(of, 0, Selection())], style=bundle.style(), script=f"{bundle.script()}\n{reading}")
    read = open_page(data.encode()).page.evaluate("""() => Object.fromEntries(Object.entries(window.unpacked).map(
        ([name, column]) => [name, typeof column === "number" ? column : Array.from(column)]))""")
    names = ("site", "begin", "end", "outer", "inner", "slot", "phase", "bytes", "releasedBy")
    assert list(zip(*(read[name] for name in names), strict=True)) == [row[1:] for row in by_track(of)]
    assert read["first"] == [sum(row[0] < track for row in by_track(of)) for track in range(len(of.tracks) + 1)]
