"""Named barriers: meetings of threads, and hand-offs by bar.arrive."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import SETTLED, clock, kernel, repeated, spin, store, timed
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured

_ROUNDS = 40


@benchmark("named_barrier.meeting")
def meeting(machine: Machine) -> Iterator[Measurement]:
    """bar.sync over and over by all threads of a CTA."""
    for threads in (32, 64, 128, 256, 384, 512, 768, 1024):
        body = repeated("\n".join([f"    bar.sync 1, {threads};"] * 16))
        made = kernel(f"meeting_{threads}", timed(body), threads=threads)
        turns = per_turn(machine, made, threads=threads)
        yield measured("named_barrier.meeting", [turn / 16 for turn in turns], threads=threads)


@benchmark("named_barrier.single")
def single(machine: Machine) -> Iterator[Measurement]:
    """Clock reads around one meeting at which all arrive within a few cycles, and around a warp's own."""
    for name, threads, code in (
        ("nothing", 128, ""),
        ("read of shared memory", 128, SETTLED),
        ("bar.sync and read", 128, "    bar.sync 1, 128;" + SETTLED),
        ("bar.sync and read", 256, "    bar.sync 1, 256;" + SETTLED),
        ("bar.sync and read", 1024, "    bar.sync 1, 1024;" + SETTLED),
        ("bar.warp.sync", 128, "    bar.warp.sync -1;"),
    ):
        warps = threads // 32
        made = kernel(
            f"single_{name}_{threads}",
            f"""
    .reg .b64 t0, t1;
    .reg .pred leader;
    setp.eq.u32 leader, lane, 0;
{
                repeated(f'''
    bar.sync 0;
{SETTLED}
{clock("t0")}
{code}
{clock("t1")}
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, {warps}, warp;
    @!leader bra SKIP;
{store("place", "t0", "t1")}
SKIP:
}}
''')
            }""",
            threads=threads,
            shared=1024,
        )
        words = machine.run(made, 2 * warps * _ROUNDS, n=_ROUNDS)
        pairs = [words[at + 1] - words[at] for at in range(8 * warps, len(words), 2)]
        yield measured("named_barrier.single", pairs, op=name, threads=threads)


@benchmark("named_barrier.hand_off")
def hand_off(machine: Machine) -> Iterator[Measurement]:
    """From before the last bar.arrive of a warp group to after the bar.sync of another and a read of shared memory."""
    made = kernel(
        "named_hand_off",
        f"""
    .reg .b64 t0, t1;
    .reg .b32 delay;
    .reg .pred arrives, leader;
    cvt.u32.u64 delay, pa;
    setp.ge.u32 arrives, warp, 4;
    setp.eq.u32 leader, lane, 0;
{
            repeated(f'''
    bar.sync 0;
    @arrives bra ARRIVE;
{clock("t0")}
    bar.sync 1, 256;
{SETTLED}
{clock("t1")}
    bra DONE;
ARRIVE:
{spin("delay")}
{clock("t0")}
    bar.arrive 1, 256;
{clock("t1")}
DONE:
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, 8, warp;
    @!leader bra SKIP;
{store("place", "t0", "t1")}
SKIP:
}}
''')
        }""",
        threads=256,
        shared=1024,
    )
    for delay in (100, 1000, 10000):
        words = machine.run(made, 16 * _ROUNDS, n=_ROUNDS, a=delay)
        rounds = [words[at : at + 16] for at in range(64, len(words), 16)]
        yield measured("named_barrier.hand_off", [max(w[1:8:2]) - max(w[8:16:2]) for w in rounds], after=delay)
        yield measured(
            "named_barrier.arrive", [w[9 + 2 * at] - w[8 + 2 * at] for w in rounds for at in range(4)], after=delay
        )


@benchmark("named_barrier.ping_pong")
def ping_pong(machine: Machine) -> Iterator[Measurement]:
    """A round trip between two warp groups by bar.arrive and bar.sync of 256 threads."""
    forward = "    bar.arrive 1, 256;\n    bar.sync 2, 256;"
    back = "    bar.sync 1, 256;\n    bar.arrive 2, 256;"
    made = kernel(
        "named_ping_pong",
        timed(f"""
{{
    .reg .pred second;
    setp.ge.u32 second, warp, 4;
    @second bra BACK;
{repeated(forward)}
    bra OVER;
BACK:
{repeated(back)}
OVER:
}}"""),
        threads=256,
    )
    yield measured("named_barrier.ping_pong", per_turn(machine, made, threads=256))
