"""Every operation parses, with the names of operands and attributes that `forms.py` promises."""

from __future__ import annotations

import math

import pytest
from ir_samples import ACC, BAR, DATA, DESC, POINTERS, ROW, STAGES, TILE, TMEM, golden, names, operation

from tlxviz.ir import parse_module
from tlxviz.ir.numbers import Dense
from tlxviz.ir.types import MemDescType, PointerType, ScalarType, TensorType, TokenType

OPERATIONS = (DATA / "operations.txt").read_text().split()


@pytest.fixture(scope="module")
def found_names() -> set[str]:
    """Names in a file that Triton printed and that holds every operation."""
    return {found.name for found in parse_module(golden("operations")).walk()}


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "builtin.module"])
def test_every_known_operation_parses(name: str, found_names: set[str]) -> None:
    assert name in found_names


GROUPS = [
    (f"%0 = tt.load %ps, %xc, %x evictionPolicy = evict_last : {POINTERS}", "ptr=%ps mask=%xc other=%x"),
    (f"%0 = tt.load %ps : {POINTERS}", "ptr=%ps"),
    (f"tt.store %ps, %x, %xc : {POINTERS}", "ptr=%ps value=%x mask=%xc"),
    ("%0 = tt.atomic_rmw fadd, acq_rel, gpu, %p, %f, %c : (!tt.ptr<f32>, f32, i1) -> f32", "ptr=%p value=%f mask=%c"),
    ("%0 = tt.atomic_cas acq_rel, gpu, %p, %f, %f : (!tt.ptr<f32>, f32, f32) -> f32", "ptr=%p cmp=%f value=%f"),
    (f"%0 = ttg.local_alloc : () -> {STAGES}", ""),
    (f"%0 = ttg.memdesc_index %stages[%i] : {STAGES} -> {TILE}", "src=%stages index=%i"),
    (f"ttng.init_barrier %bar, 2 : {BAR}", "barrier=%bar"),
    (f"ttng.wait_barrier %bar, %i : {BAR}", "barrier=%bar phase=%i"),
    (
        f"ttng.wait_barrier %bar, %i, %c deps %tile, %tm : {BAR}, {TILE}, {TMEM}",
        "barrier=%bar phase=%i pred=%c deps=%tile,%tm",
    ),
    (f"ttng.arrive_barrier %bar, 1, %c {{perThread}} : {BAR}", "barrier=%bar pred=%c"),
    (f"ttng.barrier_expect %bar, 16384, %c : {BAR}", "barrier=%bar pred=%c"),
    ("ttng.wait_barrier_named %i, %i : i32, i32", "barrier=%i threads=%i"),
    ("tlx.named_barrier_wait %i, %i", "barrier=%i threads=%i"),
    ("tlx.named_barrier_arrive %i, %i", "barrier=%i threads=%i"),
    (f"tlx.warp_barrier_arrive %bar, 1 : {BAR}", "barrier=%bar"),
    (f"%0 = tlx.local_alias %tile : {TILE} -> {TILE}", "src=%tile"),
    (
        f"ttng.async_tma_copy_global_to_local %desc[%i, %i] %tile, %bar, %c, %i : {DESC}, {BAR} -> {TILE}",
        "desc=%desc coords=%i,%i dst=%tile barrier=%bar pred=%c multicast=%i",
    ),
    (f"ttng.async_tma_copy_local_to_global %desc[%i, %i] %tile : {DESC}, {TILE}", "desc=%desc coords=%i,%i src=%tile"),
    (f"ttng.async_tma_reduce add, %desc[%i, %i] %tile : {DESC}, {TILE}", "desc=%desc coords=%i,%i src=%tile"),
    (
        f"ttng.async_tma_store_token_wait %tok , %bar[%c]  : !ttg.async.token, {BAR}",
        "token=%tok barriers=%bar barrier_preds=%c",
    ),
    ("%0 = ttg.async_commit_group tokens %tok, %tok", "tokens=%tok,%tok"),
    (
        f"%0 = ttng.warp_group_dot %tile, %tile, %acc, %c {{isAsync = true}} : {TILE} * {TILE} -> {ACC}",
        "a=%tile b=%tile c=%acc use_c=%c",
    ),
    (f"%0:2 = ttng.warp_group_dot_wait %acc, %tile {{pendings = 1 : i32}} : {ACC}, {TILE}", "inputs=%acc,%tile"),
    (
        f"ttng.tc_gen5_mma %tile, %tile, %tm, %c, %c, %bar[%c], %bar[%c] {{is_async}} : {TILE}, {TILE}, {TMEM}, {BAR}",
        "a=%tile b=%tile d=%tm use_d=%c pred=%c barriers=%bar,%bar barrier_preds=%c,%c",
    ),
    (
        f"%0 = ttng.tc_gen5_mma %tile, %tile, %tm[%tok], %c, %c : {TILE}, {TILE}, {TMEM}",
        "a=%tile b=%tile d=%tm token=%tok use_d=%c pred=%c",
    ),
    (f"ttng.tc_gen5_commit %bar descs %tile : {BAR}, {TILE}", "barrier=%bar descs=%tile"),
    ('tt.print " x : " {hex = false, isSigned = array<i32: 1>} : %i : i32', "args=%i"),
    ('tt.assert %xc, "a : {b}" : tensor<128xi1, #blocked>', "condition=%xc"),
]


