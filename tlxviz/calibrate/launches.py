"""Launches: of kernels, of CTAs, of the partitions of a warp-specialized kernel; and the clocks themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tlxviz.calibrate.kernel import SETTLED, Kernel, clock, kernel, nanoseconds, repeated, spin, store
from tlxviz.calibrate.lab import Machine, benchmark
from tlxviz.calibrate.results import Measurement, measured

_ROUNDS = 40


@benchmark("clock.read")
def clock_read(machine: Machine) -> Iterator[Measurement]:
    """Cycles between two reads of the clock, and the SM clock while little else happens."""
    made = kernel(
        "clock_read",
        f"""
    .reg .b64 t0, t1, t2, g0, g1;
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
{
            repeated(f'''
{clock("t0")}
{clock("t1")}
{nanoseconds("g0")}
{spin("20000")}
{clock("t2")}
{nanoseconds("g1")}
{store("turn", "t0", "t1", "t2", "g0", "g1")}
''')
        }
OVER:""",
        threads=32,
    )
    words = machine.run(made, 5 * 400, n=400)
    rounds = [words[at : at + 5] for at in range(0, len(words), 5)]
    yield measured("clock.read", [w[1] - w[0] for w in rounds])
    span = rounds[-1][4] - rounds[10][4]
    yield measured("clock.mhz", [1000 * (rounds[-1][2] - rounds[10][2]) / max(1, span)], "MHz")
    made = kernel(
        "timer_step",
        f"""
    .reg .b64 now;
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
{
            repeated(f'''
{nanoseconds("now")}
{store("turn", "now")}
''')
        }
OVER:""",
        threads=32,
    )
    words = machine.run(made, 4000, n=4000)
    steps = [b - a for a, b in pairwise(words) if b > a]
    yield measured("clock.globaltimer_step", [min(steps)], "ns")


EMPTY = "    .reg .pred none;"


@benchmark("launch.interval")
def interval(machine: Machine) -> Iterator[Measurement]:
    """Nanoseconds from one empty kernel of a CUDA graph to the next."""
    for threads, shared in ((128, 0), (384, 0), (384, 200 << 10)):
        made = kernel(f"empty_{threads}_{shared}", EMPTY, threads=threads, shared=shared)
        for grid in (1, machine.sms, 4 * machine.sms):
            if shared and grid > machine.sms:
                continue
            machine.run(made, 1, grid=grid)
            times: list[list[float]] = []
            for count in (50, 250):

                def launches(made: Kernel = made, grid: int = grid, count: int = count) -> None:
                    for _ in range(count):
                        machine.launch(made, grid=grid)

                times.append(machine.graph_microseconds(launches, 9))
            samples = [1000 * (many - few) / 200 for few, many in zip(*times, strict=True)]
            yield measured("launch.interval", samples, "ns", threads=threads, shared=shared, grid=grid)


def stamped(threads: int, shared: int, name: str, inside: str = "") -> Kernel:
    """Each CTA writes its SM, its first clock and nanosecond, and its last, after `pa` cycles."""
    return kernel(
        f"stamped_{name}_{threads}_{shared}",
        f"""
    .reg .b64 t0, t1, g0, g1, where;
    .reg .b32 sm, delay;
    .reg .pred other;
{clock("t0")}
{nanoseconds("g0")}
    cvt.u32.u64 delay, pa;
    mov.u32 sm, %smid;
    cvt.u64.u32 where, sm;
{inside}
{spin("delay")}
    bar.sync 0;
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
{nanoseconds("g1")}
{clock("t1")}
{store("cta", "where", "t0", "t1", "g0", "g1")}
OVER:""",
        threads=threads,
        shared=shared,
    )


@benchmark("launch.boundary")
def boundary(machine: Machine) -> Iterator[Measurement]:
    """From the last clock of one kernel of a graph to the first of the next, on an SM."""
    for threads, shared in ((128, 0), (384, 200 << 10)):
        made = stamped(threads, shared, "boundary")
        machine.run(made, 5 * machine.sms, grid=machine.sms, a=3000)
        count = 24
        step = 5 * machine.sms

        def launches(made: Kernel = made, count: int = count, step: int = step) -> None:
            for number in range(count):
                machine.launch(made, grid=machine.sms, a=3000, out=number * step)

        machine.graph_microseconds(launches, 2)
        words = machine.words(count * step)
        by_launch = [
            {words[at]: words[at + 1 : at + 5] for at in range(number * step, (number + 1) * step, 5)}
            for number in range(count)
        ]
        cycles: list[float] = []
        times: list[float] = []
        starts: list[float] = []
        for one, two in pairwise(by_launch[4:]):
            cycles += [two[sm][0] - one[sm][1] for sm in one if sm in two]
            times.append(min(w[2] for w in two.values()) - max(w[3] for w in one.values()))
            starts.append(max(w[2] for w in two.values()) - min(w[2] for w in two.values()))
        yield measured("launch.boundary_cycles", cycles, threads=threads, shared=shared)
        yield measured("launch.boundary_time", times, "ns", threads=threads, shared=shared)
        yield measured("launch.first_ctas_spread", starts, "ns", threads=threads, shared=shared)


@benchmark("launch.turnover")
def turnover(machine: Machine) -> Iterator[Measurement]:
    """On an SM that holds so many CTAs: from the last clock of one CTA to the first of the one in its place."""
    for threads, shared, per_sm in (
        (128, 200 << 10, 1),
        (384, 200 << 10, 1),
        (1024, 200 << 10, 1),
        (128, 100 << 10, 2),
        (256, 50 << 10, 4),
    ):
        made = stamped(threads, shared, "turnover")
        for delay in (1000, 8000):
            grid = machine.sms * per_sm * 12
            gaps: list[float] = []
            words = machine.run(made, 5 * grid, grid=grid, a=delay)
            sms: dict[int, list[tuple[int, int]]] = {}
            for at in range(0, len(words), 5):
                sms.setdefault(words[at], []).append((words[at + 1], words[at + 2]))
            for ctas in sms.values():
                ends = sorted(end for _, end in ctas)
                begins = sorted(begin for begin, _ in ctas)
                # the k-th CTA to start after the first `per_sm` takes the place of the k-th to end
                gaps += [begin - end for end, begin in zip(ends, begins[per_sm:], strict=False)]
            yield measured("launch.turnover", gaps, threads=threads, per_sm=per_sm, after=delay)


@benchmark("launch.setmaxnreg")
def setmaxnreg(machine: Machine) -> Iterator[Measurement]:
    """Clock reads around setmaxnreg: one warp group gives registers up, two take them."""
    made = kernel(
        "setmaxnreg",
        f"""
    .reg .b64 t0, t1;
    .reg .pred gives, other;
    setp.ge.u32 gives, warp, 8;
    bar.sync 0;
    @gives bra GIVE;
{clock("t0")}
    setmaxnreg.inc.sync.aligned.u32 232;
{clock("t1")}
    bra DONE;
