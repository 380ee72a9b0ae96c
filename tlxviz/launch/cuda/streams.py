"""Streams and events of `torch.cuda`, `torch` and `torch.accelerator`, on the simulated device's clock."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
import torch.cuda.streams

from tlxviz._errors import TlxvizError
from tlxviz.launch.device.clock import DEFAULT_STREAM
from tlxviz.launch.errors import check_ordinal, cuda_error
from tlxviz.launch.patching import Scope
from tlxviz.launch.tensors.places import CUDA

if TYPE_CHECKING:
    from tlxviz.launch.device.gpu import Gpu

_POOL = 32
"""Streams of each priority that torch makes before it hands out the first one again."""
_LEAST, _GREATEST = 0, -3
"""Priorities that torch makes streams of."""
_HANDLES = 0x5500_0000_0000
"""Where handles of streams begin; on a GPU they are addresses."""
_PRIORITY_STEP, _STREAM_STEP = 0x1000, 0x10
_CUDA_DEVICE_TYPE = 1
_NS_PER_MS = 1e6


class _Handles:
    """The device's streams and events so far."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._streams: Counter[int] = Counter()
        self._events = 0

    def stream(self, priority: int) -> int:
        number = self._streams[priority] % _POOL
        self._streams[priority] += 1
        return _HANDLES - priority * _PRIORITY_STEP + number * _STREAM_STEP

    def event(self) -> int:
        self._events += 1
        return _HANDLES + 0x1000_0000 + self._events * _STREAM_STEP


class GenericStream:
    """`torch.Stream`, of CUDA."""

    handles: ClassVar[_Handles]
    device = CUDA
    device_index = 0
    device_type = _CUDA_DEVICE_TYPE

    def __init__(self, device: Any = None, priority: int = 0, *, stream_id: int | None = None, **_place: Any) -> None:
        check_ordinal(device)
        self._gpu = self.handles.gpu
        priority = max(_GREATEST, min(_LEAST, priority))
        self._handle = self.handles.stream(priority) if stream_id is None else stream_id

    @classmethod
    def of(cls, handle: int) -> Self:
        """The stream of a handle."""
        return cls(stream_id=handle)

    @property
    def stream_id(self) -> int:
        return self._handle

    native_handle = stream_id

    def query(self) -> bool:
        """Whether everything is done. The host, which costs nothing, waits where it is not: asking again succeeds."""
        _refuse_while_captured(self._gpu, self._handle)
        end = self._gpu.time.end(self._handle)
        done = end <= self._gpu.time.now
        self._gpu.time.synchronize(end)
        return done

    def synchronize(self) -> None:
        _refuse_while_captured(self._gpu, self._handle)
        self._gpu.time.synchronize(self._gpu.time.end(self._handle))

    def is_capturing(self) -> bool:
        return self._gpu.capture is not None and self._gpu.capture.covers(self._handle)

    def wait_event(self, event: GenericEvent) -> None:
        event.wait(self)

    def wait_stream(self, stream: GenericStream) -> None:
        self.wait_event(stream.record_event())

    def record_event(self, event: GenericEvent | None = None) -> GenericEvent:
        event = self._new_event() if event is None else event
        event.record(self)
        return event

    def _new_event(self) -> GenericEvent:
        return GenericEvent()

    def __enter__(self) -> Self:
        # A stack, because a stream may be entered again while it is.
        entered: list[int] = vars(self).setdefault("_outer", [])
        entered.append(self._gpu.stream)
        self._gpu.stream = self._handle
        return self

    def __exit__(self, *_error: object) -> None:
        self._gpu.stream = vars(self)["_outer"].pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GenericStream) and other._handle == self._handle

    def __hash__(self) -> int:
        return hash((self._handle, CUDA))

    def __repr__(self) -> str:
        return f"torch.Stream device_type=cuda, device_index=0, stream_id={self._handle}"


class Stream(GenericStream):
    """`torch.cuda.Stream`."""

    @property
    def cuda_stream(self) -> int:
        return self._handle

    @property
    def priority(self) -> int:
        pooled = _HANDLES <= self._handle < _HANDLES + (_LEAST - _GREATEST + 1) * _PRIORITY_STEP
        return -((self._handle - _HANDLES) // _PRIORITY_STEP) if pooled else 0

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return _LEAST, _GREATEST

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._handle)

    def _new_event(self) -> GenericEvent:
        return Event()

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle

    # Python takes both from one class.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self._handle:#x}>"


class ExternalStream(Stream):
    """`torch.cuda.ExternalStream`: one that another library has made."""

    def __init__(self, stream_ptr: int, device: Any = None, **_place: Any) -> None:
        super().__init__(device, stream_id=stream_ptr)


