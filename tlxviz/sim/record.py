"""Turns what a run left behind into a LaunchTrace."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.sim.dispatch import Outcome
from tlxviz.sim.effects import multiplies, shares
from tlxviz.sim.engine import DETAILS, ENGINES, LAUNCH_CONTROL, ROW, TENSOR_CORE, TMA, AgentRun, Cta, Row, Sm
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import place
from tlxviz.sim.ranges import RangesAmiss, bounds_of_ranges, close_ranges, runs_with_ranges
from tlxviz.sim.reach import resident
from tlxviz.sim.rows import CODE, END, HOME, RELEASED_BY, RELEASED_RANK, RUN, table_of
from tlxviz.sim.traffic import Traffic, traffic
from tlxviz.trace.build import empty_events, events_from_columns
from tlxviz.trace.model import COLUMNS as EVENT_COLUMNS
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
    amiss = RangesAmiss()
    events = _events(
        program,
        outcome.traced,
        tracks,
        outcome.now if hang is None else hang["cycle"],
        amiss,
        waits=hang is not None or outcome.goes_on,
    )
    return described(
        launch,
        program,
        device,
        cycles=launch_cycles(launch, program, device, outcome) if hang is None else int(hang["cycle"]),
        flop=launch_flop(launch, outcome),
        tracks=tracks,
        events=events,
        provenance={
            "recorder": "simulated",
            "versions": {"tlxviz": version, **launch.versions},
            "options": dict(options),
        },
        statistics=statistics(launch, program, device, outcome, per_sm)
        | amiss.statistics()
        | _taken_over(outcome, options["ctas"]),
        hang=hang,
        complete=complete,
    )


def described(
    launch: CaughtLaunch,
    program: Program,
    device: Device,
    *,
    cycles: int,
    flop: int,
    tracks: list[Track],
    events: Events,
    provenance: dict[str, Any],
    statistics: dict[str, Any],
    clock_mhz: float | None = None,
    ttgir: str | None = None,
    hang: dict[str, Any] | None = None,
    complete: bool = True,
) -> LaunchTrace:
    """A trace of what was recorded, with all that the launch and its program say.

    Args:
        launch: The launch.
        program: Its kernel.
        device: The device whose figures the trace gives.
        cycles: Duration of the launch.
        flop: FLOP of its MMAs.
        tracks: Those that the events name.
        events: The events.
        provenance: Who recorded, with which options.
        statistics: Totals of the recorder.
        clock_mhz: The SM clock; that of the machine model by default.
        ttgir: The text to show; that of the launch by default.
        hang: The report of a launch that never ended.
        complete: Whether it was not interrupted.
    """
    return LaunchTrace(
        kernel=launch.kernel,
        grid=launch.grid,
        arguments={name: shown(value) for name, value in launch.arguments.items()},
        device=device.to_manifest(),
        clock_mhz=clock_of(program, device) if clock_mhz is None else clock_mhz,
        cycles=cycles,
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
        provenance=provenance,
        metadata={**launch.metadata, **launch.assembled()},
        ttgir=launch.ttgir if ttgir is None else ttgir,
        source=launch.source,
        source_file=_absolute(launch.source_file),
        source_line=launch.source_line,
        statistics=statistics,
        hang=hang,
        complete=complete,
        cluster=program.cluster,
    )


def _absolute(file: str) -> str:
    """The file with its whole path, whatever the current folder is called."""
    return os.path.abspath(file) if file else ""


def _events(
    program: Program, ctas: Sequence[Cta], tracks: list[Track], now: int, amiss: RangesAmiss, *, waits: bool
) -> Events:
    """The events of all traced CTAs; appends their tracks to `tracks`. What has not ended ends at cycle `now`."""
    pieces: list[Events] = []
    clusters: dict[int, list[Cta]] = {}
    for cta in sorted(ctas, key=lambda each: each.index):
        clusters.setdefault(id(cta.cluster or cta), []).append(cta)
    for together in clusters.values():
        together.sort(key=lambda each: each.rank)
        stops = [_stops(program, cta, now, waits=waits) for cta in together]
        tables = [table_of(cta.rows, len(program.sites), cta.rank) for cta in together]
        groups = [_agent_tracks(program, *each, tracks) for each in zip(together, tables, stops, strict=True)]
        if not any(len(table) for table in tables):
            continue
        numbers = [
            replace(own, engines=engine_tracks(program, table, tracks, cta.index, cta.sm.index, cta.begin, cta.end))
            for cta, own, table in zip(together, groups, tables, strict=True)
        ]
        for each, table in zip(numbers, tables, strict=True):
            close_ranges(program, table, each.stops, amiss)
        pieces.append(events_of_cluster(program, tables, numbers))
    if not pieces:
        return empty_events()
    return pieces[0] if len(pieces) == 1 else Events.concat(pieces).in_order()


def _stops(program: Program, cta: Cta, now: int, *, waits: bool) -> list[int]:
    """Where the tracks of a CTA's warp groups end; records waits that have not ended, where `blocked` tells them."""
    stops: list[int] = []
    for run in cta.agents:
        stop = run.end if run.done else max(now, run.begin)
        if waits and not run.done and run.blocked is not None:
            if run.blocked[0] == "join":
                stop = int(run.blocked[2])
            elif run.blocked[1] >= 0:
                opened = _open_wait(run, ENGINES * len(program.sites), stop)
                cta.rows.append((*opened, *(-1 for _ in DETAILS)) if math.prod(program.cluster) > 1 else opened)
        cta.end = max(cta.end, stop)
        stops.append(stop)
    return stops


