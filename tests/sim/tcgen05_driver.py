"""Runs one kernel of the installed TLX tutorials for Blackwell, as `tutorial_driver` does."""

from __future__ import annotations

import json
import random
import sys
import types
from typing import Any

import torch
import triton
from tutorial_driver import CASES, allocate, compare, tutorial


def attention(module: Any, options: dict[str, Any]) -> None:
    z, h, n, d = options.pop("sizes")
    causal = options.pop("causal", None)
    q, k, v = (torch.randn((z, h, n, d), device="cuda", dtype=torch.float16) for _ in range(3))
    arguments = (*(() if causal is None else (causal,)), options)
    got = module.attention(q, k, v, 0.5, *arguments)
    compare(got, _attention(q, k, v, 0.5, causal=bool(causal)))


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, *, causal: bool) -> torch.Tensor:
    scores = q.float() @ k.float().transpose(2, 3) * scale
    if causal:
        later = torch.ones(scores.shape[2:], device=scores.device, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v.float()


def backward(module: Any, options: dict[str, Any]) -> None:
    """The gradients; the tutorials' own calls measure which of several configurations is fastest, here one is given."""
    module._attn_fwd_ws.configs = module._attn_fwd_ws.configs[:1]
    module._attn_bwd_ws.configs = [module._attn_bwd_ws.configs[options["configuration"]]]
    causal = options["causal"]
    q, k, v = (torch.randn(*options["sizes"], device="cuda", dtype=torch.float16) for _ in range(3))
    weights = torch.randn_like(q)
    exact = [each.float().requires_grad_() for each in (q, k, v)]
    (_attention(*exact, 0.5, causal=causal) * weights.float()).sum().backward()
    for each in (q, k, v):
        each.requires_grad_()
    module.attention(q, k, v, 0.5, causal).backward(weights)
    for got, wanted in zip((q, k, v), exact, strict=True):
        compare(got.grad, wanted.grad, 3e-3)


def divided_attention(module: Any, options: dict[str, Any]) -> None:
    """Attention in plain Triton that the compiler divides among warp groups, with the tuner's first configuration."""
    module._attn_fwd_persist.configs = module._attn_fwd_persist.configs[:1]
    q, k, v = (torch.randn(*options["sizes"], device="cuda", dtype=torch.float16) for _ in range(3))
    causal = options["causal"]
    more = () if options["short"] else (False, 0, False)
    got = module.attention(q, k, v, causal, 0.5, "ws_persistent", *more)
    compare(got, _attention(q, k, v, 0.5, causal=causal))


def grouped(module: Any, options: dict[str, Any]) -> None:
    """Of each pair N has to be K, which the tutorial takes for granted."""
    left = [torch.randn(size, device="cuda", dtype=torch.float16) for size in options["sizes"]]
    right = [torch.randn(k, k, device="cuda", dtype=torch.float16) for _, k in options["sizes"]]
    module.grouped_matmul_tlx_kernel.configs = [module.grouped_matmul_tlx_kernel.configs[0]]
    for got, a, b in zip(module.group_gemm_tlx_fn(left, right), left, right, strict=True):
        compare(got, a.float() @ b.float())


def products(module: Any, options: dict[str, Any]) -> None:
    m, n, k = options["sizes"]
    a, b = (torch.randn(size, device="cuda", dtype=torch.float16) for size in ((m, k), (k, n)))
    compare(getattr(module, options["call"])(a, b), a.float() @ b.float())


def cross_attention(module: Any, options: dict[str, Any]) -> None:
    """SiLU attention of each sequence's targets over its history, both of any length."""
    targets, history, heads, dim = (options[name] for name in ("targets", "history", "heads", "dim"))
    kernel = {"tlx_single_q": module._attn_fwd_single_q, "tlx_pipeline": module._attn_fwd_pipeline}[options["variant"]]
    kernel.configs = [kernel.configs[options["configuration"]]]
    offsets_q, offsets = (torch.tensor([0, *lengths]).cumsum(0).cuda() for lengths in (targets, history))
    q, k, v = (
        torch.empty(total, heads, dim, device="cuda", dtype=torch.bfloat16).uniform_(-1, 1)
        for total in (sum(targets), sum(history), sum(history))
    )
    longest, alpha = max(history), dim**-0.5
    got = module.triton_hstu_cross_attn_fwd(
        longest, alpha, q, k, v, offsets, offsets_q, max(targets), torch.tensor(1 / longest), options["variant"]
    )
    wanted = torch.zeros(got.shape, device="cuda")
    for (first_q, last_q), (first, last) in zip(_pairs(targets), _pairs(history), strict=True):
        scores = torch.einsum("qhd,khd->hqk", q[first_q:last_q].float(), k[first:last].float()) * alpha
        weights = torch.nn.functional.silu(scores).to(torch.bfloat16).float()
        wanted[first_q:last_q] = torch.einsum("hqk,khd->qhd", weights, v[first:last].float()) / longest
    compare(got, wanted, 5e-3)


def _pairs(lengths: list[int]) -> list[tuple[int, int]]:
    ends = torch.tensor(lengths).cumsum(0).tolist()
    return [(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def mx_attention(module: Any, options: dict[str, Any]) -> None:
    """Attention in MXFP8; scales of Q and K go along the head, those of V along the sequence."""
    z, h, n, d = options.pop("sizes")
    causal = options.pop("causal")
    held: list[torch.Tensor] = []
    scales: list[torch.Tensor] = []
    exact: list[torch.Tensor] = []
    for along in (3, 3, 2):
        x = torch.randn(z, h, n, d) * 0.5
        rows = x.movedim(along, 3).reshape(z * h, -1, x.shape[along])
        groups = rows.unflatten(2, (-1, 32))
        exponents = groups.abs().amax(3).div(448).log2().ceil()
        numbers = (groups / 2 ** exponents[..., None]).to(torch.float8_e4m3fn)
        values = (numbers.float() * 2 ** exponents[..., None]).flatten(2)
        shape = x.movedim(along, 3).shape
        held.append(numbers.flatten(2).reshape(shape).movedim(3, along).contiguous().cuda())
        exact.append(values.reshape(shape).movedim(3, along).cuda())
        scales.append(_blocked((exponents + 127).to(torch.uint8)).cuda())
    got = module.attention(*held, *scales, 0.5, causal, options)
    # the kernel gives P eight bits as well
    compare(got, _attention(*exact, 0.5, causal=causal), 6e-2)


def _blocked(scales: torch.Tensor) -> torch.Tensor:
    """Scales by sequence, row and group as the tutorial has them: blocks of 128 x 4 in two halves of 256 bytes."""
    count, rows, groups = scales.shape
    blocks = scales.reshape(count, rows // 128, 4, 32, groups // 4, 4).permute(0, 1, 4, 3, 2, 5)
    return blocks.reshape(count, rows // 128, groups // 4, 2, 256).contiguous()


def stand_in_for_torchao() -> None:
    """The tutorial quantises with torchao, which is not wanted here."""
    for name in ("torchao", "torchao.prototype", "torchao.prototype.mx_formats"):
        sys.modules[name] = types.ModuleType(name)
    last = types.ModuleType("torchao.prototype.mx_formats.mx_tensor")
    last.MXTensor = last.ScaleCalculationMode = None  # type: ignore[attr-defined]
    sys.modules[last.__name__] = last


CASES |= {
    "attention": attention,
    "backward": backward,
    "divided_attention": divided_attention,
    "grouped": grouped,
    "products": products,
    "cross_attention": cross_attention,
    "mx_attention": mx_attention,
}


def main(name: str, case: str, options: str) -> None:
    random.seed(0)
    torch.manual_seed(0)
    stand_in_for_torchao()
    module = tutorial(name)
    triton.set_allocator(allocate)
    CASES[case](module, json.loads(options))


if __name__ == "__main__":
    main(*sys.argv[1:])
