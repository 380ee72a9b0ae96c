"""Single features of Gluon against torch."""

from __future__ import annotations

import pytest
import torch
import triton
from gluon_corners import below, described_here, slab, small_products, tuples_and_calls
from gluon_kernels import LINE, ROWS, described, tiles
from kernel_runner import executes, run_kernel
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@pytest.mark.parametrize("first", [0, 8, 16])
def test_tiles_of_three_dimensions(first: int):
    x, y = torch.randn(3, 20, 64).half(), torch.zeros(3, 20, 64).half()
    run_kernel(slab, (3,), described(x, [1, 8, 64]), described(y, [1, 8, 64]), first)
    wanted = torch.zeros_like(x)
    wanted[:, first : first + 8] = x[:, first : first + 8]
    assert torch.equal(y, wanted)


@pytest.mark.parametrize(("padding", "filler"), [("zero", 0.0), ("nan", float("nan"))])
def test_what_lies_outside_of_a_tensor(padding: str, filler: float):
    x, y = torch.randn(64, 64), torch.full((64, 64), 5.0)
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float32)
    descriptor = TensorDescriptor(x, [64, 64], [64, 1], [64, 64], layout, padding=padding)
    run_kernel(below, (1,), descriptor, y, 40, layout=ROWS)
    assert torch.equal(y[:24], x[40:])
    torch.testing.assert_close(y[24:], torch.full((40, 64), filler), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize(("m", "n"), [(128, 64), (100, 72)])
@executes("ttng.tensormap_create", "ttng.reinterpret_tensor_descriptor")
def test_descriptors_that_the_kernel_makes(m: int, n: int):
    def allocate(size: int, align: int, stream: int | None) -> torch.Tensor:
        return torch.empty(size, dtype=torch.int8)

    triton.set_allocator(allocate)
    x, y = torch.randn(m, n).half(), torch.zeros(m, n).half()
    shared = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    run_kernel(described_here, (tiles(m, 64), tiles(n, 64)), x, y, m, n, layout=ROWS, shared=shared)
    assert torch.equal(y, x * 2)


@executes("tt.dot")
def test_products_of_registers():
    x, y, out = torch.randn(32, 32), torch.randn(32, 32), torch.zeros(2, 32, 32)
    run_kernel(small_products, (1,), x, y, out, layout=ROWS)
    wanted = x.double() @ y.double()

    def error(got: torch.Tensor) -> float:
        return ((got - wanted).norm() / wanted.norm()).item()

    assert error(out[0] - 1) < 1e-6
    assert 1e-4 < error(out[1]) < 2e-3


@executes("tt.call")
def test_tuples_and_calls():
    out = torch.zeros(130, dtype=torch.int32)
    run_kernel(tuples_and_calls, (1,), (out, 5), layout=LINE)
    assert out.tolist() == [5 * lane for lane in range(128)] + [6, 51]
