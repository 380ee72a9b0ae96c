"""Operators of `torch.library` that launch kernels."""

import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton


@triton.jit
def product(left, right, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(left + at, mask=at < n) * tl.load(right + at, mask=at < n)
    tl.store(target + at, value, mask=at < n)


@torch.library.custom_op("shop::mul", mutates_args=(), device_types="cuda")
def mul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, device="cuda")
    product[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


@mul.register_kernel("cpu")
def mul_on_host(x, y):
    print("on the host")
    return x * y


@mul.register_fake
def mul_without_values(x, y):
    return torch.empty_like(x)


def backward(ctx, grad):
    x, y = ctx.saved_tensors
    grad = grad.contiguous()
    return mul(grad, y), mul(grad, x)


mul.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


@triton_op("shop::twice", mutates_args={})
def twice(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(product)[(1,)](x, torch.full_like(x, 2), out, x.numel(), BLOCK=64)
    return out


library = torch.library.Library("shelf", "DEF")
library.define("scale(Tensor x, float factor) -> Tensor")
library.define("increment(Tensor(a!) x) -> ()")


def scale(x, factor):
    out = torch.zeros_like(x)
    product[(1,)](x, torch.full_like(x, factor), out, x.numel(), BLOCK=64)
    return out


library.impl("scale", scale, "CUDA")


@torch.library.impl(library, "increment", "CUDA")
def increment(x):
    x.add_(1)


a = torch.arange(4.0, device="cuda", requires_grad=True)
b = torch.full((4,), 3.0, device="cuda", requires_grad=True)
c = mul(a, b)
c.sum().backward()
print("product:", c.detach(), c.requires_grad)
print("gradients:", a.grad, b.grad)
print("host:", mul(torch.ones(2), torch.ones(2)))
print("packet:", torch.ops.shop.mul(a.detach(), b.detach()).device)
print("twice:", twice(a.detach()))
print("scaled:", torch.ops.shelf.scale(a.detach(), 0.5))
counter = torch.zeros(2, device="cuda")
torch.ops.shelf.increment(counter)
print("incremented:", counter)
try:
    torch.ops.shelf.scale(torch.ones(2), 1.0)
except NotImplementedError as error:
    print(str(error).partition(".")[0])
