"""Shared memory: loads, stores, matrices, and the fence before the TMA engine reads it."""

from __future__ import annotations

from collections.abc import Iterator

from tlxviz.calibrate.kernel import kernel, repeated, timed
from tlxviz.calibrate.lab import Machine, benchmark, per_turn
from tlxviz.calibrate.results import Measurement, measured

_UNROLLED = 16

FILLED = """
{
    .reg .b32 at, where;
    .reg .pred more;
    shl.b32 at, tid, 2;
FILL:
    add.u32 where, base, at;
    st.shared.b32 [where], base;
    mov.u32 where, %ntid.x;
    mad.lo.u32 at, where, 4, at;
    setp.lt.u32 more, at, 65536;
    @more bra FILL;
}"""
"""Every word holds the address of the first."""

_SHARED = 65536


@benchmark("shared.latency")
def latency(machine: Machine) -> Iterator[Measurement]:
    """From a load to the next one whose address it gives."""
    for name, code, extra in (
        ("ld.b32", "ld.shared.b32 v0, [v0];", 0),
        ("ld.v4.b32", "ld.shared.v4.b32 {v0, v1, v2, v3}, [v0];", 0),
        ("ldmatrix.x1", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {v0}, [v0];", 0),
        ("ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {v0, v1, v2, v3}, [v0];", 0),
        ("atom.add", "atom.shared.add.u32 v0, [v0], 0;", 0),
    ):
        body = "\n".join([f"    {code}"] * _UNROLLED)
        before = "    .reg .b32 v<4>;\n    mov.b32 v0, base;\n" + FILLED
        after = "{ .reg .pred odd; setp.eq.u32 odd, v0, 123; @odd st.global.u32 [out], v0; }"
        made = kernel(
            f"shared_latency_{name}", timed(repeated(body), before=before, after=after), threads=32, shared=_SHARED
        )
        turns = per_turn(machine, made, threads=32)
        yield measured("shared.latency", [turn / _UNROLLED - extra for turn in turns], op=name)


@benchmark("shared.rate")
def rate(machine: Machine) -> Iterator[Measurement]:
    """Bytes per cycle and SM, each warp on consecutive addresses."""
    for name, code, size in (
        ("ld.b32", "ld.shared.b32 v{n0}, [at+{offset}];", 4),
        ("ld.v4.b32", "ld.shared.v4.b32 {{v{n0}, v{n1}, v{n2}, v{n3}}}, [at+{offset}];", 16),
        ("st.b32", "st.volatile.shared.b32 [at+{offset}], v0;", 4),
        ("st.v4.b32", "st.volatile.shared.v4.b32 [at+{offset}], {{v0, v1, v2, v3}};", 16),
        ("ldmatrix.x4", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{v{n0}, v{n1}, v{n2}, v{n3}}}, [at+{offset}];", 16),
        (
            "ldmatrix.x4.trans",
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{v{n0}, v{n1}, v{n2}, v{n3}}}, [at+{offset}];",
            16,
        ),
        ("stmatrix.x4", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [at+{offset}], {{v0, v1, v2, v3}};", 16),
    ):
        reads = name.startswith("ld")
        lines: list[str] = []
        for step in range(_UNROLLED):
            numbers = {f"n{each}": 4 * (step % 8) + each for each in range(4)}
            lines.append("    " + code.format(offset=512 * step, **numbers))
            if reads:
                first = 4 * (step % 8)
                if size == 4:
                    lines.append(f"    xor.b32 v40, v{first}, v40;")
                else:
                    lines.append(f"    lop3.b32 v40, v{first}, v{first + 1}, v40, 0x96;")
                    lines.append(f"    lop3.b32 v41, v{first + 2}, v{first + 3}, v41, 0x96;")
        before = f"""
    .reg .b32 v<42>, at;
    mad.lo.u32 at, tid, {size}, base;
    mov.b32 v0, tid;
    mov.b32 v1, lane;
    mov.b32 v2, base;
    mov.b32 v3, warp;
    mov.b32 v40, 0;
    mov.b32 v41, 0;
{FILLED}"""
        after = "{ .reg .pred odd; xor.b32 v40, v40, v41; setp.eq.u32 odd, v40, 123; @odd st.global.u32 [out], v40; }"
        body = "\n".join(lines)
        if reads:  # so that no turn reads what the one before read
            body += "\n    xor.b32 at, at, 16384;"
        made = kernel(
            f"shared_rate_{name}", timed(repeated(body), before=before, after=after), threads=1024, shared=_SHARED
        )
        for warps in (1, 4, 8, 16):
            turns = per_turn(machine, made, threads=32 * warps)
            yield measured(
                "shared.rate",
                [_UNROLLED * 32 * warps * size / turn for turn in turns],
                "bytes/cycle/SM",
                op=name,
                warps=warps,
            )


@benchmark("shared.conflicts")
def conflicts(machine: Machine) -> Iterator[Measurement]:
    """Cycles of a warp's store of 4 bytes a thread, by the number of words between neighbours."""
    for stride in (1, 2, 4, 8, 16, 32):
        before = f"    .reg .b32 at;\n    mad.lo.u32 at, lane, {4 * stride}, base;\n    mad.lo.u32 at, warp, 4096, at;"
        body = "\n".join(["    st.volatile.shared.b32 [at], tid;"] * _UNROLLED)
        made = kernel(f"shared_conflicts_{stride}", timed(repeated(body), before=before), threads=128, shared=_SHARED)
        turns = per_turn(machine, made, threads=128)
        yield measured("shared.conflicts", [turn / _UNROLLED / 4 for turn in turns], stride=stride)


FENCE = "    fence.proxy.async.shared::cta;"


@benchmark("shared.fence")
def fence(machine: Machine) -> Iterator[Measurement]:
    """Fences in a loop, by 4 warps: alone, after stores, and with the meeting that comes before a TMA store."""
    stores = "\n".join(f"    st.volatile.shared.v4.b32 [at+{2048 * step}], {{v0, v0, v0, v0}};" for step in range(8))
    meet = "    bar.sync 1, 128;"
    for name, code in (
        ("fence.proxy.async", FENCE),
        ("fence.cta", "    fence.acq_rel.cta;"),
        ("fence.gpu", "    fence.acq_rel.gpu;"),
        ("stores", stores),
        ("stores+fence", stores + "\n" + FENCE),
        ("stores+meeting", stores + "\n" + meet),
        ("stores+fence+meeting", stores + "\n" + FENCE + "\n" + meet),
        ("meeting+fence", meet + "\n" + FENCE),
    ):
        before = "    .reg .b32 at, v0;\n    mad.lo.u32 at, tid, 16, base;\n    mov.b32 v0, tid;"
        body = "\n".join([code] * 4)
        made = kernel(f"fence_{name}", timed(repeated(body), before=before), threads=128, shared=_SHARED)
        for warps in (1, 4) if "meeting" not in name else (4,):
            turns = per_turn(machine, made, threads=32 * warps)
            yield measured("shared.fence", [turn / 4 for turn in turns], what=name, warps=warps)
