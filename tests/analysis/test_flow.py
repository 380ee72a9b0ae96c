"""Who filled what an event reads, and what freed what a copy fills, in kernels that are simulated here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tlxviz.analysis.account import Account
from tlxviz.analysis.flow import DataFlow, FlowKind, data_flow
from tlxviz.devices import load_device
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.trace import LaunchTrace

pytest.importorskip("triton.language.extra.tlx")

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
TUTORIAL = "triton.language.extra.tlx.tutorials.hopper_fa_ws_pipelined_pingpong"
SIZES = ("--m", "512", "--n", "512", "--k", "512")


def simulated(script: Path, *arguments: str) -> LaunchTrace:
    device = load_device("h200")
    recorder = SimulatedRecorder(device, values=False)
    run_script(script, list(arguments), device, recorder.execute)
    return recorder.trace.launches[0]


@cache
def gemm() -> LaunchTrace:
    return simulated(KERNELS / "hopper_gemm_ws.py", *SIZES)


def rows(launch: LaunchTrace, track: str, kind: str) -> list[int]:
    events = launch.events
    return [
        row
        for row in range(len(events))
        if launch.tracks[events["track"][row]].name == track and launch.sites[events["site"][row]].kind == kind
    ]


def without(launch: LaunchTrace, drop: Callable[[int], bool]) -> LaunchTrace:
    """The launch as if some of its events had not been recorded."""
    kept = [row for row in range(len(launch.events)) if not drop(row)]
    return replace(launch, events=launch.events.take(np.array(kept)))


def fills(launch: LaunchTrace, flow: DataFlow, row: int) -> list[tuple[str, int, int]]:
    """Buffer, barrier's slot and iteration of the copies that filled what an event reads."""
    events = launch.events
    return sorted(
        (launch.sites[events["site"][source]].variable, int(events["slot"][source]), int(events["inner"][source]))
        for source, kind in flow.into(row)
        if kind is FlowKind.FILLED
    )


def test_each_product_reads_what_was_loaded_in_its_iteration() -> None:
    made = gemm()
    flow = data_flow(made, Account(made).program)
    products = rows(made, "tensor core", "mma")
    assert len(products) == 16
    events = made.events
    for row in products:
        group = made.agents[made.sites[events["site"][row]].agent].name
        step = int(events["inner"][row])
        slot = step % 4
        a_slot = slot if group == "mma.0" else slot + 4
        assert fills(made, flow, row) == [("a_tiles", a_slot, step), ("b_tiles", slot, step)]
        assert all(events["end"][source] <= events["begin"][row] for source, _ in flow.into(row))


def test_links_are_the_same_from_both_ends() -> None:
    made = gemm()
    flow = data_flow(made, Account(made).program)
    both = sorted((source, target) for target in range(len(made.events)) for source, _ in flow.into(target))
    assert both == sorted((source, target) for source in range(len(made.events)) for target, _ in flow.out_of(source))
    assert both == sorted(zip(flow.source.tolist(), flow.target.tolist(), strict=True))
    assert flow.into(10**9) == []


def test_a_load_goes_into_a_slot_that_an_arrival_of_its_reader_gave_back() -> None:
    made = gemm()
    flow = data_flow(made, Account(made).program)
    events = made.events
    loads = rows(made, "TMA", "tma_load")
    assert len(loads) == 24
    for row in loads:
        freed = [source for source, kind in flow.into(row) if kind is FlowKind.FREED]
        step, slot = int(events["inner"][row]), int(events["slot"][row])
        if step < 4:  # never used before
            assert freed == []
            continue
        [arrival] = freed
        site = made.sites[events["site"][arrival]]
        expected = {"a_tiles": "a_empty", "b_tiles": "b_empty"}[made.sites[events["site"][row]].variable]
        assert (site.kind, site.variable, int(events["slot"][arrival])) == ("arrive", expected, slot)
        # a slot is given back when the product after the one that reads it has been issued
        assert int(events["inner"][arrival]) == step - 4 + 1


def test_copies_without_tma_are_followed_too() -> None:
    made = simulated(KERNELS / "plain_gemm.py", *SIZES)
    flow = data_flow(made, Account(made).program)
    events = made.events
    by_track: dict[int, dict[str, list[int]]] = {}
    for row in range(len(events)):
        site = made.sites[events["site"][row]]
        if site.kind == "async_copy":
            by_track.setdefault(int(events["track"][row]), {}).setdefault(site.variable, []).append(row)
    issues = rows(made, "compute", "mma")
    assert issues
    assert {int(events["track"][row]) for row in issues} == set(by_track)
    for track, of_buffer in by_track.items():
        own = sorted((row for row in issues if events["track"][row] == track), key=lambda row: events["begin"][row])
        for step, issue in enumerate(own):
            [product] = np.flatnonzero(events["released_by"] == issue)[:1]
            # the n-th product reads the n-th copies
            assert sorted(source for source, _ in flow.into(int(product))) == sorted(
                copied[step] for copied in of_buffer.values()
            )