class GenericEvent:
    """`torch.Event`, of CUDA."""

    device = CUDA

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        check_ordinal(device)
        self._gpu = GenericStream.handles.gpu
        self._timed = enable_timing
        self.external = external
        """In a graph, its recordings and waits are steps of the graph."""
        self.at: float | None = None
        """When it is reached, in ns; None as long as it was not recorded."""
        self.event_id = 0
        """Its handle, which it has from its first recording on."""

    def record(self, stream: GenericStream | None = None) -> None:
        handle = self._gpu.stream if stream is None else stream.stream_id
        self.event_id = self.event_id or GenericStream.handles.event()
        self._gpu.events = self._gpu.events or self._timed
        capture = self._gpu.capture
        if capture is not None and capture.covers(handle):
            capture.record(self, handle)
        else:
            self.reach(handle)

    def reach(self, handle: int) -> None:
        """It is reached when all that the stream was given so far is done."""
        self.at = self._gpu.time.end(handle)

    def wait(self, stream: GenericStream | None = None) -> None:
        handle = self._gpu.stream if stream is None else stream.stream_id
        capture = self._gpu.capture
        if capture is not None and capture.concerns(self, handle):
            capture.wait(self, handle)
        else:
            self.hold(handle)

    def hold(self, handle: int) -> None:
        """Later work of the stream begins after it."""
        if self.at is not None:
            self._gpu.time.wait(handle, self.at)

    def query(self) -> bool:
        """Whether it is reached. The host, which costs nothing, waits where it is not: asking again succeeds."""
        self._refuse_if_captured()
        if self.at is None:
            return True
        done = self.at <= self._gpu.time.now
        self._gpu.time.synchronize(self.at)
        return done

    def synchronize(self) -> None:
        self._refuse_if_captured()
        if self.at is not None:
            self._gpu.time.synchronize(self.at)

    def elapsed_time(self, end_event: GenericEvent) -> float:
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.event_id and end_event.event_id):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        self._refuse_if_captured()
        end_event._refuse_if_captured()
        if self.at is None or end_event.at is None:  # recorded in a capture that was never replayed
            raise cuda_error("cudaErrorInvalidResourceHandle")
        # Whether an event is complete when nobody waited for it is a matter of how fast the host is: here it is.
        self._gpu.time.synchronize(max(self.at, end_event.at))
        return (end_event.at - self.at) / _NS_PER_MS

    def ipc_handle(self) -> bytes:
        raise TlxvizError("the script shares an event with another process, which a simulated device does not do")

    def _refuse_if_captured(self) -> None:
        capture = self._gpu.capture
        if capture is not None:
            if capture.holds(self):
                capture.spoil()
                raise cuda_error("cudaErrorCapturedEvent")
            capture.refuse()

    def __repr__(self) -> str:
        index = 0 if self.event_id else -1
        flag = int(self._timed)
        return f"torch.Event device_type=cuda, device_index={index}, event_flag={flag}, event_id={self.event_id}"


class Event(GenericEvent):
    """`torch.cuda.Event`."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        super().__init__(enable_timing=enable_timing, blocking=blocking, interprocess=interprocess, external=external)

    @property
    def cuda_event(self) -> int:
        return self.event_id

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.event_id)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.event_id:#x}>" if self.event_id else "<torch.cuda.Event uninitialized>"


class StreamContext:
    """`torch.cuda.stream(...)`: a stream that is current for a while."""

    def __init__(self, stream: GenericStream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


def install(scope: Scope, gpu: Gpu) -> None:
    """Put it into force until `scope` ends."""
    scope.set_attr(GenericStream, "handles", _Handles(gpu))
    for module, names in _places(gpu).items():
        for name, value in names.items():
            if hasattr(module, name):  # `torch.accelerator` grows from version to version
                scope.set_attr(module, name, value)


def _places(gpu: Gpu) -> dict[Any, dict[str, Any]]:
    """What stands in for what, by module."""
    classes = {"Stream": Stream, "ExternalStream": ExternalStream, "Event": Event}
    return {
        torch: {"Stream": GenericStream, "Event": GenericEvent},
        torch.cuda: {
            **classes,
            "StreamContext": StreamContext,
            "stream": StreamContext,
            "current_stream": _stream_getter(gpu, Stream, current=True),
            "default_stream": _stream_getter(gpu, Stream, current=False),
            "set_stream": _setter(gpu),
            "_set_stream_by_id": lambda stream_id, *_, **__: _set(gpu, stream_id),
            "get_stream_from_external": lambda data_ptr, device=None: ExternalStream(data_ptr, device),
            "synchronize": _synchronizer(gpu),
        },
        torch.cuda.streams: classes,
        torch.accelerator: {
            "current_stream": _stream_getter(gpu, GenericStream, current=True),
            "set_stream": _setter(gpu),
            "synchronize": _synchronizer(gpu),
        },
    }


# torch._dynamo, which optimizers import, refuses one function under two names: each name gets its own.
def _stream_getter(gpu: Gpu, kind: type[GenericStream], *, current: bool) -> Callable[..., GenericStream]:
    def get(device: Any = None) -> GenericStream:
        check_ordinal(device)
        return kind.of(gpu.stream if current else DEFAULT_STREAM)

    return get


def _set(gpu: Gpu, handle: int) -> None:
    gpu.stream = handle


def _setter(gpu: Gpu) -> Callable[[GenericStream | None], None]:
    def set_stream(stream: GenericStream | None) -> None:
        if stream is not None:
            _set(gpu, stream.stream_id)

    return set_stream


def _synchronizer(gpu: Gpu) -> Callable[..., None]:
    def synchronize(device: Any = None) -> None:
        check_ordinal(device)
        if gpu.capture is not None:
            gpu.capture.refuse()
        gpu.time.synchronize()

    return synchronize


def _refuse_while_captured(gpu: Gpu, handle: int) -> None:
    if gpu.capture is not None and gpu.capture.covers(handle):
        gpu.capture.refuse()
