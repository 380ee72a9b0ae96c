"""Turns what a run left behind into a LaunchTrace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.clusters import ORIGIN
from tlxviz.sim.dispatch import Outcome
from tlxviz.sim.effects import multiplies, shares
from tlxviz.sim.engine import ROW, TENSOR_CORE, TMA, Cta, Row
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import Placement, place
from tlxviz.sim.reach import resident
from tlxviz.trace.build import empty_events, events_from_flat, events_from_rows
from tlxviz.trace.model import AgentRow, BarrierRow, BufferRow, Events, LaunchTrace, SiteRow, Track, TrackKind


def launch_trace(
    launch: CaughtLaunch,
    program: Program,
    device: Device,
    outcome: Outcome,
    *,
    per_sm: int,
    options: Mapping[str, Any],
    version: str,
    hang: dict[str, Any] | None,
    complete: bool,
) -> LaunchTrace:
    """The trace of one launch; of what there is, when it was interrupted or hangs."""
    tracks: list[Track] = []
    events = _events(
        program, outcome.traced, tracks, outcome.now if hang is None else hang["cycle"], hangs=hang is not None
    )
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    flop = sum(sm.flop for sm in outcome.sms)
    if outcome.done and outcome.done < total:
        flop = flop * total // outcome.done
    return LaunchTrace(
        kernel=launch.kernel,
        grid=launch.grid,
        arguments={name: shown(value) for name, value in launch.arguments.items()},
        device=device.to_manifest(),
        clock_mhz=clock_mhz(program, device),
        cycles=launch_cycles(launch, program, device, outcome) if hang is None else int(hang["cycle"]),
        flop=flop,
        tracks=tracks,
        agents=[AgentRow(a.name, a.role.value, a.task, a.warps, a.registers) for a in program.agents],
        sites=[
            SiteRow(
                site.kind.value,
                site.agent.index,
                _absolute(site.location.file),
                site.location.line,
                site.variable,
                site.operation.name,
                site.bytes,
            )
            for site in program.sites
        ],
        barriers=[BarrierRow(array.name, array.slots, array.counts) for array in program.barriers],
        buffers=[BufferRow(buffer.name, buffer.slots, buffer.bytes) for buffer in program.buffers],
        events=events,
        provenance={
            "recorder": "simulated",
            "versions": {"tlxviz": version, **launch.versions},
            "options": dict(options),
        },
        metadata=dict(launch.metadata),
        ttgir=launch.ttgir,
        source=launch.source,
        source_file=_absolute(launch.source_file),
        source_line=launch.source_line,
        statistics=_statistics(outcome, per_sm, total, place(program.cluster, launch.grid, device)),
        hang=hang,
        complete=complete,
    )


def _absolute(file: str) -> str:
    """The file with its whole path, whatever the current folder is called."""
    return os.path.abspath(file) if file else ""


def _events(program: Program, ctas: Sequence[Cta], tracks: list[Track], now: int, *, hangs: bool) -> Events:
    """The events of all traced CTAs; appends their tracks to `tracks`. What has not ended ends at cycle `now`."""
    pieces: list[Events] = []
    clusters: dict[int, list[Cta]] = {}
    for cta in sorted(ctas, key=lambda each: each.index):
        clusters.setdefault(id(cta.cluster or cta), []).append(cta)
    for together in clusters.values():
        together.sort(key=lambda each: each.rank)
        tables = [_agent_tracks(program, cta, tracks, now, hangs=hangs) for cta in together]
        if not any(cta.rows for cta in together):
            continue
        events = _from_rows([cta.rows for cta in together], program)
        for rank, (cta, table) in enumerate(zip(together, tables, strict=True)):
            _engine_tracks(program, cta, rank, table, tracks, events, now)
        events.columns["track"] = np.concatenate(tables)[events.columns["track"]]
        pieces.append(events)
    if not pieces:
        return empty_events()
    return pieces[0] if len(pieces) == 1 else Events.concat(pieces).in_order()


def _agent_tracks(program: Program, cta: Cta, tracks: list[Track], now: int, *, hangs: bool) -> NDArray[np.int32]:
    """Appends the tracks of a CTA's warp groups; gives the numbers of tracks by agent, with room for the engines."""
    table = np.full(_places(program), -1, np.int32)
    for run in cta.agents:
        agent = program.agents[run.index]
        table[run.index] = len(tracks)
        stop = run.end if run.done else max(now, run.begin)
        if hangs and not run.done and run.blocked is not None:
            if run.blocked[0] == "join":
                stop = int(run.blocked[2])
            elif run.blocked[1] >= 0:
                cta.rows.append(_open_wait(run.blocked, stop))
        cta.end = max(cta.end, stop)
        tracks.append(
            Track(TrackKind.WARP_GROUP, agent.name, cta.index, cta.sm.index, agent.index, agent.warps, run.begin, stop)
        )
    return table


