"""The page on a telephone, of a kernel whose names are longer than the screen is wide."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analysis.synthetic_traces import hung, pipeline
from exports.page_traces import page_of

LONG = "a_name_without_a_place_to_break_it" * 10


@pytest.mark.parametrize("made", [pipeline(), hung()], ids=["ended", "hung"])
@pytest.mark.parametrize("width", [360, 1200])
def test_long_names_do_not_make_the_page_wider(open_page, made, width: int) -> None:
    long = replace(
        made,
        kernel=LONG,
        source_file=f"{LONG}.py",
        arguments={LONG: LONG},
        agents=[replace(each, name=each.name + LONG) for each in made.agents],
        tracks=[replace(each, name=each.name + LONG) for each in made.tracks],
        sites=[replace(each, file=f"{LONG}.py", variable=LONG) for each in made.sites],
    )
    opened = open_page(page_of(long), size=(width, 740))
    for keys in ((), ("ArrowRight", "Enter"), ("x",)):
        opened.press(*keys)
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