@pytest.mark.parametrize(("line", "expected"), GROUPS)
def test_operands_are_named_by_the_part_they_play(line: str, expected: str) -> None:
    wanted = {part: values.split(",") for part, values in (piece.split("=") for piece in expected.split())}
    found = operation(line)
    assert names(found) == wanted
    assert [value.name for value in found.operands] == [name for group in wanted.values() for name in group]


ATTRIBUTES = [
    (
        "%0 = tt.atomic_rmw max, relaxed, cta, %p, %f : (!tt.ptr<f32>, f32) -> f32",
        {"rmw_op": "max", "sem": "relaxed", "scope": "cta"},
    ),
    (f"ttng.init_barrier %bar, 2 : {BAR}", {"count": 2}),
    (f"ttng.arrive_barrier %bar, 3 {{perThread}} : {BAR}", {"count": 3, "perThread": True}),
    (f"tlx.warp_barrier_arrive %bar, 3 : {BAR}", {"count": 3}),
    (f"ttng.barrier_expect %bar, 16384, %c : {BAR}", {"bytes": 16384}),
    ("ttng.async_tma_store_wait {pendings = 1 : i32}", {"pendings": 1}),
    (f"ttng.async_tma_reduce add, %desc[%i, %i] %tile : {DESC}, {TILE}", {"kind": "add"}),
    ("%0 = tt.get_program_id y : i32", {"axis": 1}),
    ("%0 = gpu.thread_id z", {"axis": 2}),
    ("%0 = arith.cmpi slt, %i, %i : i32", {"predicate": "slt"}),
    ("%0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>", {"start": 0, "end": 128}),
    ("%0 = arith.addi %i, %i overflow<nsw> : i32", {"overflow": "nsw"}),
    ("tt.print \"a : b\" {hex = true, isSigned = array<i32>}", {"prefix": "a : b", "hex": True, "isSigned": []}),
    (
        f"%0 = ttg.memdesc_subslice %tile[64, 0] : {TILE} -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable, 128x64>",
        {"offsets": [64, 0]},
    ),
    (
        '%0 = tt.elementwise_inline_asm "mov { $0 };\\0A" {constraints = "=r,r", packed = 1 : i32} %i : i32 -> i32',
        {"asm_string": "mov { $0 };\n", "constraints": "=r,r", "packed": 1},
    ),
    ('%0 = tt.elementwise_inline_asm "x" {constraints = "=r"} -> i32', {"asm_string": "x", "constraints": "=r"}),
    ('%0 = ttng.made_up %i <{a = [1, "}"]}> {b} : i32', {"a": [1, "}"], "b": True}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ATTRIBUTES)
def test_attributes_are_python_values(line: str, expected: dict[str, object]) -> None:
    assert operation(line).attributes == expected


def test_an_operation_without_a_row_keeps_operands_in_order() -> None:
    found = operation("%0, %1 = dialect.unheard_of %i, %f {x} : i32, f32 -> f32, i32")
    assert [value.name for value in found.operands] == ["%i", "%f"]
    assert [value.type for value in found.results] == [ScalarType("f32"), ScalarType("i32")]


def test_generic_form() -> None:
    found = operation('%0:2 = "some.op"(%i, %f) <{a = 1 : i32}> {b} : (i32, f32) -> (i32, f32)')
    assert found.name == "some.op"
    assert found.attributes == {"a": 1, "b": True}
    assert [value.name for value in found.results] == ["%0#0", "%0#1"]


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("5 : i32", 5),
        ("-1 : i64", -1),
        ("true", True),
        ("1.500000e+00 : f32", 1.5),
        ("0xFF800000 : f32", -math.inf),
        ("0x7C00 : f16", math.inf),
        ("0x7F800000 : f32", math.inf),
        ("0xFF80 : bf16", -math.inf),
        ("3 : index", 3),
    ],
)
def test_constants(printed: str, expected: object) -> None:
    value = operation(f"%0 = arith.constant {printed}").attributes["value"]
    assert value == expected
    assert type(value) is type(expected)


