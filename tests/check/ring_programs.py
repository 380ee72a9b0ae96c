"""Kernels that are made of a description, as TTGIR: correct by construction, or with one planted fault.

A producer copies tiles into a ring; consumers read them, perhaps meet, and perhaps hand results to TMA stores. The
description says how many of each there are. A fault changes one thing that the description needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

SIDE = 64
TILE = SIDE * SIDE * 2
"""Bytes of a tile."""


@dataclass(frozen=True)
class Ring:
    """A kernel."""

    slots: int
    trips: int
    """Iterations for each tile of the result."""
    tiles: int
    consumers: int
    loads: int
    """Copies into each slot, of buffers of their own."""
    reads: str
    """`values`: loads into registers; `wgmma`: products out of shared memory."""
    lag: int
    """Products that stay in flight."""
    meets: bool
    """Whether the consumers meet at a named barrier in each iteration."""
    stores: int
    """Slots of the ring of each consumer's results; 0 if it stores none."""
    carried: bool
    """Whether slot and phase are carried along, and not derived from the iteration."""
    fault: str = ""

    @property
    def total(self) -> int:
        """Uses of slots."""
        return self.trips * self.tiles


FAULTS = {
    "no wait for empty": lambda ring: ring.total > ring.slots,
    "no wait for full": lambda ring: ring.total >= 1,
    "no release": lambda ring: ring.total > ring.slots,
    # those that meet after their reads release for each other
    "early release": lambda ring: ring.total > ring.slots and not (ring.meets and ring.consumers > 1),
    "two releases": lambda ring: ring.total > ring.slots,
    "full parity": lambda ring: ring.total >= 1,
    "empty parity": lambda ring: ring.total >= 1,
    "constant parity": lambda ring: ring.total > ring.slots,
    "law of another ring": lambda ring: ring.total > ring.slots,
    "more arrivals expected": lambda ring: ring.total > ring.slots,
    "fewer arrivals expected": lambda ring: ring.total > ring.slots and ring.consumers > 1,
    "more bytes": lambda ring: ring.total >= 1,
    "fewer bytes": lambda ring: ring.total >= 1,
    "one trip more": lambda ring: ring.total >= 1,
    "another slot": lambda ring: ring.total >= 2 and ring.slots >= 2,
    "product not waited for": lambda ring: ring.reads == "wgmma" and ring.total > ring.slots,
    "store not waited for": lambda ring: 0 < ring.stores < ring.tiles,
    "threads of another count": lambda ring: ring.meets and ring.consumers > 1 and ring.total >= 1,
}
"""Faults, and which kernels they make wrong."""


@st.composite
def rings(draw: st.DrawFn) -> Ring:
    """Correct kernels."""
    slots = draw(st.integers(1, 4))
    reads = draw(st.sampled_from(["values", "wgmma"]))
    return Ring(
        slots=slots,
        trips=draw(st.sampled_from([0, 1, slots, slots + 1, 2 * slots + 1])),
        tiles=draw(st.integers(1, 3)),
        consumers=draw(st.integers(1, 3)),
        loads=draw(st.integers(1, 2)),
        reads=reads,
        lag=draw(st.integers(0, 1)) if reads == "wgmma" and slots > 1 else 0,
        meets=draw(st.booleans()),
        stores=draw(st.integers(0, 2)),
        carried=draw(st.booleans()),
    )


@st.composite
def faulty(draw: st.DrawFn) -> Ring:
    """Kernels with one fault."""
    fault = draw(st.sampled_from(sorted(FAULTS)))
    ring = draw(rings().filter(FAULTS[fault]))
    return replace(ring, fault=fault)


# ---------------------------------------------------------------------- text