GIVE:
{clock("t0")}
    setmaxnreg.dec.sync.aligned.u32 40;
{clock("t1")}
DONE:
    setp.ne.u32 other, lane, 0;
    @other bra OVER;
{{
    .reg .b32 place;
    mad.lo.u32 place, cta, 12, warp;
{store("place", "t0", "t1")}
}}
OVER:""",
        threads=384,
        exact=True,
        registers=168,
    )
    taken: list[float] = []
    given: list[float] = []
    after: list[float] = []
    for repeat in range(20):
        words = machine.run(made, 24 * machine.sms, grid=machine.sms)
        if repeat < 2:
            continue
        for at in range(0, len(words), 24):
            w = words[at : at + 24]
            taken += [w[2 * warp + 1] - w[2 * warp] for warp in range(8)]
            given += [w[2 * warp + 1] - w[2 * warp] for warp in range(8, 12)]
            after.append(max(w[1:16:2]) - max(w[17::2]))
    yield measured("launch.setmaxnreg", given, what="give")
    yield measured("launch.setmaxnreg", taken, what="take")
    yield measured("launch.setmaxnreg", after, what="from given to taken")


@benchmark("launch.partitions")
def partitions(machine: Machine) -> Iterator[Measurement]:
    """Two partitions started as Triton does: from the default's first store to their first instruction, and back."""
    made = kernel(
        "partitions",
        f"""
    .reg .b64 t0, t1, x0, x1, x2;
    .reg .b32 state, at, captured;
    .reg .pred worker, other, ends, first;
    setp.ge.u32 worker, warp, 4;
    setp.ne.u32 other, lane, 0;
    setp.eq.u32 first, tid, 0;
    @worker bra WORKER;
{
            repeated(f'''
{spin("2000")}
    bar.sync 2, 128;
{SETTLED}
{clock("t0")}
    @first st.shared.u64 [base+64], pa;
    @first st.shared.u64 [base+72], pb;
    @first st.shared.u64 [base+80], out;
    @first st.shared.v2.b32 [base], {{16843009, 16843009}};
    bar.sync 1, 384;
    bar.sync 1, 384;
    bar.sync 1, 384;
{SETTLED}
{clock("t1")}
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, 12, warp;
    @other bra NEXT;
{store("place", "t0", "t1")}
NEXT:
}}
''')
        }
    @first st.shared.v2.b32 [base], {{0, 0}};
    bar.sync 1, 384;
    bra OVER;
WORKER:
    mov.b32 captured, 0;
    add.u32 at, base, warp;
    add.u32 at, at, -4;
WAIT:
    bar.sync 1, 384;
    ld.shared.u8 state, [at];
    setp.eq.u32 ends, state, 0;
    @ends bra OVER;
    ld.shared.u64 x0, [base+64];
    ld.shared.u64 x1, [base+72];
    ld.shared.u64 x2, [base+80];
    bar.sync 1, 384;
    add.u64 x0, x0, x1;
    add.u64 x2, x2, x0;
    sub.u64 x2, x2, x0;
{SETTLED}
{clock("t0")}
{spin("500")}
{clock("t1")}
{{
    .reg .b32 place;
    .reg .b64 to;
    mad.lo.u32 place, captured, 12, warp;
    mad.wide.u32 to, place, 16, x2;
    @other bra SKIP;
    st.global.u64 [to], t0;
    st.global.u64 [to+8], t1;
SKIP:
}}
    add.u32 captured, captured, 1;
    bar.sync 1, 384;
    bra WAIT;
OVER:""",
        threads=384,
        shared=1024,
    )
    words = machine.run(made, 24 * _ROUNDS, n=_ROUNDS)
    rounds = [words[at : at + 24] for at in range(24 * 4, len(words), 24)]
    yield measured("launch.partitions", [max(w[8::2]) - min(w[0:8:2]) for w in rounds], what="start")
    yield measured("launch.partitions", [max(w[1:8:2]) - max(w[9::2]) for w in rounds], what="join")
