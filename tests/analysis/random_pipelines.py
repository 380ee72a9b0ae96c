"""A small machine whose runs can be repeated with one thing taking longer: what the analysis says can be tried out.

One producer copies into a ring of slots, consumers multiply and perhaps meet at a named barrier or store. All times
are sums and maxima of durations, and engines serve in a fixed order, so that nothing that takes longer makes anything
earlier. Durations are multiples of `UNIT`, above the differences that the analysis takes for none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from analysis.synthetic_traces import launch
from hypothesis import strategies as st

from tlxviz.trace import AgentRow, LaunchTrace, SiteRow, Track, TrackKind

UNIT = 48

Key = tuple[object, ...]
"""What takes its time: (CTA, agent, number of the operation), with `work` in front for the arithmetic before it, and
`engine` for the copy or product that it issues."""


@dataclass(frozen=True)
class Spec:
    seed: int
    iterations: int
    slots: int
    consumers: int
    loads: int
    """Loads for each slot, of which the last to land completes the phase."""
    queue: int
    """Products that the tensor core has room for."""
    lag: int
    """Products that a consumer leaves under way."""
    meeting: str
    """`none`, `waits` (all wait for all at a named barrier) or `arrival` (the first arrives, the others wait)."""
    stores: bool
    late: int
    """Cycles that consumers begin after their CTA."""
    ctas: int
    gap: int
    """Cycles from one CTA to the next, before the first, and after the last."""

    def duration(self, key: Key, most: int) -> int:
        return UNIT * Random(f"{self.seed} {key}").randint(0, most)


specs = st.builds(
    Spec,
    seed=st.integers(0, 10**6),
    iterations=st.integers(1, 6),
    slots=st.integers(1, 3),
    consumers=st.integers(1, 3),
    loads=st.integers(1, 2),
    queue=st.integers(1, 4),
    lag=st.integers(0, 1),
    meeting=st.sampled_from(["none", "waits", "arrival"]),
    stores=st.booleans(),
    late=st.sampled_from([0, 5 * UNIT]),
    ctas=st.integers(1, 2),
    gap=st.sampled_from([0, 3 * UNIT]),
).filter(lambda spec: spec.slots > spec.lag)

KINDS = ["empty", "expect", "load", "full", "meet", "join", "mma", "mma_wait", "arrive", "store", "store_wait"]
_SITES = {
    "empty": ("wait", "empty"),
    "expect": ("expect", "full"),
    "load": ("tma_load", "tile"),
    "full": ("wait", "full"),
    "meet": ("named_wait", ""),
    "join": ("named_arrive", ""),
    "mma": ("mma", ""),
    "mma_wait": ("mma_wait", ""),
    "arrive": ("arrive", "empty"),
    "store": ("tma_store", "out"),
    "store_wait": ("tma_store_wait", ""),
}


@dataclass
class Event:
    key: Key
    track: int
    site: int
    begin: int
    end: int
    inner: int
    slot: int
    phase: int
    by: Event | None = None


@dataclass
class Result:
    trace: LaunchTrace
    keys: list[Key]
    """By row of the event table."""
    ends: list[int]
    """Of the CTAs."""
    tails: dict[int, Key]
    """By track: the arithmetic after its last event."""


@dataclass
class _Cta:
    """One CTA while it runs. An operation that needs something which has not happened yet is tried again."""

    spec: Spec
    number: int
    start: int
    longer: Mapping[Key, int]
    """Cycles that something takes longer."""
    later: Mapping[Key, int]
    """Cycles that something ends later, while an engine goes on with the next as before."""
    events: list[Event] = field(default_factory=list)
    products: list[Event] = field(default_factory=list)
    product_of: dict[tuple[int, int], Event] = field(default_factory=dict)
    engine_free: dict[str, int] = field(default_factory=dict)
    filled: dict[int, list[Event]] = field(default_factory=dict)
    emptied: dict[int, list[Event]] = field(default_factory=dict)
    met: dict[int, dict[int, tuple[int, Event | None]]] = field(default_factory=dict)
    stored: dict[tuple[int, int], Event] = field(default_factory=dict)

    def run(self) -> tuple[list[Track], dict[int, Key]]:
        spec = self.spec
        programs = [list(self._producer())] + [list(self._consumer(each)) for each in range(spec.consumers)]
        now = [self.start] + [self.start + spec.late] * spec.consumers
        begins, at = list(now), [0] * len(programs)
        while any(place < len(program) for place, program in zip(at, programs, strict=True)):
            moved = False
            for agent, program in enumerate(programs):
                while at[agent] < len(program):
                    key = (self.number, agent, at[agent])
                    ready = now[agent] + self._took(("work", *key), 3)
                    end = self._execute(agent, key, *program[at[agent]], ready)
                    if end is None:
                        break
                    now[agent], at[agent], moved = end, at[agent] + 1, True
            assert moved, "the pipeline hangs"
        base = self.number * (len(programs) + 2)
        tails: dict[int, Key] = {}
        for agent in range(len(programs)):
            tails[base + agent] = ("tail", self.number, agent)
            now[agent] += self._took(tails[base + agent], 3)
        names = ["load", *(f"mma.{each}" for each in range(spec.consumers))]
        tracks = [
            Track(TrackKind.WARP_GROUP, name, self.number, 0, agent, 4, begins[agent], now[agent])
            for agent, name in enumerate(names)
        ]
        tracks.append(Track(TrackKind.TMA, "TMA", self.number, 0, -1, 0, self.start, max(now)))
        tracks.append(Track(TrackKind.TENSOR_CORE, "tensor core", self.number, 0, -1, 0, self.start, max(now)))
        return tracks, tails

    def _producer(self) -> Iterator[tuple[str, int]]:
        for i in range(self.spec.iterations):
            if i >= self.spec.slots:
                yield "empty", i
            yield "expect", i
            yield from [("load", i)] * self.spec.loads

    def _consumer(self, number: int) -> Iterator[tuple[str, int]]:
        spec = self.spec
        for i in range(spec.iterations):
            yield "full", i
            if spec.meeting != "none":
                yield ("join" if spec.meeting == "arrival" and number == 0 and spec.consumers > 1 else "meet"), i
            yield "mma", i
            if i >= spec.lag:
                yield "mma_wait", i - spec.lag
                yield "arrive", i - spec.lag
            if spec.stores:
                yield "store", i
                if i:
                    yield "store_wait", i - 1
        if spec.lag:
            yield "mma_wait", spec.iterations - 1
            yield "arrive", spec.iterations - 1
        if spec.stores:
            yield "store_wait", spec.iterations - 1

    def _took(self, key: Key, most: int, constant: object = None) -> int:
        return self.spec.duration(key if constant is None else (constant,), most) + self.longer.get(key, 0)

    def _add(self, key: Key, track: int, kind: str, begin: int, end: int, i: int, by: Event | None = None) -> Event:
        agent = int(str(key[-2]))
        slot, phase = i % self.spec.slots, i // self.spec.slots
        if kind in ("meet", "join"):
            slot, phase = 1, i
        base = self.number * (self.spec.consumers + 3)
        site = agent * len(KINDS) + KINDS.index(kind)
        made = Event(key, base + track, site, begin, end + self.later.get(key, 0), i, slot, phase, by)
        self.events.append(made)
        return made

    def _execute(self, agent: int, key: Key, kind: str, i: int, ready: int) -> int | None:
        """When the warp group goes on; None if it cannot be told yet."""
        spec = self.spec
        tma, core = spec.consumers + 1, spec.consumers + 2
        if kind in ("empty", "full", "mma_wait", "store_wait"):
            by = self._release(agent, kind, i)
            if by is None:
                return None
            return self._add(key, agent, kind, ready, max(ready, by.end) + self._took(key, 2), i, by).end
        if kind in ("meet", "join"):
            return self._meet(agent, key, kind, i, ready)
        if kind == "mma":
            return self._multiply(agent, key, i, ready, core)
        end = ready + self._took(key, 2)
        made = self._add(key, agent, kind, ready, end, i)
        if kind == "arrive":
            self.emptied.setdefault(i, []).append(made)
        elif kind in ("load", "store"):
            begin = max(made.end, self.engine_free.get(kind, 0))
            engine = ("engine", *key)
            self.engine_free[kind] = begin + UNIT + self._took(engine, 4, (kind, agent))
            landed = self._add(engine, tma, kind, begin, self.engine_free[kind] + 2 * UNIT, i, made)
            if kind == "load":
                self.filled.setdefault(i, []).append(landed)
            else:
                self.stored[agent, i] = landed
        return made.end

    def _release(self, agent: int, kind: str, i: int) -> Event | None:
        if kind == "mma_wait":
            return self.product_of.get((agent, i))
        if kind == "store_wait":
            return self.stored[agent, i]
        which, count = (self.filled, self.spec.loads) if kind == "full" else (self.emptied, self.spec.consumers)
        found = which.get(i if kind == "full" else i - self.spec.slots, [])
        return max(found, key=lambda each: each.end) if len(found) == count else None

    def _meet(self, agent: int, key: Key, kind: str, i: int, ready: int) -> int | None:
        here = self.met.setdefault(i, {})
        if kind == "join":
            made = self._add(key, agent, kind, ready, ready + self._took(key, 2), i)
            here[agent] = made.end, made
            return made.end
        here[agent] = ready, None
        if len(here) < self.spec.consumers:
            return None
        came, by = max(here.values(), key=lambda each: each[0])
        return self._add(key, agent, kind, ready, came + self._took(key, 2), i, by).end

    def _multiply(self, agent: int, key: Key, i: int, ready: int, core: int) -> int | None:
        order = i * self.spec.consumers + agent - 1
        if len(self.products) < order:
            return None
        end = ready + self._took(key, 2, "mma")
        if order >= self.spec.queue:
            end = max(end, self.products[order - self.spec.queue].end)
        made = self._add(key, agent, "mma", ready, end, i)
        engine = ("engine", *key)
        begin = max(ready, self.engine_free.get("mma", 0))
        self.engine_free["mma"] = begin + UNIT + self._took(engine, 5)
        product = self._add(engine, core, "mma", begin, self.engine_free["mma"], i, made)
        self.products.append(product)
        self.product_of[agent, i] = product
        return made.end


def simulate(spec: Spec, *, longer: Mapping[Key, int] | None = None, later: Mapping[Key, int] | None = None) -> Result:
    """Run the machine."""
    start = spec.gap
    tracks: list[Track] = []
    events: list[Event] = []
    ends: list[int] = []
    tails: dict[int, Key] = {}
    for number in range(spec.ctas):
        cta = _Cta(spec, number, start, longer or {}, later or {})
        rows, last = cta.run()
        tracks += rows
        tails |= last
        events += cta.events
        ends.append(max(row.end for row in rows))
        start = ends[-1] + spec.gap
    events.sort(key=lambda each: each.end)
    place = {id(each): row for row, each in enumerate(events)}
    table = [
        (
            each.track,
            each.site,
            each.begin,
            each.end,
            each.inner,
            each.inner,
            each.slot,
            each.phase,
            0,
            place[id(each.by)] if each.by is not None else -1,
        )
        for each in events
    ]
    names = ["load", *(f"mma.{each}" for each in range(spec.consumers))]
    sites = [
        SiteRow(_SITES[kind][0], agent, "machine.py", line, _SITES[kind][1], kind)
        for agent in range(len(names))
        for line, kind in enumerate(KINDS, 1)
    ]
    agents = [AgentRow(name, "", number, 4) for number, name in enumerate(names)]
    return Result(launch(tracks, sites, table, agents, cycles=start), [each.key for each in events], ends, tails)
