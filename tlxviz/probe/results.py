"""The trace of a launch that was recorded, and of one that has not ended."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from tlxviz._version import __version__
from tlxviz.devices.model import Device
from tlxviz.ir.program import Program
from tlxviz.probe.assemble import Assembled, Assembler, Part, RecordMismatch, with_open_waits
from tlxviz.probe.attempt import Attempt
from tlxviz.probe.buffer import UNKNOWN_START
from tlxviz.probe.clocks import common_clock
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.plan import Choice
from tlxviz.sim.model import CaughtLaunch
from tlxviz.sim.placement import Placement
from tlxviz.sim.record import described
from tlxviz.sim.replay import replay
from tlxviz.trace.build import empty_events
from tlxviz.trace.model import Events, LaunchTrace, Track


class Results:
    """Makes traces of one launch.

    Args:
        launch: The launch as the program made it.
        device: The GPU.
        placement: How its CTAs form clusters.
        options: How it was recorded.
        choice: Which sites that chose.
        gpu: What CUDA calls the GPU.
    """

    def __init__(
        self,
        launch: CaughtLaunch,
        device: Device,
        placement: Placement,
        options: ProbeOptions,
        choice: Choice,
        gpu: str,
    ) -> None:
        self._launch = launch
        self._device = device
        self._placement = placement
        self._options = options
        self._choice = choice
        self._gpu = gpu

    def finished(self, attempt: Attempt, ctas: Collection[int]) -> LaunchTrace:
        """The trace of a launch that ended, with these CTAs, all of which were recorded.

        Raises:
            RecordMismatch: the records are not those of the replay.
        """
        replayed = attempt.replayed
        if not {cta.cta for cta in replayed.ctas}.issuperset(ctas):
            replayed = replay(attempt.host, self._device, sorted(ctas))
        replayed = replace(replayed, ctas=tuple(cta for cta in replayed.ctas if cta.cta in ctas))
        assembler = Assembler(
            attempt.program,
            attempt.points,
            attempt.plan,
            self._device,
            replayed,
            self._placement,
            attempt.lengths if self._options.correction else None,
        )
        made = assembler.assemble(attempt.parts)
        clocks = [common_clock(each) for each in attempt.references] or [made.clock]
        cycles = statistics.median_low([clock.cycles for clock in clocks])
        totals = dict(replayed.statistics) | {"sm_cycles": cycles, "ctas_traced": len(replayed.ctas)}
        sms = attempt.parts[0].headers["sm"]
        on_sm = int((sms == sms[min(ctas)]).sum())
        totals |= {name: round(mean * on_sm) for name, mean in replayed.each.items()} | made.amiss.statistics()
        totals.pop("ctas_simulated", None)
        return described(
            self._launch,
            attempt.program,
            self._device,
            cycles=cycles,
            flop=replayed.flop,
            tracks=made.tracks,
            events=self._chosen(attempt.program, made.events),
            provenance=self._provenance(self._probe(attempt, made)),
            statistics=totals,
            clock_mhz=statistics.median_low([clock.mhz for clock in clocks]),
            complete=not made.missing,
        )

    def nothing(self, program: Program, ctas: int) -> LaunchTrace:
        """The trace of a launch of so many CTAs that has none of those to be recorded."""
        return described(
            self._launch,
            program,
            self._device,
            cycles=0,
            flop=0,
            tracks=[],
            events=empty_events(),
            provenance=self._provenance({"gpu": self._gpu}),
            statistics={"ctas": ctas, "ctas_traced": 0},
        )

    def stuck(self, attempt: Attempt, part: Part, report: dict[str, Any], ctas: Collection[int]) -> LaunchTrace:
        """The trace of a launch that has not ended, so far as CTAs of it were recorded."""
        tracks, events, mhz = self._until_then(attempt, part, ctas)
        return described(
            self._launch,
            attempt.program,
            self._device,
            cycles=int(report["cycle"]),
            flop=0,
            tracks=tracks,
            events=events,
            provenance=self._provenance({"gpu": self._gpu}),
            statistics={"ctas": len(part.headers), "ctas_traced": len({track.cta for track in tracks})},
            clock_mhz=mhz,
            hang=report,
        )

    def _until_then(
        self, attempt: Attempt, part: Part, ctas: Collection[int]
    ) -> tuple[list[Track], Events, float | None]:
        """Tracks and events until then; and the clock, if CTAs have ended."""
        started = [
            with_open_waits(cta)
            for cta in attempt.replayed.ctas
            if cta.cta in ctas and int(part.headers["start_clock"][cta.cta]) not in (0, UNKNOWN_START)
        ]
        replayed = replace(attempt.replayed, ctas=tuple(started))
        assembler = Assembler(
            attempt.program, attempt.points, attempt.plan, self._device, replayed, self._placement, None
        )
        try:
            made = assembler.assemble([part], ended=False)
        except RecordMismatch:  # the hang is what has to be said
            return [], empty_events(), None
        return made.tracks, self._chosen(attempt.program, made.events), made.clock.mhz if made.clock.cycles else None

    def _chosen(self, program: Program, events: Events) -> Events:
        """Events of the sites that were probed, in the iterations that are wanted."""
        sites = np.zeros(len(program.sites) + 1, bool)
        sites[list(self._choice.sites(program))] = True
        keep = sites[events["site"]]
        if self._options.iterations is not None:
            first, last = self._options.iterations
            keep &= (events["inner"] >= first) & (events["inner"] < last)
        return events if bool(keep.all()) else events.select(keep)

    def _provenance(self, probe: dict[str, Any]) -> dict[str, Any]:
        options = self._options
        said: dict[str, Any] = {
            "probes": options.probes,
            "warps": "all" if options.all_warps else "first",
            "correction": "on" if options.correction else "off",
        }
        if options.iterations is not None:
            said["iterations"] = list(options.iterations)
        versions = {"tlxviz": __version__, **self._launch.versions}
        return {"recorder": "measured", "versions": versions, "options": said, "probe": probe}

    def _probe(self, attempt: Attempt, made: Assembled) -> dict[str, Any]:
        """What the trace says about its own making; docs/trace.md explains each."""
        left_out = attempt.plan.left_out(attempt.program, attempt.points)
        found: dict[str, Any] = {
            "gpu": self._gpu,
            "parts": attempt.plan.parts,
            "everywhere": attempt.plan.everywhere,
            "points": len(attempt.points),
            "records": made.records,
            "missing": made.missing,
            "left_out": len(left_out),
            "left_out_lines": self._lines(attempt, left_out),
            "shifted_cycles": made.shifted,
        }
        if attempt.plain_ms:
            correction = 1 / (1 + made.slow_down) - 1 if self._options.correction else 0.0
            found |= {
                "kernel_ms": round(attempt.plain_ms, 5),
                "probed_ms": round(attempt.probed_ms, 5),
                "slow_down_percent": round(100 * attempt.slow_down, 2),
                "rounds": attempt.rounds,
                "recorded_cta_slow_down_percent": round(100 * made.slow_down, 2),
                "correction_percent": round(100 * correction, 2),
            }
        return found

    def _lines(self, attempt: Attempt, numbers: Collection[int]) -> list[int]:
        """Lines of the kernel's file with sites that begin or end at these points."""
        points = [attempt.points[number] for number in numbers]
        sites = {site for point in points for site in (*point.begins, *point.ends)}
        return sorted({attempt.program.sites[site].location.line for site in sites})
