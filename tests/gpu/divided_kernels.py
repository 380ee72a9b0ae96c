"""Kernels that are not written in TLX: Gluon's, plain Triton, and loops that the compiler divides among warp groups.
`divided_kernels.py NAME` runs one twice, and says whether the second launch, which nobody records, computes the same
bits, and those that torch does but for rounding.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import triton

SIM = Path(__file__).resolve().parents[1] / "sim"
sys.path[:0] = [str(SIM / "gluon"), str(SIM / "loops")]

import gluon_kernels  # noqa: E402
import loop_kernels  # noqa: E402

Prepared = tuple[Callable[[], object], torch.Tensor, torch.Tensor]
"""A launch, what it writes, and what it should write."""
SIZES = (1024, 768, 512)
LOG2_E = 1.4426950408889634


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, device="cuda").half()


def _gluon_matmul() -> Prepared:
    m, n, k = SIZES
    x, y, z = _random(m, k), _random(n, k), torch.zeros(m, n, device="cuda").half()
    blocks = ([128, 64], [128, 64], [128, 128])
    described = [gluon_kernels.described(t, block) for t, block in zip((x, y, z), blocks, strict=True)]
    grid = (m // 128, n // 128)
    return (
        lambda: gluon_kernels.pipelined_matmul[grid](*described, k, STAGES=3, NUM_WARPS=8, num_warps=8),
        z,
        x.float() @ y.float().T,
    )


def _gluon_persistent_matmul() -> Prepared:
    m, n, k = SIZES
    x, y, z = _random(m, k), _random(n, k), torch.zeros(m, n, device="cuda").half()
    blocks = ([128, 64], [128, 64], [128, 128])
    described = [gluon_kernels.described(t, block) for t, block in zip((x, y, z), blocks, strict=True)]
    return (
        lambda: gluon_kernels.persistent_matmul[(7,)](*described, m, n, k, STAGES=3, num_warps=8),
        z,
        x.float() @ y.float().T,
    )


def _gluon_attention() -> Prepared:
    heads, length, width = 4, 1024, 64
    q, k, v, o = (_random(heads * length, width) for _ in range(4))
    blocks = ([128, width], [64, width], [64, width], [128, width])
    described = [gluon_kernels.described(t, block) for t, block in zip((q, k, v, o), blocks, strict=True)]
    launch = gluon_kernels.attention[(length // 128, heads)]
    return (
        lambda: launch(*described, length, 0.125 * LOG2_E, STAGES=2, num_warps=8),
        o,
        _attention(q, k, v, heads),
    )


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int) -> torch.Tensor:
    q, k, v = (tensor.float().view(heads, -1, tensor.shape[-1]) for tensor in (q, k, v))
    return (torch.softmax(q @ k.transpose(1, 2) * 0.125, dim=-1) @ v).flatten(0, 1)


def _divided_matmul(parts: int | None = None, *, inner: bool = False) -> Prepared:
    m, n, k = SIZES
    a, b, c = _random(m, k), _random(n, k), torch.zeros(m, n, device="cuda").half()
    bias = torch.zeros(n, device="cuda")
    options = {"INNER": inner, "PARTS": parts, "OWN_STORE": False, "HALVES": False, "BIAS": False}
    return (
        lambda: loop_kernels.matmul[(7,)](
            a, b, c, bias, m, n, k, BM=128, BN=128, BK=64, num_warps=4, num_stages=3, **options
        ),
        c,
        a.float() @ b.float().T,
    )


KERNELS: dict[str, Callable[[], Prepared]] = {
    "gluon matmul": _gluon_matmul,
    "gluon persistent matmul": _gluon_persistent_matmul,
    "gluon attention": _gluon_attention,
    "divided matmul": _divided_matmul,
    "divided steps": lambda: _divided_matmul(inner=True),
    "divided matmul in parts": lambda: _divided_matmul(2),
}


def main(name: str) -> None:
    os.environ["TRITON_USE_META_WS"] = "1"  # fbtriton divides loops for Hopper only when it is told to
    torch.manual_seed(0)
    triton.set_allocator(lambda size, _align, _stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    launch, output, wanted = KERNELS[name]()
    launch()
    first = output.clone()
    output.zero_()
    launch()
    error = ((first.float() - wanted).norm() / wanted.norm()).item()
    print("identical" if torch.equal(first, output) and error < 2e-3 else f"different, error {error:.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
