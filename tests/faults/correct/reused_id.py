"""One named barrier serves the first pair of tasks and, when they are through, another pair.

An mbarrier that the first pair completes keeps the two uses apart.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

SHAPES = ({},)

SIZE = tl.constexpr(128)


@triton.jit
def one_id_after_another(x_ptr, y_ptr):
    first = tlx.local_alloc((SIZE,), tl.float32, 1)
    second = tlx.local_alloc((SIZE,), tl.float32, 1)
    through = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(first[0], tl.load(x_ptr + tl.arange(0, SIZE)))
            tlx.named_barrier_wait(9, 256)
            tlx.barrier_arrive(through[0])
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(9, 256)
            tlx.barrier_arrive(through[0])
            tl.store(y_ptr + tl.arange(0, SIZE), tlx.local_load(first[0]))
        with tlx.async_task(num_warps=4):
            tlx.local_store(second[0], tl.load(x_ptr + SIZE + tl.arange(0, SIZE)))
            tlx.barrier_wait(through[0], 0)
            tlx.named_barrier_wait(9, 256)
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(through[0], 0)
            tlx.named_barrier_wait(9, 256)
            tl.store(y_ptr + SIZE + tl.arange(0, SIZE), tlx.local_load(second[0]))


def launch():
    x = torch.randn(2 * SIZE.value, device="cuda", dtype=torch.float32)
    y = torch.zeros_like(x)
    one_id_after_another[(1,)](x, y)
    return y, x


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
