"""A kernel that streams tiles through a ring by TMA: what it is held by depends on its parameters alone."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def stream(x_desc, y_ptr, tiles, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STAGES: tl.constexpr, WORK: tl.constexpr):
    """The sum of all tiles, of whose elements the exponential is taken WORK times; below 0, nobody reads them."""
    slots = tlx.local_alloc((ROWS, COLUMNS), tl.float16, STAGES)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            total = tl.zeros((ROWS, COLUMNS), tl.float32)
            for tile in range(tiles):
                slot = tile % STAGES
                tlx.barrier_wait(full[slot], (tile // STAGES) & 1)
                if WORK < 0:
                    tlx.barrier_arrive(empty[slot])
                else:
                    part = tlx.local_load(slots[slot]).to(tl.float32)
                    tlx.barrier_arrive(empty[slot])
                    for _ in tl.static_range(WORK):
                        part = tl.exp2(part * 0.5)
                    total += part
            at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
            tl.store(y_ptr + tl.program_id(0) * ROWS * COLUMNS + at, total)
        with tlx.async_task(num_warps=1, registers=40):
            for tile in range(tiles):
                slot = tile % STAGES
                tlx.barrier_wait(empty[slot], ((tile // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], ROWS * COLUMNS * 2)
                tlx.async_descriptor_load(x_desc, slots[slot], [tile * ROWS, 0], full[slot])


def streamed(ctas: int, tiles: int, *, stages: int, work: int, rows: int = 64, columns: int = 64) -> None:
    """Launches it. All CTAs read the same tiles, which stay in L2."""
    x = torch.zeros(tiles * rows, columns, dtype=torch.float16, device="cuda")
    y = torch.zeros(ctas, rows, columns, device="cuda")
    descriptor = TensorDescriptor.from_tensor(x, [rows, columns])
    stream[(ctas,)](descriptor, y, tiles, ROWS=rows, COLUMNS=columns, STAGES=stages, WORK=work, num_warps=4)
