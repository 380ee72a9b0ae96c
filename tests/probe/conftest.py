"""What the tests of probes share; `kernel_runner`, `ir_samples` and others' kernels are on their path too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / folder) for folder in ("sim", "ir", "gpu", "sim/gluon", "sim/loops")]


@pytest.fixture(autouse=True)
def memory_for_kernels() -> None:
    """Kernels that make descriptors ask for memory, and Triton has none to give by itself."""
    import torch

    triton = pytest.importorskip("triton")

    def allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
        return torch.empty(size, dtype=torch.int8)

    triton.set_allocator(allocate)
