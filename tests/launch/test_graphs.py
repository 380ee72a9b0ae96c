"""CUDA graphs: what a capture takes down, what it leaves alone, what a replay does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz.devices.model import Device
from tlxviz.launch.cuda import install as cuda
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.model import Launch
from tlxviz.launch.patching import Scope

MS = 1e6


def launch_of(name: str) -> Launch:
    return Launch(name, (1, 1, 1), [], {}, "", {}, compile_seconds=1.0)


@pytest.fixture
def gpu(device: Device) -> Iterator[Gpu]:
    """A device whose launches take a millisecond on a quarter of it."""
    with Scope() as scope:
        made = Gpu(device)
        made.launched = []  # pyright: ignore[reportAttributeAccessIssue]

        def submit(launch: Launch) -> None:
            made.launched.append((launch.kernel, launch.compile_seconds))  # pyright: ignore[reportAttributeAccessIssue]
            made.time.work(made.stream, MS, sms=33)

        made.submit = submit
        cuda.install(scope, made)
        yield made


def on_gpu(*values: float) -> torch.Tensor:
    return torch.tensor(values, device="cuda", dtype=torch.float32)


def test_nothing_that_was_there_changes_and_replays_write_the_same_memory(gpu: Gpu):
    x, total, untouched = on_gpu(1, 2), on_gpu(10, 10), on_gpu(5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 3
        total += y
        total[0] = 7
        z = y.view(2, 1).t() + 1
    assert (x.tolist(), total.tolist(), untouched.tolist()) == ([1, 2], [10, 10], [5])
    address = z.data_ptr()
    for k in (1, 2):
        x.fill_(k)
        graph.replay()
        assert z.tolist() == [[3 * k + 1] * 2]
        assert z.data_ptr() == address
    assert total.tolist() == [7, 10 + 3 + 6]


def test_a_graph_keeps_its_memory_when_the_script_gives_a_tensor_other_memory(gpu: Gpu):
    x = on_gpu(1)
    before = x.detach()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    x.data = on_gpu(50)
    before.fill_(4)
    graph.replay()
    assert y.tolist() == [5]


def test_kernels_run_in_replays_alone_and_are_compiled_once(gpu: Any):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpu.capture.launch(launch_of("k"))
    assert gpu.launched == []
    graph.replay()
    graph.replay()
    assert gpu.launched == [("k", 1.0), ("k", 0.0)]


def test_branches_of_a_graph_run_side_by_side(gpu: Gpu):
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        gpu.capture.launch(launch_of("left"))  # pyright: ignore
        with torch.cuda.stream(side):
            gpu.capture.launch(launch_of("right"))  # pyright: ignore
        main.wait_stream(side)
        gpu.capture.launch(launch_of("last"))  # pyright: ignore
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    gpu.time.work(gpu.stream, MS)
    begin.record()
    graph.replay()
    end.record()
    assert begin.elapsed_time(end) == 2.0


def test_external_events_are_recorded_by_replays(gpu: Gpu):
    inside = torch.cuda.Event(enable_timing=True, external=True)
    outside = torch.cuda.Event(enable_timing=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gpu.capture.launch(launch_of("k"))  # pyright: ignore
        inside.record()
    outside.record()
    graph.replay()
    assert outside.elapsed_time(inside) == 1.0


def test_random_numbers_advance_with_replays_and_not_with_captures(gpu: Gpu):
    torch.cuda.manual_seed(5)
    expected = [torch.rand(3, device="cuda"), torch.nn.functional.dropout(torch.ones(3, device="cuda"))]
    torch.cuda.manual_seed(5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = torch.rand(3, device="cuda")
        dropped = torch.nn.functional.dropout(torch.ones_like(drawn))
    graph.replay()
    assert torch.equal(drawn, expected[0])
    assert torch.equal(dropped, expected[1])
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(drawn, first)


def test_a_whole_training_step(gpu: Gpu):
    def trained(steps: int, graphed: bool) -> torch.Tensor:
        weight = on_gpu(1, -2).requires_grad_()
        x = on_gpu(1, 1)
        optimizer = torch.optim.SGD([weight], lr=0.125)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            ((weight * x - 1) ** 2).sum().backward()
            optimizer.step()

        run: Callable[[], None] = step
        if graphed:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            run = graph.replay
        for k in range(steps):
            x.fill_(k + 1)
            run()
        return weight.detach()

    assert torch.equal(trained(3, graphed=True), trained(3, graphed=False))


FORBIDDEN: dict[str, Callable[[torch.Tensor], Any]] = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x[0] > 0),
    "tolist": lambda x: x.tolist(),
    "print": repr,
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "synchronize": lambda x: torch.cuda.synchronize(),
    "stream": lambda x: torch.cuda.current_stream().synchronize(),
    "query": lambda x: torch.cuda.current_stream().query(),
}


@pytest.mark.parametrize("call", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_waits_for_the_device_is_refused_and_the_capture_fails(gpu: Gpu, call: Callable[[torch.Tensor], Any]):
    x = on_gpu(1, 2)
    graph = torch.cuda.CUDAGraph()

    def capture() -> None:
        with torch.cuda.graph(graph):
            x.add_(1)
            with pytest.raises(RuntimeError, match="CUDA error: operation not permitted when stream is capturing"):
                call(x)

    with pytest.raises(RuntimeError, match="CUDA error: operation failed due to a previous error during capture"):
        capture()
    assert not torch.cuda.graphs.is_current_stream_capturing()
    torch.cuda.set_stream(torch.cuda.default_stream())
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_an_event_of_the_capture_cannot_be_waited_for_by_the_host(gpu: Gpu):
    event = torch.cuda.Event()

    def capture() -> None:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            event.record()
            with pytest.raises(RuntimeError, match="an event last recorded in a capturing stream"):
                event.synchronize()

    with pytest.raises(RuntimeError, match="previous error during capture"):
        capture()


def test_copies_to_and_from_pageable_memory_are_refused(gpu: Gpu):
    x, host, pinned = on_gpu(1, 2), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0]).pin_memory()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in (x.cpu, host.cuda, lambda: x.copy_(host), lambda: host.copy_(x)):
            with pytest.raises(RuntimeError, match="Cannot copy between CPU and CUDA tensors during CUDA graph"):
                call()
        y = pinned.to("cuda", non_blocking=True)
        x.copy_(pinned, non_blocking=True)
    pinned.fill_(8)
    graph.replay()
    assert (x.tolist(), y.tolist()) == ([8, 8], [8, 8])


def test_work_that_is_not_joined(gpu: Gpu):
    side = torch.cuda.Stream()

    def capture() -> None:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.empty(1, device="cuda").fill_(1)
                assert torch.cuda.is_current_stream_capturing()

    with pytest.raises(RuntimeError, match="capturing stream has unjoined work"):
        capture()


def test_an_event_from_outside_the_capture(gpu: Gpu):
    event = torch.cuda.Event()
    event.record()
    with (
        pytest.raises(RuntimeError, match="previous error during capture"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
        pytest.raises(RuntimeError, match="dependency created on uncaptured work in another stream"),
    ):
        torch.cuda.current_stream().wait_event(event)


def test_other_streams_and_the_host_go_on_during_a_capture(gpu: Gpu):
    x, host = on_gpu(1), torch.ones(2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        host += 1
        x += 1
        with torch.cuda.stream(torch.cuda.default_stream()):
            y = on_gpu(4) + 1
            assert y.item() == 5
    assert (host.tolist(), x.tolist()) == ([2, 2], [1])


def test_rules_of_captures(gpu: Gpu, tmp_path: Path):
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=re.escape("CUDA graphs must be captured on a non-default stream.")):
        graph.capture_begin()
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"), torch.cuda.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="already owns a captured graph"), torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
    graph.reset()
    graph.enable_debug_mode()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle()):
        gpu.capture.launch(launch_of("kernel"))  # pyright: ignore
    graph.debug_dump(str(tmp_path / "graph.dot"))
    assert (tmp_path / "graph.dot").read_text() == 'digraph dot {\n"0" [label="kernel"];\n}\n'
    assert graph.pool() == torch.cuda.CUDAGraph.pool(graph)


def test_graphed_callables(gpu: Gpu):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).cuda()
    x = torch.arange(8.0, device="cuda").reshape(2, 4).requires_grad_()
    model(x).sum().backward()
    expected = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    graphed = torch.cuda.make_graphed_callables(model, (torch.ones(2, 4, device="cuda", requires_grad=True),))
    graphed(x).sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(parameter.grad, gradient)
