"""Two launches compared, with every figure worked out by hand; and real kernels, simulated."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import DEVICE, MEASURED, launch, pipeline
from hypothesis import given, settings
from hypothesis import strategies as st

from tlxviz.analysis.attribution import Cause
from tlxviz.analysis.difference import Difference, difference
from tlxviz.analysis.difference_causes import PathCause, explained
from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind, load_trace

ROOT = Path(__file__).resolve().parents[2]
FILE = "/somewhere/one.py"


def one(
    product: int = 40,
    before: int = 20,
    after: int = 25,
    meanwhile: int = 0,
    *,
    ctas: int = 1,
    name: str = "mma",
    role: str = "mma",
    line: int = 10,
    tail: int = 20,
    kernel_ns: float | None = None,
    **fields: Any,
) -> LaunchTrace:
    """A warp group that computes for `before` cycles, issues a product in 10, computes for `meanwhile`, waits for the
    product, goes on 5 cycles later, and computes for `after`. CTAs follow each other 30 cycles apart; `tail` cycles are
    behind the last.
    """
    tracks: list[Track] = []
    rows: list[tuple[int, ...]] = []
    at = -30
    for cta in range(ctas):
        at += 30
        issue, begin = at + before, at + before + 10
        reached = begin + meanwhile
        goes_on = max(reached, begin + product) + 5
        end = goes_on + after
        tracks += [
            Track(TrackKind.WARP_GROUP, name, cta, 0, 0, warps=4, begin=at, end=end),
            Track(TrackKind.TENSOR_CORE, "tensor core", cta, 0, -1, begin=at, end=end),
        ]
        first = len(rows)
        rows += [
            (2 * cta, 0, issue, begin, -1, -1, -1, -1, 0, -1),
            (2 * cta + 1, 0, begin, begin + product, -1, -1, -1, -1, 0, first),
            (2 * cta, 1, reached, goes_on, -1, -1, -1, -1, 0, first + 1),
        ]
        at = end
    sites = [
        SiteRow("mma", 0, FILE, line, "tile", "ttng.warp_group_dot"),
        SiteRow("mma_wait", 0, FILE, line + 1, "", "ttng.warp_group_dot_wait"),
    ]
    device = DEVICE if kernel_ns is None else DEVICE | {"launch": {"kernel_ns": kernel_ns}}
    given: dict[str, Any] = {"cycles": at + tail, "device": device, "source_file": FILE, "source": f"# {line}"}
    return launch(tracks, sites, rows, [AgentRow(name, role, 0, 4)], **(given | fields))


def by_cause(found: Difference) -> dict[tuple[PathCause, str], tuple[int, int]]:
    return {(each.cause, each.role): (each.a, each.b) for each in found.causes}


def test_every_cycle_has_a_cause() -> None:
    found = difference(one(), one(product=30, before=60, tail=20))
    assert found.cycles == 30
    assert by_cause(found) == {
        (PathCause.ARITHMETIC, "mma"): (45, 85),
        (PathCause.TENSOR_CORE, ""): (40, 30),
        (PathCause.REST, ""): (20, 20),
        (PathCause.ISSUE, ""): (10, 10),
        (PathCause.HAND_OFF, ""): (5, 5),
    }
    arithmetic, tensor_core, *_ = found.causes
    assert arithmetic.share == pytest.approx(40 / 30)
    assert tensor_core.share == pytest.approx(-10 / 30)
    assert found.explained == 1.0
    (part,) = tensor_core.parts
    assert (part.agent, part.kind, part.variable, part.line_a, part.difference) == ("mma", "mma", "tile", 10, -10)


def test_what_goes_on_while_the_tensor_core_computes_is_not_told_apart() -> None:
    # the product ends 40 cycles after its issue, the warp group reaches the wait after 50: 10 of these are exposed
    found = difference(one(), one(meanwhile=50))
    assert by_cause(found)[PathCause.TENSOR_CORE, ""] == (40, 40)
    assert by_cause(found)[PathCause.ARITHMETIC, "mma"] == (45, 55)
    assert found.cycles == 10
    tensor_core = next(each for each in found.causes if each.cause == PathCause.TENSOR_CORE)
    assert {(part.activity, part.a, part.b) for part in tensor_core.parts} == {
        ("product", 40, 0),
        ("arithmetic", 0, 40),
    }


def test_the_end_of_a_launch_has_a_name_as_far_as_the_device_knows_it() -> None:
    # 15 ns at 1,000 MHz
    found = difference(one(tail=20, kernel_ns=15.0), one(tail=60, kernel_ns=15.0))
    assert by_cause(found)[PathCause.LAUNCH, ""] == (15, 15)
    assert by_cause(found)[PathCause.REST, ""] == (5, 45)
    assert found.explained == 0.0


def test_a_rest_that_differs_is_not_explained() -> None:
    found = difference(one(tail=20), one(before=50, tail=30))  # 30 cycles of arithmetic, 10 of the rest
    assert found.cycles == 40
    assert found.explained == pytest.approx(0.75)


def test_equal_launches() -> None:
    found = difference(one(), one())
    assert found.cycles == 0
    assert found.explained is None
    assert all(each.difference == 0 and each.share is None for each in found.causes)
    assert found.changed == {}
    assert found.aligned


def test_ctas_one_after_the_other() -> None:
    found = difference(one(ctas=2), one(ctas=3, statistics={"waves": 3}))
    assert by_cause(found)[PathCause.BETWEEN, ""] == (30, 60)
    assert by_cause(found)[PathCause.TENSOR_CORE, ""] == (80, 120)
    assert not found.like_traced


def test_waves_that_were_not_traced_count_as_those_that_were() -> None:
    whole = one(ctas=2, statistics={"waves": 2})  # 100 + 30 + 100 cycles, and 20
    half = one(ctas=1, tail=150, statistics={"waves": 2})  # the second CTA is not in the trace
    found = difference(whole, half)
    assert found.like_traced
    assert (found.a.rounds, found.b.rounds, found.cycles) == (2, 1, 0)
    # an untraced wave is as long as the traced one, 100 cycles, and of its causes
    assert by_cause(found)[PathCause.TENSOR_CORE, ""] == (80, 80)
    assert by_cause(found)[PathCause.ARITHMETIC, "mma"] == (90, 90)
    assert by_cause(found)[PathCause.REST, ""] == (20, 50)


def test_waves_keep_their_name_where_both_traces_lack_them() -> None:
    traces = [one(product=product, tail=product + 80, statistics={"waves": 2}) for product in (40, 30)]
    found = difference(*traces)
    assert not found.like_traced
    assert by_cause(found)[PathCause.WAVES, ""] == (100, 90)
    assert found.explained == 1.0


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(*[st.tuples(*[st.integers(0, 90)] * 5, st.integers(1, 3), st.integers(1, 4))] * 2),
)
def test_the_causes_add_up_to_the_difference(sides: Any) -> None:
    a, b = (
        one(product + 1, before, after, meanwhile, tail=tail, ctas=ctas, kernel_ns=7.0, statistics={"waves": waves})
        for product, before, after, meanwhile, tail, ctas, waves in sides
    )
    found = difference(a, b)
    assert sum(each.difference for each in found.causes) == found.cycles == b.cycles - a.cycles
    assert (sum(each.a for each in found.causes), sum(each.b for each in found.causes)) == (a.cycles, b.cycles)
    for cause in found.causes:
        assert (sum(part.a for part in cause.parts), sum(part.b for part in cause.parts)) == (cause.a, cause.b)
    counted = explained(found.causes)
    assert (counted is None) == (found.cycles == 0)
    assert counted is None or 0 <= counted <= 1


def test_a_trace_in_which_nothing_was_recorded() -> None:
    found = difference(launch(cycles=100), one())
    assert found.cycles == 20
    assert by_cause(found)[PathCause.REST, ""] == (100, 20)
    assert found.explained == 0.0
    assert found.iterations == ()
    assert not found.aligned


def test_a_launch_that_did_not_end() -> None:
    found = difference(one(), one(complete=False))
    assert not found.b.ended
    assert found.time_ns is None


def test_warp_groups_of_one_role_correspond_under_other_names() -> None:
    found = difference(one(name="mma"), one(name="consumer", product=50))
    assert found.aligned
    (role,) = found.roles
    assert (role.name_a, role.name_b, role.a, role.b) == ("mma", "consumer", 100, 110)
    assert by_cause(found)[PathCause.TENSOR_CORE, ""] == (40, 50)


def test_places_correspond_by_order_where_lines_moved() -> None:
    found = difference(one(line=10), one(line=200, product=50))
    tensor_core = next(each for each in found.causes if each.cause == PathCause.TENSOR_CORE)
    assert [(part.line_a, part.line_b, part.a, part.b) for part in tensor_core.parts] == [(10, 200, 40, 50)]
    wait = next(each for each in found.sites if each.kind == "mma_wait")
    assert (wait.line_a, wait.line_b, wait.mean_a, wait.mean_b, wait.difference) == (11, 201, 45, 55, 10)


def test_the_time_of_a_warp_group_at_every_place() -> None:
    found = difference(one(ctas=2), one(before=27, ctas=2))
    assert {(each.kind, each.count_a, each.mean_a, each.mean_b) for each in found.sites} == {
        ("", 1.0, 45.0, 52.0),
        ("mma", 1.0, 10.0, 10.0),
        ("mma_wait", 1.0, 45.0, 45.0),
    }
    assert sum(each.difference for each in found.sites) == 7


def test_warp_groups_that_differ_are_compared_by_unit() -> None:
    statistics = {"sm_cycles": 100, "tensor_core_busy_cycles": 40, "tma_busy_cycles": 0, "global_load_bytes": 500}
    statistics |= {"ctas": 2, "ctas_per_sm": 1}
    device = DEVICE | {"limits": {"sms": 132}}
    a = one(name="compute", role="compute", statistics=statistics, flop=2_000_000_000, device=device)
    b = one(product=10, statistics=statistics, flop=1_000_000_000, device=device)  # 70 cycles and 20
    found = difference(a, b)
    assert not found.aligned
    assert {(role.name_a, role.name_b) for role in found.roles} == {("compute", None), (None, "mma")}
    assert found.units.per_gflop
    units = {each.name: (each.a, each.b) for each in found.units.units}
    assert units["launch"] == (60, 90)
    assert units["tensor_core"] == pytest.approx((20, 40))
    assert units["tma"] == (0, 0)
    assert units["arithmetic"] == pytest.approx((60 * 45 / 100, 90 * 45 / 70))
    assert units["issue"] == pytest.approx((60 * 10 / 100, 90 * 10 / 70))
    assert units["main_loop"] == pytest.approx((60, 90))
    assert units["global_load_bytes"] == (500, 1000)
    assert by_cause(found)[PathCause.ARITHMETIC, "compute"] == (45, 0)
    assert by_cause(found)[PathCause.ARITHMETIC, "mma"] == (0, 45)


def test_without_flop_units_are_those_of_the_launch() -> None:
    found = difference(one(), one(flop=5))
    assert not found.units.per_gflop
    assert next(each.a for each in found.units.units if each.name == "launch") == 120


def slower_from(iteration: int, by: int) -> LaunchTrace:
    """`pipeline`, in which what comes after an iteration's wait for `full` is late by so much from that one on."""
    made = pipeline()
    events = made.events
    late = events["inner"] >= iteration
    for column in ("begin", "end"):
        shift = by * (events["inner"] - iteration + 1) * late
        first = (events["site"] == 3) & (column == "begin") | (events["site"] < 3) & late
        events[column][:] = events[column] + shift - by * (first & late)
    length = by * (12 - iteration)
    made.tracks = [replace(track, end=track.end + length) for track in made.tracks]
    return replace_cycles(made, made.cycles + length)


