"""Streams and events, and what they say about time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tlxviz.devices.model import Device
from tlxviz.launch.cuda import install as cuda
from tlxviz.launch.device.clock import DeviceTime
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.patching import Scope

MS = 1e6


@pytest.fixture
def gpu(device: Device) -> Any:
    with Scope() as scope:
        made = Gpu(device)
        cuda.install(scope, made)
        yield made


def timed() -> Any:
    return torch.cuda.Event(enable_timing=True)


def test_elapsed_time_is_that_of_the_work_between(gpu: Gpu):
    begin, end = timed(), timed()
    gpu.time.work(gpu.stream, 1 * MS)
    begin.record()
    gpu.time.work(gpu.stream, 2.5 * MS)
    end.record()
    assert begin.elapsed_time(end) == 2.5
    assert end.elapsed_time(begin) == -2.5
    assert (gpu.measured, gpu.time.now) == (True, 3.5 * MS)


def test_streams_run_side_by_side_and_events_order_them(gpu: Gpu):
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    begin, end, middle = timed(), timed(), timed()
    begin.record()
    with torch.cuda.stream(one):
        gpu.time.work(gpu.stream, 4 * MS, sms=8)
        middle.record()
    with torch.cuda.stream(two):
        gpu.time.work(gpu.stream, 3 * MS, sms=8)
    end.record(two)
    assert begin.elapsed_time(end) == 3
    two.wait_event(middle)
    gpu.time.work(two.cuda_stream, 1 * MS)
    end.record(two)
    assert begin.elapsed_time(end) == 5
    torch.cuda.current_stream().wait_stream(two)
    end.record()
    assert begin.elapsed_time(end) == 5


def test_asking_does_not_go_on_for_ever(gpu: Gpu):
    event, stream = torch.cuda.Event(), torch.cuda.Stream()
    assert event.query()
    assert stream.query()
    gpu.time.work(stream.cuda_stream, MS)
    event.record(stream)
    assert [event.query(), event.query(), stream.query()] == [False, True, True]
    gpu.time.work(stream.cuda_stream, MS)
    assert [stream.query(), stream.query()] == [False, True]
    assert gpu.time.now == 2 * MS


@pytest.mark.parametrize(
    "wait",
    [
        lambda stream, event: stream.synchronize(),
        lambda stream, event: event.synchronize(),
        lambda stream, event: torch.cuda.synchronize(),
        lambda stream, event: torch.cuda.synchronize("cuda:0"),
        lambda stream, event: torch.accelerator.synchronize(),
    ],
)
def test_the_host_waits(gpu: Gpu, wait: Callable[[Any, Any], None]):
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    gpu.time.work(stream.cuda_stream, MS)
    stream.record_event(event)
    assert gpu.time.now == 0
    wait(stream, event)
    assert gpu.time.now == MS
    assert not gpu.measured


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([{}, {}], "Both events must be created with argument 'enable_timing=True'."),
        ([{"enable_timing": True}, {}], "Both events must be created with argument 'enable_timing=True'."),
        ([{"enable_timing": True}] * 2, "Both events must be recorded before calculating elapsed time."),
    ],
)
def test_what_cannot_be_measured(gpu: Gpu, options: list[dict[str, bool]], says: str):
    begin, end = (torch.cuda.Event(**each) for each in options)
    begin.record()
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        begin.elapsed_time(end)


def test_the_current_stream_belongs_to_the_thread(run: Callable[..., Any]):
    body = """
        import threading
        stream = torch.cuda.Stream()
        torch.cuda.set_stream(stream)
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
        assert torch.cuda.current_stream() == stream != torch.cuda.default_stream()
        assert seen == [torch.cuda.default_stream()]
    """
    assert run(body).status == 0


def test_contexts_nest_and_give_back(gpu: Gpu):
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(one):
        with torch.cuda.stream(two), torch.cuda.stream(one), torch.cuda.stream(None):
            assert torch.cuda.current_stream() == one
        with two, one:
            assert torch.accelerator.current_stream().stream_id == one.stream_id
        with pytest.raises(KeyError), two:
            raise KeyError
        assert gpu.stream == one.cuda_stream
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert gpu.stream == 0


def test_identity(gpu: Gpu):
    one, two, urgent = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-9)
    assert len({one, two, urgent, torch.cuda.default_stream()}) == 4
    assert one != two
    assert one != one.cuda_stream
    assert torch.cuda.ExternalStream(one.cuda_stream) == one
    assert (one.priority, urgent.priority, torch.cuda.default_stream().priority) == (0, -3, 0)
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert isinstance(one, torch.Stream)
    assert isinstance(torch.cuda.Event(), torch.Event)
    assert repr(torch.cuda.default_stream()) == "<torch.cuda.Stream device=cuda:0 cuda_stream=0x0>"
    assert repr(one) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={one.cuda_stream:#x}>"
    assert repr(torch.cuda.Event()) == "<torch.cuda.Event uninitialized>"
    assert len({torch.cuda.Stream() for _ in range(99)}) == 32


def test_generic_streams_and_events(gpu: Gpu):
    stream = torch.Stream(device="cuda")
    begin, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    stream.record_event(begin)
    with stream:
        gpu.time.work(gpu.stream, MS)
    stream.record_event(end)
    assert begin.elapsed_time(end) == 1
    torch.accelerator.set_stream(stream)
    assert gpu.stream == stream.stream_id


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.cuda.Stream("cuda:1"),
        lambda: torch.cuda.synchronize(1),
        lambda: torch.cuda.current_stream(torch.device("cuda", 2)),
    ],
)
def test_there_is_one_device(gpu: Gpu, call: Callable[[], Any]):
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        call()


def test_an_event_that_a_script_measures_with(run: Callable[..., Any]):
    body = """
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        end.record()
        assert begin.elapsed_time(end) == 0.0
    """
    assert run(body).status == 0


def test_work_of_streams_shares_the_sms():
    time = DeviceTime(132)
    assert [time.work(1, 10, 66) for _ in range(3)] == [10, 20, 30]
    assert time.work(2, 10, 66) == 10
    assert time.work(3, 10, 66) == 20  # until 10, both halves are taken
    assert time.work(2, 5, 132) == 35
    assert time.work(4, 10, 66) == 30


def test_much_work_without_a_wait_takes_no_room():
    time = DeviceTime(132)
    for _ in range(50_000):
        time.work(0, 10, 132)
    assert time.end(0) == 500_000
    assert len(time._times) <= 3  # pyright: ignore[reportPrivateUsage]
