import argparse

import torch

from ..kernels import fill  # noqa: TID252

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--value", type=float, default=1.0)
    value = parser.parse_args().value
    x = torch.empty(8, device="cuda")
    fill[(1,)](x, value, BLOCK=8)
    print(parser.prog, __name__, __package__, x.sum().item())
