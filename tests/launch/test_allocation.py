"""Where the compiler puts a kernel's memory: asked once a kernel, by who records, and only believed if bytes agree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tlxviz._triton import memory

pytestmark = pytest.mark.usefixtures("empty_cache")

Runner = Callable[..., Any]
PRELUDE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x / tl.sum(x * x))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


x, out = torch.ones(256, device="cuda"), torch.zeros(256, device="cuda")
a, b = (torch.ones(64, 64, device="cuda", dtype=torch.float16) for _ in range(2))
c = torch.zeros(64, 64, device="cuda")
"""
NORM = "norm[(1,)](x, out, N=256)\n"
PRODUCT = "product[(1,)](a, b, c, N=64)\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of shared memory of each answer."""
    found: list[int] = []
    ask = memory.allocation

    def noted(*arguments: Any) -> dict[str, Any]:
        told = ask(*arguments)
        found.append(told["shared"])
        return told

    monkeypatch.setattr(memory, "allocation", noted)
    return found


def test_tiles_lie_one_after_the_other(run: Runner):
    (launch,) = run(PRODUCT, prelude=PRELUDE).launches
    told = launch.assembled()["allocation"]
    assert told["shared"] == launch.metadata["shared"]
    tiles = [each for each in told["operations"] if each["name"] == "ttg.local_alloc"]
    assert sorted(each["offset"] for each in tiles) == [0, 64 * 64 * 2]
    lines = launch.ttgir.splitlines()
    assert all(f" {each['name']} " in lines[each["line"] - 1] for each in told["operations"])


def test_a_reduction_has_a_number_a_warp(run: Runner):
    """f32, of 4 warps."""
    (launch,) = run(NORM, prelude=PRELUDE).launches
    told = launch.assembled()["allocation"]
    assert told["shared"] == launch.metadata["shared"] == 4 * 4
    (reduction,) = told["operations"]
    assert (reduction["name"], reduction["offset"]) == ("tt.reduce", 0)
    assert '"tt.reduce"' in launch.ttgir.splitlines()[reduction["line"] - 1]


def test_a_kernel_is_asked_about_once_and_only_when_it_is_recorded(run: Runner, asked: list[int]):
    launches = run(NORM + NORM + PRODUCT, prelude=PRELUDE).launches
    assert asked == []
    for launch in launches:
        launch.assembled()
    assert asked == [launches[0].metadata["shared"], launches[2].metadata["shared"]]


def test_other_bytes_than_the_kernels_are_not_believed(run: Runner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "allocation", lambda *_: {"shared": 17, "operations": []})
    (launch,) = run(NORM, prelude=PRELUDE).launches
    assert "allocation" not in launch.assembled()


def test_what_is_no_ttgir_has_no_offsets(capfd: pytest.CaptureFixture[str]):
    assert memory.allocation("nothing", {}) == {}
    assert capfd.readouterr().err == ""
    assert memory.allocation('module attributes {ttg.target = "cuda:90"} { nothing }', {}) == {}


def test_an_operation_that_is_not_found_again_ends_it(run: Runner, monkeypatch: pytest.MonkeyPatch):
    (launch,) = run(PRODUCT, prelude=PRELUDE).launches
    operations = memory._operations
    seen: list[Any] = []

    def fewer(module: Any) -> Any:
        found = operations(module)
        if seen:
            found["ttg.local_alloc"].pop()
        seen.append(module)
        return found

    monkeypatch.setattr(memory, "_operations", fewer)
    assert memory.allocation(launch.ttgir, launch.metadata) == {}
    assert len(seen) == 2


def test_the_compiler_has_its_passes_back(run: Runner):
    from triton._C.libtriton import nvidia

    before = nvidia.passes.ttgpuir.add_allocate_shared_memory_nv, nvidia.passes.ttnvgpuir.add_allocate_tensor_memory
    (launch,) = run(NORM, prelude=PRELUDE).launches
    assert launch.assembled()["allocation"]
    after = nvidia.passes.ttgpuir.add_allocate_shared_memory_nv, nvidia.passes.ttnvgpuir.add_allocate_tensor_memory
    assert after == before


def test_kernels_that_compile_in_other_threads_go_on(run: Runner):
    from triton._C.libtriton import ir, nvidia

    run(NORM, prelude=PRELUDE)

    def add_both() -> None:
        manager = ir.pass_manager(ir.context())
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, 90, 80)
        nvidia.passes.ttnvgpuir.add_allocate_tensor_memory(manager)
        gone_on.append(True)

    gone_on: list[bool] = []
    with memory._stopped_when_allocated():
        other = threading.Thread(target=add_both)
        other.start()
        other.join()
        assert gone_on == [True]
        with pytest.raises(memory._Allocated):
            add_both()
