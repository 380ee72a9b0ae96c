"""tcgen05 across a pair of CTAs: each has half of the rows of A and half of the columns of B."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from cluster_runner import events
from kernel_runner import b200, compile_kernel, execute, executes, fbtriton_only
from test_tcgen05 import both, close

from tlxviz.launch.model import Launch
from tlxviz.sim.engine import TENSOR_CORE
from tlxviz.sim.errors import HangError, UnsupportedOperation
from tlxviz.sim.replay import COLUMNS, replay

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")
tlx = pytest.importorskip("triton.language.extra.tlx")

pytestmark = fbtriton_only("its kernels for Blackwell are not what is tested here")


@triton.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    IN_TENSOR_MEMORY: tl.constexpr,
    COMMIT: tl.constexpr,
):
    """A row of clusters along M; the CTAs of a pair have rows below one another."""
    half = tlx.cluster_cta_rank() % 2
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    row = tl.program_id(0) * M + m
    if IN_TENSOR_MEMORY:
        a = tlx.local_alloc((M, K), tl.float16, 1, tlx.storage_kind.tmem)
    else:
        a = tlx.local_alloc((M, K), tl.float16, 1)
    b = tlx.local_alloc((K, N // 2), tl.float16, 1)
    sums = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    ready = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(2)
    columns = half * (N // 2) + tl.arange(0, N // 2)
    tlx.local_store(a[0], tl.load(a_ptr + row[:, None] * K + k[None, :]))
    tlx.local_store(b[0], tl.load(b_ptr + k[:, None] * N + columns[None, :]))
    tlx.fence("async_shared")
    tlx.barrier_arrive(ready[0], 1, remote_cta_rank=tlx.cluster_cta_rank() & ~1)
    tlx.barrier_wait(ready[0], 0, pred=half == 0)
    tlx.async_dot(a[0], b[0], sums[0], use_acc=False, mBarriers=[done[1]], two_ctas=True)
    tlx.barrier_wait(done[1], 0)
    tlx.async_dot(a[0], b[0], sums[0], force_async=True, two_ctas=True)
    if COMMIT:
        tl.debug_barrier()  # between the product and the commit, which would be one otherwise
    tlx.tcgen05_commit(done[0], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    tl.store(c_ptr + row[:, None] * N + n[None, :], tlx.local_load(sums[0]))


def prepared(
    m: int, n: int, k: int = 64, *, ctas: int = 2, tmem: bool = False, commit: bool = False
) -> tuple[Launch, torch.Tensor, torch.Tensor]:
    """The launch, where its result comes, and what that has to be."""
    a, b, c = torch.randn(ctas * m, k).half(), torch.randn(k, n).half(), torch.zeros(ctas * m, n)
    sizes = {"M": m, "N": n, "K": k, "IN_TENSOR_MEMORY": tmem, "COMMIT": commit}
    launch = compile_kernel(product, (ctas,), a, b, c, device=b200(), **sizes, ctas_per_cga=(min(ctas, 4), 1, 1))
    return launch, c, 2 * a.double() @ b.double()


@pytest.mark.parametrize("ctas", [2, 4, 8], ids=["a-pair", "two-pairs-a-cluster", "two-clusters"])
@pytest.mark.parametrize(("m", "n"), [(128, 128), (128, 256), (64, 128)])
@executes("ttng.tc_gen5_mma", "ttng.tmem_load", "ttng.map_to_remote_buffer")
def test_a_pair_multiplies_what_both_have(m: int, n: int, ctas: int):
    launch, c, wanted = prepared(m, n, ctas=ctas)
    both(launch)
    close(c, wanted)


@pytest.mark.parametrize("m", [64, 128])
def test_each_cta_has_its_rows_in_tensor_memory(m: int):
    launch, c, wanted = prepared(m, 128, tmem=True)
    both(launch)
    close(c, wanted)


def test_the_first_cta_commits_and_both_are_told():
    launch, c, wanted = prepared(128, 128, commit=True)
    assert "ttng.tc_gen5_commit" in launch.ttgir
    made = both(launch)
    close(c, wanted)
    assert [len(events(made.trace, "mma_commit", cta)) for cta in (0, 1)] == [1, 0]
    last = [events(made.trace, "wait", cta)[-1] for cta in (0, 1)]
    ran = [events(made.trace, "mma", cta, engine=True)[-1] for cta in (0, 1)]
    assert last[0]["released_by"] == ran[0]["row"]
    assert last[1]["released_by"] == ran[0]["row"]  # what the commit of the first CTA waited for


def test_the_ctas_of_a_pair_end_together():
    launch, _, _ = prepared(128, 128)
    made = both(launch)
    ends = {track.end for track in made.trace.tracks if track.kind == "warp_group"}
    assert len(ends) == 1


def test_a_pair_whose_other_half_does_not_come():
    launch, _, _ = prepared(128, 128)
    alone = replace(launch, ttgir=re.sub(r"(init_barrier %ready\w*), 2", r"\1, 3", launch.ttgir))
    with pytest.raises(HangError, match=r"waits for ready\[0\]") as caught:
        execute(alone, device=b200())
    stuck = {(each["cta"], each["variable"]) for each in caught.value.report["waiters"]}
    assert stuck == {(0, "ready"), (1, "done")}
    # the second CTA waits for the tensor cores of the first, which another CTA has to let begin
    assert all(each["remote"] for each in caught.value.report["arrivers"] if each["variable"] == "done")


def test_pairs_need_clusters():
    launch, _, _ = prepared(128, 128)
    alone = replace(launch, ttgir=launch.ttgir.replace('"ttg.cluster-dim-x" = 2', '"ttg.cluster-dim-x" = 1'))
    with pytest.raises(UnsupportedOperation, match="in a kernel without clusters: launch it with ctas_per_cga"):
        execute(alone, device=b200())


@triton.jit
def loaded_for_the_leader(a_desc, b_desc, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Each CTA loads into its own memory; the first one's barrier counts the bytes of both."""
    half = tlx.cluster_cta_rank() % 2
    m, n = tl.arange(0, M), tl.arange(0, N)
    a, b = tlx.local_alloc((M, K), tl.float16, 1), tlx.local_alloc((K, N // 2), tl.float16, 1)
    sums = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    ready, done = tlx.alloc_barriers(1), tlx.alloc_barriers(1)
    if half == 0:
        tlx.barrier_expect_bytes(ready[0], 2 * 2 * (M * K + K * N // 2))
    tlx.async_descriptor_load(a_desc, a[0], [tl.program_id(0) * M, 0], ready[0], two_ctas=tl.constexpr(True))
    tlx.async_descriptor_load(b_desc, b[0], [0, half * (N // 2)], ready[0], two_ctas=tl.constexpr(True))
    tlx.barrier_wait(ready[0], 0, pred=half == 0)
    tlx.async_dot(a[0], b[0], sums[0], use_acc=False, mBarriers=[done[0]], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    row = tl.program_id(0) * M + m
    tl.store(c_ptr + row[:, None] * N + n[None, :], tlx.local_load(sums[0]))


@executes("ttng.async_tma_copy_global_to_local", "ttng.tc_gen5_mma")
def test_loads_of_both_ctas_tell_the_barrier_of_the_first():
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = 128, 128, 64
    a, b, c = torch.randn(2 * m, k).half(), torch.randn(k, n).half(), torch.zeros(2 * m, n)
    descriptors = [
        TensorDescriptor(each, each.shape, each.stride(), block) for each, block in ((a, [m, k]), (b, [k, n // 2]))
    ]
    made = both(
        compile_kernel(
            loaded_for_the_leader, (2,), *descriptors, c, device=b200(), M=m, N=n, K=k, ctas_per_cga=(2, 1, 1)
        )
    )
    close(c, a.double() @ b.double())
    landed = [events(made.trace, "tma_load", cta, engine=True) for cta in (0, 1)]
    assert [len(each) for each in landed] == [2, 2]
    (wait,) = [
        each for each in events(made.trace, "wait", 0) if each["released_by"] < events(made.trace, "mma", 0)[0]["row"]
    ]
    last = max((each for cta in landed for each in cta), key=lambda each: (each["end"], each["row"]))
    assert wait["released_by"] == last["row"]


def test_a_replay_has_the_products_of_both_ctas():
    launch, _, _ = prepared(128, 128)
    replayed, made = replay(launch, b200(), [0]), execute(launch, device=b200())
    assert replayed.cycles == made.cycles
    first = TENSOR_CORE * len(replayed.program.sites)
    assert [cta.rank for cta in replayed.ctas] == [0, 1]
    for cta in replayed.ctas:
        ran = [dict(zip(COLUMNS, row, strict=True)) for row in cta.rows.tolist() if row[0] >= first]
        wanted = events(made.trace, "mma", cta.cta, engine=True)
        assert [(each["begin"], each["end"]) for each in ran] == [(each["begin"], each["end"]) for each in wanted]
        assert {(each["run"], each["released_rank"]) for each in ran} == {(0, 0)}
