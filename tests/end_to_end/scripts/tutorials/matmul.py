"""A product with grouped tiles, autotuned, with an activation, in fp16 and fp8."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def is_cuda():
    return triton.runtime.driver.active.get_current_target().backend == "cuda"


def configs():
    return [
        triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_stages=stages, num_warps=warps)
        for bm, bn, bk, stages, warps in ((128, 128, 64, 3, 8), (64, 128, 32, 4, 4), (64, 32, 32, 5, 2))
    ]


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=configs(), key=["M", "N", "K"])
@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(axis=0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = program // (GROUP * tiles_n)
    first = group * GROUP
    height = min(tiles_m - first, GROUP)
    tile_m = first + (program % (GROUP * tiles_n)) % height
    tile_n = (program % (GROUP * tiles_n)) // height
    tl.assume(tile_m >= 0)
    tl.assume(tile_n >= 0)
    tl.assume(a_row > 0)
    tl.assume(b_row > 0)
    tl.assume(c_row > 0)

    at_m = (tile_m * BM + tl.arange(0, BM)) % M
    at_n = (tile_n * BN + tl.arange(0, BN)) % N
    at_k = tl.arange(0, BK)
    a = a_ptr + at_m[:, None] * a_row + at_k[None, :] * a_column
    b = b_ptr + at_k[:, None] * b_row + at_n[None, :] * b_column
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(K, BK)):
        left = K - step * BK
        total = tl.dot(
            tl.load(a, mask=at_k[None, :] < left, other=0.0), tl.load(b, mask=at_k[:, None] < left, other=0.0), total
        )
        a += BK * a_column
        b += BK * b_row
    if ACTIVATION == "leaky":
        total = leaky(total)
    result = total.to(tl.float16)
    to_m = tile_m * BM + tl.arange(0, BM)
    to_n = tile_n * BN + tl.arange(0, BN)
    tl.store(
        c_ptr + c_row * to_m[:, None] + c_column * to_n[None, :], result, mask=(to_m[:, None] < M) & (to_n[None, :] < N)
    )


def matmul(a, b, activation=""):
    assert a.shape[1] == b.shape[0], "incompatible"
    assert a.is_contiguous(), "a has to be contiguous"
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)

    def grid(meta):
        return (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)

    product[grid](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        ACTIVATION=activation,
    )  # fmt: skip
    return c


torch.manual_seed(0)
a = torch.rand((200, 152), device=DEVICE, dtype=torch.float16) - 0.5
b = torch.rand((152, 264), device=DEVICE, dtype=torch.float16) - 0.5
print("fp16 agrees:", torch.allclose(matmul(a, b), torch.matmul(a, b), atol=1e-2, rtol=0))
activated = torch.nn.functional.leaky_relu(torch.matmul(a, b).float(), 0.01)
torch.testing.assert_close(matmul(a, b, activation="leaky").float(), activated, atol=1e-2, rtol=0)

HAS_FP8 = hasattr(torch, "float8_e5m2")
if HAS_FP8 and is_cuda():
    torch.manual_seed(0)
    a8 = torch.randn((128, 128), device=DEVICE, dtype=torch.float16).to(torch.float8_e5m2)
    b8 = torch.randn((128, 128), device=DEVICE, dtype=torch.float16).T.to(torch.float8_e5m2)
    ours, theirs = matmul(a8, b8), torch.matmul(a8.to(torch.float16), b8.to(torch.float16))
    print("fp8 agrees:", torch.allclose(ours, theirs, atol=0.125, rtol=0))

reference = "cuBLAS" if is_cuda() else "rocBLAS"
reports = [
    triton.testing.Benchmark(
        x_names=["M", "N", "K"],
        x_vals=[128, 256],
        line_arg="provider",
        line_vals=["triton"] if fp8 else [reference.lower(), "triton"],
        line_names=["Triton"] if fp8 else [reference, "Triton"],
        styles=[("green", "-"), ("blue", "-")],
        ylabel="TFLOPS",
        plot_name="matmul-performance-" + ("fp8" if fp8 else "fp16"),
        args={"fp8": fp8},
    )
    for fp8 in (False, True)
]


@triton.testing.perf_report(reports)
def measure(M, N, K, provider, fp8):
    a = torch.randn((M, K), device=DEVICE, dtype=torch.float16)
    b = torch.randn((K, N), device=DEVICE, dtype=torch.float16)
    if fp8:
        a = a.to(torch.float8_e5m2)
        b = b.T.to(torch.float8_e5m2)
    quantiles = [0.5, 0.2, 0.8]
    if provider == reference.lower():
        ms, lowest, highest = triton.testing.do_bench(lambda: torch.matmul(a, b), quantiles=quantiles)
    if provider == "triton":
        ms, lowest, highest = triton.testing.do_bench(lambda: matmul(a, b), quantiles=quantiles)
    return tuple(2 * M * N * K * 1e-12 / (time * 1e-3) for time in (ms, highest, lowest))


measure.run(show_plots=False, print_data=True)
