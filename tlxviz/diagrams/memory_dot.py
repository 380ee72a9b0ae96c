"""Memory as DOT text: a table whose rows are as high as their bytes are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from textwrap import wrap

from tlxviz.analysis.slot_times import COLUMNS, FILL, FREE, FULL, READ, SUMS, SlotTimes
from tlxviz.diagrams.canvas import graph
from tlxviz.diagrams.looks import HEADING, LINES
from tlxviz.diagrams.memory import TENSOR_COLUMNS, TENSOR_MEMORY, Block, MemoryMap, Scratch
from tlxviz.diagrams.tensor_bar import tensor_bar
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
_PURPOSES = {
    "tt.func": "the task of each warp",
    "ttg.warp_specialize": "what tasks are given",
    "ttg.convert_layout": "layout conversion",
    "tt.reduce": "reduction",
}
"""What operations have memory for, where their names do not say it."""
_DONE = {"fill": _FILLS[FILL], "read": _FILLS[READ], "fill, read": ("#8a6bb8", "#ffffff", "")}
_UNTOLD = {False: "not a ring that TMA fills", True: "no event fills and reads it"}
"""What is said of a buffer whose slots have no states, by whether it is in tensor memory."""
_ALIVE, _TENSOR = "#f3f4f6", "#dccdf0"
_BUFFER, _BARRIER, _SHARED = "#dbe8f8", "#f7e6c4", "#b4c6dc"
_MOST_LINES = 6
"""Lines of the source that scratch memory names."""


def memory_dot(drawn: MemoryMap) -> str:
    """The same text for the same memory."""
    legend = [(LINES, "heights of rows are to scale from 10 KiB on")] if drawn.blocks else []
    notes = list(drawn.notes)
    if drawn.times is not None:
        notes.append(_stretch(drawn.times))
    made = graph(drawn.title, notes, legend)
    if not drawn.blocks and not drawn.scratch:
        made.node("nothing", "It allocates no shared and no tensor memory.", shape="plain")
        return made.source
    rows = [_heading(drawn), *_body(drawn), *_sums(drawn)]
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
    lanes = tensor_bar(drawn)
    if lanes:
        made.node("lanes", f"<{lanes}>", shape="plain")
        made.edge("bar" if bar else "total", "lanes", style="invis")
    made.attr(ranksep="0.05")
    return made.source


def _stretch(times: SlotTimes) -> str:
    of = f", {number_of(times.iterations, 'iteration')} of {times.agent}" if times.iterations else ""
    return f"Times: CTA {times.cta}, SM cycles {times.begin:,} to {times.end:,}{of}."


def _heading(drawn: MemoryMap) -> str:
    cells = ["offset"] if drawn.laid_out else []
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


def _body(drawn: MemoryMap) -> Iterator[str]:
    """Blocks and what the compiler has besides by offset; then the mbarriers whose places are not known."""
    known: list[Block | Scratch] = [*drawn.scratch, *(each for each in drawn.blocks if each.offset is not None)]
    known.sort(key=lambda each: (each.offset or 0, isinstance(each, Scratch)))
    for merged, group in groupby(known, _in_one_row):
        members = list(group)
        if merged:
            yield from _barriers(drawn, [each for each in members if isinstance(each, Block)])
            continue
        for each in members:
            yield from _rows(drawn, each) if isinstance(each, Block) else [_scratch(drawn, each)]
    unknown = [each for each in drawn.blocks if each.offset is None]
    for block in unknown:
        if not block.barrier:
            yield from _rows(drawn, block)
    yield from _barriers(drawn, [each for each in unknown if each.barrier])


def _in_one_row(each: Block | Scratch) -> bool:
    return isinstance(each, Block) and each.barrier and not each.aliases


def _scratch(drawn: MemoryMap, scratch: Scratch) -> str:
    """Where it begins, and for what."""
    lines = [str(line) for line in scratch.lines[:_MOST_LINES]]
    lines += ["..."] if len(scratch.lines) > _MOST_LINES else []
    where = f", {'line' if len(scratch.lines) == 1 else 'lines'} {', '.join(lines)}" if lines else ""
    words = escape(f"scratch: {_PURPOSES.get(scratch.operation, scratch.operation)}{where}")
    if scratch.inside:
        words += escape(f", in the bytes of {', '.join(scratch.inside)}")
    return (
        f'<td align="right">{scratch.offset:,}</td><td colspan="{_width(drawn) - 1}" bgcolor="{HEADING}" '
        f'align="left">{words}</td>'
    )


def _width(drawn: MemoryMap) -> int:
    """Columns of the table."""
    return 2 + (1 if drawn.times is not None else min(len(drawn.columns), _MOST_COLUMNS + 1)) + drawn.laid_out


def _rows(drawn: MemoryMap, block: Block) -> list[str]:
    """A row for each slot of a buffer; one for barriers, and for a buffer of many slots."""
    states = drawn.times.states.get(block.key, {}) if drawn.times is not None else {}
    apart = not block.barrier and block.slots <= _MOST_SLOTS
    count = block.slots if apart else 1
    height = round(min(max(block.bytes / count / 1024 * _POINTS_PER_KIB, _LOWEST), _HIGHEST))
    span = f'rowspan="{count}" ' if count > 1 else ""
    fill = _BARRIER if block.barrier else _TENSOR if block.tensor else _BUFFER
    head = f'<td {span}bgcolor="{fill}" align="left" balign="left">{_words(block)}</td>'
    rows: list[str] = []
    for slot in range(count):
        name = str(slot) if apart else number_of(block.slots, "slot")
        row = f'<td bgcolor="{fill}" height="{height}">{name}</td>'
        if drawn.times is not None and states and apart:
            row += _strip(states.get(slot, ""), height)
        elif drawn.times is not None:
            what = "" if block.barrier else _UNTOLD[block.tensor]
            row += f'<td {span}align="left"><font color="{LINES}">{what}</font></td>' if slot == 0 else ""
        elif slot == 0:
            row += "".join(
                _place(block, place, span) for place in range(min(len(drawn.columns), _MOST_COLUMNS))
            ) + _others(drawn, block, span)
        at = f'<td align="right">{_address(block, slot)}</td>' if drawn.laid_out else ""
        rows.append(at + (head if slot == 0 else "") + row)
    return rows


def _address(block: Block, slot: int) -> str:
    """Where a slot begins; of tensor memory, its columns."""
    if block.offset is not None:
        return f"{block.offset + slot * (block.bytes // max(block.slots, 1)):,}"
    if block.corner is None:
        return ""
    row, column = block.corner
    each = block.columns // max(block.slots, 1)
    column += slot * each
    columns = f"columns {column} to {column + each - 1}" if each > 1 else f"column {column}"
    return columns if not row else f"{columns}, lane {row}"


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
    head = "<td></td>" if drawn.laid_out else ""
    strip = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'
    return [f'{head}<td colspan="2" align="left">mean of slots not free</td><td cellpadding="0">{strip}</td>']


def _barriers(drawn: MemoryMap, blocks: Sequence[Block]) -> list[str]:
    """mbarriers that follow each other, or whose places are not known: all in one row."""
    if not blocks:
        return []
    slots = sum(block.slots for block in blocks)
    what = f"{number_of(slots, 'mbarrier')}: {bytes_text(sum(block.bytes for block in blocks))}"
    begin = blocks[0].offset
    names = [block.name if block.offset is None else f"{block.name} {block.offset:,}" for block in blocks]
    # a name and its offset stay together
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrap(", ".join(map(_unbroken, names)), 90)]
    words = f"<b>{escape(what)}</b><br/>{'<br/>'.join(map(escape, lines))}"
    at = f'<td align="right" valign="top">{begin:,}</td>' if begin is not None else ""
    wide = _width(drawn) - bool(at)
    return [f'{at}<td colspan="{wide}" bgcolor="{_BARRIER}" align="left" balign="left">{words}</td>']


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _totals(drawn: MemoryMap) -> str:
    lines = [_total(drawn)]
    if drawn.tensor:
        columns = sum(block.columns for block in drawn.blocks)
        lines.append(
            f"Tensor memory: {columns} of an SM's {TENSOR_COLUMNS} columns, {drawn.tensor:,} B of {TENSOR_MEMORY:,} B."
        )
    rows = "".join(f'<tr><td align="left">{escape(line)}</td></tr>' for line in lines)
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="3">{rows}</table>'


def _bar(drawn: MemoryMap) -> str:
    """As long as the limit; blocks have their share, and what is left is the compiler's own, or free."""
    used = max(drawn.used or 0, drawn.pieces[-1][1] if drawn.pieces else drawn.shared)
    whole = max(drawn.limit or 0, used)
    parts = _by_address(drawn) if drawn.pieces else _one_after_the_other(drawn)
    taken = sum(size for size, _, _ in parts)
    parts += [(max(used - taken, 0), HEADING, "other"), (whole - used, "#ffffff", "free")]
    cells: list[str] = []
    for size, fill, name in parts:
        wide = round(size / whole * _BAR) if whole else 0
        if wide:
            text = escape(name) if len(name) * _LETTER + 4 <= wide else ""
            cells.append(f'<td fixedsize="true" width="{wide}" height="20" bgcolor="{fill}">{text}</td>')
    if not cells:
        return ""
    return (
        f'<table border="0" cellborder="1" cellspacing="0" cellpadding="0" color="{LINES}">'
        f"<tr>{''.join(cells)}</tr></table>"
    )


