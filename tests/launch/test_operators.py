"""The estimated time of torch's operators, and that it is asked for only where something measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tlxviz.devices.model import Device
from tlxviz.launch.cuda import install as cuda
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.patching import Scope


@pytest.fixture
def gpu(device: Device) -> Iterator[Gpu]:
    with Scope() as scope:
        made = Gpu(device)
        cuda.install(scope, made)
        yield made


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, device="cuda", dtype=dtype)


def taken(gpu: Gpu, work: Callable[[], Any]) -> float:
    """ns that the device works for `work`."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    return begin.elapsed_time(end) * 1e6


def test_nothing_takes_time_until_something_measures(gpu: Gpu):
    x = tensor(64, 64)
    torch.cuda.Event().record()
    (x @ x).sum()
    assert gpu.time.end(0) == 0
    assert not gpu.log.estimated
    torch.cuda.Event(enable_timing=True).record()
    x + 1
    assert gpu.time.end(0) > 0
    assert gpu.log.estimated


def test_moving_bytes(gpu: Gpu):
    x, y = tensor(1 << 20), tensor(1 << 20)
    bandwidth, launch = gpu.device.memory.hbm_bytes_per_second, gpu.device.launch.kernel_ns
    mib = 4 * (1 << 20) / bandwidth * 1e9
    assert taken(gpu, lambda: x + y) == pytest.approx(3 * mib + launch)
    assert taken(gpu, lambda: x.add_(y)) == pytest.approx(3 * mib + launch)
    assert taken(gpu, lambda: x.copy_(y)) == pytest.approx(2 * mib + launch)
    assert taken(gpu, lambda: x.zero_()) == pytest.approx(mib + launch)
    assert taken(gpu, lambda: x[:1].expand(1 << 20) + y) == pytest.approx(2 * mib + launch, rel=1e-2)


def test_flop(gpu: Gpu):
    cycles = gpu.device.clock.sustained_mhz * 1e6 * gpu.device.limits.sms
    launch, flop = gpu.device.launch.kernel_ns, 2 * 256**3
    bytes_time = 3 * 256 * 256 * 2 / gpu.device.memory.hbm_bytes_per_second * 1e9
    half = tensor(256, 256, dtype=torch.float16)
    assert flop / (cycles * gpu.device.tensor_core.fp16) * 1e9 < bytes_time
    assert taken(gpu, lambda: half @ half) == pytest.approx(bytes_time + launch)
    full = tensor(256, 256)
    assert taken(gpu, lambda: full @ full) == pytest.approx(flop / (cycles * gpu.device.alu.fp32 * 2) * 1e9 + launch)
    query = tensor(1, 4, 256, 64, dtype=torch.float32)
    attention = 2 * 2 * 4 * 256 * 256 * 64
    assert taken(gpu, lambda: torch.nn.functional.scaled_dot_product_attention(query, query, query)) == pytest.approx(
        attention / (cycles * gpu.device.alu.fp32 * 2) * 1e9 + launch
    )


def test_what_runs_no_kernel(gpu: Gpu):
    x, host = tensor(8, 8), torch.ones(1 << 10)
    for work in (
        lambda: x.view(64).t(),
        lambda: torch.empty(1 << 20, device="cuda"),
        lambda: x.detach()[0],
        lambda: host + 1,
        lambda: torch.ones(3),
        lambda: x.shape,
    ):
        assert taken(gpu, work) == 0.0


def test_operators_run_on_the_current_stream_and_backward_counts_once(gpu: Gpu):
    stream = torch.cuda.Stream()
    x = tensor(8).requires_grad_()
    torch.cuda.Event(enable_timing=True).record()
    with torch.cuda.stream(stream):
        y = x * 2
    launch = gpu.device.launch.kernel_ns
    assert gpu.time.end(stream.cuda_stream) == pytest.approx(launch, rel=1e-3)
    assert gpu.time.end(0) == 0
    gradient = torch.ones_like(y)
    gpu.time.synchronize()
    assert taken(gpu, lambda: torch.autograd.grad(y, x, gradient)) == pytest.approx(launch, rel=1e-3)
