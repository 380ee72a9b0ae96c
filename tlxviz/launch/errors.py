"""Errors of the CUDA runtime, as torch words them."""

from __future__ import annotations

from typing import Any, cast

import torch

_SEARCH = (
    "Search for `{name}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more "
    "information.\n"
)
_EPILOGUE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)

_ADVICE = {"cudaErrorInvalidDevice": "GPU device may be out of range, do you have enough GPUs?\n"}
"""Where torch knows more than CUDA's documentation."""

_TEXTS = {
    "cudaErrorInvalidDevice": "invalid device ordinal",
    "cudaErrorInvalidResourceHandle": "invalid resource handle",
    "cudaErrorStreamCaptureUnsupported": "operation not permitted when stream is capturing",
    "cudaErrorStreamCaptureInvalidated": "operation failed due to a previous error during capture",
    "cudaErrorStreamCaptureUnjoined": "capturing stream has unjoined work",
    "cudaErrorStreamCaptureIsolation": "dependency created on uncaptured work in another stream",
    "cudaErrorCapturedEvent": "operation not permitted on an event last recorded in a capturing stream",
}


def cuda_error(name: str) -> RuntimeError:
    """The exception that torch raises where a call of the runtime returns the error of that name."""
    # Older versions of torch raise a plain RuntimeError.
    kind = cast("type[RuntimeError]", getattr(torch, "AcceleratorError", RuntimeError))
    return kind(f"CUDA error: {_TEXTS[name]}\n{_ADVICE.get(name) or _SEARCH.format(name=name)}{_EPILOGUE}")


def check_ordinal(device: Any) -> None:
    """There is one device; naming another is the runtime's error."""
    if isinstance(device, str):
        device = torch.device(device)
    index = device.index if isinstance(device, torch.device) and device.type == "cuda" else device
    if isinstance(index, int) and index > 0:
        raise cuda_error("cudaErrorInvalidDevice")
