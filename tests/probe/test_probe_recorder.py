"""What a recording decides and leaves behind, on a GPU that is played: its launches write what a replay expects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from probe_samples import device, recorded, ring_of
from rich.console import Console

from tlxviz import _triton
from tlxviz.analysis.difference import difference
from tlxviz.analysis.summary import summarise
from tlxviz.commands.beside import Beside
from tlxviz.ir import load_program
from tlxviz.launch.model import Launch
from tlxviz.probe import session as room
from tlxviz.probe.buffer import HEADER, NO_SM
from tlxviz.probe.build import ProbingStages, unmarked
from tlxviz.probe.launches import TooLong
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.plan import HEADS, Share
from tlxviz.probe.recorder import ProbingRecorder
from tlxviz.probe.session import GpuHang
from tlxviz.reporters.text import TextReporter
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording
from tlxviz.sim.replay import replay


def hook() -> Any:
    slot, name = _triton.stage_hook_slot()
    return getattr(slot, name)


@dataclass
class Gpu:
    """Plays one kernel. `first` is what a recorded launch was the first to see fail, if anything."""

    name: str
    slow: dict[tuple[Share, bool], float] = field(default_factory=dict)
    """How much longer than the plain kernel the one takes that records this share, in some CTAs or in all."""
    hangs_after: int = 1_000_000
    """Launches that end."""
    interrupted: bool = False
    free: int = 1 << 37
    launches: list[tuple[str, int]] = field(default_factory=list)
    """`plain`, `recorded` or `unlisted`, and the part."""
    running: bool = False
    kinds: list[tuple[str, int, bool]] = field(default_factory=list)
    """The same, with whether all CTAs record."""
    memories: list[Any] = field(default_factory=list)
    stops: dict[int, int] = field(default_factory=dict)
    """By warp: points passed in the launch that hangs."""

    def __post_init__(self) -> None:
        self.streams = recorded(self.name).streams
        self.parameters = [
            (key, value.clone() if isinstance(value, torch.Tensor) else value) for key, value in self.streams.parameters
        ]
        for _, value in self.parameters:
            if isinstance(value, torch.Tensor):
                value.zero_()
        self.total = math.prod(self.streams.grid)

    # ---- what a recorder calls

    def compile(self) -> Any:
        return "probed" if isinstance(hook(), ProbingStages) else "plain"

    def described(self, kernel: Any) -> Launch:
        text = self.streams.ttgir if kernel == "probed" else unmarked(self.streams.ttgir)
        arguments = dict(self.parameters)
        return Launch(self.streams.kernel, self.streams.grid, self.parameters, arguments, text, self.streams.metadata)

    def on_host(self, launch: Launch) -> Launch:
        return launch

    def launch(self) -> Any:
        """Adds one to every tensor, and notes what it was launched as."""
        if self.interrupted:
            raise KeyboardInterrupt
        stages = hook()
        if isinstance(stages, ProbingStages):
            self.stages = stages
            self.launches.append(("recorded" if self.memories[-1].listed else "unlisted", stages._part))
        else:
            self.launches.append(("plain", 0))
        everywhere = isinstance(stages, ProbingStages) and stages._plan.everywhere
        self.kinds.append((*self.launches[-1], everywhere))
        for _, value in self.parameters:
            if isinstance(value, torch.Tensor):
                value += 1
        return f"kernel {len(self.launches)}"

    # ---- what it leaves in memory

    def headers(self) -> NDArray[np.void]:
        made = np.zeros(self.total, HEADER)
        made["sm"] = np.arange(self.total) % 16
        made["start_clock"] = 1_000_000 + 20_000 * (np.arange(self.total) // 16)
        made["start_ns"] = made["start_clock"] // 2
        length = 10_000 if self.memories[-1].listed else 8_000
        made["end_clock"], made["end_ns"] = made["start_clock"] + length, made["start_ns"] + length // 2
        if self.running:
            made["end_clock"] = made["end_ns"] = 0
        return made

    def ring(self, cta: int, place: int) -> NDArray[np.uint32]:
        found = recorded(self.name)
        plan = self.stages._plan
        warp = sorted(plan.warps(found.program))[place]
        active = plan.active(found.program, found.points, self.stages._part)
        [replayed] = replay(self.described("probed"), device(), (cta,)).ctas
        marks = [
            mark
            for agent in replayed.agents
            if agent.first_thread // 32 <= warp < agent.first_thread // 32 + agent.warps
            for mark in agent.marks.tolist()
            if mark in active
        ]
        times = int(self.headers()["start_clock"][cta]) + 10 * (1 + np.arange(len(marks)))
        ring = ring_of(times, marks, [True] * len(marks))
        if not self.memories[-1].listed:
            ring[:] = 0
        if self.running:
            ring[self.stops.get(warp, len(marks)) :] = 0
        return ring


class Memory:
    """A buffer of the GPU that is played."""

    gpu: Gpu

    def __init__(self, ctas: int, kept: int, rings: int, records: int) -> None:
        self.ctas, self.kept, self.rings, self.records, self.listed = ctas, kept, rings, records, True
        self.sms: list[int] = []
        self.late: list[bool] = []
        self.cleared = 0
        self.gpu.memories.append(self)

    @staticmethod
    def size(ctas: int, kept: int, rings: int, records: int) -> int:
        return 4 * kept * rings * records + 64 * ctas

    def address(self, *, sm: int = NO_SM, listed: bool, late: bool) -> int:
        self.listed = listed
        self.late.append(late)
        self.sms.append(sm)
        return 0

    def clear(self) -> None:
        pass

    def clear_headers(self) -> None:
        self.cleared += 1

    def headers(self) -> NDArray[np.void]:
        return self.gpu.headers()

    def ring(self, cta: int, place: int) -> NDArray[np.uint32]:
        assert cta < self.kept
        return self.gpu.ring(cta, place)


Play = Callable[..., tuple[Gpu, ProbingRecorder]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    def make(name: str, ctas: tuple[int, ...] | None = None, options: Any = None, **how: Any) -> Any:
        gpu = Gpu(name, **how)

        class Watchdog:
            def __init__(self, seconds: float, kernel: str) -> None:
                self.running = False

            def finish(self, launch: Callable[[], object]) -> object:
                made = launch()
                if len(gpu.launches) > gpu.hangs_after:
                    gpu.running = self.running = True
                    raise TooLong
                return made

        def median_ms(launches: Any, before: Callable[[], None], rounds: int, watchdog: Any) -> list[float]:
            for launch in launches:
                before()
                launch()
            plan = gpu.stages._plan
            assert len(launches) == 1 or len(launches) == 1 + plan.parts
            return [1.0, *(1 + gpu.slow.get((share, plan.everywhere), 0.0) for share in plan.shares)][: len(launches)]

        monkeypatch.setattr(Memory, "gpu", gpu, raising=False)
        monkeypatch.setattr(room, "Memory", Memory)
        monkeypatch.setattr(room, "Watchdog", Watchdog)
        monkeypatch.setattr(room, "median_ms", median_ms)
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (gpu.free, gpu.free))
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU that is played")
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
        recording = Recording(ctas=ctas)
        return gpu, ProbingRecorder(recording, options or ProbeOptions(), device())

    return make


def slow(*costs: float, everywhere: bool = False) -> dict[tuple[Share, bool], float]:
    """What each of so many shares costs."""
    return {(Share(first, len(costs)), everywhere): cost for first, cost in enumerate(costs)}


def alone(*costs: float) -> dict[tuple[Share, bool], float]:
    """What each of so many places costs in a launch of its own, where all CTAs record."""
    return {(Share(place, len(costs), alone=True), True): cost for place, cost in enumerate(costs)}


def ctas_of(recorder: ProbingRecorder) -> set[int]:
    return {track.cta for track in recorder.trace.launches[-1].tracks}


@dataclass
class Named:
    """A call with the name of the kernel."""

    gpu: Gpu

    @property
    def name(self) -> str:
        return self.gpu.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gpu, name)


def test_the_ctas_of_one_sm_are_recorded_if_nobody_names_any(play: Play) -> None:
    gpu, recorder = play("gemm")
    recorder.handle(Named(gpu))
    assert ctas_of(recorder) == {0, 16}  # those of SM 0 in the launch that records it
    assert gpu.memories[-1].kept == 32
    assert 0 in gpu.memories[-1].sms


def test_ctas_that_are_named_are_those_that_are_recorded(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(3, 5, 99))
    recorder.handle(Named(gpu))
    assert ctas_of(recorder) == {3, 5}
    assert gpu.memories[-1].kept == 6
    assert set(gpu.memories[-1].sms) == {NO_SM}
    [launch] = recorder.trace.launches
    assert launch.complete
    assert launch.provenance["recorder"] == "measured"
    assert launch.provenance["probe"]["gpu"] == "a GPU that is played"
    assert launch.provenance["probe"]["parts"] == 1


def test_headers_come_late_once_the_kernel_has_ended_and_none_is_left_of_the_launch_before(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(0,))
    recorder.handle(Named(gpu))
    [memory] = gpu.memories
    first, *others = memory.late
    assert not first
    assert others
    assert all(others)
    # three for the lengths of CTAs, one before times are taken, one for how long the kernel takes, two timed
    assert memory.cleared == 7


def test_where_there_is_no_room_for_all_only_named_ctas_are_recorded(play: Play) -> None:
    gpu, recorder = play("gemm", free=4 * 60_000)  # of which a quarter may be taken: too little for 32 CTAs
    recorder.handle(Named(gpu))
    assert gpu.memories[-1].kept == 1
    assert ctas_of(recorder) == {0}


def test_every_cta_is_as_long_as_without_probes(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(3,))
    recorder.handle(Named(gpu))
    [launch] = recorder.trace.launches
    assert launch.provenance["probe"]["recorded_cta_slow_down_percent"] == 25.0
    assert launch.provenance["probe"]["correction_percent"] == -20.0
    begins = [track.begin for track in launch.tracks if track.cta == 3]
    assert min(begins) == 0  # its first warp group begins with the CTA
    assert min(begin for begin in begins if begin) == 8  # the first point of others, 10 measured cycles later
    assert launch.cycles == 28_000  # two waves of 8,000 cycles, the second 20,000 behind the first


def test_memory_is_left_as_one_launch_leaves_it(play: Play) -> None:
    gpu, recorder = play("hand_off", slow=slow(0.5) | slow(0.1, 0.1, 0.1))
    before = {key: value.clone() for key, value in gpu.parameters if isinstance(value, torch.Tensor)}
    made = recorder.handle(Named(gpu))
    assert len(gpu.launches) > 10
    assert made == f"kernel {len(gpu.launches)}"  # the last, which is the program's own
    assert gpu.launches[-1] == ("plain", 0)
    written = dict(gpu.parameters)["y_ptr"]
    assert torch.equal(written, before["y_ptr"] + 1)


def test_without_room_for_a_copy_there_is_one_launch(play: Play) -> None:
    gpu, recorder = play("hand_off", free=600)
    recorder.handle(Named(gpu))
    assert gpu.launches == [("recorded", 0)]
    [launch] = recorder.trace.launches
    assert "kernel_ms" not in launch.provenance["probe"]
    assert torch.equal(dict(gpu.parameters)["y_ptr"], torch.ones(256))


HEADS_COST = {(HEADS[0], False): 0.02}
HEADS_TOO_MUCH = {(HEADS[0], False): 0.05}


@pytest.mark.parametrize(
    ("costs", "shares"),
    [
        (slow(0.02), {(0, 1)}),
        pytest.param(slow(0.1) | slow(0.02, 0.01, 0.02), {(0, 3), (1, 3), (2, 3)}, marks=pytest.mark.slow),
        # the first of three is too much; of four, those with a place of it are tried, which are all, and enough
        pytest.param(
            slow(0.1) | slow(0.2, 0.02, 0.02) | slow(0.02, 0.0, 0.0, 0.02),
            {(n, 4) for n in range(4)},
            marks=pytest.mark.slow,
        ),
        # 0, 12 and so on are in no good share
        (
            slow(0.1) | slow(0.2, 0.02, 0.02) | slow(0.2, 0.0, 0.0, 0.0) | slow(0.2, 0, 0, 0, 0, 0),
            {(1, 3), (2, 3), (1, 4), (2, 4), (3, 4)},
        ),
        # heads of loops alone
        pytest.param(
            slow(0.1) | slow(0.2, 0.2, 0.2) | slow(*[0.2] * 4) | slow(*[0.2] * 6) | HEADS_COST,
            {(-1, 1)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            slow(0.1) | slow(0.2, 0.2, 0.2) | slow(*[0.2] * 4) | slow(0.2, 0, *[0.2] * 4) | HEADS_COST,
            {(-1, 1)},
            marks=pytest.mark.slow,
        ),
        (slow(0.1) | slow(0.2, 0.2, 0.2) | slow(*[0.2] * 4) | slow(*[0.2] * 6) | HEADS_TOO_MUCH, {(0, 1)}),
    ],
    ids=[
        "one is enough",
        "three are better",
        "with others of four",
        "some left out",
        "all are worse",
        "most left out",
        "heads are too much",
    ],
)
def test_parts_are_as_few_as_slow_the_kernel_down_little(
    play: Play, costs: dict[tuple[Share, bool], float], shares: set[tuple[int, int]]
) -> None:
    gpu, recorder = play("gemm", ctas=(0,), slow=costs)
    recorder.handle(Named(gpu))
    [launch] = recorder.trace.launches
    probe = launch.provenance["probe"]
    [way] = recorder._ways.values()
    assert {(share.first, share.of) for share in way.shares} == shares
    assert probe["parts"] == len(shares)
    assert probe["slow_down_percent"] == pytest.approx(100 * max(costs[Share(*share), False] for share in shares))
    # the next launch of the kernel is recorded so without trying again
    gpu.launches.clear()
    recorder.recordings[0] = again = Recording(ctas=(0,))
    recorder.handle(Named(gpu))
    assert again.trace.launches[0].provenance["probe"]["parts"] == len(shares)
    assert {part for kind, part in gpu.launches if kind == "recorded"} == set(range(len(shares)))


def test_points_that_cost_too_much_are_left_out_and_said(play: Play) -> None:
    """Every place of which number is a multiple of 12; their events have times that are simulated between others."""
    costs = slow(0.1) | slow(0.2, 0.02, 0.02) | slow(0.2, 0.0, 0.0, 0.0) | slow(0.2, 0, 0, 0, 0, 0)
    gpu, recorder = play("gemm", ctas=(0,), slow=costs)
    recorder.handle(Named(gpu))
    [launch] = recorder.trace.launches
    found = recorded("gemm")
    plan = gpu.stages._plan
    numbers: dict[object, int] = {}
    for point in found.points:
        if not (point.framing or point.heading):
            numbers.setdefault(point.place(found.program), len(numbers))
    dropped = [
        point
        for point in found.points
        if not (point.framing or point.heading) and numbers[point.place(found.program)] % 12 == 0
    ]
    assert dropped
    assert plan.left_out(found.program, found.points) == {point.number for point in dropped}
    probe = launch.provenance["probe"]
    assert (probe["left_out"], probe["missing"]) == (len(dropped), 0)
    lines = {found.program.sites[site].location.line for point in dropped for site in (*point.begins, *point.ends)}
    assert probe["left_out_lines"] == sorted(lines)
    assert len(launch.events) == 452
    console = Console(width=200, record=True, file=StringIO())
    TextReporter([summarise(launch)]).print_on(console)
    said = f"{len(dropped)} of {len(found.points)} points would slow it down by more and were left out"
    assert said in console.export_text()


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [
        ([0.02, 0.01, 0.02, 0.0], {0, 1, 2, 3}),
        ([0.02, 0.05, 0.02, 0.0], {0, 2, 3}),
        ([0.05, 0.05, 0.05, 0.05], {-1}),
    ],
    ids=["all", "but one", "heads of loops"],
)
def test_a_place_gets_a_launch_of_its_own_where_two_cost_too_much(
    play: Play, costs: list[float], chosen: set[int]
) -> None:
    many = (slow(*[0.04] * parts, everywhere=True) for parts in (1, 3, 4, 6))
    told = slow(0.1) | {key: cost for each in many for key, cost in each.items()}
    gpu, recorder = play("hand_off", slow=told | alone(*costs) | {(HEADS[0], True): 0.02})
    recorder.handle(Named(gpu))
    [way] = recorder._ways.values()
    assert {share.first for share in way.shares} == chosen
    assert way.everywhere
    probe = recorder.trace.launches[0].provenance["probe"]
    assert probe["slow_down_percent"] == pytest.approx(2.0)
    assert (probe["left_out"] == 0) == (len(chosen) == 4)


@pytest.mark.parametrize(
    ("costs", "parts", "everywhere"),
    [
        (slow(0.1) | slow(0.02, everywhere=True), 1, True),
        (slow(0.1) | slow(0.06, everywhere=True) | slow(0.01, 0.02, 0.01, everywhere=True), 3, True),
        (
            slow(0.1) | slow(0.06, everywhere=True) | slow(*[0.04] * 3, everywhere=True)
            | slow(*[0.04] * 4, everywhere=True) | slow(*[0.04] * 6, everywhere=True)
            | alone(*[0.04] * 4) | {(HEADS[0], True): 0.04}, 1, True
        ),
    ],
    ids=["all record", "all record in parts", "parts are no great help"],
)  # fmt: skip
def test_all_ctas_of_one_wave_record_if_some_alone_hold_it_up(
    play: Play, costs: dict[tuple[Share, bool], float], parts: int, everywhere: bool
) -> None:
    gpu, recorder = play("hand_off", slow=costs)  # of one CTA
    recorder.handle(Named(gpu))
    probe = recorder.trace.launches[0].provenance["probe"]
    assert (probe["parts"], probe["everywhere"]) == (parts, everywhere)
    worst = max(cost for (share, all_record), cost in costs.items() if all_record and share.of == parts)
    assert probe["slow_down_percent"] == pytest.approx(100 * worst)
    # lengths without probes come from a build whose other CTAs run what the compiler wrote, where it wrote it
    assert probe["recorded_cta_slow_down_percent"] == 25.0
    unlisted = [everywhere for kind, _, everywhere in gpu.kinds if kind == "unlisted"]
    attempts = {(share.of, share.alone, share.first < 0, all_record) for share, all_record in costs}
    assert len(unlisted) == 3 * len(attempts)
    assert not any(unlisted)


def test_a_kernel_of_two_waves_has_ctas_that_do_not_record(play: Play) -> None:
    gpu, recorder = play("gemm", slow=slow(0.1) | slow(0.0, everywhere=True) | slow(0.02, 0.02, 0.02))
    recorder.handle(Named(gpu))
    probe = recorder.trace.launches[0].provenance["probe"]
    assert (probe["parts"], probe["everywhere"]) == (3, False)


def test_parts_that_are_asked_for(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(0,), options=ProbeOptions(parts=3), slow=slow(0.5, 0.5, 0.5))
    recorder.handle(Named(gpu))
    [launch] = recorder.trace.launches
    assert launch.provenance["probe"]["parts"] == 3
    assert len(launch.events) == 452
    assert launch.provenance["probe"]["missing"] == 0


def test_only_the_iterations_and_sites_that_are_wanted(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(0,), options=ProbeOptions(iterations=(2, 5)))
    recorder.handle(Named(gpu))
    assert set(recorder.trace.launches[0].events["inner"].tolist()) == {2, 3, 4}


def test_nobody_asks_for_the_launch(play: Play) -> None:
    gpu, recorder = play("gemm")
    recorder.handle(Named(gpu))
    assert recorder.handle(Named(gpu)) is None
    assert len(recorder.trace.launches) == 1


def test_a_launch_that_never_ends(play: Play) -> None:
    """The error says where it stands, the trace has what came before, and nobody may use the GPU any more."""
    found = recorded("gemm")
    marks = found.cta.agents[found.names.index("mma.1")].marks.tolist()
    wait = next(
        place
        for place, mark in enumerate(marks)
        if any(found.program.sites[site].variable == "a_full" for site in found.points[mark].begins)
    )
    gpu, recorder = play("gemm", ctas=(0,), hangs_after=0, stops={8: wait + 1}, options=ProbeOptions(timeout=3))
    before = hook()
    with pytest.raises(GpuHang) as caught:
        recorder.handle(Named(gpu))
    assert recorder.stuck
    assert hook() is before
    assert gpu.launches == [("recorded", 0)]
    assert str(caught.value).startswith(
        "kernel hopper_gemm_ws has not ended within 3 s (--timeout) on the GPU: in CTA 0, "
    )
    assert "mma.1 waits for a_full[4], phase 0, at " in str(caught.value)
    [launch] = recorder.trace.launches
    assert launch.hang == caught.value.report
    assert launch.hang["ended"] == ["mma.0"]
    names = {track.name for track in launch.tracks}
    assert {"load", "mma.0", "mma.1"} <= names
    assert len(launch.events) > 200


def test_a_launch_that_ends_at_first_and_later_never_does(play: Play) -> None:
    """The launches that tell the lengths of CTAs leave no records: that it hangs is said all the same."""
    gpu, recorder = play("gemm", ctas=(0,), hangs_after=3)
    with pytest.raises(GpuHang, match=r"in a launch that no warp group recorded: those before it, .* have ended"):
        recorder.handle(Named(gpu))
    assert [kind for kind, _ in gpu.launches] == ["recorded", "recorded", "unlisted", "unlisted"]
    assert recorder.stuck
    [launch] = recorder.trace.launches
    assert launch.hang is not None
    assert (launch.hang["ctas"], launch.hang["waiters"], len(launch.events)) == (32, [], 0)


def test_an_interruption_goes_through(play: Play) -> None:
    gpu, recorder = play("gemm", interrupted=True)
    before = hook()
    with pytest.raises(KeyboardInterrupt):
        recorder.handle(Named(gpu))
    assert not recorder.stuck
    assert recorder.trace.launches == []
    assert hook() is before


def test_the_points_are_those_of_the_marked_text() -> None:
    """What the recorder reads of a build is what `ProbingStages` has put there."""
    streams = recorded("gemm").streams
    assert len(streams.plan.points(load_program(unmarked(streams.ttgir)))) == streams.ttgir.count("// tlxviz probe ")


def test_a_launch_is_simulated_beside(play: Play) -> None:
    gpu, recorder = play("gemm", ctas=(3,))

    def simulate(device: Any) -> SimulatedRecorder:
        return SimulatedRecorder(device, Recording(ctas=(3,), launches=None), values=False)

    beside = Beside(recorder, simulate)
    assert beside.handle(Named(gpu)) == f"kernel {len(gpu.launches)}"
    assert beside.pairs == [(0, 0)]
    [measured], [simulated] = recorder.trace.launches, beside.trace.launches
    assert simulated.provenance["recorder"] == "simulated"
    assert [(site.kind, site.line) for site in measured.sites] == [(site.kind, site.line) for site in simulated.sites]
    found = difference(measured, simulated)
    assert found.accuracy is not None
    assert found.accuracy.error == simulated.cycles - measured.cycles == sum(cause.difference for cause in found.causes)
    assert all(site.measured is not None and site.simulated is not None for site in found.accuracy.sites)
