"""Writes the data file of a measured GPU: the file of the nearest GPU that is known, with what was measured in it."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from tlxviz.calibrate.figures import Figure
from tlxviz.devices.file import FOLDER, UNITS, known_devices, load_device


@dataclass(frozen=True, slots=True)
class Base:
    """The shipped data file that a new one begins with."""

    name: str
    same: bool
    """It is of the very device that was measured."""

    @property
    def sustained_mhz(self) -> float:
        """The SM clock at which the file turns cycles into time."""
        return load_device(self.name).clock.sustained_mhz


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


def written(base: Base, name: str, cuda_name: str, capability: tuple[int, int], figures: dict[str, Figure]) -> str:
    """The text of a data file called `name`. Figures that were not measured keep their value and source."""
    lines = (FOLDER / f"{base.name}.toml").read_text(encoding="utf-8").splitlines()
    head = {"name": name, "cuda_name": cuda_name, "capability": list(capability)}
    if not base.same:
        head["title"] = cuda_name
        lines[:2] = [f"# {cuda_name}, measured by 'tlxviz calibrate'; the rest stands in from {base.name}.toml."]
    section = ""
    for number, line in enumerate(lines):
        key = line.partition(" = ")[0]
        if line.startswith("["):
            section = line.strip("[]")
        elif not section and key in head:
            lines[number] = f"{key} = {json.dumps(head[key])}"
        elif section and " = " in line:
            lines[number] = _figure(section, key, line, base, figures)
    return "\n".join(lines) + "\n"


def _figure(section: str, key: str, line: str, base: Base, figures: dict[str, Figure]) -> str:
    """The line of a figure, new or as it was."""
    figure = figures.get(f"{section}.{key}")
    if figure is not None:
        return _entry(key, figure.value, UNITS.get(f"{section}.{key}", "cycles"), figure.source)
    if base.same:
        return line
    entry = tomllib.loads(line)[key]
    source = str(entry["source"])
    if not source.startswith(("assumed", "stand-in")):
        source = f"stand-in: that of {base.name}; {source}"
    return _entry(key, entry["value"], entry["unit"], source)


def _entry(key: str, value: Any, unit: str, source: str) -> str:
    quoted = json.dumps(source, ensure_ascii=False)
    return f"{key} = {{ value = {json.dumps(value)}, unit = {json.dumps(unit)}, source = {quoted} }}"
