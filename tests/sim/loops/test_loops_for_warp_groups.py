"""`warp_specialize=True` on Hopper: the compiler divides a loop, and the warp groups compute what torch does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
from kernel_runner import Run, executes, run_kernel, run_ttgir
from loop_kernels import attention, host_matmul, matmul
from triton import knobs
from triton.tools.tensor_descriptor import TensorDescriptor

TOLERANCE = 1e-3
WHOLE, RAGGED = (512, 384, 256), (300, 200, 136)
BLOCKS = {"BM": 128, "BN": 128, "BK": 64}
PLAIN: dict[str, Any] = {"INNER": False, "PARTS": None, "OWN_STORE": False, "HALVES": False, "BIAS": False}
LOG2_E = 1.4426950408889634

ONE_CONSUMER = ["a_desc_empty", "a_desc_full", "b_desc_empty", "b_desc_full"]
TWO_CONSUMERS = [
    "a_desc_empty.0", "a_desc_empty.1", "a_desc_full.0", "a_desc_full.1",
    "b_desc_empty.0", "b_desc_empty.1", "b_desc_full",
]  # fmt: skip
STAGING = ["c_desc_staging_empty", "c_desc_staging_full"]


@pytest.fixture(autouse=True)
def divided_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """fbtriton divides loops for Hopper only when it is told to."""
    if not hasattr(knobs.nvidia, "use_meta_ws"):
        pytest.skip("another compiler divides the loops in another way")
    monkeypatch.setenv("TRITON_USE_META_WS", "1")


def allocate(size: int, align: int, stream: int | None) -> torch.Tensor:
    return torch.empty(size, dtype=torch.int8)


def error(got: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative Frobenius error."""
    return ((got.float() - wanted.float()).norm() / wanted.float().norm()).item()


def multiply(
    sizes: tuple[int, int, int], *, warps: int = 4, stages: int = 3, values: bool = True, **options: Any
) -> Run:
    m, n, k = sizes
    a, b, c, bias = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half(), torch.randn(n)
    arguments = {**PLAIN, **BLOCKS, **options}
    triton.set_allocator(allocate)
    run = run_kernel(
        matmul, (3,), a, b, c, bias, m, n, k, values=values, num_warps=warps, num_stages=stages, **arguments
    )
    if values:
        wanted = a.float() @ b.float().T + (bias if arguments["BIAS"] else 0)
        assert error(c, wanted) <= TOLERANCE
    return run


CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("tiles", {}, ["mma", "load", "idle"], ONE_CONSUMER),
    ("steps", {"INNER": True}, ["mma", "load"], ONE_CONSUMER),
    ("bias", {"BIAS": True}, ["mma", "load", "idle"], ONE_CONSUMER),
    ("halves", {"HALVES": True}, ["mma", "load", "idle"], ONE_CONSUMER),
    ("store", {"OWN_STORE": True}, ["mma", "store", "load", "idle"], ONE_CONSUMER),
    ("store-halves", {"OWN_STORE": True, "HALVES": True}, ["mma", "store", "load", "idle"], ONE_CONSUMER),
    ("parts", {"PARTS": 2}, ["mma.0", "mma.1", "load", "idle"], TWO_CONSUMERS),
    ("parts-halves", {"PARTS": 2, "HALVES": True}, ["mma.0", "mma.1", "load", "idle"], TWO_CONSUMERS),
    ("large-parts", {"PARTS": 2, "BM": 256}, ["mma.0", "mma.1", "load", "idle"], TWO_CONSUMERS),
    ("steps-parts", {"INNER": True, "PARTS": 2}, ["mma.0", "mma.1", "load"], TWO_CONSUMERS),
    ("eight-warps", {"warps": 8}, ["mma", "load", "idle"], ONE_CONSUMER),
    ("two-stages", {"stages": 2}, ["mma", "load", "idle"], ONE_CONSUMER),
]


