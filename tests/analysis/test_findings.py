"""What holds a kernel, and what would help: one sentence and findings, on traces worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from analysis.blackwell_traces import tiles
from analysis.synthetic_traces import hung, launch, pipeline

from tlxviz.analysis.account import Account
from tlxviz.analysis.findings import RULES, Finding, Severity, findings
from tlxviz.analysis.findings.compiler import _ADVICE
from tlxviz.analysis.verdict import Bound, verdict
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "findings.md"
FILE = "/somewhere/kernel.py"


def found(made: LaunchTrace) -> dict[str, Finding]:
    return {each.id: each for each in findings(Account(made))}


def one_group(events: list[tuple[int, int, int]], end: int, sites: list[SiteRow], **fields: Any) -> LaunchTrace:
    """A warp group `mma` with events (site, begin, end), and nobody else."""
    tracks = [Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, warps=4, begin=0, end=end)]
    rows = [(0, site, begin, until, i, i, 0, 0, 0, -1) for i, (site, begin, until) in enumerate(events)]
    return launch(tracks, sites, rows, [AgentRow("mma", "mma", 0, 4)], cycles=end, **fields)


def test_every_finding_has_a_section() -> None:
    sections = set(re.findall(r"^### ([\w-]+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    assert sections == set(RULES) - {"compiler"} | set(_ADVICE)


def test_nothing_is_said_of_a_launch_that_did_not_end() -> None:
    for made in (hung(), replace(pipeline(), complete=False), launch()):
        assert findings(Account(made)) == ()
        assert verdict(Account(made)) is None


def test_the_tensor_core_holds_it() -> None:
    """One product of 900 of 1,000 cycles, waited for."""
    sites = [SiteRow("mma", 0, FILE, 5, "acc", "dot"), SiteRow("mma_wait", 0, FILE, 6, "", "wait")]
    tracks = [
        Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, warps=4, begin=0, end=1000),
        Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1, begin=0, end=1000),
    ]
    rows = [
        (0, 0, 10, 20, 0, 0, 0, 0, 0, -1),
        (1, 0, 20, 920, 0, 0, 0, 0, 0, 0),
        (0, 1, 20, 930, 0, 0, -1, -1, 0, 1),
    ]
    made = launch(
        tracks,
        sites,
        rows,
        [AgentRow("mma", "mma", 0, 4)],
        cycles=1000,
        statistics={"sm_cycles": 1000, "tensor_core_busy_cycles": 900},
    )
    told = verdict(Account(made))
    assert told is not None
    assert (told.bound, told.share, told.agent, told.line) == (Bound.TENSOR_CORE, 0.9, "mma", 5)
    assert told.sentence == (
        "The tensor core holds it: 90% of the critical path is products, most of it issued by mma (line 5)."
    )
    assert told.shares == pytest.approx(
        {Bound.TENSOR_CORE: 0.9, Bound.ARITHMETIC: 0.08, Bound.SYNCHRONIZATION: 0.01, Bound.ISSUE: 0.01}
    )
    assert found(made)["tensor-core-busy"].severity is Severity.NOTE


def test_launching_holds_it() -> None:
    made = one_group([], 100, [], grid=(1, 1, 1))
    told = verdict(Account(replace(made, cycles=400)))
    assert told is not None
    assert (told.bound, told.share) == (Bound.LAUNCH, 0.75)
    short = found(replace(made, cycles=400))["short-launch"]
    assert short.text == "75% of these 400 cycles go by before, between and after the CTAs"


def test_what_was_not_traced() -> None:
    """CTAs that come after the traced one take longer than the end of a launch does."""
    told = verdict(Account(replace(one_group([], 100, []), cycles=10_000)))
    assert told is not None
    assert (told.bound, told.share) == (Bound.REST, 0.99)


@pytest.mark.parametrize(
    ("ctas", "waves", "text"),
    [
        (150, 2, "150 CTAs take 2 waves of 132: 43% of the room stays empty"),
        (64, 1, "64 CTAs leave 52% of the 132 SMs' room without work"),
        (264, 2, None),
        (250, 2, None),
    ],
)
def test_a_lopsided_grid(ctas: int, waves: int, text: str | None) -> None:
    made = one_group(
        [],
        100,
        [],
        device={"name": "h200", "limits": {"sms": 132}},
        statistics={"ctas": ctas, "ctas_per_sm": 1, "waves": waves},
    )
    finding = found(made).get("lopsided-grid")
    assert (finding.text if finding else None) == text
    if finding:
        assert finding.severity is (Severity.PROBLEM if waves > 1 else Severity.HINT)
        assert finding.cost == pytest.approx(1 - ctas / (waves * 132))


def test_a_lopsided_grid_of_a_kernel_that_asks_for_tiles() -> None:
    """To make it persistent is no advice: it is."""
    made = tiles(2, 4, asks=True, statistics={"ctas": 320, "ctas_per_sm": 1, "waves": 3})
    made = replace(made, device={"name": "b200", "limits": {"sms": 148}})
    finding = found(made)["lopsided-grid"]
    assert finding.text == "320 tiles for 148 CTAs at a time: 28% of the room stays empty at the end"
    assert "persistent" not in finding.advice
    assert finding.cost == pytest.approx(1 - 320 / (3 * 148))


@pytest.mark.parametrize("asks", [True, False])
def test_behind_the_main_loop_of_a_kernel_that_asks_for_tiles(asks: bool) -> None:
    """`mma` issues ten products in 100 cycles, and stands still until 500 for an answer, or for an arrival."""
    sites = [
        SiteRow("mma", 0, FILE, 1, "acc", "ttng.tc_gen5_mma"),
        SiteRow("wait", 0, FILE, 2, "answered", "ttng.wait_barrier"),
        SiteRow("clc", 1, FILE, 3, "answer", "ttng.async_clc_try_cancel", 16),
        SiteRow("arrive", 1, FILE, 4, "answered", "ttng.arrive_barrier"),
    ]
    tracks = [
        Track(TrackKind.WARP_GROUP, "mma", 0, 0, 0, begin=0, end=505),
        Track(TrackKind.WARP_GROUP, "other", 0, 0, 1, begin=0, end=505),
        Track(TrackKind.TENSOR_CORE, "tensor core", 0, 0, -1, begin=0, end=505),
        Track(TrackKind.LAUNCH_CONTROL, "CLC", 0, 0, -1, begin=0, end=505),
    ]
    rows: list[tuple[int, ...]] = []
    for step in range(10):
        rows.append((0, 0, 10 * step, 10 * step + 10, 0, step, 0, -1, 0, -1))
        rows.append((2, 0, 10 * step + 10, 10 * step + 20, 0, step, 0, -1, 0, len(rows) - 1))
    if asks:
        rows.append((1, 2, 0, 10, -1, -1, 0, 0, 16, -1))
        rows.append((3, 2, 10, 500, -1, -1, 148, 0, 16, len(rows) - 1))
    else:
        rows.append((1, 3, 495, 500, -1, -1, 0, 0, 0, -1))
    rows.append((0, 1, 100, 505, -1, -1, 0, 0, 0, len(rows) - 1))
    agents = [AgentRow("mma", "mma", 0, 1), AgentRow("other", "other", 1, 1)]
    finding = found(launch(tracks, sites, rows, agents, cycles=505))["epilogue"]
    assert (finding.agent, finding.text.endswith("most of it asking for the next tile")) == ("mma", asks)
    assert finding.advice.startswith("ask for the next tile before") == asks


@pytest.mark.parametrize("until", [800, 150])
def test_a_wait_for_stores(until: int) -> None:
    """A store is issued at 100, and reads its source until 790, or until 140: with its issue 690 cycles, or 40."""
    sites = [
        SiteRow("tma_store", 0, FILE, 1, "out", "ttng.async_tma_copy_local_to_global", 16384),
        SiteRow("tma_store_wait", 0, FILE, 2, "", "ttng.async_tma_store_wait"),
    ]
    tracks = [
        Track(TrackKind.WARP_GROUP, "epilogue", 0, 0, 0, warps=4, begin=0, end=1000),
        Track(TrackKind.TMA, "TMA", 0, 0, -1, begin=0, end=1000),
    ]
    rows = [
        (0, 0, 100, 110, 0, 0, 0, -1, 16384, -1),
        (1, 0, 110, until - 10, 0, 0, 0, -1, 16384, 0),
        (0, 1, 110, until, 0, 0, -1, -1, 0, 1),
    ]
    made = launch(tracks, sites, rows, [AgentRow("epilogue", "epilogue", 0, 4)], cycles=1000)
    finding = found(made).get("store-wait")
    assert (finding is not None) == (until == 800)
    if finding is not None:
        assert (finding.agent, finding.line, finding.cost) == ("epilogue", 2, pytest.approx(0.69))
        assert finding.text.startswith("epilogue waits 69% of its time until its stores have read their source")


def test_arithmetic_on_the_path() -> None:
    """An arrival of 10 cycles, and arithmetic for the other 990."""
    made = one_group([(0, 500, 510)], 1000, [SiteRow("arrive", 0, FILE, 9, "full", "arrive")])
    arithmetic = found(made)["arithmetic"]
    assert (arithmetic.agent, arithmetic.cost) == ("mma", 0.99)
    assert arithmetic.text.endswith("arithmetic, addresses and loads without TMA")


def test_issuing_and_arriving_on_the_path() -> None:
    sites = [SiteRow("arrive", 0, FILE, 9, "full", "arrive"), SiteRow("mma", 0, FILE, 8, "acc", "dot")]
    made = found(one_group([(0, 0, 300), (1, 300, 600)], 1000, sites))
    assert made["synchronization"].text.startswith("30% of the critical path")
    assert (made["synchronization"].line, made["issuing-products"].line) == (9, 8)
    assert made["issuing-products"].text.startswith("30% of the critical path is issuing products")


def test_a_partner_at_a_named_barrier() -> None:
    """`b` comes 400 cycles late; the hand-off takes 20."""
    sites = [SiteRow("named_wait", 0, FILE, 3, "", "wait"), SiteRow("named_arrive", 1, FILE, 4, "", "arrive")]
    tracks = [
        Track(TrackKind.WARP_GROUP, name, 0, 0, agent, warps=4, begin=0, end=1000) for agent, name in enumerate("ab")
    ]
    rows = [(1, 1, 480, 500, 0, 0, 9, 0, 0, -1), (0, 0, 100, 520, 0, 0, 9, 0, 0, 0)]
    agents = [AgentRow(name, "softmax", number, 4) for number, name in enumerate("ab")]
    partner = found(launch(tracks, sites, rows, agents, cycles=1000))["partner"]
    assert partner.text == "a stands 40% of its time at a named barrier until b come"
    assert (partner.line, partner.evidence) == (3, {"waiting": 0.4})


def test_a_producer_that_is_ahead_is_no_problem() -> None:
    """`load` waits 480 of 1,000 cycles for a slot that `mma` gives back late."""
    sites = [
        SiteRow("wait", 0, FILE, 2, "empty", "wait"),
        SiteRow("tma_load", 0, FILE, 3, "a", "copy"),
        SiteRow("arrive", 1, FILE, 7, "empty", "arrive"),
    ]
    tracks = [
        Track(TrackKind.WARP_GROUP, name, 0, 0, agent, warps=4, begin=0, end=1000)
        for agent, name in enumerate(("load", "mma"))
    ]
    rows = [
        (1, 2, 480, 500, 0, 0, 0, 0, 0, -1),
        (0, 0, 20, 520, 0, 0, 0, 0, 0, 0),
        (0, 1, 520, 530, 0, 0, 0, 0, 64, -1),
    ]
    agents = [AgentRow("load", "load", 0, 1), AgentRow("mma", "mma", 1, 4)]
    late = found(launch(tracks, sites, rows, agents, cycles=1000))["consumer-late"]
    assert late.severity is Severity.NOTE
    assert late.text == "load waits 48% of its time for free slots: it is ahead of mma"


def test_what_the_compiler_did() -> None:
    told = (
        "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
        "insufficient register resources for the function 'pipeline'"
    )
    made = pipeline(metadata={"ptxas": [told]}, device={**pipeline().device, **_device()})
    first = findings(Account(made))[0]
    assert (first.id, first.severity, first.cost) == ("wgmma-serialized", Severity.PROBLEM, 1.0)
    assert "insufficient register resources" in first.text


def _device() -> dict[str, Any]:
    from tlxviz.devices import load_device

    return load_device("h200").to_manifest()


def test_problems_come_first_and_the_dearest_of_them() -> None:
    order = [(each.severity, -each.cost) for each in findings(Account(pipeline()))]
    ranks = [(list(Severity).index(severity), cost) for severity, cost in order]
    assert ranks == sorted(ranks)
    assert len(ranks) > 2
