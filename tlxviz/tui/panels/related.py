"""What the list of an event's panel says: its operands, its causes, where its data are from, and what it let go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from rich.text import Text

from tlxviz.analysis.chains import Stretch, stretches
from tlxviz.analysis.flow import FlowKind
from tlxviz.analysis.hang import source_line
from tlxviz.analysis.links import ACTIVITY_WORDS, Activity, Dependencies
from tlxviz.analysis.operands import OperandFact, Operands
from tlxviz.reporters.layout import whole
from tlxviz.trace.model import LaunchTrace
from tlxviz.tui.flowing import links
from tlxviz.tui.state import State
from tlxviz.tui.words import event_name, own_file, place_text, time_text, track_name

_STEPS = 50
"""Steps of a chain that are shown."""
_COUNTED = 5000
"""Steps of a chain that are followed, so that a key never waits for a long one."""
_SOME = 20
"""Events of one kind, as shown."""

Row = tuple[Text | str, object]
"""What a line says, and what it stands for: a row of the event table, a `Line`, or None."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the kernel's own source."""

    number: int


def heading(text: str) -> Row:
    return Text(text, "bold"), None


# ---- operands


def operand_rows(state: State, known: Operands, event: int) -> Iterator[Row]:
    """The operands, and of a buffer that an event reads, who writes it without being an event."""
    found = known.of(event)
    if found:
        yield heading("works on")
    for each in found:
        yield _operand(state.launch, each), _line(state.launch, each.file, each.line)
        if each.part in ("A", "B", "source") and each.slots:
            for writer in known.writers(each.name, each.slot):
                where = place_text(state.launch, writer.file, writer.line)
                text = f"  written by {writer.agent}".rstrip() + f"  {where}  {_code(state.launch, writer.line)}"
                yield text.rstrip(), _line(state.launch, writer.file, writer.line)


def _operand(launch: LaunchTrace, each: OperandFact) -> Text:
    slot = f"[{each.slot}]" if each.slot >= 0 and each.slots > 1 else "[?]" if each.slots > 1 else ""
    of = f" of {each.slots}" if each.slots > 1 else ""
    text = Text.assemble((f"{each.part}  ", "dim"), (f"{each.name}{slot}", "bold"), f"{of}  {each.type}")
    if where := place_text(launch, each.file, each.line):
        text.append(f"  {where}")
        if own_file(launch, each.file):
            text.append(f"  {_code(launch, each.line)}", "dim")
    return text


def _line(launch: LaunchTrace, file: str, line: int) -> Line | None:
    count = launch.source.count("\n") + 1
    return Line(line) if own_file(launch, file) and 0 <= line - launch.source_line < count else None


def _code(launch: LaunchTrace, line: int) -> str:
    return source_line(launch, launch.source_file, line)


# ---- causes


def cause_rows(state: State, made: Dependencies, event: int) -> Iterator[Row]:
    """The chain that leads back from the end of an event."""
    steps = list(islice(stretches(made, event), _COUNTED + 1))
    for step in steps[:_STEPS]:
        yield _step(state, step, event), step.row
    if not steps:
        yield "nothing", None
    elif len(steps) > _COUNTED:
        yield f"… and more than {whole(_COUNTED - _STEPS)} more steps", None
    elif len(steps) > _STEPS:
        yield f"… and {whole(len(steps) - _STEPS)} more steps", None


def _step(state: State, step: Stretch, event: int) -> Text:
    launch = state.launch
    name = event_name(launch, step.row)
    if step.activity is Activity.ARITHMETIC:
        name = f"before {name}"
    length = time_text(step.end - step.begin, launch.clock_mhz, state.units)
    who = track_name(launch, step.track, event)
    return Text.assemble((f"{who}  ", "bold"), f"{name}  {length}  ", (ACTIVITY_WORDS[step.activity], "dim"))


# ---- data, and what it released


def came_rows(state: State, event: int) -> Iterator[Row]:
    """What filled what the event reads, and what freed what it fills."""
    came, _ = links(state, event)
    for title, kind in (("filled by", FlowKind.FILLED), ("slot freed by", FlowKind.FREED)):
        yield from _listed(state, title, event, [row for row, each in came if each is kind])


def went_rows(state: State, event: int) -> Iterator[Row]:
    """What reads what the event fills, what fills what it frees, and what it released."""
    _, went = links(state, event)
    for title, kind in (("read by", FlowKind.FILLED), ("slot filled anew by", FlowKind.FREED)):
        yield from _listed(state, title, event, [row for row, each in went if each is kind])
    rows: list[int] = np.flatnonzero(state.launch.events["released_by"] == event).tolist()
    yield from _listed(state, "released", event, rows)


def _listed(state: State, title: str, event: int, rows: list[int]) -> Iterable[Row]:
    if not rows:
        return
    yield heading(f"{title} {whole(len(rows))}" if title == "released" or len(rows) > 1 else title)
    launch, track = state.launch, state.launch.events["track"]
    for row in rows[:_SOME]:
        length = int(launch.events["end"][row] - launch.events["begin"][row])
        name = Text.assemble((f"{track_name(launch, int(track[row]), event)}  ", "bold"), event_name(launch, row))
        yield name.append(f"  {time_text(length, launch.clock_mhz, state.units)}"), row
    if len(rows) > _SOME:
        yield f"… and {whole(len(rows) - _SOME)} more", None
