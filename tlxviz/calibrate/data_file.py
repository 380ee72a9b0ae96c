"""Writes the data file of a measured GPU: the file of the nearest GPU that is known, with what was measured in it."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxviz.calibrate.figures import Figure
from tlxviz.devices.file import FOLDER, UNITS, known_devices

_LINE = re.compile(r"^(\w+) = \{ value = .* \}$")


@dataclass(frozen=True, slots=True)
class Base:
    """The shipped data file that a new one begins with."""

    name: str
    same: bool
    """It is of the very device that was measured."""


def base_of(cuda_name: str, capability: tuple[int, int]) -> Base:
    """The file of that device, or else of the one whose architecture is nearest."""
    best: tuple[tuple[int, int], str] | None = None
    for name in known_devices():
        data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        if data["cuda_name"] == cuda_name:
            return Base(name, same=True)
        major, minor = data["capability"]
        distance = (abs(major - capability[0]), abs(minor - capability[1]))
        if best is None or distance < best[0]:
            best = (distance, name)
    assert best is not None
    return Base(best[1], same=False)


def file_name(cuda_name: str, base: Base) -> str:
    """What the data file of a device is called: `h200.toml`, or `a100_sxm4_40gb.toml` for one that is not shipped."""
    if base.same:
        return f"{base.name}.toml"
    words = re.sub(r"[^a-z0-9]+", "_", cuda_name.lower().removeprefix("nvidia ")).strip("_")
    return f"{words or 'gpu'}.toml"


def written(
    base: Base, name: str, cuda_name: str, capability: tuple[int, int], figures: dict[str, Figure]
) -> str:
    """The text of a data file called `name`. Figures that were not measured keep their value and source."""
    lines = (FOLDER / f"{base.name}.toml").read_text(encoding="utf-8").splitlines()
    text: list[str] = []
    section = ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            section = line.strip("[]")
        match = _LINE.match(line)
        if number == 0 and not base.same:
            text.append(f"# {cuda_name}. Each figure names its source; a source that begins with \"assumed\" is nobody's measurement.")
        elif match and (figure := figures.get(f"{section}.{match[1]}")) is not None:
            unit = UNITS.get(f"{section}.{match[1]}", "cycles")
            text.append(_entry(match[1], figure.value, unit, figure.source))
        elif match and not base.same:
            data = tomllib.loads(line)[match[1]]
            source = data["source"]
            if not source.startswith(("assumed", "stand-in")):
                source = f"stand-in: that of {base.name}; {source}"
            text.append(_entry(match[1], data["value"], data["unit"], source))
        elif not section and line.startswith("name = "):
            text.append(f"name = {json.dumps(name)}")
        elif not section and line.startswith("title = ") and not base.same:
            text.append(f"title = {json.dumps(cuda_name)}")
        elif not section and line.startswith("cuda_name = "):
            text.append(f"cuda_name = {json.dumps(cuda_name)}")
        elif not section and line.startswith("capability = "):
            text.append(f"capability = [{capability[0]}, {capability[1]}]")
        else:
            text.append(line)
    return "\n".join(text) + "\n"


def _entry(name: str, value: Any, unit: str, source: str) -> str:
    return f"{name} = {{ value = {json.dumps(value)}, unit = {json.dumps(unit)}, source = {json.dumps(source, ensure_ascii=False)} }}"


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
