"""Adds two vectors with an autotuned kernel, checks it and measures it against torch."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((256, 2), (512, 4), (1024, 4))],
    key=["n"],
)
@triton.jit
def add_vectors(left_ptr, right_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(left_ptr + at, mask=inside) + tl.load(right_ptr + at, mask=inside)
    tl.store(sum_ptr + at, total, mask=inside)


def add(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    result = torch.empty_like(left)
    assert {left.device, right.device, result.device} == {DEVICE}
    add_vectors[lambda meta: (triton.cdiv(result.numel(), meta["BLOCK"]),)](left, right, result, result.numel())
    return result


torch.manual_seed(0)
left = torch.rand(9_876, device=DEVICE)
right = torch.rand(9_876, device=DEVICE)
ours, theirs = add(left, right), left + right
print(f"largest difference {torch.max(torch.abs(theirs - ours))}")


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**power for power in (12, 15)],
        x_log=True,
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="vector-add",
        args={},
    )
)
def measure(size, provider):
    x = torch.rand(size, device=DEVICE, dtype=torch.float32)
    y = torch.rand(size, device=DEVICE, dtype=torch.float32)
    quantiles = [0.5, 0.2, 0.8]
    if provider == "torch":
        ms, lowest, highest = triton.testing.do_bench(lambda: x + y, quantiles=quantiles)
    else:
        ms, lowest, highest = triton.testing.do_bench(lambda: add(x, y), quantiles=quantiles)

    def rate(milliseconds):
        return 3 * x.numel() * x.element_size() * 1e-9 / (milliseconds * 1e-3)

    return rate(ms), rate(highest), rate(lowest)


measure.run(print_data=True, show_plots=False, save_path="plots")
