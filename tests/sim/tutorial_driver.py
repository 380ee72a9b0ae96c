"""Runs one kernel of the installed TLX tutorials and compares it with torch: `tutorial_driver.py FILE CASE JSON`.

Executed by tlxviz, so that the tutorial is imported where the stand-in for CUDA is in force.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import torch
import triton

TOLERANCE = 1e-3


def folder() -> Path:
    """Where the installed TLX has its tutorials: fbtriton's inside triton, triton-utlx's in a package beside it."""
    import triton.language.extra.tlx as tlx

    beside = importlib.util.find_spec("tlx")
    places = [tlx.__file__, *([beside.origin] if beside is not None else [])]
    return next(path for place in places if (path := Path(str(place)).parent / "tutorials").is_dir())


def tutorial(name: str) -> Any:
    """A tutorial as a module, whatever its file is called."""
    path = folder() / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton looks a kernel's globals up there
    spec.loader.exec_module(module)
    return module


def compare(got: torch.Tensor, wanted: torch.Tensor) -> None:
    error = ((got.float() - wanted.float()).norm() / wanted.float().norm()).item()
    print(f"relative error {error:.2e}")
    if not error <= TOLERANCE:
        sys.exit(f"relative error {error:.2e} is above {TOLERANCE}")


def allocate(size: int, align: int, stream: int | None) -> torch.Tensor:
    return torch.empty(size, dtype=torch.int8, device="cuda")


def gemm(module: Any, options: dict[str, Any]) -> None:
    m, n, k = options.pop("sizes")
    call = getattr(module, options.pop("call", "matmul"))
    columns = options.pop("columns", "")
    a = torch.randn((m, k), device="cuda", dtype=torch.float16)
    b = torch.randn((k, n), device="cuda", dtype=torch.float16)
    left = a.t().contiguous().t() if "a" in columns else a
    right = b.t().contiguous().t() if "b" in columns else b
    arguments = (options,) if options else ()
    compare(call(left, right, *arguments), a.float() @ b.float())


def attention(module: Any, options: dict[str, Any]) -> None:
    z, h, n, d = options.pop("sizes")
    q, k, v = (torch.randn((z, h, n, d), device="cuda", dtype=torch.float16) for _ in range(3))
    scale = 0.5
    arguments = (options,) if options else ()
    got = module.attention(q, k, v, scale, *arguments)
    wanted = torch.softmax(q.float() @ k.float().transpose(2, 3) * scale, dim=-1) @ v.float()
    compare(got, wanted)


def add2(module: Any, options: dict[str, Any]) -> None:
    x, y, a, b = (torch.randn(options["size"], device="cuda") for _ in range(4))
    for call in (module.add2, module.add2_warp_specialized):
        first, second = call(x, y, a, b)
        compare(first, x + y)
        compare(second, a + b)


def main(name: str, case: str, options: str) -> None:
    torch.manual_seed(0)
    module = tutorial(name)
    triton.set_allocator(allocate)
    {"gemm": gemm, "attention": attention, "add2": add2}[case](module, json.loads(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