def replace_cycles(made: LaunchTrace, cycles: int) -> LaunchTrace:
    made.cycles = cycles
    return made


def test_from_which_iteration_on_they_differ() -> None:
    found = difference(pipeline(), slower_from(7, 30))
    mma = next(each for each in found.iterations if each.name_a == "mma")
    assert (mma.count_a, mma.count_b, mma.interval_a, mma.interval_b) == (12, 12, 100, 100)
    assert mma.intervals_a == (100,) * 11
    assert mma.intervals_b == (100,) * 7 + (130,) * 4
    assert mma.differs_from == 7
    assert mma.differs_at is not None
    assert (mma.differs_at.kind, mma.differs_at.variable) == ("wait", "full")
    assert (mma.differs_at.a[7], mma.differs_at.b[7]) == (30, 60)
    assert (mma.before_a, mma.before_b) == (0, 0)


def test_alike_iterations_differ_nowhere() -> None:
    found = difference(pipeline(), pipeline(9))
    assert {each.differs_from for each in found.iterations} == {None}
    assert {(each.count_a, each.count_b) for each in found.iterations} == {(12, 9)}


def test_a_simulated_launch_against_a_measured_one() -> None:
    found = difference(one(provenance=MEASURED), one(product=50))
    accuracy = found.accuracy
    assert accuracy is not None
    assert (accuracy.simulated, accuracy.error) == ("b", 10)
    assert accuracy.fraction == pytest.approx(10 / 120)
    assert [(each.agent, each.simulated, each.measured, each.error) for each in accuracy.roles] == [
        ("mma", 110, 100, 10)
    ]
    wait = next(each for each in accuracy.sites if each.kind == "mma_wait")
    assert (wait.line, wait.simulated, wait.measured, wait.error) == (11, 55, 45, 10)
    assert wait.fraction == pytest.approx(10 / 45)
    other = difference(one(product=50), one(provenance=MEASURED)).accuracy
    assert other is not None
    assert (other.simulated, other.error) == ("a", 10)


