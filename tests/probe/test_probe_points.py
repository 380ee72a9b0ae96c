"""Where a kernel is probed: which places of its TTGIR get a marker, and what begins and ends there."""

from __future__ import annotations

from collections import Counter

import pytest
from ir_samples import BAR, DESC, TILE, golden, module_text
from probe_samples import recorded

from tlxviz._errors import UsageError
from tlxviz.ir import load_program
from tlxviz.ir.program import Program, Role, SiteKind
from tlxviz.probe.build import marked, unmarked
from tlxviz.probe.plan import Choice, Plan, equal_shares
from tlxviz.probe.points import WAITS, Point, place_points

WAIT = f"ttng.wait_barrier %bar, %i : {BAR}"
ARRIVE = f"ttng.arrive_barrier %bar, 1 : {BAR}"
EXPECT = f"ttng.barrier_expect %bar, 8192, %c : {BAR}"
LOAD = f"ttng.async_tma_copy_global_to_local %desc[%i, %i] %tile, %bar, %c : {DESC}, {BAR} -> {TILE}"
STORE = f"ttng.async_tma_copy_local_to_global %desc[%i, %i] %tile : {DESC}, {TILE}"
STORE_WAIT = "ttng.async_tma_store_wait {pendings = 0 : i32}"
FREE = "%free = arith.addi %i, %i : i32"
BUSY = "%busy = arith.addf %x, %x : tensor<128xf32, #blocked>"


def program(*lines: str) -> Program:
    return load_program(module_text("\n".join(lines)))


def points_of(found: Program, choice: str = "all") -> list[Point]:
    return Plan(Choice.parse(choice)).points(found)


def said(found: Program, points: list[Point]) -> list[tuple[str, str]]:
    """The operation in front of which each point is, and what it is there for."""
    lines = found.module.text.split("\n")
    told = []
    for point in points:
        what = [
            *(["starts"] if point.starts else []),
            *(["finishes"] if point.finishes else []),
            *(["heading"] if point.heading else []),
            *(f"-{found.sites[site].kind}" for site in point.ends),
            *(f"+{found.sites[site].kind}" for site in point.begins),
        ]
        line = lines[point.line - 1].strip()
        told.append((next(word for word in line.split() if "." in word or word == "}"), " ".join(what)))
    return told


def layout(*lines: str, choice: str = "all") -> list[tuple[str, str]]:
    found = program(*lines)
    return said(found, points_of(found, choice))


START, END = ("arith.addf", "starts"), ("tt.return", "finishes")


def test_a_wait_has_both_edges() -> None:
    assert layout(BUSY, WAIT) == [START, ("ttng.wait_barrier", "+wait"), ("tt.return", "finishes -wait")]


def test_what_issues_work_has_its_end() -> None:
    assert layout(BUSY, ARRIVE) == [START, ("tt.return", "finishes -arrive")]


def test_neighbours_share_a_point() -> None:
    told = layout(BUSY, WAIT, EXPECT, FREE, LOAD, BUSY.replace("busy", "more"))
    assert told == [
        START,
        ("ttng.wait_barrier", "+wait"),
        ("ttng.barrier_expect", "-wait +expect"),
        ("ttng.async_tma_copy_global_to_local", "-expect +tma_load"),
        ("arith.addf", "-tma_load"),
        END,
    ]


def test_the_first_operation_starts_the_warp_group_and_may_be_a_site() -> None:
    assert layout(WAIT) == [("ttng.wait_barrier", "starts +wait"), ("tt.return", "finishes -wait")]
    assert layout() == [("tt.return", "starts finishes")]


def test_sites_that_are_not_chosen_take_time() -> None:
    # the arrival is no site of the choice, and so it ends the wait; a store's wait does not begin before it
    assert layout(BUSY, WAIT, ARRIVE, STORE_WAIT, choice="0") == [
        START,
        ("ttng.wait_barrier", "+wait"),
        ("ttng.arrive_barrier", "-wait"),
        END,
    ]
    assert layout(BUSY, WAIT, ARRIVE, STORE, STORE_WAIT, choice="tma") == [
        START,
        ("ttng.async_tma_store_wait", "-tma_store +tma_store_wait"),
        ("tt.return", "finishes -tma_store_wait"),
    ]


def test_the_first_point_behind_a_wait_heads_a_loop_or_the_first() -> None:
    told = layout(
        "%c0 = arith.constant 0 : i32",
        "%c1 = arith.constant 1 : i32",
        "scf.for %a = %c0 to %i step %c1 : i32 {",
        BUSY,
        ARRIVE,
        "scf.for %b = %c0 to %i step %c1 : i32 {",
        WAIT,
        "}",
        "}",
    )
    assert told == [
        ("arith.constant", "starts"),
        ("scf.for", "heading -arrive"),
        ("ttng.wait_barrier", "+wait"),
        ("}", "heading -wait"),
        END,
    ]


