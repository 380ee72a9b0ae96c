"""A few screens as pictures, colours and all. `golden_scenes.py` says what they show, and draws them again."""

from __future__ import annotations

import re
from html import unescape

import pytest
from golden_scenes import GOLDEN, SCENES, picture


def lines(svg: str) -> list[str]:
    """The text of a picture, which tells more in a message than its elements do."""
    found: dict[float, dict[float, str]] = {}
    for x, y, text in re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        found.setdefault(float(y), {})[float(x)] = unescape(text).replace("\xa0", " ")
    return ["".join(row[x] for x in sorted(row)) for _, row in sorted(found.items())]


@pytest.mark.parametrize("name", SCENES)
def test_the_screen_looks_as_it_did(name: str) -> None:
    expected, found = (GOLDEN / f"{name}.svg").read_text(encoding="utf-8"), picture(name)
    assert lines(found) == lines(expected)
    assert found == expected, "text is the same; colours or styles are not"


def test_there_is_a_scene_for_each_picture() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SCENES)