def _engine_tracks(
    program: Program,
    cta: Cta,
    rank: int,
    table: NDArray[np.int32],
    tracks: list[Track],
    events: Events,
    now: int,
) -> None:
    """Appends the tracks of the engines that did something for a CTA."""
    agents = len(program.agents)
    used = set(np.unique(events["track"]).tolist())
    for engine, kind, name in ((TMA, TrackKind.TMA, "TMA"), (TENSOR_CORE, TrackKind.TENSOR_CORE, "tensor core")):
        if rank * _places(program) + agents + engine in used:
            table[agents + engine] = len(tracks)
            tracks.append(Track(kind, name, cta.index, cta.sm.index, -1, 0, cta.begin, cta.end))


def _places(program: Program) -> int:
    """Numbers that a CTA needs for its warp groups and engines."""
    return len(program.agents) + 3


def _open_wait(blocked: tuple[Any, ...], end: int) -> Row:
    """The event of a wait that never ended."""
    kind, site, since, outer, inner, target, key = blocked
    slot, phase = (target.slot, key) if kind == "wait" else (key, -1)
    return (site, int(since), max(end, int(since)), outer, inner, slot, phase, -1)


def _from_rows(ctas: Sequence[Sequence[Row]], program: Program) -> Events:
    """The events of one CTA, or of all CTAs of a cluster in the order of their ranks.

    `track` holds the number of the agent, or that of an engine after the last agent, plus `_places` for each rank.
    """
    sites = len(program.sites)
    agent_of = np.array([site.agent.index for site in program.sites], np.int32)
    bytes_of = np.array([site.bytes for site in program.sites], np.int64)
    columns = ("site", *ROW[1:])
    events = (
        events_from_rows(ctas[0], columns) if len(ctas) == 1 else events_from_flat(_joined(ctas, 3 * sites), columns)
    )
    rank, code = np.divmod(events["site"], 3 * sites)
    engine, site = np.divmod(code, sites)
    events.columns["site"] = site.astype(np.int32)
    agent = np.where(engine > 0, len(program.agents) + engine, agent_of[site])
    events.columns["track"] = (rank * _places(program) + agent).astype(np.int32)
    events.columns["bytes"] = bytes_of[site]
    return events


def _joined(ctas: Sequence[Sequence[Row]], codes: int) -> list[int]:
    """The rows of a cluster one after the other, with causes that count in all; a rank adds `codes` to codes."""
    tables = [np.array(rows, np.int64).reshape(-1, len(ROW)) for rows in ctas]
    first = np.cumsum([0, *(len(table) for table in tables)])
    for rank, table in enumerate(tables):
        table[:, 0] += rank * codes
        cause = table[:, -1]
        foreign = cause >> ORIGIN  # the rank plus one; -1 where there is no cause
        table[:, -1] = np.where(
            foreign < 0,
            -1,
            np.where(foreign == 0, cause + first[rank], (cause & (1 << ORIGIN) - 1) + first[foreign - 1]),
        )
    return np.concatenate(tables).reshape(-1).tolist()


