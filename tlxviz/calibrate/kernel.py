"""PTX of microbenchmarks: one signature for all of them, and the pieces that they share.

A body finds these registers: `out` (where its words go), `pa`, `pb` (two numbers or addresses), `n` (a count), `tid`,
`lane`, `warp`, `cta`, `base` (the CTA's dynamic shared memory), and the address of a tensor map in `map`. Labels and
registers of the pieces below live in braces of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

POLLS = 4096
"""Tries after which a wait is given up: a fault must not become a hang."""


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    ptx: str
    threads: int
    """Of a CTA, at most."""
    shared: int = 0
    """Bytes of dynamic shared memory."""
    cluster: int = 1
    """CTAs of a cluster."""


def kernel(
    name: str, body: str, *, threads: int, shared: int = 0, cluster: int = 1, exact: bool = False, registers: int = 0
) -> Kernel:
    """A kernel of at most `threads` threads; `exact` promises that many, as setmaxnreg wants it."""
    bound = f".reqntid {threads}" if exact else f".maxntid {threads}"
    if cluster > 1:
        bound += "\n.explicitcluster"
    if registers:
        bound += f"\n.maxnreg {registers}"
    name = "".join(character if character.isalnum() else "_" for character in name)
    ptx = f"""
.version 8.1
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry {name}(
    .param .u64 p_out, .param .u64 p_a, .param .u64 p_b, .param .u32 p_n, .param .align 64 .b8 p_map[128]
)
{bound}
{{
    .reg .b64 out, pa, pb, map;
    .reg .b32 n, tid, lane, warp, cta, base;
    .reg .pred failed;
    ld.param.u64 out, [p_out];
    ld.param.u64 pa, [p_a];
    ld.param.u64 pb, [p_b];
    ld.param.u32 n, [p_n];
    mov.b64 map, p_map;
    cvta.param.u64 map, map;
    mov.u32 tid, %tid.x;
    and.b32 lane, tid, 31;
    shr.u32 warp, tid, 5;
    shfl.sync.idx.b32 warp, warp, 0, 31, -1;
    mov.u32 cta, %ctaid.x;
    mov.u32 base, dynamic;
    setp.ne.u32 failed, n, n;
{body}
    @failed st.global.u64 [out+-8], 1;
    ret;
}}
"""
    return Kernel(name, ptx, threads, shared, cluster)


def repeated(body: str, count: str = "n") -> str:
    """`body`, `count` times (at least once); `turn` counts from 0."""
    return f"""
{{
    .reg .b32 turn;
    .reg .pred again;
    mov.b32 turn, 0;
REPEAT:
    .pragma "nounroll";
{body}
    add.u32 turn, turn, 1;
    setp.lt.u32 again, turn, {count};
    @again bra REPEAT;
}}"""


def clock(register: str) -> str:
    return f"    mov.u64 {register}, %clock64;"


def nanoseconds(register: str) -> str:
    return f"    mov.u64 {register}, %globaltimer;"


def store(index: str, *values: str) -> str:
    """Words of `out` from `index` times the number of values on."""
    size = 8 * len(values)
    lines = [f"    st.global.u64 [store_to+{8 * number}], {value};" for number, value in enumerate(values)]
    return "\n".join(["{", "    .reg .b64 store_to;", f"    mad.wide.u32 store_to, {index}, {size}, out;", *lines, "}"])


ELECTED = """
    .reg .pred elected;
    elect.sync _|elected, -1;
"""
"""`elected` holds in one thread of a warp: what TMA copies are issued under, as in Triton's code. A branch to one
thread would make the compiler loop over the threads that might have got there."""


def wait(barrier: str, parity: str) -> str:
    """Waits as Triton does, but not for ever: a wait that is given up is noted in the word before `out`."""
    return f"""
{{
    .reg .pred done, more;
    .reg .b32 tries;
    mov.b32 tries, {POLLS};
AGAIN:
    mbarrier.try_wait.parity.shared::cta.b64 done, [{barrier}], {parity};
    sub.u32 tries, tries, 1;
    setp.ne.and.u32 more, tries, 0, !done;
    @more bra.uni AGAIN;
    or.pred failed, failed, !done;
}}"""


def ready(barrier: str, parity: str) -> str:
    """A wait exactly as Triton writes it, for a phase that is complete."""
    return f"""
{{
    .reg .pred done;
AGAIN:
    mbarrier.try_wait.parity.shared::cta.b64 done, [{barrier}], {parity};
    @!done bra.uni AGAIN;
}}"""


SETTLED = """
{
    .reg .b32 seen;
    .reg .pred odd;
    ld.volatile.shared.b32 seen, [base];
    setp.eq.u32 odd, seen, 0x7f1b3d5f;
    @odd st.global.u32 [out], seen;
}"""
"""Waits until a meeting is over: after bar.sync a warp goes on for some instructions, reads of the clock among them."""


def spin(cycles: str) -> str:
    """Passes at least so many cycles."""
    return f"""
{{
    .reg .b64 begin, now, passed, wanted;
    .reg .pred more;
    cvt.u64.u32 wanted, {cycles};
    mov.u64 begin, %clock64;
SPIN:
    mov.u64 now, %clock64;
    sub.u64 passed, now, begin;
    setp.lt.u64 more, passed, wanted;
    @more bra SPIN;
}}"""


def timed(work: str, before: str = "", after: str = "") -> str:
    """All warps together: `before`, a meeting, the clock, `work`, the clock; two words a warp of each CTA."""
    return f"""
    .reg .b64 t0, t1;
{before}
    bar.sync 0;
{clock("t0")}
{work}
{clock("t1")}
{after}
{{
    .reg .b32 warps, place;
    .reg .pred first;
    mov.u32 warps, %ntid.x;
    shr.u32 warps, warps, 5;
    mad.lo.u32 place, cta, warps, warp;
    setp.eq.u32 first, lane, 0;
    @!first bra END;
{store("place", "t0", "t1")}
END:
}}"""
