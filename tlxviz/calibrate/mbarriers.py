"""mbarriers: what arriving and waiting cost, and how fast one warp hears of another."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import Kernel, clock, kernel, ready, repeated, spin, store, timed, wait
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured

_ROUNDS = 40
_MANY = (1 << 20) - 1
"""Arrivals that a phase can take at most."""

INITIALISED = """
{{
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra READY;
    mbarrier.init.shared::cta.b64 [base], {first};
    mbarrier.init.shared::cta.b64 [base+8], {second};
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
}}"""


def initialised(first: int, second: int) -> str:
    return INITIALISED.format(first=first, second=second)


_UNROLLED = 16


def _loop(name: str, code: str, *, only_first: bool = False, before: str = "", first: int = _MANY) -> Kernel:
    """`code` over and over, by all threads or by thread 0 alone."""
    body = repeated("\n".join([code] * _UNROLLED))
    if only_first:
        body = f"""
{{
    .reg .pred other;
    setp.ne.u32 other, tid, 0;
    @other bra OVER;
{body}
OVER:
}}"""
    prepared = initialised(first, 1) + before
    return kernel(f"mbarrier_{name}", timed(body, before=prepared), threads=256, shared=1024)


ARRIVE = "    mbarrier.arrive.shared::cta.b64 _, [base];"
MEET_AND_ARRIVE = """{
    .reg .pred first;
    setp.eq.u32 first, tid, 0;
    bar.sync 1, 128;
    @first mbarrier.arrive.shared::cta.b64 _, [base];
}"""
"""As Triton arrives: the warp group meets, then one of its threads arrives."""
EXPECT = "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [base], 0;"
TRY = "{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [base], 1; @!done st.global.u64 [out+-8], 1; }"
TEST = (
    "{ .reg .pred done; mbarrier.test_wait.parity.shared::cta.b64 done, [base], 1; @!done st.global.u64 [out+-8], 1; }"
)


@benchmark("mbarrier.issue")
def issue(machine: Machine) -> Iterator[Measurement]:
    """One operation after the other on one barrier: arrive and expect by a thread, waits by 1 to 8 warps."""
    for name, code, first in (
        ("arrive", ARRIVE, True),
        ("expect", EXPECT, True),
        ("try_wait", TRY, False),
        ("test_wait", TEST, False),
    ):
        made = _loop(name, code, only_first=first)
        for warps in (1,) if first else (1, 4, 8):
            turns = per_turn(machine, made, threads=32 * warps)
            yield measured("mbarrier.issue", [turn / _UNROLLED for turn in turns], op=name, warps=warps)
    made = _loop("meet_and_arrive", MEET_AND_ARRIVE)
    turns = per_turn(machine, made, threads=128)
    yield measured("mbarrier.issue", [turn / _UNROLLED for turn in turns], op="meet_and_arrive", warps=4)


@benchmark("mbarrier.single")
def single(machine: Machine) -> Iterator[Measurement]:
    """Clock reads around one operation, and around none."""
    for name, code, warps in (
        ("nothing", "", 1),
        ("arrive", ARRIVE, 1),
        ("expect", EXPECT, 1),
        ("try_wait", ready("base", "1"), 1),
        ("try_wait", ready("base", "1"), 4),
        (
            "meet_and_arrive",
            MEET_AND_ARRIVE,
            4,
        ),
    ):
        guard = name in ("arrive", "expect")
        body = f"""
    .reg .b64 t0, t1;
    .reg .pred others, leader;
    setp.ne.u32 others, tid, 0;
    setp.eq.u32 leader, lane, 0;
{initialised(_MANY, 1)}
{
            repeated(f'''
    bar.sync 0;
    {"@others bra SKIP;" if guard else ""}
{clock("t0")}
{code}
{clock("t1")}
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, {warps}, warp;
    @!leader bra SKIP;
{store("place", "t0", "t1")}
}}
SKIP:
''')
        }"""
        made = kernel(f"mbarrier_single_{name}_{warps}", body, threads=32 * warps, shared=1024)
        words = machine.run(made, 2 * warps * _ROUNDS, n=_ROUNDS)
        pairs = [words[at + 1] - words[at] for at in range(8 * warps, len(words), 2)]
        yield measured("mbarrier.single", pairs, op=name, warps=warps)


def hand_off(waiters: int, arriver: str) -> Kernel:
    """Warp groups 0 (waits) and 1 (arrives, `pa` cycles later). Words of a warp and round: before, after."""
    meets = arriver == "group"
    arrive = "    bar.sync 2, 128;\n" if meets else ""
    return kernel(
        f"mbarrier_hand_off_{waiters}_{arriver}",
        f"""
    .reg .b64 t0, t1;
    .reg .b32 delay, parity, leader;
    .reg .pred arrives, first, idle, busy;
    cvt.u32.u64 delay, pa;
    setp.ge.u32 arrives, warp, 4;
    setp.eq.u32 first, tid, 128;
    setp.ge.u32 idle, warp, {4 if waiters == 4 else 1};
    setp.gt.u32 busy, warp, {7 if meets else 4};
    mov.b64 t0, 0;
    mov.b64 t1, 0;
{initialised(1, 1)}
{
            repeated(f'''
    bar.sync 0;
    and.b32 parity, turn, 1;
    @arrives bra ARRIVE;
    @idle bra DONE;
{clock("t0")}
{wait("base", "parity")}
{clock("t1")}
    bra DONE;
ARRIVE:
    @busy bra DONE;
{spin("delay")}
{clock("t0")}
{arrive}    @first mbarrier.arrive.shared::cta.b64 _, [base];
{clock("t1")}
DONE:
{{
    .reg .b32 place;
    .reg .pred other;
    mad.lo.u32 place, turn, 8, warp;
    setp.ne.u32 other, lane, 0;
    @other bra SKIP;
{store("place", "t0", "t1")}
SKIP:
}}
''')
        }""",
        threads=256,
        shared=1024,
    )


@benchmark("mbarrier.hand_off")
def hand_off_cycles(machine: Machine) -> Iterator[Measurement]:
    """From before an arrival to after the wait of the last waiting warp, by the cycles that it has waited."""
    for waiters, arriver in ((1, "thread"), (4, "thread"), (4, "group")):
        made = hand_off(waiters, arriver)
        for delay in (100, 300, 1000, 3000, 10000):
            words = machine.run(made, 16 * _ROUNDS, n=_ROUNDS, a=delay)
            samples: list[float] = []
            first: list[float] = []
            for at in range(16 * 4, len(words), 16):
                begin = max(words[at + 8 : at + (16 if arriver == "group" else 10) : 2])
                ends = words[at + 1 : at + 2 * waiters : 2]
                samples.append(max(ends) - begin)
                first.append(min(ends) - begin)
            at_point: dict[str, int | str] = {"waiters": waiters, "arriver": arriver, "after": delay}
            yield measured("mbarrier.hand_off", samples, **at_point)
            if waiters > 1:
                yield measured("mbarrier.hand_off_first", first, **at_point)


def ping_pong(group: bool) -> Kernel:
    """Two warps, or two warp groups that arrive as Triton does, hand each other the turn."""
    meet = "    bar.sync number, 128;" if group else ""
    size = 128 if group else 32
    return kernel(
        f"mbarrier_ping_pong_{'groups' if group else 'warps'}",
        timed(
            f"""
{{
    .reg .b32 mine, theirs, parity, inside, number, which;
    .reg .pred second, first;
    div.u32 which, tid, {size};
    rem.u32 inside, tid, {size};
    setp.eq.u32 first, inside, 0;
    setp.eq.u32 second, which, 1;
    add.u32 number, which, 1;
    mad.lo.u32 mine, which, 8, base;
    sub.u32 theirs, 1, which;
    mad.lo.u32 theirs, theirs, 8, base;
    @second bra BACK;
{
                repeated(f'''
{meet}
    @first mbarrier.arrive.shared::cta.b64 _, [theirs];
    and.b32 parity, turn, 1;
{wait("mine", "parity")}
''')
            }
    bra OVER;
BACK:
{
                repeated(f'''
    and.b32 parity, turn, 1;
{wait("mine", "parity")}
{meet}
    @first mbarrier.arrive.shared::cta.b64 _, [theirs];
''')
            }
OVER:
}}""",
            before=initialised(1, 1),
        ),
        threads=2 * size,
        shared=1024,
    )


@benchmark("mbarrier.ping_pong")
def ping_pong_cycles(machine: Machine) -> Iterator[Measurement]:
    """A round trip between two warps, and between two warp groups whose 128 threads meet before one arrives."""
    for name, threads in (("warps", 64), ("groups", 256)):
        made = ping_pong(name == "groups")
        yield measured("mbarrier.ping_pong", per_turn(machine, made, threads=threads), between=name)


@benchmark("mbarrier.copy_wake")
def copy_wake(machine: Machine) -> Iterator[Measurement]:
    """A copy without a tensor from L2: from issue to the waiting warp's next instruction, by bytes."""
    for size in (16, 1024, 8192):
        body = f"""
    .reg .b64 t0, t1, t2;
    .reg .b32 parity, to;
    .reg .pred other, waits, leader;
    setp.ne.u32 other, tid, 0;
    setp.ge.u32 waits, warp, 1;
    setp.eq.u32 leader, lane, 0;
    add.u32 to, base, 1024;
    mov.b64 t1, 0;
    mov.b64 t2, 0;
{initialised(1, 1)}
{
            repeated(f'''
    bar.sync 0;
    and.b32 parity, turn, 1;
    @waits bra WAIT;
    @other bra SKIP;
{clock("t0")}
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [base], {size};
{clock("t1")}
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [pa], {size}, [base];
{clock("t2")}
    bra DONE;
WAIT:
{clock("t0")}
{wait("base", "parity")}
{clock("t1")}
DONE:
{{
    .reg .b32 place;
    mad.lo.u32 place, turn, 2, warp;
    @!leader bra SKIP;
{store("place", "t0", "t1", "t2")}
}}
SKIP:
''')
        }"""
        made = kernel(f"bulk_copy_{size}", body, threads=64, shared=16384)
        words = machine.run(made, 6 * _ROUNDS, n=_ROUNDS, a=machine.buffer("data", 64 << 20))
        rounds = [words[at : at + 6] for at in range(24, len(words), 6)]
        yield measured("bulk_copy.latency", [each[4] - each[1] for each in rounds], bytes=size)
        yield measured("bulk_copy.issue", [each[2] - each[1] for each in rounds], bytes=size)
