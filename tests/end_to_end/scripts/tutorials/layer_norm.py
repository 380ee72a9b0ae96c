"""Layer norm as a function of autograd; the weights' gradients are summed by groups of programs under a lock."""

import torch
import triton
import triton.language as tl

try:
    import apex  # noqa: F401

    HAS_APEX = True
except ModuleNotFoundError:
    HAS_APEX = False

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def forward_rows(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < N, other=0.0).to(tl.float32)
        x = tl.where(at < N, x - mean, 0.0)
        total += x * x
    rstd = 1 / tl.sqrt(tl.sum(total, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < N
        w, b = tl.load(w_ptr + at, mask=inside), tl.load(b_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def backward_rows(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, N,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    x_ptr += row * stride
    dy_ptr += row * stride
    dx_ptr += row * stride
    slot = row % GROUPS
    lock_ptr += slot
    count_ptr = lock_ptr + GROUPS
    dw_ptr = dw_ptr + slot * N + at
    db_ptr = db_ptr + slot * N + at
    x = tl.load(x_ptr + at, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=inside, other=0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    xhat = tl.where(inside, (x - mean) * rstd, 0.0)
    wdy = tl.where(inside, w * dy, 0.0)
    along = tl.sum(xhat * wdy, axis=0) / N
    average = tl.sum(wdy, axis=0) / N
    tl.store(dx_ptr + at, (wdy - (xhat * along + average)) * rstd, mask=inside)
    dw = (dy * xhat).to(w.dtype)
    db = dy.to(w.dtype)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(count_ptr) == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        dw += tl.load(dw_ptr, mask=inside)
        db += tl.load(db_ptr, mask=inside)
    tl.store(dw_ptr, dw, mask=inside)
    tl.store(db_ptr, db, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def sum_groups(dw_ptr, db_ptr, w_ptr, b_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        at = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_ptr + at, mask=inside, other=0.0)
        db += tl.load(db_ptr + at, mask=inside, other=0.0)
    tl.store(w_ptr + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(b_ptr + columns, tl.sum(db, axis=0), mask=columns < N)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, shape, weight, bias, eps):
        y = torch.empty_like(x)
        flat = x.reshape(-1, x.shape[-1])
        M, N = flat.shape
        mean = torch.empty((M,), dtype=torch.float32, device=x.device)
        rstd = torch.empty((M,), dtype=torch.float32, device=x.device)
        block = min(65536 // x.element_size(), triton.next_power_of_2(N))
        if block < N:
            raise RuntimeError("rows are too long")
        warps = min(max(block // 256, 1), 8)
        forward_rows[(M,)](
            flat, y, weight, bias, mean, rstd, flat.stride(0), N, eps, BLOCK=block, num_warps=warps, num_ctas=1
        )
        ctx.save_for_backward(x, weight, bias, mean, rstd)
        ctx.block, ctx.warps, ctx.eps = block, warps, eps
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, _, mean, rstd = ctx.saved_tensors
        N = w.shape[0]
        groups = 64 if N > 1024 else 96
        groups = 128 if N <= 256 else groups
        locks = torch.zeros(2 * groups, dtype=torch.int32, device=w.device)
        partial_w = torch.zeros((groups, N), dtype=x.dtype, device=w.device)
        partial_b = torch.zeros((groups, N), dtype=x.dtype, device=w.device)
        dw = torch.empty((N,), dtype=w.dtype, device=w.device)
        db = torch.empty((N,), dtype=w.dtype, device=w.device)
        dx = torch.empty_like(dy)
        flat = x.reshape(-1, x.shape[-1])
        M, N = flat.shape
        backward_rows[(M,)](
            dx, dy, partial_w, partial_b, x, w, mean, rstd, locks, flat.stride(0), N,
            BLOCK=ctx.block, GROUPS=groups, num_warps=ctx.warps,
        )  # fmt: skip
        sum_groups[lambda meta: (triton.cdiv(N, meta["BN"]),)](
            partial_w, partial_b, dw, db, min(groups, M), N, BM=32, BN=128, num_ctas=1
        )
        return dx, None, dw, db, None


layer_norm = LayerNorm.apply


def check(M, N, dtype, eps=1e-5):
    torch.manual_seed(0)
    weight = torch.rand((N,), dtype=dtype, device=DEVICE, requires_grad=True)
    bias = torch.rand((N,), dtype=dtype, device=DEVICE, requires_grad=True)
    x = -2.3 + 0.5 * torch.randn((M, N), dtype=dtype, device=DEVICE)
    dy = 0.1 * torch.randn_like(x)
    x.requires_grad_(True)
    ours = layer_norm(x, (N,), weight, bias, eps)
    precise = (x.float(), (N,), weight.float(), bias.float(), eps)
    theirs = torch.nn.functional.layer_norm(*precise).to(dtype)
    ours.backward(dy, retain_graph=True)
    gradients = [each.grad.clone() for each in (x, weight, bias)]
    x.grad, weight.grad, bias.grad = None, None, None
    theirs.backward(dy, retain_graph=True)
    torch.testing.assert_close(ours, theirs, atol=1e-2, rtol=0)
    for our, their in zip(gradients, (x, weight, bias), strict=True):
        torch.testing.assert_close(our, their.grad, atol=1e-2, rtol=0)
    print(f"layer norm {M}x{N} agrees")


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["N"],
        x_vals=[512],
        line_arg="provider",
        line_vals=["triton", "torch"] + (["apex"] if HAS_APEX else []),
        line_names=["Triton", "Torch"] + (["Apex"] if HAS_APEX else []),
        styles=[("blue", "-"), ("green", "-"), ("orange", "-")],
        ylabel="GB/s",
        plot_name="layer-norm-backward",
        args={"M": 256, "dtype": torch.float16, "mode": "backward"},
    )
)
def measure(M, N, dtype, provider, mode="backward", eps=1e-5, device=DEVICE):
    weight = torch.rand((N,), dtype=dtype, device=device, requires_grad=True)
    bias = torch.rand((N,), dtype=dtype, device=device, requires_grad=True)
    x = -2.3 + 0.5 * torch.randn((M, N), dtype=dtype, device=device)
    dy = 0.1 * torch.randn_like(x)
    x.requires_grad_(True)
    quantiles = [0.5, 0.2, 0.8]

    def forward():
        if provider == "triton":
            return layer_norm(x, (N,), weight, bias, eps)
        return torch.nn.functional.layer_norm(x, (N,), weight, bias, eps)

    if mode == "forward":
        ms, lowest, highest = triton.testing.do_bench(forward, quantiles=quantiles, rep=500)
        size = 2 * x.numel() * x.element_size()
    else:
        y = forward()
        ms, lowest, highest = triton.testing.do_bench(
            lambda: y.backward(dy, retain_graph=True), quantiles=quantiles, grad_to_none=[x], rep=500
        )
        size = 3 * x.numel() * x.element_size()
    return tuple(size * 1e-9 / (time * 1e-3) for time in (ms, highest, lowest))


check(151, 400, torch.float16)
measure.run(save_path=".", print_data=True)
