"""Softmax of rows by as many persistent programs as fit on the device, which the compiled kernel tells."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver

DEVICE = torch.device(f"cuda:{torch.cuda.current_device()}")
properties = driver.active.utils.get_device_properties(DEVICE.index)
SMS = properties["multiprocessor_count"]
REGISTERS = properties["max_num_regs"]
SHARED = properties["max_shared_mem"]
WARP = properties["warpSize"]
target = triton.runtime.driver.active.get_current_target()
kernels = {}


def is_hip():
    return target.backend == "hip"


@triton.jit
def softmax_rows(y_ptr, x_ptr, x_stride, y_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    first, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        values = tl.load(x_ptr + row * x_stride + at, mask=inside, other=-float("inf"))
        weights = tl.exp(values - tl.max(values, axis=0))
        tl.store(y_ptr + row * y_stride + at, weights / tl.sum(weights, axis=0), mask=inside)


def softmax(x):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    warps = 8
    stages = 4 if SHARED > 200_000 else 2
    y = torch.empty_like(x)
    kernel, programs = kernels.get(block, (None, 0))
    if kernel is None:
        kernel = softmax_rows.warmup(
            y, x, x.stride(0), y.stride(0), rows, columns, BLOCK=block, STAGES=stages, num_warps=warps, grid=(1,)
        )
        kernel._init_handles()
        by_registers = REGISTERS // (kernel.n_regs * WARP * warps)
        by_shared = SHARED // max(kernel.metadata.shared, 1)
        programs = SMS * min(by_registers, by_shared)
        kernels[block] = kernel, programs
        print(f"block {block}: {programs // SMS > 0}, spills {kernel.n_spills}")
    programs = min(programs, rows)
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), rows, columns, block, stages)
    return y


def naive(x):
    shifted = x - x.max(dim=1)[0][:, None]
    numerator = torch.exp(shifted)
    return numerator / numerator.sum(dim=1)[:, None]


torch.manual_seed(0)
x = torch.randn(183, 781, device=DEVICE)
ours, theirs = softmax(x), torch.softmax(x, axis=1)
assert torch.allclose(ours, theirs), (ours, theirs)
print("softmax agrees")


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[128 * factor for factor in (2, 5)],
        line_arg="provider",
        line_vals=["triton", "torch", "naive"],
        line_names=["Triton", "Torch", "Naive"],
        ylabel="GB/s",
        plot_name="softmax-performance",
        args={"M": 512},
    )
)
def measure(M, N, provider):
    x = torch.randn(M, N, device=DEVICE, dtype=torch.float32)
    stream = getattr(torch, DEVICE.type).Stream()
    getattr(torch, DEVICE.type).set_stream(stream)
    call = {"triton": softmax, "torch": lambda x: torch.softmax(x, axis=-1), "naive": naive}[provider]
    ms = triton.testing.do_bench(lambda: call(x))
    return 2 * x.numel() * x.element_size() * 1e-9 / (ms * 1e-3)


measure.run(show_plots=False, print_data=True)
