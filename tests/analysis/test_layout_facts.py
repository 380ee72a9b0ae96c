"""The layouts of kernels: who uses a buffer and at what cost, why tensors are as they are, and what --set changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from ir.ir_samples import golden, module_text

from tlxviz.analysis.layouts.atom import atom
from tlxviz.analysis.layouts.buffers import buffer_layouts, change, tile_of
from tlxviz.analysis.layouts.context import Context
from tlxviz.analysis.layouts.conversions import Way
from tlxviz.analysis.layouts.given import parse_given
from tlxviz.analysis.layouts.kernel import layouts_of
from tlxviz.analysis.layouts.model import BufferLayout, BufferUse, Change, KernelLayouts
from tlxviz.analysis.layouts.pins import Chosen, Pins
from tlxviz.analysis.layouts.tensors import converting
from tlxviz.analysis.layouts.words import describe
from tlxviz.devices import load_device
from tlxviz.ir import load_program
from tlxviz.ir.encodings import NvmmaShared, PaddedShared, SharedLinear, SwizzledShared, layout_of
from tlxviz.ir.location import Location

DATA = Path(__file__).parents[1] / "diagrams" / "data"
GOLDEN = {name: (DATA / f"{name}.ttgir").read_text(encoding="utf-8") for name in ("hopper_gemm_ws", "plain_gemm")}
GOLDEN["attention"] = (DATA / "attention_pingpong.ttgir").read_text(encoding="utf-8")
GOLDEN |= {name: golden(name) for name in ("hopper", "blackwell", "plain")}


def context(text: str, noted: object = None) -> Context:
    return Context(load_program(text), load_device("h200"), noted)


def kernel(name: str) -> KernelLayouts:
    return layouts_of(context(GOLDEN[name]))


def buffer(made: KernelLayouts, name: str) -> BufferLayout:
    return next(each for each in made.buffers if each.name == name)


def use(made: BufferLayout, who: str) -> BufferUse:
    return next(each for each in made.uses if each.who.startswith(who))


def changed(name: str, text: str, given: str) -> Change:
    """What `given` makes of a buffer of the TTGIR."""
    made = context(text)
    held = next(each for each in made.program.buffers if each.name == name)
    tile = tile_of(made, held)
    bits = tile.element.bits  # type: ignore[union-attr]
    return change(made, held, parse_given(f"{name}={given}").layout(layout_of(tile.encoding), len(tile.shape), bits))


# ---- buffers


def test_who_uses_the_buffers_of_a_gemm():
    made = kernel("hopper_gemm_ws")
    a, b, c = (buffer(made, name) for name in ("a_tiles", "b_tiles", "c_tiles"))
    assert a.layout == b.layout == c.layout == NvmmaShared(128, False, 16)
    assert (a.slots, a.shape, a.element, a.location.line) == (8, (64, 64), "f16", 85)
    assert [each.who for each in a.uses] == ["TMA load", "TMA load", "wgmma A, K-major"]
    assert use(a, "wgmma").agents == ("mma.0", "mma.1")
    assert use(b, "wgmma").who == "wgmma B, MN-major"
    store = use(c, "store")
    assert store.who == "store, stmatrix.x4"
    assert store.transactions is not None
    assert (store.transactions.instructions, store.transactions.transactions, store.transactions.worst) == (4, 16, 1)
    # 64 x 64 halves are 8 KiB, which take 64 cycles at 128 bytes a cycle
    assert store.cycles == 64


def test_a_transposed_operand_is_k_major():
    assert use(buffer(kernel("attention"), "k_tiles"), "wgmma").who == "wgmma B, K-major"


def test_asynchronous_copies_are_counted():
    made = use(buffer(kernel("plain_gemm"), "a"), "cp.async")
    assert made.transactions is not None
    assert (made.transactions.instruction, made.transactions.bytes_per_lane, made.transactions.worst) == (
        "cp.async",
        16,
        1,
    )
    assert made.cycles == 128


def test_tensor_memory():
    acc = buffer(kernel("blackwell"), "acc")
    assert describe(acc.layout) == "tensor memory, blocks of 128x128"
    assert [each.who for each in acc.uses] == ["tcgen05.ld", "tcgen05 accumulator"]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_layout_given_as_it_is_changes_nothing(name: str):
    made = context(GOLDEN[name])
    for held in made.program.buffers:
        layout = layout_of(tile_of(made, held).encoding)
        if not isinstance(layout, NvmmaShared | PaddedShared | SharedLinear | SwizzledShared):
            continue
        same = change(made, held, layout)
        assert same.before == same.after
        assert not same.refused


# ---- tensors


def test_why_tensors_are_as_they_are():
    why = {each.name: each.why for each in kernel("attention").tensors}
    assert why["qk"] == "accumulator of wgmma m64n128k16"
    assert why["m_ij"] == "reduction of: accumulator of wgmma m64n128k16"
    assert why["offs_m"] == "global stores: 4 bytes a thread, lanes side by side"


def test_registers_and_copies():
    held = {each.name: (each.registers, each.copies) for each in kernel("attention").tensors}
    assert held["qk"] == (64, 1)
    assert held["m_i"] == (2, 4)
    # 64 integers over 128 threads
    assert held["offs_m"] == (1, 2)


def test_copies_past_the_registers_are_no_tensors():
    assert not {"a", "b"} & {each.name for each in kernel("plain_gemm").tensors}


# ---- conversions


def test_an_accumulator_on_its_way_to_global_memory():
    (made,) = kernel("plain_gemm").conversions
    assert made.exchange is not None
    assert made.exchange.way is Way.SHARED_MEMORY
    assert (made.exchange.most_scratch, made.exchange.transactions, made.cycles) == (32768, 512, 512)
    assert made.scratch is None
    assert made.why == "global stores: 16 bytes a thread, lanes side by side"
    asked = Context(load_program(GOLDEN["plain_gemm"]), load_device("h200"), None, {187: 4096})
    assert layouts_of(asked).conversions[0].scratch == 4096


def test_an_operand_out_of_an_accumulator_is_free():
    ways = [each.exchange.way for each in kernel("attention").conversions if each.exchange is not None]
    assert ways.count(Way.NOTHING) == 2


def test_lines_of_conversions_and_their_warps():
    assert converting(load_program(GOLDEN["plain_gemm"])) == {187: 8}


# ---- who chose


def test_pins_by_place():
    pins = Pins(
        {
            "rest": "compiler",
            "places": [
                {"file": "k.py", "line": 3, "column": 5, "chosen": "author"},
                {"file": "k.py", "line": 4, "column": 5, "chosen": "author"},
                {"file": "k.py", "line": 4, "column": 5, "chosen": "compiler"},
            ],
        }
    )
    assert pins.of(Location("k.py", 3, 5, "a")) is Chosen.AUTHOR
    assert pins.of(Location("k.py", 4, 5)) is Chosen.UNKNOWN
    assert pins.of(Location("k.py", 9, 9)) is Chosen.COMPILER


@pytest.mark.parametrize("noted", [None, 3, [], {"rest": "nobody"}, {"places": [3]}, {"places": 3}])
def test_without_notes_it_is_unknown(noted: object):
    assert Pins(noted).of(Location("k.py", 3, 5)) is Chosen.UNKNOWN


# ---- given layouts

NARROW = "cp.async copies 4 bytes or more at once, and 2 are together"


def test_a_swizzle_that_is_taken_away_costs_a_store_eight_times():
    made = changed("c_tiles", GOLDEN["hopper_gemm_ws"], "none")
    store = use(made.after, "store")
    assert store.transactions is not None
    assert (store.transactions.worst, store.cycles) == (8, 512)
    assert not made.refused


def test_padding_is_refused_by_tma():
    made = changed("c_tiles", GOLDEN["hopper_gemm_ws"], "padded(64:8)")
    store = use(made.after, "store")
    assert store.transactions is not None
    assert store.transactions.worst == 1
    assert use(made.after, "TMA").note == "TMA writes and reads nvmma layouts alone"
    assert made.refused


@pytest.mark.parametrize(
    ("name", "text", "given", "who", "note"),
    [
        ("a_tiles", "hopper_gemm_ws", "swizzle:64", "", ""),
        ("a_tiles", "hopper_gemm_ws", "swizzle:32", "", ""),
        (
            "a_tiles",
            "hopper_gemm_ws",
            "none",
            "wgmma",
            "wgmma needs a swizzle where rows are not 16 bytes, and these are 128",
        ),
        (
            "a_tiles",
            "hopper_gemm_ws",
            "swizzle:128,transposed",
            "TMA",
            "TMA takes no transposed layout: rows of the box are rows in memory",
        ),
        ("a_tiles", "blackwell", "swizzled(8,1,8)", "tcgen05", "tcgen05 reads nvmma layouts alone"),
        ("a", "plain_gemm", "padded(1:1)", "cp.async", "cp.async copies 4 bytes or more at once, and 2 are together"),
        (
            "a",
            "plain_gemm",
            "swizzle:128,transposed",
            "cp.async",
            "cp.async copies 4 bytes or more at once, and 2 are together",
        ),
    ],
)
def test_what_is_refused(name: str, text: str, given: str, who: str, note: str):
    made = changed(name, GOLDEN[text], given)
    assert made.refused == bool(note)
    if note:
        assert use(made.after, who).note == note


def test_a_transposed_layout_suits_a_transposed_view():
    made = changed("k_tiles", GOLDEN["attention"], "swizzle:128,transposed")
    assert use(made.after, "wgmma").who == "wgmma B, MN-major"
    assert use(made.after, "TMA").refused


SLOTS, SLOT = (f"!ttg.memdesc<{shape}xf32, #rows, #smem, mutable>" for shape in ("2x64x64", "64x64"))
TURNED = "!ttg.memdesc<64x64xf32, #columns, #smem, mutable>"
PART = "!ttg.memdesc<64x32xf32, #columns, #smem, mutable, 64x64>"
FIRST = f"""
%buf = ttg.local_alloc : () -> {SLOTS}
%0 = ttg.memdesc_index %buf[%i] : {SLOTS} -> {SLOT}
"""
VIEWS = f"""{FIRST}
%1 = ttg.memdesc_trans %0 {{order = array<i32: 1, 0>}} : {SLOT} -> {TURNED}
%2 = ttg.memdesc_subslice %1[0, 32] : {TURNED} -> {PART}
%3 = ttg.local_load %2 : {PART} -> tensor<64x32xf32, #down>
"""
LAYOUTS = """\
#rows = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#columns = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#down = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
"""


def test_parts_of_transposed_views():
    text = LAYOUTS + module_text(VIEWS)
    # a lane's next is the next row of the allocation: 256 bytes on, the same bank
    made = changed("buf", text, "none")
    load = use(made.before, "load")
    assert load.transactions is not None
    assert load.transactions.worst == 32
    assert made.before == made.after
    padded = use(changed("buf", text, "padded(64:1)").after, "load")
    assert padded.transactions is not None
    assert padded.transactions.worst == 1


def test_memory_that_is_viewed_in_another_shape_is_not_followed():
    line = "!ttg.memdesc<4096xf32, #shared1, #smem, mutable>"
    body = f"""{FIRST}
    %1 = ttg.memdesc_reshape %0 : {SLOT} -> {line}
    %2 = ttg.local_load %1 : {line} -> tensor<4096xf32, #blocked>
    """
    made = changed("buf", LAYOUTS + module_text(body), "padded(64:1)")
    load = use(made.after, "load")
    assert (load.transactions, load.note, load.refused) == (None, "the memory is viewed in another shape", False)


# ---- corners


def test_a_program_over_several_ctas_is_not_counted():
    text = GOLDEN["plain_gemm"].replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2')
    made = layouts_of(context(text))
    assert made.ctas == 2
    assert use(buffer(made, "a"), "cp.async").note == "the program is spread over several CTAs"
    assert made.conversions[0].exchange is None
    assert all(each.registers is None for each in made.tensors)


def test_a_kernel_of_scalars_has_nothing():
    made = layouts_of(context("module {\ntt.func public @k(%i: i32) {\ntt.return\n}\n}\n"))
    assert (made.buffers, made.tensors, made.conversions) == ((), (), ())


def test_one_dimension_and_barriers():
    body = (
        "%row = ttg.local_alloc %x : (tensor<128xf32, #blocked>) -> !ttg.memdesc<128xf32, #shared1, #smem>\n"
        "%bars = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>\n"
        "ttng.init_barrier %bars, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>"
    )
    (row,) = buffer_layouts(context(module_text(body)))
    assert (row.name, row.shape, row.slots) == ("row", (128,), 1)
    assert use(row, "store").transactions is not None
    assert atom(row.layout, row.shape, row.bits) is None


# ---- pictures


def test_a_swizzle_of_128_bytes_drawn():
    picture = atom(NvmmaShared(128, False, 16), (64, 64), 16)
    assert picture is not None
    for row, line in enumerate(picture.lines):
        assert [(chunk.row, chunk.number) for chunk in line if chunk] == [(row, place ^ row) for place in range(8)]
    assert picture.banks == tuple(range(8))
    assert picture.swizzled
    assert not picture.transposed


def test_a_swizzle_of_32_bytes_drawn():
    picture = atom(NvmmaShared(32, False, 16), (64, 16), 16)
    assert picture is not None
    # four rows of 32 bytes in a line; the halves change places in every other line
    assert [(chunk.row, chunk.number) for chunk in picture.lines[1] if chunk] == [
        (4, 1), (4, 0), (5, 1), (5, 0), (6, 1), (6, 0), (7, 1), (7, 0)
    ]  # fmt: skip


def test_gaps_and_columns_drawn():
    picture = atom(PaddedShared(((64, 8),), (0, 1)), (64, 64), 16)
    assert picture is not None
    assert picture.lines[1][0] is None
    assert picture.transposed
    assert not picture.swizzled
    assert picture.banks == tuple(range(8))


def test_rows_beyond_the_picture_count():
    picture = atom(SwizzledShared(1, 1, 1, (1, 0)), (64, 256), 32)
    assert picture is not None
    assert picture.banks == (0,) * 8


@pytest.mark.parametrize(
    ("layout", "shape", "bits"),
    [
        (SwizzledShared(1, 1, 1, (0,)), (64,), 16),
        (SwizzledShared(2, 1, 8, (1, 0)), (64, 64), 16),
        (NvmmaShared(128, False, 8), (64, 100), 8),
        (NvmmaShared(128, False, 16), (64, 64), 4),
        (None, (64, 64), 16),
    ],
)
def test_what_is_not_drawn(layout: object, shape: tuple[int, ...], bits: int):
    assert atom(layout, shape, bits) is None  # type: ignore[arg-type]