@pytest.mark.skipif(find_spec(TUTORIAL) is None, reason="this TLX has its tutorials elsewhere")
def test_attention_reads_k_and_v_of_the_right_step(tmp_path: Path) -> None:
    script = tmp_path / "attention.py"
    script.write_text(
        f"import torch\nfrom {TUTORIAL} import attention\n"
        "q, k, v = (torch.empty((1, 1, 1024, 128), device='cuda', dtype=torch.float16) for _ in range(3))\n"
        "attention(q, k, v, 0.5)\n"
    )
    made = simulated(script)
    flow = data_flow(made, Account(made).program)
    events = made.events
    cta = made.tracks[0].cta
    for group, tile in (("softmax.0", 0), ("softmax.1", 1)):
        seen: dict[str, list[list[tuple[str, int, int]]]] = {}
        for row in rows(made, "tensor core", "mma"):
            site = made.sites[events["site"][row]]
            if made.agents[site.agent].name == group and made.tracks[events["track"][row]].cta == cta:
                seen.setdefault(site.variable, []).append(fills(made, flow, row))
        # 8 blocks of K, each with the group's own half of Q; and 8 blocks of V; the first are loaded before the loop
        loaded = {
            name: [
                int(events["slot"][row])
                for row in rows(made, "TMA", "tma_load")
                if made.sites[events["site"][row]].variable == name and made.tracks[events["track"][row]].cta == cta
            ]
            for name in ("k_tiles", "v_tiles")
        }
        assert [[(each[0], each[1]) for each in found] for found in seen["k_tiles"]] == [
            [("k_tiles", slot), ("q_tiles", tile)] for slot in loaded["k_tiles"]
        ]
        assert [[(each[0], each[1]) for each in found] for found in seen["v_tiles"]] == [
            [("v_tiles", slot)] for slot in loaded["v_tiles"]
        ]
        targets = [row for row in rows(made, "tensor core", "mma") if made.tracks[events["track"][row]].cta == cta]
        sources = [source for row in targets for source, _ in flow.into(row)]
        assert len(set(sources)) == 2 + 8 + 8


class TestNoGuesses:
    def test_without_a_program(self) -> None:
        assert len(data_flow(gemm(), None).source) == 0
        assert Account(replace(gemm(), ttgir="module {")).flow.into(0) == []

    def test_without_the_wait_before_a_product(self) -> None:
        made = gemm()
        events = made.events
        sites = {n for n, each in enumerate(made.sites) if each.kind == "wait" and each.variable == "b_full"}
        cut = without(made, lambda row: int(events["site"][row]) in sites and int(events["inner"][row]) == 5)
        flow = data_flow(cut, Account(cut).program)
        for row in rows(cut, "tensor core", "mma"):
            step = int(cut.events["inner"][row])
            found = [name for name, _, _ in fills(cut, flow, row)]
            # the last wait on record is for what the slot held before, and has been overwritten
            assert found == (["a_tiles"] if step == 5 else ["a_tiles", "b_tiles"])

    def test_where_nobody_knows_what_ended_the_wait(self) -> None:
        made = gemm()
        columns = dict(made.events.columns)
        waits = np.isin(made.events["site"], [n for n, each in enumerate(made.sites) if each.kind == "wait"])
        columns["released_by"] = np.where(waits, -1, columns["released_by"])
        blind = replace(made, events=type(made.events)(columns))
        flow = data_flow(blind, Account(blind).program)
        assert len(flow.source) == 0

    def test_a_buffer_that_warp_groups_store_to(self) -> None:
        made = gemm()
        flow = data_flow(made, Account(made).program)
        stores = rows(made, "TMA", "tma_store")
        assert len(stores) == 8
        assert all(flow.into(row) == [] for row in stores)
        operands = Account(made).operands
        assert operands is not None
        found = operands.writers("c_tiles")
        assert {each.agent for each in found} == {"mma.0", "mma.1"}
        source = made.source.splitlines()
        assert {each.text for each in found} == {"ttg.local_store"}
        assert {source[each.line - made.source_line].strip()[:18] for each in found} == {"store_strip(c_desc"}
        assert operands.writers("a_tiles") == ()


def test_operands_of_events() -> None:
    made = gemm()
    operands, events = Account(made).operands, made.events
    assert operands is not None
    row = next(
        row
        for row in rows(made, "tensor core", "mma")
        if events["inner"][row] == 6 and made.agents[made.sites[events["site"][row]].agent].name == "mma.1"
    )
    assert [(each.part, each.name, each.slot, each.slots) for each in operands.of(row)] == [
        ("A", "a_tiles", 6, 8),
        ("B", "b_tiles", 2, 4),
        ("accumulator", "acc", -1, 0),
    ]
    # the event that issued it says the same
    assert operands.of(int(events["released_by"][row])) == operands.of(row)
    source = made.source.splitlines()
    first = operands.of(row)[0]
    assert source[first.line - made.source_line].strip().startswith("a_tiles = tlx.local_alloc")
    assert first.file == made.source_file