def _by_address(drawn: MemoryMap) -> list[tuple[int, str, str]]:
    """Bytes, colour and name of pieces from the begin of shared memory to the end of the last block."""
    parts: list[tuple[int, str, str]] = []
    end = 0
    for begin, after, blocks in drawn.pieces:
        parts.append((begin - end, HEADING, "other"))
        first, *others = blocks
        fill = _SHARED if others else _BARRIER if first.barrier else _BUFFER
        parts.append((after - begin, fill, ", ".join(block.name for block in blocks)))
        end = after
    return parts


def _one_after_the_other(drawn: MemoryMap) -> list[tuple[int, str, str]]:
    blocks = [block for block in drawn.blocks if not block.tensor]
    parts = [(block.bytes, _BUFFER, block.name) for block in blocks if not block.barrier]
    return [*parts, (sum(block.bytes for block in blocks if block.barrier), _BARRIER, "mbarriers")]


def _total(drawn: MemoryMap) -> str:
    if drawn.used is None:
        return f"Shared memory: {drawn.shared:,} B in blocks; what the compiler needs besides is not known here."
    said = f"Shared memory: {drawn.used:,} B of a CTA, "
    if drawn.pieces:
        said += f"{drawn.covered:,} B of it in blocks"
        said += f" of {drawn.shared:,} B, which share bytes" if drawn.covered < drawn.shared else ""
    elif drawn.used < drawn.shared:
        said += f"for blocks of {drawn.shared:,} B"
    else:
        said += f"{drawn.shared:,} B of it in blocks"
    if drawn.limit:
        said += f"; it may have {drawn.limit:,} B ({100 * drawn.used / drawn.limit:.0f} % taken)"
    return said + "."
