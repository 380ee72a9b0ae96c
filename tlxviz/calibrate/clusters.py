"""Clusters: barriers of two CTAs, their shared memory, multicast."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import kernel, repeated, timed, wait
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.mbarriers import initialised
from tlxviz.calibrate.results import Measurement, measured


@benchmark("cluster.barrier")
def barrier(machine: Machine) -> Iterator[Measurement]:
    """Cluster barriers over and over, relaxed and with release and acquire."""
    for ctas in (2, 4):
        for name, code in (
            ("relaxed", "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"),
            ("release", "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"),
        ):
            body = repeated("\n".join([f"    {code}"] * 8))
            made = kernel(f"cluster_{name}_{ctas}", timed(body), threads=384, cluster=ctas)
            for threads in (64, 128, 384):
                turns = per_turn(machine, made, threads=threads, grid=ctas)
                yield measured("cluster.barrier", [t / 8 for t in turns], kind=name, ctas=ctas, warps=threads // 32)


@benchmark("cluster.load")
def load(machine: Machine) -> Iterator[Measurement]:
    """A load from the shared memory of another CTA whose address the one before gave."""
    for ctas in (2, 8):
        before = """
    .reg .b32 at, peer, rank;
    mov.u32 rank, %cluster_ctarank;
    xor.b32 rank, rank, 1;
    mapa.shared::cluster.u32 peer, base, rank;
    mov.u32 at, peer;
    mapa.shared::cluster.u32 rank, base, rank;
    st.shared.b32 [base], base;
{
    .reg .b32 own, number;
    mov.u32 number, %cluster_ctarank;
    mapa.shared::cluster.u32 own, base, number;
    st.shared.b32 [base], own;
}
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;"""
        body = "\n".join(["    ld.shared::cluster.b32 at, [at];"] * 8)
        after = """
{ .reg .pred odd; setp.eq.u32 odd, at, 123; @odd st.global.u32 [out], at; }
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;"""
        made = kernel(
            f"cluster_load_{ctas}",
            timed(repeated(body), before=before, after=after),
            threads=32,
            shared=1024,
            cluster=ctas,
        )
        turns = per_turn(machine, made, threads=32, grid=ctas)
        yield measured("cluster.load", [t / 8 for t in turns], ctas=ctas)


@benchmark("cluster.ping_pong")
def ping_pong(machine: Machine) -> Iterator[Measurement]:
    """A round trip of two CTAs that arrive on each other's mbarriers."""
    code = f"""
{{
    .reg .b32 theirs, rank, parity;
    .reg .pred second, first;
    mov.u32 rank, %cluster_ctarank;
    setp.eq.u32 second, rank, 1;
    setp.eq.u32 first, tid, 0;
    xor.b32 rank, rank, 1;
    mapa.shared::cluster.u32 theirs, base, rank;
    @second bra BACK;
{
        repeated(f'''
    @first mbarrier.arrive.shared::cluster.b64 _, [theirs];
    and.b32 parity, turn, 1;
{wait("base", "parity")}
''')
    }
    bra OVER;
BACK:
{
        repeated(f'''
    and.b32 parity, turn, 1;
{wait("base", "parity")}
    @first mbarrier.arrive.shared::cluster.b64 _, [theirs];
''')
    }
OVER:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
}}"""
    before = initialised(1, 1) + "\n    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;"
    made = kernel("cluster_ping_pong", timed(code, before=before), threads=32, shared=1024, cluster=2)
    yield measured("cluster.ping_pong", per_turn(machine, made, threads=32, grid=2), ctas=2)
