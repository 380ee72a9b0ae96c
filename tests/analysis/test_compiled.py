"""What the compiler made of kernels: figures by hand, and what it really did to kernels that provoke it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_traces import DEVICE, launch

from tlxviz import _triton
from tlxviz.analysis.account import Account
from tlxviz.analysis.assembler import Spills, read_report
from tlxviz.analysis.barriers import AddedBarrier, RemovedBarrier
from tlxviz.analysis.compiled import Compiled, CompiledGroup, Next, compiled
from tlxviz.analysis.findings import findings
from tlxviz.commands import main
from tlxviz.devices.file import load_device
from tlxviz.trace import AgentRow, LaunchTrace, Trace, load_trace, save_trace

HERE = Path(__file__).parent
FAULTY = HERE / "scripts" / "faulty.py"
SPILLING = HERE / "scripts" / "spilling.py"
KERNELS = HERE.parents[1] / "kernels"
LIMITS = load_device("h200").to_manifest()["limits"]
GROUPS = [
    AgentRow("load", "load", 0, 4),
    AgentRow("mma.0", "mma", 1, 4, 240),
    AgentRow("mma.1", "mma", 2, 4, 240),
]


def made(agents: list[AgentRow] | None = None, **metadata: Any) -> Compiled:
    found = compiled(launch(agents=agents or GROUPS, device=DEVICE | {"limits": LIMITS}, metadata=metadata))
    assert found is not None
    return found


def report(name: str) -> list[str]:
    return (HERE / "data" / f"{name}.log").read_text(encoding="utf-8").splitlines()


# ---- reports of ptxas


def test_a_report_without_faults():
    found = read_report(
        [
            "ptxas info    : Used 168 registers, used 4 barriers",
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        ]
    )
    assert (found.registers, found.barriers, found.spills, found.remarks) == (168, 4, None, ())


def test_serialized_products_and_ignored_requests():
    found = read_report(report("squeezed"))
    assert (found.registers, found.barriers) == (168, 4)
    assert found.spills == Spills(frame=2664, stores=4324, loads=4324)
    assert [(each.id, each.reason) for each in found.remarks] == [
        ("setmaxnreg-ignored", "'setmaxnreg' ignored to maintain minimum register requirements"),
        ("wgmma-serialized", "insufficient register resources for the wgmma pipeline"),
    ]


def test_a_warning_and_products_serialized_for_the_whole_function():
    found = read_report(report("two_maxnreg"))
    assert (found.registers, found.barriers, found.spills) == (255, 3, Spills(480, 1248, 992))
    assert [(each.id, each.reason) for each in found.remarks] == [
        ("ptxas", "Too many maxnreg specified for entry _attn_fwd_ws, will be ignored"),
        ("wgmma-serialized", "insufficient register resources"),
    ]


def test_remarks_that_differ_by_their_place_are_one():
    line = next(line for line in report("crossed") if "C7519" in line)
    (remark,) = read_report([line, line.replace("line 212", "line 300"), line]).remarks
    assert (remark.id, remark.count, remark.line) == ("ptxas", 3, line)


def test_what_is_no_report():
    found = read_report(["", "ptxas", "Used to be", "ptxas info    : 11 bytes gmem"])
    assert (found.registers, found.spills, found.remarks) == (None, None, ())


# ---- registers, memory, occupancy


def test_registers_that_warp_groups_pass_on():
    """168 a thread at launch; two groups of 240, so 3 * 168 - 2 * 240 = 24 are left; 65,536 - 384 * 168 = 1,024."""
    found = made(registers=168, setmaxnreg=[256, 24, 256, 120, 240, 240], shared=229704)
    assert [group.registers for group in found.groups] == [24, 240, 240]
    assert found.groups[1] == CompiledGroup("mma.0", "mma", 1, 4, requested=240, registers=240)
    registers = found.registers
    assert (registers.at_launch, registers.threads, registers.requested) == (168, 384, 2 * 128 * 240)
    assert (registers.unused, registers.redistributed) == (1024, True)


def test_registers_that_the_compiler_kept_where_they_are():
    dropped = made(registers=78, setmaxnreg=[])
    ignored = made(registers=94, setmaxnreg=[24, 240], ptxas=report("squeezed"))
    assert [group.registers for group in dropped.groups] == [78] * 3
    assert [group.registers for group in ignored.groups] == [94] * 3
    assert dropped.registers.redistributed is False
    assert ignored.registers.redistributed is False
    assert "registers-not-given" in {note.id for note in dropped.notes}
    assert "registers-not-given" not in {note.id for note in ignored.notes}


def test_a_trace_that_does_not_say_what_the_tasks_got():
    found = made(registers=168)
    assert [group.registers for group in found.groups] == [None] * 3
    assert found.registers.redistributed is None
    assert found.notes == ()


def test_warp_groups_that_share_four_warps():
    shared = [GROUPS[0], AgentRow("load.1", "load", 1, 1, 24), AgentRow("mma", "mma", 2, 4, 240)]
    assert [group.registers for group in made(shared, registers=168, setmaxnreg=[24, 240, 24]).groups] == [
        None,
        24,
        240,
    ]


def test_the_next_cta_needs_less_of_all_that_binds():
    """168 registers for 384 threads fill an SM; two CTAs leave 65,536 / 768 = 85, so 80 in units of 8, and
    233,472 / 2 - 1,024 bytes."""
    found = made(registers=168, setmaxnreg=[], shared=196856).occupancy
    assert found.ctas_per_sm == 1
    assert found.limited_by == ("registers", "shared memory")
    assert found.needed_for_next == (Next("registers", 168, 80), Next("shared memory", 196856, 115712))


def test_a_cta_of_one_warp_is_limited_by_ctas():
    found = made([AgentRow("compute", "compute", 0, 1)], registers=32, setmaxnreg=[]).occupancy
    assert (found.ctas_per_sm, found.limited_by) == (32, ("CTAs",))
    assert found.needed_for_next == (Next("CTAs", 32, 0),)


def test_unknown_registers_limit_nothing():
    found = made([AgentRow("compute", "compute", 0, 8)])
    assert (found.registers.at_launch, found.registers.unused) == (None, None)
    assert (found.occupancy.ctas_per_sm, found.occupancy.limited_by) == (8, ("warps",))


def test_spills_of_a_trace_without_a_report():
    found = made(registers=168, spilled_bytes=64)
    assert found.spills == Spills(64, None, None)
    assert [(note.id, note.evidence) for note in found.notes] == [("spills", "frame of 64 bytes in the binary")]


def test_a_trace_without_limits():
    assert compiled(launch(agents=GROUPS)) is None


# ---- kernels


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LaunchTrace]:
    pytest.importorskip("triton.language.extra.tlx")
    return recorded(tmp_path_factory.mktemp("faulty"), FAULTY)


def counted_as_by_fbtriton() -> None:
    """Skips tests of how many barriers a compiler adds: another one adds others."""
    pytest.importorskip("triton.language.extra.tlx")
    if _triton.toolchain().distribution != "fbtriton":
        pytest.skip("triton-utlx: another number of barriers")


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory) -> LaunchTrace:
    counted_as_by_fbtriton()
    options = ["--m", "2048", "--n", "2048", "--k", "1024"]
    (trace,) = recorded(tmp_path_factory.mktemp("gemm"), KERNELS / "hopper_gemm_ws.py", *options).values()
    return trace


def recorded(folder: Path, script: Path, *arguments: str) -> dict[str, LaunchTrace]:
    trace = folder / "trace.tlxtrace"
    options = ["--values", "off", "--device", "sim:h200", "-o", str(trace)]
    main(["run", *options, str(script), *arguments])
    return {each.kernel: each for each in load_trace(trace).launches}


def line_of(comment: str, script: Path = FAULTY) -> int:
    (number,) = (n for n, line in enumerate(script.read_text().splitlines(), 1) if line.endswith(f"# {comment}"))
    return number


def notes_of(trace: LaunchTrace) -> list[tuple[str, tuple[str, ...], int]]:
    found = compiled(trace)
    assert found is not None
    assert {note.file for note in found.notes} <= {str(FAULTY)}
    return [(note.id, note.agents, note.line) for note in found.notes]


def test_a_default_task_with_too_few_registers(faulty: dict[str, LaunchTrace]):
    assert notes_of(faulty["squeezed"]) == [
        ("setmaxnreg-ignored", ("store.0", "store.1"), line_of("squeezed: task")),
        ("wgmma-serialized", ("mma",), line_of("squeezed: dot")),
        ("spills", ("mma",), line_of("squeezed: dot")),
        ("copy-wait-added", ("mma",), line_of("squeezed: load")),
        ("mma-wait-added", ("mma",), line_of("squeezed: dot")),
        ("mma-wait-added", ("mma",), line_of("squeezed: loop")),
        ("copy-wait-added", ("mma",), line_of("squeezed: loop")),
    ]
    # the report is in the trace, as ptxas printed it but for the time that it took
    assert faulty["squeezed"].metadata["ptxas"] == [line for line in report("squeezed") if "Compile time" not in line]


def test_requests_for_more_registers_than_there_are_and_a_plain_dot(faulty: dict[str, LaunchTrace]):
    assert faulty["overdrawn"].metadata["setmaxnreg"] == []
    assert notes_of(faulty["overdrawn"]) == [
        ("registers-not-given", ("mma", "store"), line_of("overdrawn: task")),
        ("fence-added", ("mma",), line_of("overdrawn: dot")),
        ("mma-sync", ("mma",), line_of("overdrawn: dot")),
    ]


def test_asynchronous_products_that_the_compiler_waits_for(faulty: dict[str, LaunchTrace]):
    found = notes_of(faulty["crossed"])
    assert [note for note in found if note[0] != "ptxas"] == [
        ("async-mma-made-sync", ("compute",), line_of("crossed: one")),
        ("async-mma-made-sync", ("compute",), line_of("crossed: other")),
    ]


def test_products_without_wgmma(faulty: dict[str, LaunchTrace]):
    found = notes_of(faulty["exact"])
    assert ("mma-by-warps", ("compute",), line_of("exact: halves")) in found
    assert ("mma-without-tensor-core", ("compute",), line_of("exact: whole")) in found


def test_waits_fences_and_barriers_of_the_author_are_not_the_compilers(faulty: dict[str, LaunchTrace]):
    assert notes_of(faulty["faultless"]) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("hopper_gemm_ws", []),
        ("plain_gemm", ["copy-wait-added", "mma-wait-added", "mma-wait-added", "copy-wait-added"]),
    ],
)
def test_kernels_of_the_project(script: str, expected: list[str], tmp_path: Path):
    pytest.importorskip("triton.language.extra.tlx")
    (trace,) = recorded(tmp_path, KERNELS / f"{script}.py", "--m", "512", "--n", "512", "--k", "256").values()
    found = compiled(trace)
    assert found is not None
    assert [note.id for note in found.notes] == expected
    assert found.occupancy.ctas_per_sm == trace.statistics["ctas_per_sm"]


# ---- who spills, and what the compiler added and removed


@pytest.fixture(scope="module")
def spilling(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LaunchTrace]:
    counted_as_by_fbtriton()
    return recorded(tmp_path_factory.mktemp("spilling"), SPILLING)


def described(trace: LaunchTrace) -> Compiled:
    found = compiled(trace)
    assert found is not None
    return found


def test_the_warp_group_that_spills(spilling: dict[str, LaunchTrace]):
    found = described(spilling["spilling"])
    assert found.spills is not None
    assert found.spilled is not None
    first = found.spilled[0]
    assert first.agents == ("store.0",)
    assert {each.agents for each in found.spilled} <= {("store.0",), ()}  # the rest is where tasks begin and end
    # ptxas's own count, which knows no warp groups
    assert sum(each.stores for each in found.spilled) == found.spills.stores
    assert sum(each.loads for each in found.spilled) == found.spills.loads
    # 64 values a thread in 24 registers: most of them go to memory and back in each iteration
    assert first.lines[0].line == line_of("spilling: sum", SPILLING)
    assert first.lines[0].in_loops
    assert first.stores_in_loops > 4 * (64 - 24)
    assert [(note.agents, note.line) for note in found.notes if note.id == "spills"] == [
        (("store.0",), line_of("spilling: sum", SPILLING))
    ]
    assert {each.severity for each in findings(Account(spilling["spilling"])) if each.id == "spills"} == {"problem"}


def test_spills_outside_of_loops_are_a_hint(faulty: dict[str, LaunchTrace]):
    found = described(faulty["squeezed"])
    assert found.spilled is not None
    (only,) = found.spilled
    assert (only.agents, only.stores, only.loads) == (("mma",), 4324, 4324)
    assert only.stores_in_loops + only.loads_in_loops == 0  # the four iterations are unrolled
    assert {each.severity for each in findings(Account(faulty["squeezed"])) if each.id == "spills"} == {"hint"}


def test_whose_spills_they_are_without_the_binary(spilling: dict[str, LaunchTrace]):
    trace = spilling["spilling"]
    code = {"ptx": trace.metadata["code"]["ptx"]}
    found = described(replace(trace, metadata=trace.metadata | {"code": code}))
    assert found.spilled is None
    assert [note.agents for note in found.notes if note.id == "spills"] == [()]


def test_barriers_that_the_compiler_added(spilling: dict[str, LaunchTrace]):
    """A sum over four warps writes, reads and is used again: three meetings in the loop."""
    loop, sum_, arrive = (line_of(f"spilling: {name}", SPILLING) for name in ("loop", "sum", "arrive"))
    other = line_of("spilling: other arrive", SPILLING)
    assert described(spilling["spilling"]).added == (
        AddedBarrier(("store.0",), "bar.sync", 128, sum_, 3, 1, True, loop, ("tt.reduce",)),
        AddedBarrier(("store.0",), "bar.sync", 128, arrive, 2, 0, False, 0, ("ttng.arrive_barrier",)),
        AddedBarrier(("store.1",), "bar.sync", 64, other, 1, 0, False, 0, ("ttng.arrive_barrier",)),
    )


def test_barriers_of_the_author_are_not_added(faulty: dict[str, LaunchTrace]):
    added = described(faulty["faultless"]).added
    assert added is not None
    lines = FAULTY.read_text().splitlines()
    assert not [each for each in added if "debug_barrier" in lines[each.line - 1]]
    assert any(each.operation == "bar.sync" for each in added)


def test_barriers_that_the_compiler_removed(spilling: dict[str, LaunchTrace]):
    def gone(operation: str, name: str, agents: tuple[str, ...], missing: str) -> RemovedBarrier:
        return RemovedBarrier(f"ttng.{operation}", str(SPILLING), line_of(f"never: {name}", SPILLING), agents, missing)

    assert described(spilling["never"]).removed == (
        gone("wait_barrier", "other wait", (), "ttgir"),
        gone("wait_barrier", "wait", ("compute",), "ptx"),
        gone("arrive_barrier", "arrive", ("compute",), "ptx"),
    )


def test_branches_that_do_the_same_are_not_removed(spilling: dict[str, LaunchTrace]):
    """LLVM makes one of the two arrivals, at the line of one of them."""
    trace = spilling["branches"]
    arrivals = [each for each in trace.metadata["code"]["ptx"][0]["operations"] if each["name"] == "mbarrier.arrive"]
    assert (sum(each["count"] for each in arrivals), len({each["line"] for each in arrivals})) == (4, 1)
    assert trace.ttgir.count("ttng.arrive_barrier") == 8
    assert described(trace).removed == ()


def test_traces_without_machine_code(spilling: dict[str, LaunchTrace]):
    trace = spilling["never"]
    metadata = {key: value for key, value in trace.metadata.items() if key not in ("code", "written")}
    found = described(replace(trace, metadata=metadata))
    assert (found.added, found.removed) == (None, ())


def test_meetings_that_take_much_of_an_iteration(spilling: dict[str, LaunchTrace]):
    """Once before the wait, twice in a sum over four warps and twice for an arrival; 21 cycles each.

    The other warp group meets as well, but waits for most of each iteration.
    """
    account = Account(spilling["reducing"])
    (finding,) = (each for each in findings(account) if each.id == "barriers-in-loop")
    assert (finding.agent, finding.line) == ("store", line_of("reducing: loop", SPILLING))
    assert (finding.evidence["barriers"], finding.evidence["barrier_cycles"]) == (5, 105)
    steady = account.steady["store"]
    assert steady is not None
    assert finding.cost == finding.evidence["iteration_share"] == 105 / steady.intervals.median
    lines = [str(line_of(f"reducing: {name}", SPILLING)) for name in ("wait", "sum", "arrive")]
    assert f"meet 5 times, as nobody asked them to: lines {', '.join(lines)};" in finding.text
    assert "tlx.alloc_warp_barrier" in finding.advice


def test_meetings_of_a_gemm_that_the_tensor_core_holds(gemm: LaunchTrace):
    account = Account(gemm)
    lines = (KERNELS / "hopper_gemm_ws.py").read_text().splitlines()
    *_, loop = (number for number, line in enumerate(lines, 1) if "for k in range(0, steps)" in line)
    assert account.compiled is not None
    added = [each for each in account.compiled.added or () if each.loop == loop]
    assert {each.agents for each in added} == {("mma.0", "mma.1")}
    assert [(lines[each.line - 1].split("(")[0].strip(), each.count, each.innermost) for each in added] == [
        ("tlx.barrier_wait", 1, True),
        ("tlx.barrier_arrive", 2, True),
        ("tlx.barrier_arrive", 2, True),
    ]
    assert account.compiled.removed == ()
    assert "barriers-in-loop" not in {each.id for each in findings(account)}


def test_the_report_says_who_spills_and_what_was_added(
    spilling: dict[str, LaunchTrace], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "trace.tlxtrace"
    save_trace(Trace(list(spilling.values())), file)
    capsys.readouterr()
    assert main(["report", "--section", "compiler", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    loop, sum_ = line_of("spilling: loop", SPILLING), line_of("spilling: sum", SPILLING)
    assert f"store.0: 3 bar.sync of 128 threads in the innermost loop at line {loop} at line {sum_} (3)" in said
    assert re.search(r"store\.0: \d+ bytes stored, [\d,]+ loaded by instructions, \d+ and \d+ in loops", said)
    assert "ttng.wait_barrier is in the source, and nothing of it in the TTGIR" in said
