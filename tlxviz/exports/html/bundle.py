"""The page's own files as one."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let) )", re.MULTILINE)
_STYLES = ("page.css", "timeline.css", "panels.css", "print.css")
_FIRST = "main.js"


@cache
def template() -> str:
    """The HTML, with `{{...}}` where something comes in."""
    return _read("page.html")


@cache
def style() -> str:
    return "".join(_read(name) for name in _STYLES)


@cache
def script() -> str:
    """All modules in one, each behind those that it imports: what is named at their top level is named once."""
    return "".join(_IMPORT.sub("", _EXPORT.sub("", _read(name))) for name in _order())


def _order() -> list[str]:
    order: list[str] = []

    def visit(name: str, on: tuple[str, ...]) -> None:
        if name in on:
            raise ValueError(f"modules of the page import each other: {' '.join((*on, name))}")
        if name not in order:
            for needed in _IMPORT.findall(_read(name)):
                visit(needed, (*on, name))
            order.append(name)

    visit(_FIRST, ())
    return order


@cache
def _read(name: str) -> str:
    return files("tlxviz.exports.html").joinpath("page", name).read_text(encoding="utf-8")
