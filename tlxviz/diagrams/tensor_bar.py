"""Tensor memory as a picture: its columns from left to right, with what has which, and its lanes from top to bottom."""

from __future__ import annotations

from html import escape

from tlxviz.diagrams.looks import HEADING, LINES
from tlxviz.diagrams.memory import TENSOR_COLUMNS, Block, MemoryMap

_POINTS = 0.82
"""Of a column."""
_HEIGHT = 46
_LETTER = 5.6
"""Points of a letter."""
_SLOTS = ("#dccdf0", "#c9b3e8")
"""Colours of slots, by turns."""
LANES = 128


def tensor_bar(drawn: MemoryMap) -> str:
    """An HTML-like label for DOT: a row for each lane at which something begins; empty where no place is known."""
    blocks = [each for each in drawn.blocks if each.tensor and each.corner is not None and each.columns]
    rows = sorted({each.corner[0] for each in blocks if each.corner is not None})
    if not rows:
        return ""
    found: list[str] = []
    for number, row in enumerate(rows):
        after = rows[number + 1] if number + 1 < len(rows) else LANES
        here = [each for each in blocks if each.corner is not None and each.corner[0] == row]
        height = round(_HEIGHT * (after - row) / LANES)
        name = f'<td bgcolor="{HEADING}"><font point-size="9">lanes {row} to {after - 1}</font></td>'
        found.append(f'<tr>{name}<td cellpadding="0">{_columns(here, height)}</td></tr>')
    words = f'<font color="{LINES}" point-size="9">columns 0 to {TENSOR_COLUMNS - 1}</font>'
    return (
        f'<table border="0" cellborder="1" cellspacing="0" cellpadding="3" color="{LINES}">{"".join(found)}'
        f'<tr><td border="0"></td><td border="0" align="left">{words}</td></tr></table>'
    )


def _columns(blocks: list[Block], height: int) -> str:
    cells: list[str] = []
    at = 0
    for block in sorted(blocks, key=lambda each: each.corner or (0, 0)):
        begin = block.corner[1] if block.corner is not None else 0
        if begin < at:
            continue  # the compiler has put it into columns of another one
        cells.append(_cell(begin - at, "#ffffff", "free", height))
        each = block.columns // max(block.slots, 1)
        for slot in range(block.slots):
            name = f"{block.name}[{slot}]" if block.slots > 1 else block.name
            cells.append(_cell(each, _SLOTS[slot % 2], name, height))
        at = begin + each * block.slots
    cells.append(_cell(TENSOR_COLUMNS - at, "#ffffff", "free", height))
    row = f"<tr>{''.join(cells)}</tr>"
    return f'<table border="0" cellborder="1" cellspacing="0" cellpadding="0" color="{LINES}">{row}</table>'


def _cell(columns: int, fill: str, name: str, height: int) -> str:
    wide = round(columns * _POINTS)
    if wide <= 0:
        return ""
    text = f'<font point-size="9">{escape(name)}</font>' if len(name) * _LETTER <= wide else ""
    return f'<td fixedsize="true" width="{wide}" height="{height}" bgcolor="{fill}">{text}</td>'
