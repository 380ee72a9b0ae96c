"""TMA loads of both CTAs of a pair that tell one barrier, that of the first CTA."""

from __future__ import annotations

import pytest
import torch
from cluster_runner import PAIR, events
from kernel_runner import b200, compile_kernel, execute, executes, fbtriton_only, h200

from tlxviz.ir import load_program
from tlxviz.ir.pairs import has_paired_products
from tlxviz.launch.model import Launch
from tlxviz.sim.errors import HangError, UnsupportedOperation

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")

SIZE = 64 * 64 * 2


@triton.jit
def halves(desc, y_ptr, EXPECTED: tl.constexpr):
    """Each CTA loads a tile of its own; the first waits for both, and lets the second go on."""
    rank = tlx.cluster_cta_rank()
    tile = tlx.local_alloc((64, 64), tl.float16, 1)
    both = tlx.alloc_barriers(1)
    go = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(both[0], EXPECTED, pred=rank == 0)
    tlx.async_descriptor_load(desc, tile[0], [tl.program_id(0) * 64, 0], both[0], two_ctas=True)
    tlx.barrier_wait(both[0], 0, pred=rank == 0)
    tlx.barrier_arrive(go[0], 1, remote_cta_rank=1, pred=rank == 0)
    tlx.barrier_wait(go[0], 0, pred=rank == 1)
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(y_ptr + tl.program_id(0) * 4096 + at, tlx.local_load(tile[0]))


def prepared(expected: int = 2 * SIZE) -> tuple[Launch, torch.Tensor, torch.Tensor]:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, y = torch.randn(4 * 64, 64).half(), torch.zeros(4 * 64, 64).half()
    desc = TensorDescriptor.from_tensor(x, [64, 64])
    return compile_kernel(halves, (4,), desc, y, EXPECTED=expected, device=b200(), **PAIR), x, y


@executes("ttng.async_tma_copy_global_to_local", "ttng.map_to_remote_buffer")
def test_the_first_cta_waits_for_the_bytes_of_both():
    launch, x, y = prepared()
    trace = execute(launch, device=b200()).trace
    assert torch.equal(x, y)
    loads = [events(trace, "tma_load", cta, engine=True)[0] for cta in (0, 1)]
    issues = [events(trace, "tma_load", cta)[0] for cta in (0, 1)]
    assert [load["released_by"] for load in loads] == [issue["row"] for issue in issues]
    (wait,) = events(trace, "wait", 0)
    last = max(loads, key=lambda each: each["end"])
    assert (wait["released_by"], wait["end"]) == (last["row"], last["end"] + round(b200().sync.mbarrier_wake))


def test_a_pair_that_expects_too_much():
    launch, _, _ = prepared(3 * SIZE)
    with pytest.raises(HangError, match=r"waits for both\[0\], phase 0, .* misses 8,192 bytes"):
        execute(launch, device=b200())


def test_loads_make_no_pair_of_the_tensor_cores():
    """TLX calls both `two_ctas`; TTGIR has another attribute for products."""
    launch, _, _ = prepared()
    assert "two_cta = true" in launch.ttgir
    assert not has_paired_products(load_program(launch.ttgir))


def test_it_is_no_load_of_hopper():
    launch, _, _ = prepared()
    with pytest.raises(UnsupportedOperation, match=r"the barrier of another CTA \(two_ctas\), which Hopper cannot"):
        execute(launch, device=h200())
