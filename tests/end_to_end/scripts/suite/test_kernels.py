"""A suite as projects with kernels have it: some tests pass, are skipped, fail, and one kernel hangs."""

import os

import pytest
import torch
import triton
import triton.language as tl

tlx = pytest.importorskip("triton.language.extra.tlx")
CAPABILITY = torch.cuda.get_device_capability() if torch.cuda.is_available() else (0, 0)


def is_hopper():
    return triton.runtime.driver.active.get_current_target().arch == 90


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def waits(x_ptr):
    barriers = tlx.alloc_barriers(num_barriers=1, arrive_count=2)
    tlx.barrier_arrive(barriers[0])
    tlx.barrier_wait(barriers[0], 0)
    tl.store(x_ptr, 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("n", [1, 100, 1024])
def test_scales(device, n, dtype):
    x = torch.randn(n, device=device, dtype=dtype)
    y = torch.empty_like(x)
    scale[(triton.cdiv(n, 128),)](x, y, n, 2.0, BLOCK=128)
    torch.testing.assert_close(y, x * 2)


@pytest.mark.skipif(CAPABILITY[0] < 9, reason="needs Hopper")
def test_hopper(device):
    assert is_hopper()


@pytest.mark.skipif(CAPABILITY[0] < 10, reason="needs Blackwell")
def test_blackwell(device):
    raise AssertionError("not here")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_devices():
    raise AssertionError("not here")


@pytest.mark.skipif("H200" not in torch.cuda.get_device_name(), reason="needs an H200")
def test_large_memory(device):
    assert torch.cuda.get_device_properties(device).multi_processor_count == 132


@pytest.mark.xfail(reason="rounds")
def test_expected_failure(device):
    x = torch.full((4,), 1 / 3, device=device)
    y = torch.empty_like(x)
    scale[(1,)](x, y, 4, 3.0, BLOCK=16)
    assert torch.equal(y.double(), torch.ones(4, device=device).double() * 1.5)


def test_missing_dependency():
    pytest.importorskip("a_package_that_nobody_has")


def test_does_not_compile(device):
    @triton.jit
    def broken(x_ptr):
        tl.store(x_ptr, missing_name)  # noqa: F821

    with pytest.raises(triton.CompilationError):
        broken[(1,)](torch.empty(1, device=device))


@pytest.mark.skipif("FAIL" not in os.environ, reason="only on demand")
def test_fails(device):
    x = torch.ones(16, device=device)
    y = torch.empty_like(x)
    scale[(1,)](x, y, 16, 2.0, BLOCK=16)
    torch.testing.assert_close(y, x * 3)


@pytest.mark.skipif("HANG" not in os.environ, reason="only on demand")
def test_hangs(device):
    waits[(1,)](torch.zeros(1, device=device))


@pytest.mark.skipif("OUTSIDE" not in os.environ, reason="only on demand")
def test_out_of_bounds(device):
    x = torch.ones(16, device=device)
    scale[(1,)](x, x, 64, 2.0, BLOCK=64)


def test_last(device):
    x = torch.ones(5, device=device)
    scale[(1,)](x, x, 5, 4.0, BLOCK=16)
    assert x.sum().item() == 20
