"""Where tensors are and how they print; generators; what torch says of tensors on different devices."""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def copy(source, target, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at))


def attempt(action):
    try:
        print(action())
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")


x = torch.arange(4, device="cuda")
host = torch.arange(4)
print(x, host, x.float(), x > 1, x.half(), sep="\n")
print([x[0], host[0]], f"{x[1]} {x.float()[1]:.2f} {x}")
print(torch.nn.Parameter(x.float()), torch.ones(1, device="cuda", requires_grad=True) * 2)
print(x.type(), host.type(), x.is_cuda, host.is_cuda, x.get_device(), host.get_device(), repr(x.device))
print(x.cpu(), x.cpu().to("cuda:0").device, host.to(x).device, x.tolist(), x.sum().item())
print(x.to("cuda") is x, host.cpu() is host, host.cuda() is host)
print(torch.zeros_like(host).device, torch.zeros_like(host, device="cuda").device, x.new_zeros(1).device)
print(torch.from_numpy(np.ones(2)), torch.as_tensor(np.ones(2), device="cuda"), torch.tensor([1.5], device=x.device))
print(host.is_pinned(), host.pin_memory().is_pinned(), torch.empty(1, pin_memory=True).is_pinned())
print(host.view(2, 2).T.device, x.view(2, 2).T.contiguous().device, x[host > 1].device, torch.topk(x, 2).indices)
print((x + torch.tensor(1)).device, torch.where(x > 1, 1, 0).device, torch.stack([x, x]).device)

with torch.device("cuda"):
    print(torch.ones(1), torch.ones(1, device="cpu"), torch.nn.Linear(1, 1).weight.device, torch.get_default_device())
torch.set_default_device("cuda")
print(torch.ones(1), torch.tensor([1]).device, torch.randn(2).is_cuda)
torch.set_default_device(None)
print(torch.ones(1), torch.get_default_device())

torch.manual_seed(7)
first = torch.rand(3)
torch.manual_seed(7)
noise = torch.randn(100, device="cuda")
print("the host's sequence is its own:", torch.equal(first, torch.rand(3)), first)
one, two = (torch.Generator(device="cuda").manual_seed(3) for _ in range(2))
print(one.device, torch.equal(torch.rand(4, device="cuda", generator=one), torch.rand(4, device="cuda", generator=two)))
state = torch.cuda.get_rng_state()
noise = torch.rand(4, device="cuda")
torch.cuda.set_rng_state(state)
print(torch.equal(noise, torch.rand(4, device="cuda")))

matrix, host_matrix = torch.ones(2, 2, device="cuda"), torch.ones(2, 2)
attempt(lambda: x + host)
attempt(lambda: host_matrix @ matrix)
attempt(lambda: torch.cat([host_matrix, matrix]))
attempt(lambda: host[x])
attempt(lambda: x.numpy())
attempt(lambda: x.pin_memory())
attempt(lambda: torch.rand(1, device="cuda", generator=torch.Generator()))
attempt(lambda: torch.ones(1, device="cuda:1"))
copy[(1,)](x, target := torch.empty_like(x), BLOCK=4)
print(target)
before = torch.cuda.memory_allocated()
large = torch.empty(1024, 1024, device="cuda")
print(torch.cuda.memory_allocated() - before, torch.cuda.max_memory_allocated() >= before + large.nbytes)
