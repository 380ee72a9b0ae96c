"""The Blackwell tutorials of the installed TLX: their kernels run on a simulated B200 and compute what torch does."""

from __future__ import annotations

from typing import Any

import pytest
from kernel_runner import b200, fbtriton_only
from tutorial_runner import run

from tlxviz.devices import load_device

pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its tutorials do not compile for Blackwell")

# ---------------------------------------------------------------------- layer norm

LAYERNORMS = [
    ("blackwell-multi-cta-layernorm_test", "kernel_layernorm_multi_cta", 1000),
    ("blackwell_multi_cta_layernorm_ws_test", "kernel_layernorm_multi_cta_ws", 3),
]


@pytest.mark.parametrize(("name", "kernel", "clusters"), LAYERNORMS, ids=["a-cluster-a-block", "persistent"])
@pytest.mark.parametrize(
    ("ctas", "rows", "sizes"), [(2, 1, [6, 4096]), (4, 2, [7, 3008]), (8, 2, [8, 16384])], ids=["2", "4", "8"]
)
def test_layernorm_over_several_ctas(name: str, kernel: str, clusters: int, ctas: int, rows: int, sizes: list[int]):
    options = {"sizes": sizes, "rows": rows, "ctas": ctas, "kernel": kernel, "clusters": clusters}
    recorder = run(name, "layernorm", options, device=b200())
    (launch,) = recorder.trace.launches
    assert launch.device["name"] == "b200"
    assert len({track.cta for track in launch.tracks}) == ctas


@pytest.mark.parametrize(
    ("name", "call", "kernel", "columns"),
    [
        (LAYERNORMS[0][0], "multi_cta_layernorm", LAYERNORMS[0][1], 32768),
        (LAYERNORMS[0][0], "multi_cta_layernorm", LAYERNORMS[1][1], 16384),
        (LAYERNORMS[1][0], "multi_cta_layernorm_ws", LAYERNORMS[1][1], 16384),
    ],
    ids=["wide", "narrow", "persistent"],
)
def test_layernorm_tuned_over_its_own_configurations(name: str, call: str, kernel: str, columns: int):
    """The first calls the persistent kernel of the other file where rows are short."""
    recorder = run(name, "layernorm_call", {"sizes": [4, columns], "call": call}, device=b200())
    assert {launch.kernel for launch in recorder.trace.launches} == {kernel}


@pytest.mark.parametrize("options", [{}, {"BLOCK_SIZE_M": 4}], ids=["rows", "blocks"])
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_layernorm_that_the_compiler_divides_among_ctas(options: dict[str, Any], ctas: int):
    """`tl.range(multi_cta=True)`: each CTA of a cluster has a part of the loop, and sums are exchanged."""
    call = "multi_cta_layernorm_2d" if options else "multi_cta_layernorm"
    case = {"sizes": [8, 8192], "call": call, "NUM_CTAS": ctas, **options}
    recorder = run("testing/multi_cta_layer_norm", "layernorm_call", case, device=b200())
    (launch,) = recorder.trace.launches
    assert len({track.cta for track in launch.tracks if track.begin == 0}) == ctas


# ---------------------------------------------------------------------- others


@pytest.mark.parametrize("device", ["b200", "gb200"])
@pytest.mark.parametrize("size", [98432, 1000])
def test_vector_add2(size: int, device: str):
    recorder = run("vector-add2", "add2", {"size": size}, device=load_device(device))
    assert [launch.kernel for launch in recorder.trace.launches] == ["add2_kernel", "add2_warp_specialized_kernel"]
    assert {launch.device["name"] for launch in recorder.trace.launches} == {device}


@pytest.mark.parametrize(
    ("name", "case", "options"),
    [
        (
            LAYERNORMS[1][0],
            "layernorm",
            {"sizes": [7, 4096], "rows": 2, "ctas": 2, "kernel": LAYERNORMS[1][1], "clusters": 2},
        ),
        ("vector-add2", "add2", {"size": 5000}),
    ],
)
def test_times_are_the_same_without_values(name: str, case: str, options: dict[str, Any]):
    with_values = run(name, case, dict(options), device=b200()).trace.launches[0]
    without = run(name, case, dict(options), values=False, device=b200()).trace.launches[0]
    assert with_values.cycles == without.cycles
    for column in ("begin", "end", "slot", "phase", "released_by"):
        assert (with_values.events[column] == without.events[column]).all()