def test_launches_of_one_recorder_or_of_other_kernels_say_nothing_of_accuracy() -> None:
    assert difference(one(), one()).accuracy is None
    assert difference(one(provenance=MEASURED), one(kernel="other")).accuracy is None


def test_what_the_user_changed() -> None:
    found = difference(one(arguments={"STAGES": 2, "M": 8}), one(arguments={"STAGES": 4, "M": 8, "NEW": 1}))
    assert found.changed == {"STAGES": (2, 4), "NEW": (None, 1)}


def recorded(folder: Path, name: str, script: Path | str, *words: str) -> LaunchTrace:
    """The first launch of a script, simulated on an H200 without values."""
    pytest.importorskip("triton")
    path = folder / f"{name}.tlxtrace"
    command = [sys.executable, "-m", "tlxviz", "run", "-q", "--values", "off", "--device", "sim:h200", "-o", str(path)]
    done = subprocess.run(
        [*command, str(script), *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert path.exists(), done.stderr
    return load_trace(path).launches[0]


@pytest.fixture(scope="module")
def gemms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LaunchTrace]:
    folder = tmp_path_factory.mktemp("gemms")
    size = ("--m", "2048", "--n", "2048", "--k", "2048")
    made = {
        f"{stages} stages": recorded(
            folder, f"{stages}", ROOT / "kernels/hopper_gemm_ws.py", *size, "--stages", str(stages)
        )
        for stages in (2, 4)
    }
    return made | {"plain": recorded(folder, "plain", ROOT / "kernels/plain_gemm.py", *size)}


def test_more_stages_hide_the_copies_of_a_gemm(gemms: dict[str, LaunchTrace]) -> None:
    a, b = gemms["2 stages"], gemms["4 stages"]
    found = difference(a, b)
    assert found.cycles < 0
    assert sum(each.difference for each in found.causes) == found.cycles
    assert found.explained is not None
    assert found.explained >= 0.9
    assert found.changed == {"STAGES": (2, 4)}
    # the products are the same; what is gone are copies, and the hand-offs that came with them
    causes = by_cause(found)
    computing = causes[PathCause.TENSOR_CORE, ""]
    assert computing[0] == computing[1] == a.statistics["tensor_core_busy_cycles"]
    gone = [PathCause.COPY_LATENCY, PathCause.COPY_BANDWIDTH, PathCause.HAND_OFF]
    assert sum(causes[cause, ""][1] - causes[cause, ""][0] for cause in gone) < 0.9 * found.cycles
    for loop in found.iterations:
        assert loop.interval_b is not None
        assert loop.interval_a is not None
        assert loop.interval_b < loop.interval_a
    mma = next(each for each in found.roles if each.name_a == "mma.0")
    latency = next(each for each in mma.causes if each.cause == Cause.COPY_LATENCY)
    assert latency.b < 0.1 * latency.a


def test_a_plain_gemm_against_a_pipeline(gemms: dict[str, LaunchTrace]) -> None:
    found = difference(gemms["plain"], gemms["4 stages"])
    assert not found.aligned
    assert found.cycles < 0
    main = found.causes[0]
    assert (main.cause, main.role) == (PathCause.ARITHMETIC, "compute")
    units = {each.name: (each.a, each.b) for each in found.units.units}
    assert units["tensor_core"][0] == pytest.approx(units["tensor_core"][1])
    assert units["tma_load_bytes"][0] == 0
    assert units["global_load_bytes"][1] == 0


@pytest.mark.slow
def test_ping_pong_of_attention_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "attention.py"
    script.write_text(
        "import importlib, sys, torch\n"
        "tutorial = importlib.import_module('triton.language.extra.tlx.tutorials.' + sys.argv[1])\n"
        "q, k, v = (torch.randn(1, 16, 2048, 128, device='cuda', dtype=torch.float16) for _ in range(3))\n"
        "tutorial.attention(q, k, v, 0.5)\n"
    )
    pytest.importorskip("triton")
    if importlib.util.find_spec("triton.language.extra.tlx.tutorials") is None:
        pytest.skip("no TLX tutorials")
    names = "hopper_fa_ws_pipelined", "hopper_fa_ws_pipelined_pingpong"
    found = difference(*(recorded(tmp_path, name, script, name) for name in names))
    assert sum(each.difference for each in found.causes) == found.cycles
    assert found.explained is not None
    assert found.explained >= 0.9
    assert found.aligned
