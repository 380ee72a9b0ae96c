"""The CUDA driver by ctypes: loads PTX, which it compiles itself, launches it and reads back what it wrote."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from tlxviz._errors import TlxvizError
from tlxviz.calibrate.kernel import Kernel
from tlxviz.calibrate.kernel import kernel as make_kernel

LIBRARIES = ("libcuda.so.1", "libcuda.so", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_LOG, _LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, _SIZE_BYTES
_SHARED_DEFAULT = 48 << 10
_CLUSTER = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_RELAXED_CAPTURE = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
WORDS = 1 << 18
"""Words that a launch may write."""


_FLUSHED = 256 << 20

FLUSH = make_kernel(
    "flush",
    """
    .reg .b64 at;
    .reg .b32 v<4>;
    .reg .pred some;
    mad.wide.u32 at, cta, 16384, pa;
    mad.wide.u32 at, tid, 16, at;
    ld.global.v4.b32 {v0, v1, v2, v3}, [at];
    xor.b32 v0, v0, v1;
    xor.b32 v2, v2, v3;
    xor.b32 v0, v0, v2;
    setp.eq.u32 some, v0, 123456;
    @some st.global.u32 [out], v0;
""",
    threads=1024,
)
"""Reads 16 KiB a CTA: writing would leave lines that have to be written back while something is measured."""


class NoGpu(TlxvizError):
    """There is no GPU that could be measured."""


class DriverError(Exception):
    """A call of the driver failed."""

    def __init__(self, call: str, status: int, text: str) -> None:
        super().__init__(f"{call}: {text} ({status})")
        self.status = status

    @property
    def fatal(self) -> bool:
        """Nothing works any more in this process."""
        return self.status >= 700 or self.status in (214, 999)  # 214: an ECC error


class Fault(Exception):
    """A kernel gave up a wait."""


class _Attribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint32 * 16)]


class _Config(ctypes.Structure):
    _fields_ = [
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("shared", c_uint32),
        ("stream", c_void_p),
        ("attributes", c_void_p),
        ("count", c_uint32),
    ]


class TensorMap(ctypes.Structure):
    """A descriptor of a tensor, as the TMA engine reads it."""

    _fields_ = [("opaque", c_uint64 * 16)]


class Gpu:
    """The first GPU, in the primary context of its device, which is also torch's."""

    def __init__(self) -> None:
        self._cuda = _library()
        self._call("cuInit", 0)
        count = c_int()
        self._call("cuDeviceGetCount", byref(count))
        if count.value == 0:
            raise NoGpu("calibrating needs an NVIDIA GPU, and the driver sees none.")
        self._device = c_int()
        self._call("cuDeviceGet", byref(self._device), 0)
        context = c_void_p()
        self._call("cuDevicePrimaryCtxRetain", byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._stream = c_void_p()
        self._call("cuStreamCreate", byref(self._stream), 1)
        self._modules: dict[str, tuple[c_void_p, c_void_p]] = {}
        self._buffers: dict[str, tuple[int, int]] = {}
        self._out = self.buffer("out", 8 * (WORDS + 1)) + 8
        self._no_map = TensorMap()

    # ------------------------------------------------------------------ what it is

    def describe(self) -> dict[str, Any]:
        """Name, capability, SMs, versions."""
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, 256, self._device)
        version = c_int()
        self._call("cuDriverGetVersion", byref(version))
        total = c_size_t()
        self._call("cuDeviceTotalMem_v2", byref(total), self._device)
        return {
            "cuda_name": name.value.decode(),
            "capability": [self.attribute(75), self.attribute(76)],
            "sms": self.sms,
            "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "l2_bytes": self.attribute(38),
            "boost_khz": self.attribute(13),
            "memory_khz": self.attribute(36),
            "capacity_bytes": total.value,
        }

    @property
    def sms(self) -> int:
        return self.attribute(16)

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute."""
        value = c_int()
        self._call("cuDeviceGetAttribute", byref(value), number, self._device)
        return value.value

    # ------------------------------------------------------------------ memory

    def buffer(self, name: str, size: int) -> int:
        """The address of a buffer of at least `size` zero bytes, which is kept under its name."""
        address, held = self._buffers.get(name, (0, 0))
        if held < size:
            if held:
                self._call("cuMemFree_v2", c_uint64(address))
            place = c_uint64()
            self._call("cuMemAlloc_v2", byref(place), c_size_t(size))
            address = place.value
            self._buffers[name] = (address, size)
            self.fill(address, size)
        return address

    def fill(self, address: int, size: int, byte: int = 0) -> None:
        self._call("cuMemsetD8Async", c_uint64(address), ctypes.c_ubyte(byte), c_size_t(size), self._stream)
        self._call("cuStreamSynchronize", self._stream)

    def write(self, address: int, words: Sequence[int]) -> None:
        """64-bit words into device memory."""
        data = (c_uint64 * len(words))(*words)
        self._call("cuMemcpyHtoD_v2", c_uint64(address), data, c_size_t(8 * len(words)))
        self._call("cuCtxSynchronize")  # it may still be on its way, and launches go to another stream

    def read(self, address: int, words: int) -> list[int]:
        data = (c_uint64 * words)()
        self._call("cuMemcpyDtoH_v2", data, c_uint64(address), c_size_t(8 * words))
        return list(data)

    def flush_l2(self) -> None:
        """Puts other data into L2."""
        self.launch(FLUSH, grid=_FLUSHED >> 14, a=self.buffer("flush", _FLUSHED))
        self.synchronize()

    def tensor_map(
        self, address: int, rows: int, columns: int, box: tuple[int, int], *, pitch: int = 0, swizzle: int = 3
    ) -> TensorMap:
        """Of a matrix of fp16 with `box` (rows, columns), in a swizzle of 128 bytes."""
        made = TensorMap()
        aligned = ctypes.create_string_buffer(128 + 64)
        start = (ctypes.addressof(aligned) + 63) & ~63
        dimensions = (c_uint64 * 2)(columns, rows)
        strides = (c_uint64 * 1)(pitch or 2 * columns)
        boxes = (c_uint32 * 2)(box[1], box[0])
        ones = (c_uint32 * 2)(1, 1)
        self._call(
            "cuTensorMapEncodeTiled",
            c_void_p(start),
            6,  # FLOAT16
            c_uint32(2),
            c_uint64(address),
            dimensions,
            strides,
            boxes,
            ones,
            0,  # no interleaving
            swizzle,
            2,  # L2 promotion to 128 bytes, as Triton has it
            0,  # zeros out of bounds
        )
        ctypes.memmove(byref(made), start, 128)
        return made

    # ------------------------------------------------------------------ launches

    def run(
        self,
        kernel: Kernel,
        words: int,
        *,
        n: int = 1,
        grid: int = 1,
        threads: int = 0,
        a: int = 0,
        b: int = 0,
        tensor_map: TensorMap | None = None,
    ) -> list[int]:
        """Launches, waits and gives the words that it wrote. Raises Fault where it gave up a wait."""
        if words > WORDS:
            raise ValueError(f"{kernel.name} would write {words} words")
        self._call("cuMemsetD8Async", c_uint64(self._out - 8), ctypes.c_ubyte(0), c_size_t(8 * words + 8), self._stream)
        self.launch(kernel, n=n, grid=grid, threads=threads, a=a, b=b, tensor_map=tensor_map)
        self.synchronize()
        found = self.read(self._out - 8, words + 1)
        if found[0]:
            raise Fault(f"{kernel.name} gave up a wait")
        return found[1:]

    def synchronize(self) -> None:
        self._call("cuStreamSynchronize", self._stream)

    def launch(
        self,
        kernel: Kernel,
        *,
        n: int = 1,
        grid: int = 1,
        threads: int = 0,
        a: int = 0,
        b: int = 0,
        out: int = 0,
        tensor_map: TensorMap | None = None,
    ) -> None:
        """Launches and goes on."""
        function = self._function(kernel)
        arguments = [c_uint64(self._out + 8 * out), c_uint64(a), c_uint64(b), c_uint32(n), tensor_map or self._no_map]
        pointers = (c_void_p * len(arguments))(*(ctypes.addressof(each) for each in arguments))
        config = _Config(
            (c_uint32 * 3)(grid, 1, 1),
            (c_uint32 * 3)(threads or kernel.threads, 1, 1),
            kernel.shared,
            self._stream,
            None,
            0,
        )
        attribute = _Attribute(_CLUSTER, 0, (c_uint32 * 16)(kernel.cluster, 1, 1))
        if kernel.cluster > 1:
            config.attributes = ctypes.addressof(attribute)
            config.count = 1
        self._call("cuLaunchKernelEx", byref(config), function, pointers, None)

    def graph_microseconds(self, launches: Callable[[], None], repeats: int) -> list[float]:
        """Makes a CUDA graph of the `launches` and times its replays on the GPU."""
        graph, made = c_void_p(), c_void_p()
        self._call("cuStreamBeginCapture_v2", self._stream, _RELAXED_CAPTURE)
        try:
            launches()
        finally:
            self._call("cuStreamEndCapture", self._stream, byref(graph))
        self._call("cuGraphInstantiateWithFlags", byref(made), graph, c_uint64(0))
        begin, end = c_void_p(), c_void_p()
        self._call("cuEventCreate", byref(begin), 0)
        self._call("cuEventCreate", byref(end), 0)
        times: list[float] = []
        for _ in range(repeats + 1):
            self._call("cuEventRecord", begin, self._stream)
            self._call("cuGraphLaunch", made, self._stream)
            self._call("cuEventRecord", end, self._stream)
            self._call("cuStreamSynchronize", self._stream)
            took = c_float()
            self._call("cuEventElapsedTime", byref(took), begin, end)
            times.append(took.value * 1000)
        self._call("cuGraphExecDestroy", made)
        self._call("cuGraphDestroy", graph)
        return times[1:]

    def words(self, count: int) -> list[int]:
        """What launches wrote that nobody has read yet."""
        return self.read(self._out, count)

    def _function(self, kernel: Kernel) -> c_void_p:
        found = self._modules.get(kernel.ptx)
        if found is None:
            module, function = c_void_p(), c_void_p()
            log = ctypes.create_string_buffer(8192)
            options = (c_int * 2)(_LOG, _LOG_SIZE)
            values = (c_void_p * 2)(ctypes.addressof(log), len(log))
            try:
                self._call("cuModuleLoadDataEx", byref(module), c_char_p(kernel.ptx.encode()), 2, options, values)
            except DriverError as error:
                raise DriverError(f"{kernel.name}: {log.value.decode(errors='replace')}", error.status, "") from error
            self._call("cuModuleGetFunction", byref(function), module, c_char_p(kernel.name.encode()))
            if kernel.shared > _SHARED_DEFAULT:
                self._call("cuFuncSetAttribute", function, _MOST_SHARED, kernel.shared)
            if kernel.cluster > 8:
                self._call("cuFuncSetAttribute", function, 14, 1)  # NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            found = self._modules[kernel.ptx] = (module, function)
        return found[1]

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status == 100:  # CUDA_ERROR_NO_DEVICE
            raise NoGpu("calibrating needs an NVIDIA GPU, and the driver sees none.")
        if status != 0:
            raise DriverError(name, status, self._text(status))

    def _text(self, status: int) -> str:
        text = c_char_p()
        self._cuda.cuGetErrorString(status, byref(text))
        return text.value.decode() if text.value else "unknown error"


def _library() -> Any:
    for name in LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoGpu("calibrating needs an NVIDIA GPU, and there is no driver (libcuda.so.1) on this machine.")