def test_a_loop_without_sites_has_no_point() -> None:
    loop = ["%c1 = arith.constant 1 : i32", "scf.for %a = %c1 to %i step %c1 : i32 {", BUSY, "}"]
    assert layout(*loop) == [("arith.constant", "starts"), END]


def test_branches_end_what_is_before_them_and_within() -> None:
    told = layout(BUSY, ARRIVE, "scf.if %c {", WAIT, "} else {", ARRIVE, "}", WAIT)
    assert told == [
        START,
        ("scf.if", "-arrive"),
        ("ttng.wait_barrier", "+wait"),
        ("}", "-wait"),
        ("}", "-arrive"),
        ("ttng.wait_barrier", "+wait"),
        ("tt.return", "finishes -wait"),
    ]


def test_blocks_of_control_flow() -> None:
    found = program("cf.br ^bb1", "^bb1:", WAIT, "cf.cond_br %c, ^bb1, ^bb2", "^bb2:", ARRIVE)
    assert said(found, points_of(found)) == [
        ("cf.br", "starts"),
        ("ttng.wait_barrier", "+wait"),
        ("cf.cond_br", "-wait"),
        ("tt.return", "finishes -arrive"),
    ]


def test_warp_groups_start_and_finish_where_their_tasks_do() -> None:
    found = program(
        "ttg.warp_specialize(%i)",
        "default {",
        BUSY,
        "ttg.warp_yield",
        "}",
        "partition0(%a: i32) num_warps(4) {",
        BUSY.replace("%x", "%y").replace("%busy = arith.addf %y, %y", "%y = arith.constant dense<0.0>"),
        "ttng.fence_async_shared {bCluster = false}",
        "ttg.warp_return",
        "} : (i32) -> ()",
    )
    told = said(found, points_of(found))
    assert told == [
        ("ttg.warp_specialize(%i)", "starts"),
        ("arith.constant", "starts"),
        ("ttg.warp_return", "finishes -fence"),
        END,
    ]


def test_functions_are_probed_but_neither_start_nor_finish_a_warp_group() -> None:
    text = module_text("tt.call @f() : () -> ()")
    function = """tt.func private @f() attributes {noinline = true} {
ttng.fence_async_shared {bCluster = false}
%z = arith.constant dense<0.0> : tensor<128xf32, #blocked>
ttng.async_tma_store_wait {pendings = 0 : i32}
tt.return
}
}
"""
    found = load_program(text.rstrip().removesuffix("}") + function)
    assert said(found, points_of(found)) == [
        ("tt.call", "starts"),
        END,
        ("arith.constant", "-fence"),
        ("ttng.async_tma_store_wait", "+tma_store_wait"),
        ("tt.return", "-tma_store_wait"),
    ]


@pytest.mark.parametrize("name", ["hopper", "blackwell", "plain"])
def test_every_site_ends_once_in_kernels_of_our_own(name: str) -> None:
    """Whatever the kernel: a site ends at one place, a wait begins at one, and each warp group starts and finishes."""
    found = load_program(golden(name))
    points = points_of(found)
    ends = Counter(site for point in points for site in point.ends)
    begins = Counter(site for point in points for site in point.begins)
    assert ends == Counter(range(len(found.sites)))
    assert max(begins.values(), default=1) == 1
    assert {site.index for site in found.sites if site.kind in WAITS} <= set(begins)
    assert sum(point.starts for point in points) == len(found.agents)
    returns = sum(op.name == "tt.return" for op in found.kernel.walk())  # a kernel may return early
    assert sum(point.finishes for point in points) == len(found.agents) - 1 + returns
    assert [point.number for point in points] == list(range(len(points)))
    assert [point.line for point in points] == sorted({point.line for point in points})


@pytest.mark.parametrize("name", ["hopper", "blackwell", "plain"])
def test_markers_can_be_taken_out_again(name: str) -> None:
    text = golden(name)
    points = points_of(load_program(text))
    with_markers = marked(text, points)
    assert with_markers.count("// tlxviz probe ") == len(points)
    assert unmarked(with_markers) == text
    again = load_program(with_markers)
    assert [site.kind for site in again.sites] == [site.kind for site in load_program(text).sites]


def test_points_of_a_captured_kernel_are_where_its_markers_are() -> None:
    found = recorded("gemm")
    lines = marked(unmarked(found.streams.ttgir), found.points).split("\n")
    kept = found.streams.ttgir.split("\n")
    numbers = [[n for n, line in enumerate(text) if "// tlxviz probe " in line] for text in (lines, kept)]
    assert numbers[0] == numbers[1]


