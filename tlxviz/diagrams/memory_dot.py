"""Memory as DOT text: a table whose rows are as high as their bytes are many."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from textwrap import wrap

from tlxviz.analysis.slot_times import COLUMNS, FILL, FREE, FULL, READ, SUMS, SlotTimes
from tlxviz.diagrams.canvas import graph
from tlxviz.diagrams.looks import HEADING, LINES
from tlxviz.diagrams.memory import TENSOR_MEMORY, Block, MemoryMap
from tlxviz.diagrams.wording import bytes_text, number_of

_POINTS_PER_KIB = 1.5
_LOWEST = 15
_HIGHEST = 120
_MOST_SLOTS = 16
"""Slots that have rows of their own."""
_MOST_COLUMNS = 16
"""Places of the program that have columns."""
_PART = 4
"""Points of a column of time."""
_LETTER = 5.6
"""Points of a letter."""
_BAR = 420
"""Points of the bar that is the limit."""
_FILLS: dict[str, tuple[str, str, str]] = {
    FILL: ("#b9d4f5", "#16181d", "filling"),
    FULL: ("#d9a441", "#16181d", "full"),
    READ: ("#55308c", "#ffffff", "read"),
    FREE: ("#ffffff", "#16181d", ""),
}
"""By state of a slot: colours of its cell and of what is written in it, and what that is."""
_DONE = {"fill": _FILLS[FILL], "read": _FILLS[READ], "fill, read": ("#8a6bb8", "#ffffff", "")}
_ALIVE, _TENSOR = "#f3f4f6", "#dccdf0"
_BUFFER, _BARRIER = "#dbe8f8", "#f7e6c4"


def memory_dot(drawn: MemoryMap) -> str:
    """The same text for the same memory."""
    legend = [(LINES, "heights of rows are to scale from 10 KiB on")] if drawn.blocks else []
    notes = list(drawn.notes)
    if drawn.times is not None:
        notes.append(_stretch(drawn.times))
    made = graph(drawn.title, notes, legend)
    if not drawn.blocks:
        made.node("nothing", "It allocates no shared and no tensor memory.", shape="plain")
        return made.source
    together = [block for block in drawn.blocks if block.barrier and block.offset is None]
    blocks = [block for block in drawn.blocks if block not in together]
    rows = [_heading(drawn), *(row for block in blocks for row in _rows(drawn, block))]
    rows += [*_barriers(drawn, together), *_sums(drawn)]
    table = (
        f'<table border="0" cellborder="1" cellspacing="0" cellpadding="3" color="{LINES}">'
        f"{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    )
    made.node("memory", f"<{table}>", shape="plain")
    made.node("total", f"<{_totals(drawn)}>", shape="plain")
    made.edge("memory", "total", style="invis")
    bar = _bar(drawn)
    if bar:
        made.node("bar", f"<{bar}>", shape="plain")
        made.edge("total", "bar", style="invis")
    made.attr(ranksep="0.05")
    return made.source


def _stretch(times: SlotTimes) -> str:
    of = f", {number_of(times.iterations, 'iteration')} of {times.agent}" if times.iterations else ""
    return f"Times: CTA {times.cta}, SM cycles {times.begin:,} to {times.end:,}{of}."


def _heading(drawn: MemoryMap) -> str:
    cells = ["offset"] if _laid_out(drawn) else []
    cells += ["buffer", "slot"]
    if drawn.times is not None:
        cells.append(f"cycles {drawn.times.begin:,} to {drawn.times.end:,}")
    else:
        cells += [
            f"{column.agent}<br/>line {column.line}" if column.line else column.agent
            for column in drawn.columns[:_MOST_COLUMNS]
        ]
        if len(drawn.columns) > _MOST_COLUMNS:
            cells.append(f"{len(drawn.columns) - _MOST_COLUMNS} more")
    return "".join(f'<td bgcolor="{HEADING}">{each if "<br/>" in each else escape(each)}</td>' for each in cells)


def _laid_out(drawn: MemoryMap) -> bool:
    return any(block.offset is not None for block in drawn.blocks)


def _rows(drawn: MemoryMap, block: Block) -> list[str]:
    """A row for each slot of a buffer; one for barriers, and for a buffer of many slots."""
    states = drawn.times.states.get(block.key, {}) if drawn.times is not None else {}
    apart = not block.barrier and block.slots <= _MOST_SLOTS
    count = block.slots if apart else 1
    height = round(min(max(block.bytes / count / 1024 * _POINTS_PER_KIB, _LOWEST), _HIGHEST))
    span = f'rowspan="{count}" ' if count > 1 else ""
    fill = _BARRIER if block.barrier else _TENSOR if block.tensor else _BUFFER
    head = ""
    if _laid_out(drawn):
        offset = f"{block.offset:,}" if block.offset is not None else ""
        head += f'<td {span}align="right" valign="top">{offset}</td>'
    head += f'<td {span}bgcolor="{fill}" align="left" balign="left">{_words(block)}</td>'
    rows: list[str] = []
    for slot in range(count):
        name = str(slot) if apart else number_of(block.slots, "slot")
        row = f'<td bgcolor="{fill}" height="{height}">{name}</td>'
        if drawn.times is not None and states and apart:
            row += _strip(states.get(slot, ""), height)
        elif drawn.times is not None:
            what = "" if block.barrier else "not a ring that TMA fills"
            row += f'<td {span}align="left"><font color="{LINES}">{what}</font></td>' if slot == 0 else ""
        elif slot == 0:
            row += "".join(
                _place(block, place, span) for place in range(min(len(drawn.columns), _MOST_COLUMNS))
            ) + _others(drawn, block, span)
        rows.append((head if slot == 0 else "") + row)
    return rows


def _words(block: Block) -> str:
    size = block.bytes // block.slots if block.slots else block.bytes
    lines = [f"<b>{escape(block.name)}</b>" + (" (TMEM)" if block.tensor else "")]
    lines.append(escape(f"{number_of(block.slots, 'slot')} of {bytes_text(size)}: {bytes_text(block.bytes)}"))
    lines.append(escape(block.detail + (f", line {block.line}" if block.line else "")))
    lines += [escape(f"the same memory: {name}") for name in block.aliases]
    return "<br/>".join(lines[:2] if block.barrier and not block.aliases else lines)


def _place(block: Block, place: int, span: str) -> str:
    """What a place of the program does to a buffer, and whether it is there then."""
    text = block.done.get(place, "")
    if text:
        fill, ink, _ = _DONE[text]
        return f'<td {span}bgcolor="{fill}"><font color="{ink}">{text}</font></td>'
    alive = block.first <= place <= block.last
    return f'<td {span}bgcolor="{_ALIVE}">-</td>' if alive else f"<td {span}></td>"


def _others(drawn: MemoryMap, block: Block, span: str) -> str:
    if len(drawn.columns) <= _MOST_COLUMNS:
        return ""
    texts = dict.fromkeys(text for place, text in block.done.items() if place >= _MOST_COLUMNS)
    return f"<td {span}>{', '.join(texts)}</td>"


def _strip(states: str, height: int) -> str:
    """A row of cells whose widths are times."""
    if not states:
        return "<td></td>"
    cells: list[str] = []
    for state, same in groupby(states):
        wide = _PART * len(list(same))
        fill, ink, word = _FILLS[state]
        text = f'<font color="{ink}" point-size="9">{word}</font>' if len(word) * _LETTER <= wide and word else ""
        cells.append(f'<td fixedsize="true" width="{wide}" height="{height}" bgcolor="{fill}">{text}</td>')
    return (
        '<td cellpadding="0"><table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
        f"<tr>{''.join(cells)}</tr></table></td>"
    )


def _sums(drawn: MemoryMap) -> list[str]:
    """Bytes in use over the stretch."""
    times = drawn.times
    if times is None:
        return []
    width = _PART * COLUMNS // SUMS
    cells = "".join(
        f'<td fixedsize="true" width="{width}" height="15">{each / 1024:,.0f} KiB</td>' for each in times.in_use
    )
    head = "<td></td>" if _laid_out(drawn) else ""
    strip = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'
    return [f'{head}<td colspan="2" align="left">mean of slots not free</td><td cellpadding="0">{strip}</td>']


def _barriers(drawn: MemoryMap, blocks: Sequence[Block]) -> list[str]:
    """mbarriers whose places are not known, all in one row."""
    if not blocks:
        return []
    slots = sum(block.slots for block in blocks)
    what = f"{number_of(slots, 'mbarrier')}: {bytes_text(sum(block.bytes for block in blocks))}"
    names = ", ".join(block.name for block in blocks)
    wide = 2 + (1 if drawn.times is not None else min(len(drawn.columns), _MOST_COLUMNS + 1)) + _laid_out(drawn)
    words = f"<b>{escape(what)}</b><br/>{'<br/>'.join(map(escape, wrap(names, 90)))}"
    return [f'<td colspan="{wide}" bgcolor="{_BARRIER}" align="left" balign="left">{words}</td>']


def _totals(drawn: MemoryMap) -> str:
    lines = [_total(drawn)]
    if drawn.tensor:
        lines.append(f"Tensor memory: {drawn.tensor:,} B of the {TENSOR_MEMORY:,} B of an SM.")
    rows = "".join(f'<tr><td align="left">{escape(line)}</td></tr>' for line in lines)
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="3">{rows}</table>'


def _bar(drawn: MemoryMap) -> str:
    """As long as the limit; blocks have their share, and what is left is the compiler's own, or free."""
    whole = max(drawn.limit or 0, drawn.used or 0, drawn.shared)
    parts: list[tuple[int, str, str]] = []
    if whole:
        parts += [
            (block.bytes, _BUFFER, block.name) for block in drawn.blocks if not block.tensor and not block.barrier
        ]
        parts.append((sum(block.bytes for block in drawn.blocks if block.barrier), _BARRIER, "mbarriers"))
        taken = sum(size for size, _, _ in parts)
        parts.append((max((drawn.used or 0) - taken, 0), HEADING, "other"))
        parts.append((max(whole - max(taken, drawn.used or 0), 0), "#ffffff", "free"))
    cells: list[str] = []
    for size, fill, name in parts:
        wide = round(size / whole * _BAR)
        if wide:
            text = escape(name) if len(name) * _LETTER + 4 <= wide else ""
            cells.append(f'<td fixedsize="true" width="{wide}" height="20" bgcolor="{fill}">{text}</td>')
    if not cells:
        return ""
    return (
        f'<table border="0" cellborder="1" cellspacing="0" cellpadding="0" color="{LINES}">'
        f"<tr>{''.join(cells)}</tr></table>"
    )


def _total(drawn: MemoryMap) -> str:
    if drawn.used is None:
        return f"Shared memory: {drawn.shared:,} B in blocks; what the compiler needs besides is not known here."
    said = f"Shared memory: {drawn.used:,} B of a CTA, {drawn.shared:,} B of it in blocks"
    if drawn.used < drawn.shared:
        said = f"Shared memory: {drawn.used:,} B of a CTA, for blocks of {drawn.shared:,} B"
    if drawn.limit:
        said += f"; it may have {drawn.limit:,} B ({100 * drawn.used / drawn.limit:.0f} % taken)"
    return said + "."
