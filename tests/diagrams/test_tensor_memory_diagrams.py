"""Diagrams of what happened in a kernel with tensor memory that asks for its tiles."""

from __future__ import annotations

import re

from analysis.blackwell_traces import tiles

from tlxviz.diagrams.timeline import timeline

TRACE = tiles(2, 8, product=40, asks=True)


def boxes(dot: str) -> list[tuple[str, str]]:
    """Words and fill of each box that has any of both."""
    found: list[tuple[str, str]] = []
    for line in dot.splitlines():
        label, fill = re.search(r'label=(?:"([^"]*)"|(\w+))', line), re.search(r'fillcolor="(#\w+)"', line)
        if label and fill:
            found.append(((label[1] or label[2]).replace("\\n", " "), fill[1]))
    return found


def test_reads_of_tensor_memory_do_not_look_like_arithmetic() -> None:
    drawn = boxes(timeline(TRACE))
    reads = {fill for words, fill in drawn if words.startswith("read TMEM acc")}
    works = {fill for words, fill in drawn if words == "works"}
    assert len(reads) == 1
    assert works
    assert not reads & works
    assert "bluish" in timeline(TRACE)


def test_answers_of_the_block_scheduler_have_a_lane() -> None:
    dot = timeline(TRACE, given=(0, 8))
    assert "CLC" in dot
    assert any(words.startswith("answer: CTA 148") for words, _ in boxes(dot))