def launch_cycles(launch: CaughtLaunch, program: Program, device: Device, outcome: Outcome) -> int:
    """The duration of a launch that ended: its CTAs and what launching costs; not less than DRAM takes for the
    arguments. In SM cycles."""
    cycles = max(outcome.cycles, _traffic_floor(launch, program, device, outcome))
    return cycles + round(device.launch.kernel_ns * device.clock.boost_mhz / 1000)


def footprint(launch: CaughtLaunch) -> int:
    """Bytes of the launch's tensors."""
    tensors = (tensor_of(value) for _, value in launch.parameters)
    return sum(
        {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if t is not None}.values()
    )


def clock_mhz(program: Program, device: Device) -> float:
    """The SM clock: what power leaves while the tensor cores multiply, else the highest."""
    return device.clock.sustained_mhz if multiplies(program) else device.clock.boost_mhz


def _traffic_floor(launch: CaughtLaunch, program: Program, device: Device, outcome: Outcome) -> int:
    """Cycles that L2 takes for all bytes that the CTAs move, or DRAM for what does not stay in L2.

    What the CTAs move is at least read or written once.
    """
    memory = device.memory
    stored = sum(sm.tma_store_bytes + sm.global_store_bytes for sm in outcome.sms)
    loaded = sum(sm.tma_load_bytes - sm.multicast_bytes + sm.global_load_bytes for sm in outcome.sms)
    if outcome.done:
        total = launch.grid[0] * launch.grid[1] * launch.grid[2]
        stored, loaded = stored * total // outcome.done, loaded * total // outcome.done
    size = footprint(launch)
    once = min(stored + loaded, size)
    clock = clock_mhz(program, device)
    cycles = max((stored + loaded) / memory.l2_bytes_per_cycle, once / memory.l2_distinct_bytes_per_cycle)
    cycles *= clock / device.clock.boost_mhz
    if not resident(device, size, shared=shares(program)):
        written = min(stored, once)
        seconds = (once - written) / memory.hbm_bytes_per_second + written / memory.hbm_write_bytes_per_second
        cycles = max(cycles, seconds * clock * 1e6)
    return round(cycles)


def _statistics(outcome: Outcome, per_sm: int, total: int, placement: Placement) -> dict[str, Any]:
    """Totals of the SM of the first traced CTA, and of the launch."""
    sm = outcome.traced[0].sm if outcome.traced else outcome.sms[0]
    resident = len(placement.columns) * placement.size * per_sm
    return {
        "tensor_core_busy_cycles": sm.tensor_busy,
        "tma_busy_cycles": sm.tma_busy,
        "tma_load_bytes": sm.tma_load_bytes,
        "tma_store_bytes": sm.tma_store_bytes,
        "global_load_bytes": sm.global_load_bytes,
        "global_store_bytes": sm.global_store_bytes,
        "sm_cycles": outcome.last_end.get(sm.index, outcome.now),
        "ctas": total,
        "ctas_simulated": outcome.done,
        "ctas_traced": len(outcome.traced),
        "ctas_per_sm": per_sm,
        "waves": -(-total // resident),
    }


def tensor_of(value: Any) -> torch.Tensor | None:
    """The tensor behind a pointer or descriptor argument; None for other arguments."""
    if isinstance(value, torch.Tensor):
        return value
    base = getattr(value, "base", None)
    return base if isinstance(base, torch.Tensor) else None


def shown(value: Any) -> Any:
    """An argument as a trace shows it: numbers and text as they are, a tensor by its type and shape."""
    match value:
        case bool() | int() | float() | str() | None:
            return value
        case torch.Tensor():
            return f"{_short(value.dtype)}{list(value.shape)}"
        case list() | tuple():
            return [shown(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _ if isinstance(getattr(value, "base", None), torch.Tensor):
            block = getattr(value, "block_shape", None) or getattr(value, "block", ())
            return f"{_short(value.base.dtype)}{list(value.shape)} in blocks {list(block)}"
        case _:
            return str(value)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.").replace("bfloat", "bf").replace("float", "f").replace("int", "i")