def _agent_tracks(
    program: Program, cta: Cta, table: NDArray[np.int64], stops: list[int], tracks: list[Track]
) -> TrackNumbers:
    """Appends the tracks of a CTA's warp groups, each with that of its ranges; gives their numbers."""
    numbers: list[int] = []
    ranges: list[int] = []
    named = runs_with_ranges(program, table)
    for run, stop in zip(cta.agents, stops, strict=True):
        agent = program.agents[run.index]
        numbers.append(len(tracks))
        place = (cta.index, cta.sm.index, agent.index, agent.warps, run.begin, stop)
        tracks.append(Track(TrackKind.WARP_GROUP, agent.name, *place))
        ranges.append(len(tracks) if run.number in named else -1)
        if run.number in named:
            tracks.append(Track(TrackKind.RANGE, f"{agent.name} ranges", *place))
    return TrackNumbers(numbers, (), ranges, stops, cta.index)


@dataclass(frozen=True, slots=True)
class TrackNumbers:
    """The numbers of a CTA's tracks."""

    runs: Sequence[int]
    """By run of a warp group."""
    engines: Sequence[int]
    """By engine: the first, which is the warp group itself, and one that has done nothing have -1."""
    ranges: Sequence[int] = ()
    """By run, the track of its ranges; -1 for one that has none. Ranges are left out where nothing is given."""
    stops: Sequence[int] = ()
    """By run, where its track ends."""
    cta: int = -1
    """The CTA's number."""