_LAYOUTS = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
"""
_ATTRIBUTES = (
    'tlx.has_tlx_ops = true, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", '
    '"ttg.threads-per-warp" = 32 : i32'
)
_BARRIER = "!ttg.memdesc<1xi64, #shared1, #smem, mutable>"
_VIEW = f"!ttg.memdesc<{SIDE}x{SIDE}xf16, #shared, #smem, mutable>"
_DESCRIPTOR = f"!tt.tensordesc<tensor<{SIDE}x{SIDE}xf16, #shared>>"
_SUMS = f"tensor<{SIDE}x{SIDE}xf32, #mma>"
_VALUES = f"tensor<{SIDE}x{SIDE}xf16, #blocked>"


def _barriers(slots: int) -> str:
    return f"!ttg.memdesc<{slots}xi64, #shared1, #smem, mutable>"


def _buffer(slots: int) -> str:
    return f"!ttg.memdesc<{slots}x{SIDE}x{SIDE}xf16, #shared, #smem, mutable>"


@dataclass
class _Text:
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def name(self, prefix: str = "v") -> str:
        self.names += 1
        return f"%{prefix}_{self.names}"

    def let(self, text: str, prefix: str = "v") -> str:
        """A line that defines a new value; its name."""
        found = self.name(prefix)
        self.line(f"{found} = {text}")
        return found

    def number(self, value: int) -> str:
        return self.let(f"arith.constant {value} : i32", "c")

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1
        self.line(tail)


def ttgir_of(ring: Ring) -> str:
    """The TTGIR of a kernel `ring(x_desc, y_desc)`."""
    return _Writer(ring).text()


class _Writer:
    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.out = _Text()
        self.captured: list[tuple[str, str]] = []

    def text(self) -> str:
        ring, out = self.ring, self.out
        out.depth = 0
        with out.block(f"module attributes {{{_ATTRIBUTES}}} {{"):
            head = (
                f"tt.func public @ring(%x_desc: {_DESCRIPTOR}, %y_desc: {_DESCRIPTOR}) attributes {{noinline = false}}"
            )
            with out.block(head + " {"):
                self._allocate()
                names = ", ".join(name for name, _ in self.captured)
                out.line(f"ttg.warp_specialize({names})")
                with out.block("default {"):
                    self._producer({name: name for name, _ in self.captured})
                    out.line("ttg.warp_yield")
                for consumer in range(ring.consumers):
                    last = consumer == ring.consumers - 1
                    arguments = ", ".join(f"%p{consumer}_{at}: {kind}" for at, (_, kind) in enumerate(self.captured))
                    kinds = ", ".join(kind for _, kind in self.captured)
                    with out.block(
                        f"partition{consumer}({arguments}) num_warps(4) {{", f"}} : ({kinds}) -> ()" if last else "}"
                    ):
                        own = {name: f"%p{consumer}_{at}" for at, (name, _) in enumerate(self.captured)}
                        self._consumer(consumer, own)
                        out.line("ttg.warp_return")
                out.line("tt.return")
        return _LAYOUTS + "\n".join(out.lines) + "\n"

    def _allocate(self) -> None:
        ring, out = self.ring, self.out
        for load in range(ring.loads):
            self._keep(f"%tiles{load}", _buffer(ring.slots))
        count = ring.consumers
        count += {"more arrivals expected": 1, "fewer arrivals expected": -1}.get(ring.fault, 0)
        for name, arrivals in (("%full", 1), ("%empty", count)):
            self._keep(name, _barriers(ring.slots))
            for slot in range(ring.slots):
                view = self._slot(name, ring.slots, out.number(slot))
                out.line(f"ttng.init_barrier {view}, {arrivals} : {_BARRIER}")
        for consumer in range(ring.consumers if ring.stores else 0):
            self._keep(f"%staging{consumer}", _buffer(ring.stores))
        self.captured += [("%x_desc", _DESCRIPTOR), ("%y_desc", _DESCRIPTOR)]

    def _keep(self, name: str, kind: str) -> None:
        self.out.line(f"{name} = ttg.local_alloc : () -> {kind}")
        self.captured.append((name, kind))

    def _slot(self, array: str, slots: int, index: str) -> str:
        return self.out.let(f"ttg.memdesc_index {array}[{index}] : {_barriers(slots)} -> {_BARRIER}", "b")

    def _tile(self, buffer: str, slots: int, index: str) -> str:
        return self.out.let(f"ttg.memdesc_index {buffer}[{index}] : {_buffer(slots)} -> {_VIEW}", "t")

    # ------------------------------------------------------------------ loops

    @contextmanager
    def _uses(self, trips: int) -> Iterator[tuple[str, str, str]]:
        """Loops over tiles and iterations: number, slot and phase of each use of the ring."""
        ring, out = self.ring, self.out
        zero, one, slots = out.number(0), out.number(1), out.number(ring.slots)
        most = out.number(trips * ring.tiles)
        if not ring.carried:
            with out.block(f"scf.for %k = {zero} to {most} step {one}  : i32 {{"):
                slot = out.let(f"arith.remsi %k, {slots} : i32", "slot")
                lap = out.let(f"arith.divsi %k, {slots} : i32")
                yield "%k", slot, out.let(f"arith.andi {lap}, {one} : i32", "phase")
            return
        head = f"{out.name()}:2 = scf.for %k = {zero} to {most} step {one} "
        with out.block(head + f"iter_args(%slot = {zero}, %phase = {zero}) -> (i32, i32)  : i32 {{"):
            yield "%k", "%slot", "%phase"
            more = out.let(f"arith.addi %slot, {one} : i32")
            wraps = out.let(f"arith.cmpi eq, {more}, {slots} : i32")
            turned = out.let(f"arith.xori %phase, {one} : i32")
            slot = out.let(f"arith.select {wraps}, {zero}, {more} : i32")
            phase = out.let(f"arith.select {wraps}, {turned}, %phase : i32")
            out.line(f"scf.yield {slot}, {phase} : i32, i32")

    def _flipped(self, phase: str) -> str:
        one = self.out.number(1)
        return self.out.let(f"arith.xori {phase}, {one} : i32", "parity")

    def _wait(self, array: str, slot: str, parity: str) -> None:
        view = self._slot(array, self.ring.slots, slot)
        true = self.out.let("arith.constant true", "true")
        self.out.line(f"ttng.wait_barrier {view}, {parity}, {true} : {_BARRIER}")

    # ------------------------------------------------------------------ roles

    def _producer(self, own: dict[str, str]) -> None:
        ring, out = self.ring, self.out
        with self._uses(ring.trips) as (k, slot, phase):
            parity = self._flipped(phase)
            match ring.fault:
                case "empty parity":
                    parity = phase
                case "constant parity":
                    parity = out.number(1)
                case "law of another ring":
                    lap = out.let(f"arith.divsi {k}, {out.number(ring.slots + 1)} : i32")
                    parity = self._flipped(out.let(f"arith.andi {lap}, {out.number(1)} : i32"))
                case _:
                    pass
            if ring.fault != "no wait for empty":
                self._wait(own["%empty"], slot, parity)
            full = self._slot(own["%full"], ring.slots, slot)
            size = ring.loads * TILE + {"more bytes": TILE, "fewer bytes": -TILE // 2}.get(ring.fault, 0)
            true = out.let("arith.constant true", "true")
            out.line(f"ttng.barrier_expect {full}, {size}, {true} : {_BARRIER}")
            row = out.let(f"arith.muli {k}, {out.number(SIDE)} : i32")
            for load in range(ring.loads):
                view = self._tile(own[f"%tiles{load}"], ring.slots, slot)
                zero = out.number(0)
                out.line(
                    f"ttng.async_tma_copy_global_to_local {own['%x_desc']}[{row}, {zero}] {view}, {full}, {true} : "
                    f"{_DESCRIPTOR}, {_BARRIER} -> {_VIEW}"
                )

    def _consumer(self, number: int, own: dict[str, str]) -> None:
        ring, out = self.ring, self.out
        at_fault = ring.fault if number == 0 else ""
        trips = ring.trips
        if ring.reads == "wgmma":
            out.line(f"%sums{number} = arith.constant dense<0.000000e+00> : {_SUMS}")
        if at_fault == "one trip more":
            self._rounds(number, own, trips, at_fault)
            self._wait(own["%full"], *self._after(ring.total))
        else:
            self._rounds(number, own, trips, at_fault)
        if ring.stores:
            self._results(number, own, at_fault)

    def _after(self, total: int) -> tuple[str, str]:
        """Slot and phase of a use that nobody fills."""
        slots = self.ring.slots
        return self.out.number(total % slots), self.out.number(total // slots % 2)

    def _rounds(self, number: int, own: dict[str, str], trips: int, fault: str) -> None:
        ring, out = self.ring, self.out
        with self._uses(trips) as (k, slot, phase):
            if fault != "no wait for full":
                self._wait(own["%full"], slot, self._flipped(phase) if fault == "full parity" else phase)
            if fault == "early release":
                self._release(own, slot)
            place = slot
            if fault == "another slot":
                more = out.let(f"arith.addi {slot}, {out.number(1)} : i32")
                place = out.let(f"arith.remsi {more}, {out.number(ring.slots)} : i32")
            views = [self._tile(own[f"%tiles{load}"], ring.slots, place) for load in range(ring.loads)]
            if ring.reads == "values":
                for view in views:
                    out.let(f"ttg.local_load {view} : {_VIEW} -> {_VALUES}")
            else:
                out.let(
                    f"ttng.warp_group_dot {views[0]}, {views[-1]}, %sums{number} {{inputPrecision = 0 : i32, isAsync = "
                    f"true}} : {_VIEW} * {_VIEW} -> {_SUMS}"
                )
                pending = ring.lag + (fault == "product not waited for")
                out.line(f"ttng.warp_group_dot_wait {{pendings = {pending} : i32}}")
            if ring.meets:
                threads = 128 * ring.consumers + (128 if fault == "threads of another count" else 0)
                out.line(f"ttng.wait_barrier_named {out.number(5)}, {out.number(threads)} : i32, i32")
            if fault not in ("no release", "early release"):
                if ring.lag:
                    self._release_before(own, k, slot)
                else:
                    self._release(own, slot)
                if fault == "two releases":
                    self._release(own, slot)
        if ring.lag and fault not in ("no release", "early release") and ring.total:
            out.line("ttng.warp_group_dot_wait {pendings = 0 : i32}")
            self._release(own, out.number((ring.total - 1) % ring.slots))

    def _release(self, own: dict[str, str], slot: str) -> None:
        view = self._slot(own["%empty"], self.ring.slots, slot)
        self.out.line(f"ttng.arrive_barrier {view}, 1 : {_BARRIER}")

    def _release_before(self, own: dict[str, str], k: str, slot: str) -> None:
        """Releases the slot of the iteration before, if there was one."""
        out, slots = self.out, self.ring.slots
        before = out.let(f"arith.addi {slot}, {out.number(slots - 1)} : i32")
        last = out.let(f"arith.remsi {before}, {out.number(slots)} : i32")
        view = self._slot(own["%empty"], slots, last)
        some = out.let(f"arith.cmpi sgt, {k}, {out.number(0)} : i32")
        out.line(f"ttng.arrive_barrier {view}, 1, {some} : {_BARRIER}")

    def _results(self, number: int, own: dict[str, str], fault: str) -> None:
        """One tile after the other through a ring of staging buffers."""
        ring, out = self.ring, self.out
        zero, one = out.number(0), out.number(1)
        out.line(f"%made{number} = arith.constant dense<0.000000e+00> : {_VALUES}")
        with out.block(f"scf.for %i = {zero} to {out.number(ring.tiles)} step {one}  : i32 {{"):
            pending = ring.stores - 1 + (fault == "store not waited for")
            out.line(f"ttng.async_tma_store_wait {{pendings = {pending} : i32}}")
            place = out.let(f"arith.remsi %i, {out.number(ring.stores)} : i32")
            view = self._tile(own[f"%staging{number}"], ring.stores, place)
            out.line(f"ttg.local_store %made{number}, {view} : {_VALUES} -> {_VIEW}")
            out.line("ttng.fence_async_shared {bCluster = false}")
            row = out.let(f"arith.muli %i, {out.number(SIDE)} : i32")
            out.line(
                f"ttng.async_tma_copy_local_to_global {own['%y_desc']}[{row}, {out.number(number * SIDE)}] {view} : "
                f"{_DESCRIPTOR}, {_VIEW}"
            )
        out.line("ttng.async_tma_store_wait {pendings = 0 : i32}")
