"""Probed kernels compile, through Triton's stages and ptxas, and are the plain ones but for the copy that records."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import probed_kernels
import pytest
import torch
from kernel_runner import compile_kernel

from tlxviz import _triton
from tlxviz._errors import TlxvizError
from tlxviz.ir import load_program
from tlxviz.launch.kernels.cubin import frame_of
from tlxviz.launch.kernels.describe import Describer
from tlxviz.launch.model import Launch
from tlxviz.probe.build import ProbingStages, unmarked
from tlxviz.probe.plan import Choice, Plan, equal_shares
from tlxviz.probe.ptx import Selection, UnknownPtx, add_timestamps

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "kernels"))

FBTRITON = _triton.toolchain().distribution == "fbtriton"
LAUNCHES: dict[str, Callable[[], Launch]] = {}
MARKER = re.compile(r"// tlxviz probe (\d+) %r\d+")
RECORD = re.compile(r"mov\.u32 c, %clock; (?:add\.u32 c, c, (\d+); )?")


@dataclass
class Built:
    launch: Launch
    ptx: str
    spilled: int

    @property
    def registers(self) -> int:
        return self.launch.metadata["registers"]

    @property
    def copies(self) -> tuple[str, str]:
        """The body of the entry that is not recorded, and the one that is."""
        plain, recorded = entry_of(self.ptx).split("$L__TLXVIZ_SECOND:\n")
        return plain, recorded


def entry_of(ptx: str) -> str:
    """The body of the kernel."""
    begin = ptx.index("{\n", ptx.index(".visible .entry"))
    depth = 0
    for place in range(begin, len(ptx)):
        depth += {"{": 1, "}": -1}.get(ptx[place], 0)
        if not depth:
            return ptx[begin:place]
    raise AssertionError("the kernel does not end")


def kernel(make: Callable[[], Launch]) -> Callable[[], Launch]:
    LAUNCHES[make.__name__] = make
    return make


def halves(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes, dtype=torch.float16)


@kernel
def gemm() -> Launch:
    import hopper_gemm_ws

    found: list[Launch] = []

    class Kernel:
        def __getitem__(self, grid: Any) -> Any:
            def launch(*args: Any, **options: Any) -> None:
                found.append(compile_kernel(hopper_gemm_ws_kernel, grid, *args, **options))

            return launch

    hopper_gemm_ws_kernel = hopper_gemm_ws.hopper_gemm_ws
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hopper_gemm_ws, "hopper_gemm_ws", Kernel())
        patch.setattr(torch.cuda, "get_device_properties", lambda *_: type("H200", (), {"multi_processor_count": 132}))
        hopper_gemm_ws.matmul(halves(512, 512), halves(512, 512))
    return found[0]


@kernel
def plain_gemm() -> Launch:
    import plain_gemm as module

    a = halves(512, 512)
    tiles = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}
    return compile_kernel(module.plain_gemm, (16,), a, a, a, 512, 512, 512, *[512, 1] * 3, **tiles, num_warps=8)


@kernel
def calls() -> Launch:
    return compile_kernel(probed_kernels.calls, (1,), halves(3, 64, 64), halves(64, 64), halves(3, 64, 64), 3, 64)


@kernel
def volume() -> Launch:
    return compile_kernel(probed_kernels.volume, (4, 6, 10), torch.zeros(30720), torch.zeros(30720), 128)


@kernel
def ranges() -> Launch:
    return compile_kernel(probed_kernels.ranges, (1,), torch.zeros(5, 256), torch.zeros(256), 5, 256)


@kernel
def hand_off() -> Launch:
    warps = 2 if FBTRITON else 4  # triton-utlx has no tensors in smaller tasks
    return compile_kernel(probed_kernels.hand_off, (1,), torch.zeros(256), torch.zeros(256), 128, warps)


@kernel
def ping_pong() -> Launch:
    return compile_kernel(probed_kernels.ping_pong, (1,), torch.zeros(8, 512), torch.zeros(8, 512), 4, 512)


@kernel
def gluon() -> Launch:
    if not FBTRITON:
        pytest.skip("triton-utlx: Gluon and TLX do not compile in one process")
    from gluon_kernels import LINE, incremented

    tensors = torch.zeros(512), torch.zeros(512)
    return compile_kernel(incremented, (1,), *tensors, 512, BLOCK=128, layout=LINE, INCREMENT=False, ARRIVALS=128)


@kernel
def gluon_gemm() -> Launch:
    if not FBTRITON:
        pytest.skip("triton-utlx: Gluon and TLX do not compile in one process")
    from gluon_kernels import matmul_arguments, persistent_matmul

    _, descriptors = matmul_arguments(512, 384, 256, (128, 128, 64))
    return compile_kernel(persistent_matmul, (3,), *descriptors, 512, 384, 256, STAGES=3, num_warps=8)


@kernel
def divided_loop() -> Launch:
    if not FBTRITON:
        pytest.skip("triton 3.8 fails on this loop")
    from loop_kernels import host_matmul
    from triton.tools.tensor_descriptor import TensorDescriptor

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_USE_META_WS", "1")
        blocks = [(128, 64), (128, 64), (128, 128)]
        tensors = [halves(512, 256), halves(384, 256), halves(512, 384)]
        described = [
            TensorDescriptor.from_tensor(tensor, list(block)) for tensor, block in zip(tensors, blocks, strict=True)
        ]
        return compile_kernel(host_matmul, (3,), *described, 512, 384, 256, BM=128, BN=128, BK=64, num_stages=3)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Built]:
    cache = tmp_path_factory.mktemp("cache")  # what an earlier state of tlxviz has compiled is not what is tested
    kept: dict[tuple[str, object], Built] = {}

    def build(name: str, plan: Plan | None = None, part: int = 0) -> Built:
        """The launch `name`, plain, or as a part of a plan is compiled."""
        key = name, (plan.key, part).__repr__() if plan else None
        if key not in kept:
            compiled: list[Any] = []
            describe = Describer.describe

            def keep(self: Any, kernel: Any, *rest: Any) -> Launch:
                compiled.append(kernel)
                return describe(self, kernel, *rest)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Describer, "describe", keep)
                patch.setenv("TRITON_CACHE_DIR", str(cache))
                if plan is not None:
                    slot, hook = _triton.stage_hook_slot()  # triton-utlx has one of its own there
                    patch.setattr(slot, hook, ProbingStages(plan, part, getattr(slot, hook)))
                launch = LAUNCHES[name]()
            asm = compiled[-1].asm
            kept[key] = Built(launch, asm["ptx"], frame_of(asm["cubin"], launch.kernel))
        return kept[key]

    return build


Build = Callable[..., Built]
PLAN = Plan()
NAMES = sorted(LAUNCHES)


@pytest.mark.parametrize("name", NAMES)
def test_the_ttgir_is_that_of_the_plain_kernel_but_for_its_markers(name: str, built: Build) -> None:
    plain, probed = built(name), built(name, PLAN)
    program = load_program(plain.launch.ttgir)
    points = PLAN.points(load_program(unmarked(probed.launch.ttgir)))
    assert len(points) == probed.launch.ttgir.count("// tlxviz probe ") > 0
    again = load_program(probed.launch.ttgir)
    for before, after in zip(program.sites, again.sites, strict=name != "ranges"):
        if name != "ranges":  # which are compiled in where somebody records them
            assert (before.kind, before.variable, before.location) == (after.kind, after.variable, after.location)
    if name != "ranges":
        bare = [re.sub(r" loc\(.*", "", line) for line in plain.launch.ttgir.split("\n") if not line.startswith("#")]
        found = [
            re.sub(r" loc\(.*", "", line)
            for line in unmarked(probed.launch.ttgir).split("\n")
            if not line.startswith("#")
        ]
        # parsed again, values have other names
        assert [re.sub(r"%\w+", "%", line) for line in bare] == [re.sub(r"%\w+", "%", line) for line in found]


@pytest.mark.parametrize("name", NAMES)
def test_ptxas_takes_it_and_it_needs_little_more(name: str, built: Build) -> None:
    """Nine registers are what addresses, limit and predicates take if ptxas keeps all of them; none may be spilled."""
    plain, probed = built(name), built(name, PLAN)
    assert probed.launch.metadata["shared"] == plain.launch.metadata["shared"]
    assert probed.registers <= plain.registers + 24
    assert probed.spilled == plain.spilled
    assert probed.launch.metadata["num_warps"] == plain.launch.metadata["num_warps"]


def instructions(text: str) -> list[str]:
    """Lines of PTX that do something, without the names of registers, which markers have moved."""
    kept = []
    for line in text.split("\n"):
        bare = line.partition("//")[0].strip()
        if bare and "%tlxviz" not in bare and not bare.startswith((".loc", "$L__tmp", "$L__func")):
            kept.append(re.sub(r"%(rd|rs|r|f|p|fd|h|b|rh|hh|q|rq)\d+", r"%\1", bare))
    return [line for line in kept if "TLXVIZ" not in line]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ranges"])
def test_ctas_that_are_not_recorded_run_what_the_compiler_wrote(name: str, built: Build) -> None:
    """Those of the kernel without probes, one by one, with a branch in front and a note at the end."""
    copy, _ = built(name, PLAN).copies
    plain = entry_of(built(name).ptx)
    told, wanted = instructions(copy), instructions(plain)
    begin = next(place for place, line in enumerate(wanted) if not line.startswith((".", "{")))
    first = next(place for place, line in enumerate(told) if not line.startswith((".", "{")))
    one, other = Counter(told[first:]), Counter(wanted[begin:])
    # triton 3.8 may put the end of a branch there twice, since markers have made it another block
    assert (one - other).total() + (other - one).total() <= (0 if FBTRITON else 0.05 * len(wanted))


@pytest.mark.parametrize(("name", "parts"), [("calls", 1), ("gemm", 3), ("hand_off", 3), ("ranges", 2)])
def test_every_selected_point_reads_the_clock_and_no_other(name: str, parts: int, built: Build) -> None:
    plan = Plan(ctas=(0, 1, 2, 7), all_warps=True, shares=equal_shares(parts))
    for part in range(parts):
        made = built(name, plan, part)
        program = load_program(unmarked(made.launch.ttgir))
        points = plan.points(program)
        records = len(RECORD.findall(made.ptx))
        active = plan.active(program, points, part)
        # the compiler may put a block there twice, or leave one out that nothing leads to
        assert records >= 0.9 * len(active)
        tags = {int(tag) >> 24 for tag in RECORD.findall(made.ptx) if tag}
        assert tags <= {number % 255 + 1 for number in active}
        assert not MARKER.search(made.ptx)


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_there_once_and_lead_somewhere(name: str, built: Build) -> None:
    ptx = built(name, PLAN).ptx
    labels = re.findall(r"^(\$L_\w+):", ptx, re.MULTILINE)
    assert [label for label, count in Counter(labels).items() if count > 1] == []
    targets = set(re.findall(r"\bbra(?:\.uni)?\s+(\$L_\w+)", ptx))
    for table in re.findall(r"\.branchtargets\s+([^;]*);", ptx):
        targets |= set(re.findall(r"\$L_\w+", table))
    assert targets <= set(labels)
    copied = {label for label in labels if label.startswith("$L_tlxviz_")}
    assert copied or name in ("volume",)


def test_functions_are_copied_where_they_record(built: Build) -> None:
    made = built("calls", PLAN)
    names = re.findall(r"^\.func\s+(?:\([^)]*\)\s*)?([\w$]+)\(", made.ptx, re.MULTILINE)
    copies = {name for name in names if name.endswith("_tlxviz")}
    assert len(copies) == 1
    plain, recorded = made.copies
    [copy] = copies
    assert copy not in plain
    assert re.search(rf"{re.escape(copy)}, \(", recorded)
    # with no point in it, it stays as it is
    none = built("calls", Plan(Choice(())))
    assert "_tlxviz(" not in none.ptx


def test_a_plan_is_part_of_the_key_under_which_kernels_are_kept() -> None:
    plans = [
        (Plan(), 0), (Plan(ctas=(1,)), 0), (Plan(all_warps=True), 0), (Plan(shares=equal_shares(2)), 0),
        (Plan(shares=equal_shares(2)), 1),        (Plan(Choice(("mma",))), 0), (Plan(Choice((), frozenset({3}))), 0),
    ]  # fmt: skip
    keys = [ProbingStages(plan, part, None)() for plan, part in plans]
    assert len(set(keys)) == len(plans)
    assert ProbingStages(Plan(), 0, None)() == keys[0]


# ---------------------------------------------------------------------- PTX


PTX = """\
.version 8.7
.target sm_90a
.extern .shared .align 16 .b8 global_smem[];
.visible .entry k(
	.param .u64 .ptr .global .align 1 k_param_0,
	.param .u64 .ptr .global .align 1 k_param_1
)
.reqntid 128
{
	.reg .b32 %r<4>;
// %bb.0:
	// begin inline asm
	// tlxviz probe 3 %r1
	// end inline asm
	bar.sync 0;
	// tlxviz probe 4 %r2
	@%p1 bra $L__BB0_2;
	// tlxviz probe 300 %r3
$L__BB0_2:
	// tlxviz probe 9 %r3
	ret;
}
"""


def stamped(ptx: str, *points: int, ctas: tuple[int, ...] = (0,)) -> str:
    return add_timestamps(ptx, Selection(frozenset(points), ctas, frozenset({0})))


def recording(ptx: str) -> str:
    """The copy that records, behind what finds its ring."""
    return ptx.split("$L__TLXVIZ_SECOND:")[1].split("sub.u32 %tlxviz_end, %tlxviz_end, 128;")[1]


def test_only_the_first_of_a_block_says_where_it_was_made() -> None:
    made = recording(stamped(PTX, 3, 4, 9, 300))
    assert RECORD.findall(made) == [str(4 << 24), "", str(46 << 24), str(10 << 24)]
    assert re.findall(r"\[a\+(\d+)\]", made) == ["0", "4", "0", "0"]
    assert re.findall(r"add\.u32 %tlxviz_low, %tlxviz_low, (\d+)", made) == ["8", "4", "4"]


def test_where_all_ctas_record_there_is_one_copy_and_no_decision() -> None:
    usual = stamped(PTX, 3)
    made = add_timestamps(PTX, Selection(frozenset({3}), (5,), frozenset({0}), everywhere=True))
    plain, recorded = usual.split("$L__TLXVIZ_SECOND:")
    assert (len(RECORD.findall(plain)), len(RECORD.findall(recorded))) == (0, 1)
    assert "@%tlxviz_on bra $L__TLXVIZ_SECOND;" in plain
    assert "sub.u32 %tlxviz_y, %tlxviz_cta, 0;" in plain
    assert len(RECORD.findall(made)) == 1
    assert "TLXVIZ_SECOND" not in made
    assert made.count("bar.sync 0;") == 1


@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_known_of_the_start_is_written_behind_everything_else(everywhere: bool) -> None:
    """A launch that may hang goes there and back; the code of others is not behind a branch around it."""
    made = add_timestamps(PTX, Selection(frozenset({3}), (5,), frozenset({0}), everywhere=everywhere))
    body, early = made.split("$L__TLXVIZ_EARLY:")
    assert body.index("bra.uni $L__TLXVIZ_EARLY;") < body.index("$L__TLXVIZ_ENTERED:") < body.index("ret;")
    assert early.count("st.global") == 3
    assert early.rstrip().endswith("bra.uni $L__TLXVIZ_ENTERED;\n}")


def test_tables_of_branches_lead_into_the_same_copy() -> None:
    table = "$L_brx_0: .branchtargets\n\t$L__BB0_2,\n\t$L__BB0_2;\n\tbrx.idx %r1, $L_brx_0;\n"
    plain, recorded = stamped(PTX.replace("\tbar.sync 0;\n", table), 3).split("$L__TLXVIZ_SECOND:")
    assert table in plain
    assert table.replace("$L_", "$L_tlxviz_") in recorded.replace(
        "\tadd.u32 %tlxviz_low, %tlxviz_low, 4;\n", ""
    ).replace("\tmin.u32 %tlxviz_low, %tlxviz_low, %tlxviz_end;\n", "")
    # the ring's address has moved on before the branch
    assert recorded.index("%tlxviz_low, 4;") < recorded.index("brx.idx")


def test_what_is_not_selected_leaves_nothing_behind() -> None:
    made = stamped(PTX, 4)
    assert len(RECORD.findall(made)) == 1
    assert "probe" not in made


def test_no_more_than_what_lies_behind_a_ring_is_written_before_its_address_moves() -> None:
    many = "".join(f"\t// tlxviz probe {number} %r1\n" for number in range(100))
    made = recording(stamped(PTX.replace("\tbar.sync 0;\n", many), *range(5, 100)))
    places = [int(place) for place in re.findall(r"\[a\+(\d+)\]", made)]
    assert max(places) == 4 * 31
    steps = re.findall(r"add\.u32 %tlxviz_low, %tlxviz_low, (\d+)", made)
    assert [int(step) for step in steps][:2] == [128, 128]


@pytest.mark.parametrize(
    ("ctas", "ranges"), [((0,), [(0, 0)]), ((0, 1, 2, 5), [(0, 2), (5, 0)]), ((9, 3, 4), [(3, 1), (9, 0)])]
)
def test_recorded_ctas_are_compared_in_runs(ctas: tuple[int, ...], ranges: list[tuple[int, int]]) -> None:
    made = stamped(PTX, 3, ctas=ctas)
    firsts = re.findall(r"sub\.u32 %tlxviz_y, %tlxviz_cta, (\d+);", made)
    lengths = re.findall(r"setp\.le\.or\.u32 %tlxviz_on, %tlxviz_y, (\d+),", made)
    assert [(int(a), int(b)) for a, b in zip(firsts, lengths, strict=True)] == ranges


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".visible .entry", ".visible .kernel"),
        ("// %bb.0:", ""),
        ("\tret;\n}\n", "\tret;\n"),
        (".param .u64 .ptr .global .align 1 k_param_1", ".param .u32 k_param_1"),
    ],
    ids=["no entry", "no first block", "no end", "no pointer"],
)
def test_ptx_of_another_form_is_refused(old: str, new: str) -> None:
    assert old in PTX
    with pytest.raises(UnknownPtx) as caught:
        stamped(PTX.replace(old, new), 3)
    assert isinstance(caught.value, TlxvizError)
    assert str(caught.value).startswith("the PTX")


def test_an_empty_ptx_is_refused() -> None:
    with pytest.raises(UnknownPtx):
        stamped("", 0)
