"""The layouts of a kernel, as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from rich.console import Console
from rich.text import Text

from tlxviz.analysis.layouts.atom import atom
from tlxviz.analysis.layouts.banks import Transactions
from tlxviz.analysis.layouts.conversions import Way
from tlxviz.analysis.layouts.model import BufferLayout, BufferUse, Change, Conversion, KernelLayouts, TensorLayout
from tlxviz.analysis.layouts.pins import Chosen
from tlxviz.analysis.layouts.words import by, describe
from tlxviz.ir.location import Location
from tlxviz.reporters.layout import HEADING, SIDE, make_console, place, plural, say, size, whole
from tlxviz.reporters.swizzle_picture import say_atom

_CHOSEN = {
    Chosen.COMPILER: "default: the compiler's",
    Chosen.AUTHOR: "pinned by the author",
    Chosen.UNKNOWN: "default or pinned: unknown",
}
_BAD = "bold red"
_ATTENTION = "yellow"


@dataclass(frozen=True, slots=True)
class LayoutsTextReporter:
    kernels: Sequence[KernelLayouts]

    def render(self, stream: TextIO) -> None:
        console = make_console(stream)
        for number, kernel in enumerate(self.kernels):
            if number:
                console.print()
            _say_kernel(console, kernel)


def _say_kernel(console: Console, kernel: KernelLayouts) -> None:
    say(console, Text.assemble((kernel.kernel, HEADING), (f"  cycles by the figures of {kernel.device}", SIDE)))
    if kernel.ctas > 1:
        say(console, f"A program is spread over {kernel.ctas} CTAs: what its layouts cost is not counted.", style=SIDE)
    if kernel.changes:
        for change in kernel.changes:
            console.print()
            _say_change(console, change)
        return
    _say_buffers(console, kernel.buffers)
    _say_tensors(console, kernel.tensors)
    _say_conversions(console, kernel.conversions)
    _say_swizzles(console, kernel.buffers)


# ---- buffers


def _say_buffers(console: Console, buffers: Sequence[BufferLayout]) -> None:
    console.print()
    say(console, "Buffers", style=HEADING)
    if not buffers:
        say(console, "none", indent=2)
    for buffer in buffers:
        _say_buffer(console, buffer)


def _say_buffer(console: Console, buffer: BufferLayout) -> None:
    slots = f"{buffer.slots} x " if buffer.slots > 1 else ""
    head = Text.assemble(
        (buffer.name, "bold"),
        f"  {slots}{by(buffer.shape)} {buffer.element} in {buffer.space}, {size(buffer.bytes)}",
        (f"  {_at(buffer.location)}", SIDE),
    )
    say(console, head, indent=2)
    say(console, Text.assemble(describe(buffer.layout), (f"  {_CHOSEN[buffer.chosen]}", SIDE)), indent=4)
    for use, lines in _gathered(buffer.uses):
        _say_use(console, use, lines)
    if not buffer.uses:
        say(console, "nobody reads or writes it", indent=6, style=SIDE)


def _gathered(uses: Iterable[BufferUse]) -> list[tuple[BufferUse, list[int]]]:
    """Uses that differ in their lines alone, together."""
    found: dict[BufferUse, list[int]] = {}
    for use in uses:
        found.setdefault(replace(use, location=Location(use.location.file)), []).append(use.location.line)
    return list(found.items())


def _say_use(console: Console, use: BufferUse, lines: Sequence[int]) -> None:
    line = Text(use.who)
    if use.variable:
        line.append(f" of {use.variable}")
    line.append(f"  {_lines(lines)}{_agents(use.agents)}", SIDE)
    say(console, line, indent=6)
    if use.asks:
        say(console, f"asks for {use.asks}", indent=8, style=SIDE)
    if use.transactions is not None:
        say(console, _cost(use.transactions, use.cycles), indent=8)
    if use.note:
        say(
            console,
            f"refused: {use.note}" if use.refused else f"not counted: {use.note}",
            indent=8,
            style=_BAD if use.refused else SIDE,
        )


def _cost(made: Transactions, cycles: float | None) -> Text:
    text = Text()
    if made.worst > 1:
        text.append(f"{made.worst}-way bank conflict", _ATTENTION)
        text.append(f": {whole(made.transactions)} transactions a warp instead of {whole(made.least)}")
    else:
        text.append(f"no bank conflict: {plural(made.transactions, 'transaction')} a warp")
    text.append(f", {plural(made.instructions, 'instruction')} of {made.bytes_per_lane} bytes a lane")
    if made.useful < 1:
        text.append(f", {100 * made.useful:.0f}% of the bytes wanted")
    if cycles is not None:
        text.append(f"; {whole(cycles)} cycles for {plural(made.warps, 'warp')}")
    return text


# ---- tensors


def _say_tensors(console: Console, tensors: Sequence[TensorLayout]) -> None:
    console.print()
    say(console, "Tensors", style=HEADING)
    if not tensors:
        say(console, "none that the source names", indent=2)
    groups: dict[tuple[str, Chosen], list[TensorLayout]] = {}
    for tensor in tensors:
        groups.setdefault((describe(tensor.layout), tensor.chosen), []).append(tensor)
    for (words, chosen), members in groups.items():
        say(console, Text.assemble((words, "bold"), (f"  {_CHOSEN[chosen]}", SIDE)), indent=2)
        rows: dict[TensorLayout, list[int]] = {}
        for tensor in members:
            rows.setdefault(replace(tensor, location=Location(), why=""), []).append(tensor.location.line)
        for row, lines in rows.items():
            _say_tensor(console, row, lines)
        for why in dict.fromkeys(tensor.why for tensor in members):
            say(console, f"why: {why or 'nobody asks for another one'}", indent=4, style=SIDE)


def _say_tensor(console: Console, tensor: TensorLayout, lines: Sequence[int]) -> None:
    text = Text.assemble((tensor.name, "bold"), f"  {by(tensor.shape)} {tensor.element}")
    if tensor.registers is not None:
        text.append(f", {plural(tensor.registers, 'register')} a thread")
    if tensor.copies is not None and tensor.copies > 1:
        text.append(f", each element in {tensor.copies} threads")
    text.append(f"  {_lines(lines)}{_agents(tensor.agents)}", SIDE)
    say(console, text, indent=4)


# ---- conversions


def _say_conversions(console: Console, conversions: Sequence[Conversion]) -> None:
    console.print()
    say(console, "Conversions in registers", style=HEADING)
    if not conversions:
        say(console, "none", indent=2)
    found: dict[Conversion, list[int]] = {}
    for each in conversions:
        found.setdefault(replace(each, location=Location(each.location.file)), []).append(each.location.line)
    for each, lines in found.items():
        head = Text.assemble(
            (each.name or "a value without a name", "bold"),
            f"  {by(each.shape)} {each.element}",
            (f"  {_lines(lines)}{_agents(each.agents)}", SIDE),
        )
        say(console, head, indent=2)
        say(console, f"from {describe(each.source)}", indent=4)
        say(console, f"to   {describe(each.target)}", indent=4)
        if each.why:
            say(console, f"why: {each.why}", indent=4, style=SIDE)
        say(console, _taken(each), indent=4)


def _taken(each: Conversion) -> str:
    made = each.exchange
    if made is None:
        held = "" if each.scratch is None else f"; {size(each.scratch)} of scratch"
        return f"not counted: a layout is not taken apart{held}"
    cycles = f"{whole(each.cycles or 0)} cycles for {plural(made.warps, 'warp')}"
    match made.way:
        case Way.NOTHING:
            return "free: every element is in its place"
        case Way.REGISTERS:
            return "free or moves: each thread has its elements, in other registers"
        case Way.SHUFFLES:
            return f"shuffles within warps: {plural(made.shuffles, 'shuffle')} a thread; {cycles}"
        case Way.SHARED_MEMORY:
            held = f"{size(each.scratch)}" if each.scratch is not None else f"up to {size(made.most_scratch)}"
            return (
                f"through shared memory: {held} of scratch, {plural(made.transactions, 'transaction')} to store and "
                f"load it if nothing conflicts; {cycles}"
            )


# ---- swizzles and changes


def _say_swizzles(console: Console, buffers: Sequence[BufferLayout]) -> None:
    drawn: dict[tuple[str, int], list[BufferLayout]] = {}
    for buffer in buffers:
        if atom(buffer.layout, buffer.shape, buffer.bits) is not None:
            drawn.setdefault((describe(buffer.layout), buffer.bits), []).append(buffer)
    for members in drawn.values():
        console.print()
        _say_swizzle(console, members[0], [buffer.name for buffer in members])


def _say_swizzle(console: Console, buffer: BufferLayout, names: Sequence[str]) -> None:
    picture = atom(buffer.layout, buffer.shape, buffer.bits)
    if picture is None:
        return
    say(console, Text.assemble((describe(buffer.layout), HEADING), f": the first 1024 bytes of {', '.join(names)}"))
    say_atom(console, picture)


def _say_change(console: Console, change: Change) -> None:
    before, after = change.before, change.after
    head = Text.assemble(
        (before.name, "bold"), f"  {by(before.shape)} {before.element}", (f"  {_at(before.location)}", SIDE)
    )
    say(console, head)
    say(console, f"is     {describe(before.layout)}", indent=2)
    say(console, f"given  {describe(after.layout)}", indent=2)
    verdict = "somebody refuses it" if change.refused else "nobody refuses it"
    costs = "no warp loads or stores it, and what other units do is not counted"
    if any(use.cycles is not None for use in (*before.uses, *after.uses)):
        costs = f"cycles of shared memory: {_total(before)} as it is, {_total(after)} as given"
    say(console, f"{verdict}; {costs}", indent=2, style=_BAD if change.refused else "")
    for title, buffer in (("as it is", before), ("as given", after)):
        console.print()
        say(console, title, indent=2, style=HEADING)
        for use, lines in _gathered(buffer.uses):
            _say_use(console, use, lines)
        _say_swizzle(console, buffer, [buffer.name])


def _total(buffer: BufferLayout) -> str:
    unknown = any(use.note and not use.refused for use in buffer.uses)
    return whole(sum(use.cycles or 0 for use in buffer.uses)) + (" and what is not counted" if unknown else "")


# ---- small things


def _at(location: Location) -> str:
    return place(location.file, location.line)


def _lines(lines: Sequence[int]) -> str:
    known = [str(line) for line in sorted(set(lines)) if line]
    return f"line{'' if len(known) == 1 else 's'} {', '.join(known)}" if known else ""


def _agents(agents: Sequence[str]) -> str:
    return f" ({', '.join(agents)})" if agents else ""