# ---------------------------------------------------------------------- --probes


KINDS = {
    "barriers": {
        SiteKind.WAIT, SiteKind.ARRIVE, SiteKind.EXPECT, SiteKind.NAMED_WAIT, SiteKind.NAMED_ARRIVE,
        SiteKind.CLUSTER_ARRIVE, SiteKind.CLUSTER_WAIT,
    },
    "tma": {
        SiteKind.TMA_LOAD, SiteKind.TMA_STORE, SiteKind.TMA_REDUCE, SiteKind.TMA_STORE_WAIT, SiteKind.ASYNC_COPY,
        SiteKind.ASYNC_COPY_WAIT,
    },
    "mma": {SiteKind.MMA, SiteKind.MMA_WAIT, SiteKind.MMA_COMMIT},
    "all": set(SiteKind),
}  # fmt: skip


@pytest.mark.parametrize("choice", KINDS)
@pytest.mark.parametrize("name", ["hopper", "blackwell"])
def test_choices_of_kinds(name: str, choice: str) -> None:
    found = load_program(golden(name))
    chosen = Choice.parse(choice).sites(found)
    assert chosen == {site.index for site in found.sites if site.kind in KINDS[choice]}
    points = points_of(found, choice)
    assert {site for point in points for site in (*point.begins, *point.ends)} == chosen


def test_ranges_are_always_chosen() -> None:
    found = recorded("ranges").program
    everything = Choice.parse("all").sites(found)
    assert len(everything) == 4
    assert Choice.parse("barriers").sites(found) == everything
    assert Choice.parse("99").sites(found) == everything


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3", {3}), ("3,5", {3, 5}), ("5:9", {5, 6, 7, 8}), (" 0 , 2:4 ", {0, 2, 3}), ("1,1:3", {1, 2})],
)
def test_choices_of_numbers(text: str, numbers: set[int]) -> None:
    choice = Choice.parse(text)
    assert (choice.groups, choice.numbers) == ((), numbers)
    assert choice.sites(load_program(golden("hopper"))) == numbers


def test_choices_together() -> None:
    found = load_program(golden("hopper"))
    both = Choice.parse("mma,barriers,0").sites(found)
    assert both == Choice.parse("mma").sites(found) | Choice.parse("barriers").sites(found) | {0}
    assert Choice.parse("tma,mma") == Choice.parse("mma,tma,mma")


@pytest.mark.parametrize(
    "text", ["", "nothing", "mma;tma", "3:", ":4", "-1", "1:2:3", "1.5", "all,", "²", "4:4", "9:5"]
)
def test_what_is_no_choice(text: str) -> None:
    with pytest.raises(UsageError, match=r"write barriers, tma, mma, all, or numbers of sites such as 3,5:9"):
        Choice.parse(text)


# ---------------------------------------------------------------------- parts and warps


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_every_point_is_in_some_part_and_those_that_align_them_in_all(parts: int) -> None:
    found = recorded("gemm")
    plan = Plan(shares=equal_shares(parts))
    chosen = [plan.active(found.program, found.points, part) for part in range(parts)]
    told = {point.number for point in found.points if point.in_header}
    assert told == {0, len(found.points) - 1}  # where load, the CTA's first warp group, starts and ends
    assert set().union(*chosen) == set(range(len(found.points))) - told
    anchors = {point.number for point in found.points if point.framing or point.heading} - told
    assert all(anchors <= part for part in chosen)
    counts = Counter(number for part in chosen for number in part if number not in anchors)
    assert set(counts.values()) == {1}
    # the two consumers do the same, and so have the same points in a part
    sides = [[found.points[number].place(found.program) for number in part - anchors] for part in chosen]
    for places in sides:
        assert {count for place, count in Counter(places).items() if Role.MMA in place[1]} <= {2}


def test_warps_that_are_recorded() -> None:
    assert Plan().warps(recorded("gemm").program) == {0, 4, 8}
    assert Plan(all_warps=True).warps(recorded("gemm").program) == set(range(12))
    # the second specialization begins again behind the default task, with smaller tasks
    assert Plan().warps(recorded("hand_off").program) == {0, 4}
    assert Plan(all_warps=True).warps(recorded("hand_off").program) == set(range(8))


def test_no_sites_no_points_but_the_frame() -> None:
    found = load_program(golden("hopper"))
    points = place_points(found, ())
    assert all(point.framing and not point.begins and not point.ends for point in points)
    assert len(points) == 2 * len(found.agents)
