"""An eager model with TLX linear layers, and kernels that are called in every way that Triton has.

Needs the folder of `hopper_gemm_ws.py` as its argument.
"""

import sys

import torch
import triton
import triton.language as tl

sys.path.insert(0, sys.argv[1])
import hopper_gemm_ws

calls = []


class Linear(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(outputs, inputs, device="cuda", dtype=torch.float16) * 0.05)
        self.bias = torch.nn.Parameter(torch.randn(outputs, device="cuda", dtype=torch.float16))

    def forward(self, x):
        return hopper_gemm_ws.matmul(x, self.weight.t().contiguous()) + self.bias


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def identity(x):
    return x


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def elementwise(
    x_ptr, y_ptr, n, scale=1.0, F: tl.constexpr = identity, BLOCK: tl.constexpr = 64, EVEN: tl.constexpr = 0
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) if EVEN else tl.load(x_ptr + at, mask=at < n)
    y = F(x * scale)
    if EVEN:
        tl.store(y_ptr + at, y)
    else:
        tl.store(y_ptr + at, y, mask=at < n)


def before_config(arguments):
    calls.append(("config", arguments["BLOCK"]))
    arguments["total_ptr"].zero_()


@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=2, pre_hook=before_config) for block in (64, 128)], key=["n"]
)
@triton.jit
def total(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0))


@triton.jit
def shows(x_ptr):
    x = tl.load(x_ptr)
    tl.device_print("value", x)
    tl.store(x_ptr, x + 1)


def blocks(n):
    yield from (64, 128)


torch.manual_seed(0)
model = torch.nn.Sequential(Linear(64, 256), torch.nn.ReLU(), Linear(256, 128)).eval()
x = torch.randn(128, 64, device="cuda", dtype=torch.float16)
with torch.no_grad():
    ours = model(x)
    theirs = x
    for layer in model:
        linear = isinstance(layer, Linear)
        theirs = torch.nn.functional.linear(theirs, layer.weight, layer.bias) if linear else layer(theirs)
torch.testing.assert_close(ours, theirs, atol=2e-2, rtol=1e-2)
print("model agrees")

x = torch.randn(300, device="cuda")
y = torch.empty_like(x)
entered, left = [], []
triton.knobs.runtime.launch_enter_hook = lambda metadata: entered.append(metadata.get()["name"])
triton.knobs.runtime.launch_exit_hook = lambda metadata: left.append(metadata.get()["name"])
elementwise.fn.add_pre_run_hook(lambda *args, **options: calls.append(("run", len(args))))
elementwise[(3,)](x, y, 300, BLOCK=128)
torch.testing.assert_close(y, x)
elementwise[(3,)](x, y, n=300, scale=2.0, F=gelu, BLOCK=128)
torch.testing.assert_close(y, torch.nn.functional.gelu(x * 2), atol=1e-5, rtol=1e-5)
for block in blocks(256):
    elementwise[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](y_ptr=y, x_ptr=x, n=256, BLOCK=block, F=gelu)
torch.testing.assert_close(y[:256], torch.nn.functional.gelu(x[:256]), atol=1e-5, rtol=1e-5)
print("pre-run hook", [each for each in calls if each[0] == "run"])

result = torch.full((1,), 99.0, device="cuda")
total[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, result, 300)
torch.testing.assert_close(result[0], x.sum(), atol=1e-4, rtol=1e-4)
print("config hooks", [block for kind, block in calls if kind == "config"][:2])
triton.knobs.runtime.launch_enter_hook = triton.knobs.runtime.launch_exit_hook = None
assert entered == left, (entered, left)
print("launch hooks", entered)
counter = torch.zeros(1, device="cuda")
shows[(1,)](counter)
print("shown", counter.item())
