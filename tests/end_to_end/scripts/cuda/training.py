"""Training around a kernel: an autograd function, an optimizer, a loader that pins, a checkpoint."""

import io

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def square(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < n)
    tl.store(target + at, value * value, mask=at < n)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = torch.empty(x.shape, device=x.device)
        square[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        print("backward on:", x.device, grad.device)
        return grad * torch.full(x.shape, 2.0, device="cuda") * x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2, bias=False)
        nn.init.constant_(self.linear.weight, 0.5)
        self.register_buffer("offset", torch.tensor([1.0, -1.0]))

    def forward(self, x):
        return Square.apply(self.linear(x)) + self.offset


if __name__ == "__main__":
    model = Model()
    print("made on:", model.linear.weight.device, model.offset.device)
    model = model.to("cuda")
    print("moved to:", model.linear.weight.device, model.offset.device)
    data = torch.utils.data.TensorDataset(torch.eye(4).repeat(2, 1), torch.ones(8, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True, num_workers=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.5)
    for x, y in loader:
        print("batch:", x.device, x.is_pinned(), x[0])
        x, y = x.to("cuda", non_blocking=True), y.cuda(non_blocking=True)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        print("loss:", loss)
        print("gradient:", model.linear.weight.grad)
        optimizer.step()
    print(f"{loss:.4f}", model.linear.weight)

    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    for place in (None, "cpu", "cuda"):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        momentum = loaded["optimizer"]["state"][0]["momentum_buffer"]
        print("loaded to:", place, loaded["model"]["offset"], momentum.device)
    copy = Model()
    copy.load_state_dict(model.state_dict())
    print("copy:", copy.offset, torch.equal(copy.linear.weight.cuda(), model.linear.weight))
    try:
        model(torch.ones(1, 4))
    except RuntimeError as error:
        print(error)