def test_dense_constants() -> None:
    splat = operation(f"%0 = arith.constant dense<0xFF800000> : {ROW}").attributes["value"]
    assert splat == Dense((-math.inf,), (128,), is_splat=True)
    listed = operation("%0 = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32, #blocked>").attributes["value"]
    assert listed == Dense((1, 2, 3, 4), (2, 2), is_splat=False)
    blob = operation('%0 = arith.constant dense<"0x01000000FFFFFFFF"> : tensor<2xi32, #blocked>').attributes["value"]
    assert blob.values == (1, -1)
    with pytest.raises(ValueError, match="differ"):
        _ = listed.splat


RESULTS = [
    ("%0 = arith.cmpi slt, %xi, %xi : tensor<128xi32, #blocked>", "tensor i1"),
    (f"%0 = tt.load %ps : {POINTERS}", "tensor f32"),
    ("%0 = tt.load %p : !tt.ptr<f32>", "f32"),
    (f"%0 = tt.addptr %ps, %xi : {POINTERS}, tensor<128xi32, #blocked>", "tensor ptr"),
    ("%0 = arith.extui %i : i32 to i64", "i64"),
    (f"%0 = arith.select %xc, %x, %x : tensor<128xi1, #blocked>, {ROW}", "tensor f32"),
    ("%0 = ttg.async_wait {num = 0 : i32}", "token"),
    (
        f"%0 = ttg.async_copy_global_to_local %ps, %tile : {POINTERS} -> <128x64xf16, #shared, #smem, mutable>",
        "token",
    ),
    ("%0 = nvg.cluster_id", "i32"),
    ("%0 = gpu.thread_id x", "index"),
    (f"%0, %1 = ttng.tmem_load %tm[%tok] : {TMEM} -> {ACC}", "tensor f32 token"),
]


@pytest.mark.parametrize(("line", "expected"), RESULTS)
def test_types_of_results(line: str, expected: str) -> None:
    words: list[str] = []
    for value in operation(line).results:
        match value.type:
            case TensorType(element=PointerType()):
                words += ["tensor", "ptr"]
            case TensorType(element=ScalarType(name)):
                words += ["tensor", name]
            case ScalarType(name):
                words.append(name)
            case TokenType():
                words.append("token")
            case other:
                words.append(str(other))
    assert " ".join(words) == expected


def test_memdesc_with_the_shape_of_its_allocation() -> None:
    part = "!ttg.memdesc<64x64xf16, #shared, #smem, mutable, 128x64>"
    found = operation(f"%0 = ttg.memdesc_subslice %tile[64, 0] : {TILE} -> {part}")
    type_ = found.result.type
    assert isinstance(type_, MemDescType)
    assert (type_.shape, type_.alloc_shape, type_.mutable, type_.space) == ((64, 64), (128, 64), True, "shared_memory")
    assert type_.encoding is not None
    assert type_.encoding.name == "nvmma_shared"
    assert type_.encoding.parameters["swizzlingByteWidth"] == 128
    source = found.operands[0].type
    assert isinstance(source, MemDescType)
    assert source.alloc_shape == source.shape


def test_nested_encodings_are_resolved() -> None:
    line = "%0 = dialect.cast %i : i32 -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #mma}>>"
    type_ = operation(line).result.type
    assert isinstance(type_, TensorType)
    assert type_.encoding is not None
    assert type_.encoding.name == "slice"
    assert type_.encoding.parameters["parent"].parameters["instrShape"] == [16, 64, 16]
