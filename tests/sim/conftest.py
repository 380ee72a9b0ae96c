"""What the tests of the simulator share; its place puts `kernel_runner` on their path."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def memory_for_kernels() -> None:
    """Kernels that make descriptors ask for memory, and Triton has none to give by itself."""
    import torch
    import triton

    def allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
        return torch.empty(size, dtype=torch.int8)

    triton.set_allocator(allocate)
