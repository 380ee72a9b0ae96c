"""What is known of a launch beside its events, in a few words."""

from __future__ import annotations

from typing import Any

from tlxviz.exports.model import Cut


def about(cut: Cut) -> dict[str, Any]:
    """Numbers and texts with units in their names; `state` is ended, hung or interrupted."""
    launch = cut.launch
    device = launch.device.get("title") or launch.device.get("name") or ""
    return {
        "launch": cut.number,
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "arguments": {name: str(value) for name, value in launch.arguments.items()},
        "device": str(device),
        "recorder": str(launch.provenance.get("recorder", "")),
        "clock_mhz": launch.clock_mhz,
        "duration_cycles": launch.cycles,
        "begin_cycles": cut.begin,
        "end_cycles": cut.end,
        "state": "hung" if launch.hang is not None else "ended" if launch.complete else "interrupted",
    }


def sentence(known: dict[str, Any]) -> str:
    """The same as one line of text."""
    grid = " x ".join(map(str, known["grid"]))
    arguments = ", ".join(f"{name}={value}" for name, value in known["arguments"].items())
    state = {"hung": "it hung", "interrupted": "its recording was interrupted"}.get(known["state"], "")
    parts = [
        f"{known['kernel']}, grid {grid}",
        f"{known['recorder']} {known['device']} at {known['clock_mhz']:g} MHz".strip(),
        f"{known['duration_cycles']} SM cycles",
        state,
        arguments,
    ]
    return "; ".join(part for part in parts if part)