def engine_tracks(
    program: Program,
    table: NDArray[np.int64],
    tracks: list[Track],
    cta: int,
    sm: int,
    begin: int,
    end: int,
) -> list[int]:
    """Appends the tracks of the engines that did something for a CTA; gives their numbers, as `TrackNumbers` has them.

    Args:
        program: The kernel.
        table: The CTA's rows, as `rows.table_of` gives them.
        tracks: Takes the tracks.
        cta: The CTA's number.
        sm: Where it ran.
        begin: Where the tracks begin.
        end: Where they end.
    """
    numbers = [-1] * ENGINES
    used = set(np.unique(table[:, CODE] // max(1, len(program.sites))).tolist())
    for engine, kind, name in _ENGINES:
        if engine in used:
            numbers[engine] = len(tracks)
            tracks.append(Track(kind, name, cta, sm, -1, 0, begin, end))
    return numbers


_ENGINES = (
    (TMA, TrackKind.TMA, "TMA"),
    (TENSOR_CORE, TrackKind.TENSOR_CORE, "tensor core"),
    (LAUNCH_CONTROL, TrackKind.LAUNCH_CONTROL, "CLC"),
)


def _open_wait(run: AgentRun, codes: int, end: int) -> Row:
    """The event of a wait that never ended."""
    assert run.blocked is not None
    kind, site, since, outer, inner, target, key = run.blocked
    slot, phase = (target.slot, key) if kind == "wait" else (key, target.completed)
    return (run.number * codes + site, int(since), max(end, int(since)), outer, inner, slot, phase, -1)


def events_of_cluster(program: Program, tables: Sequence[NDArray[np.int64]], numbers: Sequence[TrackNumbers]) -> Events:
    """The events of one CTA, or of all CTAs of a cluster in the order of their ranks.

    Args:
        program: The kernel.
        tables: The rows of each, with `rows.COLUMNS`; ranges have been through `close_ranges`.
        numbers: Their tracks.
    """
    sites = len(program.sites)
    bytes_of = np.array([site.bytes for site in program.sites], np.int64)
    first = np.cumsum([0, *(len(table) for table in tables)])
    joined = np.concatenate(tables)
    engine, site = np.divmod(joined[:, CODE], sites)
    track = np.concatenate(
        [
            np.where(part > 0, np.array(own.engines)[part], np.array(own.runs)[table[:, RUN]])
            for table, own, part in zip(tables, numbers, np.split(engine, first[1:-1]), strict=True)
        ]
    )
    kept = None
    if bounds := bounds_of_ranges(program):
        at = np.isin(site, bounds)
        of_runs = [
            np.array(own.ranges or [-1] * len(own.runs))[table[:, RUN]]
            for table, own in zip(tables, numbers, strict=True)
        ]
        track = np.where(at, np.concatenate(of_runs), track)
        kept = (track >= 0) & (joined[:, END] >= 0)
    rank = joined[:, RELEASED_RANK]
    cause = np.where(rank < 0, -1, joined[:, RELEASED_BY] + first[rank])
    columns = {name: joined[:, place] for place, name in enumerate(ROW) if name in EVENT_COLUMNS}
    peer = np.concatenate([_peers(table, rank, numbers) for rank, table in enumerate(tables)])
    columns |= {"track": track, "site": site, "bytes": bytes_of[site], "released_by": cause, "peer": peer}
    if kept is None:
        return events_from_columns(columns)
    places = np.cumsum(kept) - 1  # the end of a range is no event, and nobody's cause
    columns["released_by"] = np.where(cause < 0, -1, places[cause])
    return events_from_columns({name: column[kept] for name, column in columns.items()})


def _peers(table: NDArray[np.int64], rank: int, numbers: Sequence[TrackNumbers]) -> NDArray[np.int64]:
    """The CTA whose barrier or memory each row of one CTA's table is about; -1 where that is its own, or none."""
    home = table[:, HOME]
    return np.where((home < 0) | (home == rank), -1, np.array([each.cta for each in numbers])[home])


def launch_flop(launch: CaughtLaunch, outcome: Outcome) -> int:
    """FLOP of all CTAs, of which some may not have run."""
    total = math.prod(launch.grid)
    flop = sum(sm.flop for sm in outcome.sms)
    return flop * total // outcome.done if outcome.done and outcome.done < total else flop


def launch_cycles(launch: CaughtLaunch, program: Program, device: Device, outcome: Outcome) -> int:
    """The duration of a launch that ended: its CTAs and what launching costs; not less than L2 and DRAM take for what
    the CTAs move. In SM cycles."""
    moved, clock = _traffic(launch, program, device, outcome), clock_of(program, device)
    of_l2 = moved.cycles_of_l2(device) * clock / device.clock.boost_mhz
    of_dram = moved.seconds_of_dram(device) * clock * 1e6
    cycles = max(outcome.cycles, round(max(of_l2, of_dram)))
    return cycles + round(device.launch.kernel_ns * device.clock.boost_mhz / 1000)


def clock_of(program: Program, device: Device) -> float:
    """The SM clock: what power leaves while the tensor cores multiply, else the highest."""
    return device.clock.sustained_mhz if multiplies(program) else device.clock.boost_mhz


def _traffic(launch: CaughtLaunch, program: Program, device: Device, outcome: Outcome) -> Traffic:
    in_l2 = resident(device, outcome.footprint, shared=shares(program))
    return traffic(outcome.sms, outcome.done, math.prod(launch.grid), outcome.footprint, in_l2=in_l2)


def statistics(launch: CaughtLaunch, program: Program, device: Device, outcome: Outcome, per_sm: int) -> dict[str, Any]:
    """Totals of the SM of the first traced CTA, and of the launch."""
    total = math.prod(launch.grid)
    placement = place(program.cluster, launch.grid, device)
    sm = outcome.traced[0].sm if outcome.traced else outcome.sms[0]
    at_a_time = len(placement.columns) * placement.size * per_sm
    return {
        **totals_of_sms([sm]),
        **_traffic(launch, program, device, outcome).statistics(),
        "sm_cycles": outcome.last_end.get(sm.index, outcome.now),
        "ctas": total,
        "ctas_simulated": outcome.done,
        "ctas_traced": len(outcome.traced),
        "ctas_per_sm": per_sm,
        "ctas_per_wave": at_a_time,
        "waves": -(-total // at_a_time),
    }


def _taken_over(outcome: Outcome, asked: Sequence[int]) -> dict[str, Any]:
    """How many CTAs others took over; of those that were to be recorded, which did their work."""
    if not outcome.taken:
        return {}
    pairs = [[number, outcome.taken[number]] for number in asked if number in outcome.taken]
    return {"ctas_taken_over": len(outcome.taken)} | ({"taken_over": pairs} if pairs else {})


def totals_of_sms(sms: Sequence[Sm]) -> dict[str, int]:
    """What SMs did: busy cycles of their units, and bytes, by the names that a trace's statistics have for them."""
    return {
        "tensor_core_busy_cycles": sum(sm.tensor_busy for sm in sms),
        "tma_busy_cycles": sum(sm.tma_busy for sm in sms),
        "tma_store_busy_cycles": sum(sm.tma_store_busy for sm in sms),
        "load_store_busy_cycles": sum(sm.load_store_busy for sm in sms),
        "issue_busy_cycles": round(sum(sm.issue_busy for sm in sms)),
        "logic_busy_cycles": round(sum(sm.logic_busy for sm in sms)),
        "mufu_busy_cycles": round(sum(sm.mufu_busy for sm in sms)),
        "shared_memory_busy_cycles": round(sum(sm.shared_busy for sm in sms)),
        "tma_load_bytes": sum(sm.tma_load_bytes for sm in sms),
        "tma_store_bytes": sum(sm.tma_store_bytes for sm in sms),
        "global_load_bytes": sum(sm.global_load_bytes for sm in sms),
        "global_store_bytes": sum(sm.global_store_bytes for sm in sms),
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