@pytest.mark.parametrize("sizes", [WHOLE, RAGGED], ids=["whole", "ragged"])
@pytest.mark.parametrize(
    ("options", "agents", "barriers"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
@executes("ttg.warp_specialize", "ttng.warp_group_dot")
def test_matmul(sizes: tuple[int, int, int], options: dict[str, Any], agents: list[str], barriers: list[str]):
    trace = multiply(sizes, **options).trace
    assert [agent.name for agent in trace.agents] == agents
    staging = STAGING if options.get("OWN_STORE") else []
    assert sorted(barrier.name for barrier in trace.barriers) == [*barriers, *staging]
    assert {barrier.slots for barrier in trace.barriers if barrier.name in barriers} == {options.get("stages", 3)}
    assert [buffer.name for buffer in trace.buffers if buffer.name.startswith("b_")] == ["b_desc_tile"]
    waits = {
        (site.variable.split(".")[0], trace.agents[site.agent].role) for site in trace.sites if site.kind == "wait"
    }
    assert waits >= {(f"{name}_desc_full", "mma") for name in "ab"} | {(f"{name}_desc_empty", "load") for name in "ab"}
    assert len(waits) == (6 if staging else 4)


@pytest.mark.parametrize("sizes", [WHOLE, RAGGED], ids=["whole", "ragged"])
def test_matmul_with_descriptors_of_the_host(sizes: tuple[int, int, int]):
    m, n, k = sizes
    a, b, c = torch.randn(m, k).half(), torch.randn(n, k).half(), torch.zeros(m, n).half()
    described = [
        TensorDescriptor.from_tensor(t, block) for t, block in ((a, [128, 64]), (b, [128, 64]), (c, [128, 128]))
    ]
    run = run_kernel(host_matmul, (3,), *described, m, n, k, **BLOCKS, num_warps=4, num_stages=3)
    assert error(c, a.float() @ b.float().T) <= TOLERANCE
    assert [agent.name for agent in run.trace.agents] == ["mma", "load", "idle"]


@pytest.mark.parametrize("options", [{}, {"OWN_STORE": True}, {"PARTS": 2}], ids=["tiles", "store", "parts"])
def test_times_are_the_same_without_values(options: dict[str, Any]):
    with_values = multiply(RAGGED, **options).trace
    without = multiply(RAGGED, **options, values=False).trace
    assert with_values.cycles == without.cycles > 0
    for column in ("site", "begin", "end", "slot", "phase", "released_by"):
        assert (with_values.events[column] == without.events[column]).all()


def test_a_loop_that_stays_whole_computes_the_same(monkeypatch: pytest.MonkeyPatch):
    divided = multiply(RAGGED)
    monkeypatch.setenv("TRITON_USE_META_WS", "0")
    whole = multiply(RAGGED)
    assert [agent.name for agent in whole.trace.agents] == ["compute"]
    assert divided.cycles < whole.cycles


def attended(kind: str, heads: int, length: int) -> Run:
    q, k, v, o = (torch.randn(heads * length, 64).half() for _ in range(4))
    scale = 0.5
    if kind == "divided":
        text = Path(__file__).with_name("attention.ttgir").read_text()
        run = run_ttgir(text, q, k, v, o, length, heads, scale * LOG2_E, grid=(length // 128, heads, 1))
    else:
        triton.set_allocator(allocate)
        options = {"BM": 128, "BN": 64, "D": 64, "num_warps": 4, "num_stages": 2}
        run = run_kernel(attention, (length // 128, heads), q, k, v, o, length, heads, scale * LOG2_E, **options)
    q, k, v = (tensor.float().view(heads, length, 64) for tensor in (q, k, v))
    wanted = torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1) @ v
    assert error(o.view(heads, length, 64), wanted) <= TOLERANCE
    return run


@pytest.mark.parametrize(("heads", "length"), [(2, 256), (1, 512)])
def test_attention_as_triton_divides_it(heads: int, length: int):
    """`attention` of `loop_kernels.py` as Triton 3.8 compiles it; fbtriton's compiler fails on it."""
    trace = attended("divided", heads, length).trace
    assert [(agent.name, agent.warps, agent.registers) for agent in trace.agents] == [
        ("load", 4, None),
        ("softmax.0", 4, 232),
        ("softmax.1", 4, 232),
    ]
    named = {barrier.name: barrier.slots for barrier in trace.barriers if not barrier.name.startswith("%")}
    full = {"v_desc_full": 2, "k_desc_full": 2, "q_desc_full.0": 2, "q_desc_full.1": 2}
    empty = {f"{name}_desc_empty.{number}": 2 for name in "kv" for number in (0, 1)}
    assert named == full | empty | {"q_desc_empty.0": 1, "q_desc_empty.1": 1}


def test_attention_with_a_whole_loop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_USE_META_WS", "0")
    assert [agent.name for agent in attended("whole", 2, 256).trace.agents] == ["compute"]
