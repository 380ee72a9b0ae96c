"""A CUDA graph of kernels and operators of torch, replayed with other inputs."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, 2 * tl.load(source + at, mask=at < n), mask=at < n)


@triton.jit
def accumulate(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(source + at, mask=at < n) + tl.load(target + at, mask=at < n)
    tl.store(target + at, total, mask=at < n)


N = 300


def step(x, state):
    y = torch.empty_like(x)
    double[(5,)](x, y, N, BLOCK=64)
    z = torch.relu(y - 1)
    state.add_(z.sum())
    accumulate[(5,)](y, z, N, BLOCK=64)
    return z


x = torch.arange(N, dtype=torch.float32, device="cuda")
state = torch.zeros((), device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step(x, state)
torch.cuda.current_stream().wait_stream(side)
print("warmed up:", state.item())

state.fill_(-1)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    print("capturing:", torch.cuda.is_current_stream_capturing())
    out = step(x, state)
print("captured:", not torch.cuda.is_current_stream_capturing(), out.shape, state)
for value in (1.0, 4.0, 0.25):
    x.fill_(value)
    graph.replay()
    print(value, out[:3], state.item())

noise = torch.cuda.CUDAGraph()
with torch.cuda.graph(noise, pool=graph.pool()):
    drawn = torch.rand(8, device="cuda")
noise.replay()
first = drawn.clone()
noise.replay()
print("random numbers advance:", not torch.equal(first, drawn))

for forbidden in (lambda: x.cpu(), lambda: x.sum().item()):
    refused = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(refused, stream=side):
            try:
                forbidden()
            except RuntimeError as error:
                print(str(error).splitlines()[0])
    except RuntimeError as error:
        print(str(error).splitlines()[0])
