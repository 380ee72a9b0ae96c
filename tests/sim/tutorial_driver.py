"""Runs one kernel of the installed TLX tutorials and compares it with torch: `tutorial_driver.py FILE CASE JSON`.

Executed by tlxviz, so that the tutorial is imported where the stand-in for CUDA is in force.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import types
from pathlib import Path
from typing import Any

import torch
import triton

TOLERANCE = 1e-3
GRADIENTS = 3e-3
"""Of attention: K is multiplied by the scale, and rounded, before the kernel gets it."""


def folder() -> Path:
    """Where the installed TLX has its tutorials: fbtriton's inside triton, triton-utlx's in a package beside it."""
    import triton.language.extra.tlx as tlx

    beside = importlib.util.find_spec("tlx")
    places = [tlx.__file__, *([beside.origin] if beside is not None else [])]
    return next(path for place in places if (path := Path(str(place)).parent / "tutorials").is_dir())


def tutorial(name: str) -> Any:
    """A tutorial as a module, whatever its file is called; `name` may have a folder."""
    path = folder() / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Triton looks a kernel's globals up there
    spec.loader.exec_module(module)
    return module


def compare(got: torch.Tensor, wanted: torch.Tensor, tolerance: float = TOLERANCE) -> None:
    error = ((got.float() - wanted.float()).norm() / wanted.float().norm()).item()
    print(f"relative error {error:.2e}")
    if not error <= tolerance:
        sys.exit(f"relative error {error:.2e} is above {tolerance}")


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
    if "ctas_per_cga" in options:
        options["ctas_per_cga"] = tuple(options["ctas_per_cga"])
    arguments = (options,) if options else ()
    compare(call(left, right, *arguments), a.float() @ b.float())


def attention(module: Any, options: dict[str, Any]) -> None:
    z, h, n, d = options.pop("sizes")
    q, k, v = (torch.randn((z, h, n, d), device="cuda", dtype=torch.float16) for _ in range(3))
    scale = 0.5
    causal = options.pop("causal", None)
    arguments = (*(() if causal is None else (causal,)), *((options,) if options else ()))
    got = module.attention(q, k, v, scale, *arguments)
    compare(got, attention_of(q, k, v, scale, causal=bool(causal)))


def attention_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, *, causal: bool) -> torch.Tensor:
    scores = q.float() @ k.float().transpose(2, 3) * scale
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    return torch.softmax(scores, dim=-1) @ v.float()


def attention_backward(module: Any, options: dict[str, Any]) -> None:
    """The gradients of an attention that is tuned by itself."""
    scale, causal = 0.5, options["causal"]
    q, k, v = (torch.randn(options["sizes"], device="cuda", dtype=torch.float16).requires_grad_() for _ in range(3))
    got = module.attention(q, k, v, scale, causal)
    gradient = torch.randn_like(got)
    found = torch.autograd.grad(got, (q, k, v), gradient)
    wanted = torch.autograd.grad(attention_of(q, k, v, scale, causal=causal), (q, k, v), gradient.float())
    for one, other in zip(found, wanted, strict=True):
        compare(one, other, GRADIENTS)


def divided_attention(module: Any, options: dict[str, Any]) -> None:
    """Attention whose loop the compiler divides among warp groups.

    Of `options` what is no argument here is its configuration; without one it is the tuner's first.
    """
    sizes, variant, causal = options.pop("sizes"), options.pop("variant"), options.pop("causal")
    more = options.pop("more", ())
    if not options:
        module._attn_fwd_persist.configs = module._attn_fwd_persist.configs[:1]
    q, k, v = (torch.randn(sizes, device="cuda", dtype=torch.float16) for _ in range(3))
    got = module.attention(q, k, v, causal, 0.5, variant, *more, *((options,) if options else ()))
    compare(got, attention_of(q, k, v, 0.5, causal=causal))


def activated_attention(module: Any, options: dict[str, Any]) -> None:
    """Attention with an activation in place of softmax, over sequences of different lengths; it is not compared."""
    options |= {"dtype": torch.bfloat16, "dff": None, "bias": False, "window_size": None, "broadcast_q": False}
    module.get_tlx_gdpa_fn(options)()


def own(module: Any, options: dict[str, Any]) -> None:
    """A call of the tutorial's own, such as a test, which compares by itself.

    Args:
        module: The tutorial.
        options: Arguments of the call by name, and: `call`, its name; `tensors`, shapes of its first arguments; `set`,
            values for globals.
    """
    for name, value in options.pop("set", {}).items():
        setattr(module, name, value)
    call = getattr(module, options.pop("call"))
    if "dtype" in options:
        options["dtype"] = getattr(torch, options["dtype"])
    tensors = [torch.randn(shape, device="cuda", dtype=torch.float16) for shape in options.pop("tensors", ())]
    call(*tensors, **options)


def imported(module: Any, options: dict[str, Any]) -> None:
    """Nothing more."""


def add2(module: Any, options: dict[str, Any]) -> None:
    x, y, a, b = (torch.randn(options["size"], device="cuda") for _ in range(4))
    for call in (module.add2, module.add2_warp_specialized):
        first, second = call(x, y, a, b)
        compare(first, x + y)
        compare(second, a + b)


def layernorm(module: Any, options: dict[str, Any]) -> None:
    """The tutorials' own calls measure which of many configurations is fastest; this is one of them."""
    m, n = options["sizes"]
    rows, ctas = options["rows"], options["ctas"]
    x, w, b = (torch.randn(*size, device="cuda", dtype=torch.float16) for size in ((m, n), (n,), (n,)))
    y = torch.empty_like(x)
    mean, rstd = torch.empty(m, device="cuda"), torch.empty(m, device="cuda")
    columns = triton.next_power_of_2(n // ctas)
    masks = {"SHOULD_MASK_ROW": m % rows != 0, "SHOULD_MASK_COL": n % columns != 0}
    blocks = {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": columns, "num_reduction_ctas": ctas, "num_warps": 8}
    kernel = getattr(module, options["kernel"])
    grid = (min(triton.cdiv(m, rows), options["clusters"]), ctas)
    kernel.fn[grid](x, y, w, b, mean, rstd, x.stride(0), m, n, 1e-5, **blocks, **masks, ctas_per_cga=(1, ctas, 1))
    compare(y, torch.nn.functional.layer_norm(x.float(), (n,), w.float(), b.float(), 1e-5))
    compare(mean + 1, x.float().mean(1) + 1)  # the means themselves are nearly 0
    compare(rstd, (x.float().var(1, correction=0) + 1e-5).rsqrt())


def layernorm_call(module: Any, options: dict[str, Any]) -> None:
    """A tutorial's own call."""
    m, n = options.pop("sizes")
    call = getattr(module, options.pop("call"))
    x, w, b = (torch.randn(*size, device="cuda", dtype=torch.float16) for size in ((m, n), (n,), (n,)))
    y, mean, rstd = call(x, w, b, 1e-5, **options)
    compare(y, torch.nn.functional.layer_norm(x.float(), (n,), w.float(), b.float(), 1e-5))
    compare(mean + 1, x.float().mean(1) + 1)
    compare(rstd, (x.float().var(1, correction=0) + 1e-5).rsqrt())


def broadcast_attention(module: Any, options: dict[str, Any]) -> None:
    """Attention of candidates over the keys of their users; a candidate's rows have to fill blocks of 32."""
    candidates, seeds, heads, dim, length = options["sizes"]
    *tensors, index, grid = module.create_inputs(candidates, seeds, heads, dim, length, cand_to_user_ratio=2)
    sizes = (seeds, heads, dim, length)
    got = module.ikbo_fa(*tensors, index, grid, *sizes)
    compare(got, module.fa_reference(*(each.float() for each in tensors), index, *sizes))


def broadcast_embedding(module: Any, options: dict[str, Any]) -> None:
    *tensors, index = module.create_inputs(*options["sizes"], cand_to_user_ratio=2)
    got = module.ikbo_lce(*tensors, index)
    compare(got, module.lce_reference(*(each.float() for each in tensors), index))


def configured_backward(module: Any, options: dict[str, Any]) -> None:
    """The gradients; the tutorials' own calls measure which of several configurations is fastest, here one is given."""
    module._attn_fwd_ws.configs = module._attn_fwd_ws.configs[:1]
    module._attn_bwd_ws.configs = [module._attn_bwd_ws.configs[options["configuration"]]]
    causal = options["causal"]
    q, k, v = (torch.randn(*options["sizes"], device="cuda", dtype=torch.float16) for _ in range(3))
    weights = torch.randn_like(q)
    exact = [each.float().requires_grad_() for each in (q, k, v)]
    (attention_of(*exact, 0.5, causal=causal) * weights.float()).sum().backward()
    for each in (q, k, v):
        each.requires_grad_()
    module.attention(q, k, v, 0.5, causal).backward(weights)
    for got, wanted in zip((q, k, v), exact, strict=True):
        compare(got.grad, wanted.grad, GRADIENTS)


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
    compare(got, attention_of(*exact, 0.5, causal=causal), 6e-2)


def mx_attention_backward(module: Any, options: dict[str, Any]) -> None:
    """The gradients of attention in MXFP8. Blocks of 32 x 32 have a scale in common, so that the same eight bits stand
    for the same numbers whether groups go along rows or columns, as the kernel wants both."""
    z, h, n, d = options.pop("sizes")
    causal, scale = options.pop("causal"), 0.1

    def drawn() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Eight bits, scales of groups along rows and along columns, and the numbers."""
        bits = torch.randn(z, h, n, d).to(torch.float8_e4m3fn)
        exponents = torch.randint(-2, 2, (z * h, n // 32, d // 32))
        blocks = (exponents + 127).to(torch.uint8)
        spread = (2.0**exponents).repeat_interleave(32, 1).repeat_interleave(32, 2)
        along_rows = _blocked(blocks.repeat_interleave(32, 1))
        along_columns = _blocked(blocks.movedim(1, 2).repeat_interleave(32, 1))
        return bits.cuda(), along_rows.cuda(), along_columns.cuda(), bits.float() * spread.reshape(z, h, n, d)

    made = [drawn() for _ in range(4)]
    (q, q_rows, q_columns, _), (k, k_rows, k_columns, _), (v, v_rows, _, _), (g, g_rows, g_columns, _) = made
    leaves = [numbers.clone().requires_grad_() for *_, numbers in made[:3]]
    scores = (leaves[0] @ leaves[1].transpose(2, 3)) * scale
    if causal:
        scores = scores.masked_fill(~torch.tril(torch.ones(n, n, dtype=torch.bool)), float("-inf"))
    wanted = scores.softmax(-1) @ leaves[2]
    exact = made[3][3]
    wanted.backward(exact)
    logarithms = scores.logsumexp(-1) * 1.4426950408889634
    found = module.attention_bwd(
        *(g, g, q, q, k, k, v, wanted.detach().bfloat16().cuda(), logarithms.detach().cuda()),
        *(q_rows, q_columns, k_rows, k_columns, v_rows, g_rows, g_columns),
        scale,
        exact.bfloat16().cuda(),
        causal,
    )
    for got, leaf in zip(found, leaves, strict=True):
        assert leaf.grad is not None
        # the kernel gives P and the gradient of the scores eight bits as well
        compare(got.cpu(), leaf.grad, 6e-2)


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


CASES = {
    "gemm": gemm,
    "attention": attention,
    "attention_backward": attention_backward,
    "configured_backward": configured_backward,
    "divided_attention": divided_attention,
    "mx_attention": mx_attention,
    "mx_attention_backward": mx_attention_backward,
    "cross_attention": cross_attention,
    "grouped": grouped,
    "products": products,
    "activated_attention": activated_attention,
    "own": own,
    "imported": imported,
    "add2": add2,
    "broadcast_attention": broadcast_attention,
    "broadcast_embedding": broadcast_embedding,
    "layernorm": layernorm,
    "layernorm_call": layernorm_call,
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
