"""Record streams of one launch in files: what a GPU left in memory, and what it takes to read that."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tlxviz.launch.model import HostDescriptor
from tlxviz.probe.assemble import Part
from tlxviz.probe.plan import Choice, Plan, Share

DATA = Path(__file__).with_name("data")


@dataclass
class Streams:
    """A launch as the simulator takes one, and what was recorded of it."""

    kernel: str
    grid: tuple[int, int, int]
    parameters: list[tuple[str, Any]]
    ttgir: str
    """Marked."""
    metadata: dict[str, Any]
    plan: Plan
    parts: list[Part]
    lengths: Any
    arguments: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    source_file: str = ""
    source_line: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    values: bool = False
    counted: bool = True


def save(name: str, streams: Streams, folder: Path = DATA, *, text_as: str | None = None) -> None:
    """Writes `name.json` and `name.npz`, and the TTGIR, which several may share as `text_as`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = re.sub(r'"/[^"]*/([^"/]+/[^"/]+\.py)"', r'"\1"', streams.ttgir)
    (folder / f"{text_as or name}.ttgir").write_text(text, encoding="utf-8")
    plan = streams.plan
    described = {
        "ttgir": text_as or name,
        "kernel": streams.kernel,
        "grid": streams.grid,
        "parameters": [[key, _plain(value)] for key, value in streams.parameters],
        "metadata": {
            key: value for key, value in streams.metadata.items() if isinstance(value, int | float) or value is None
        },
        "plan": {
            "groups": plan.choice.groups,
            "ctas": plan.ctas,
            "all_warps": plan.all_warps,
            "shares": [[each.first, each.of] for each in plan.shares],
            "everywhere": plan.everywhere,
        },
    }
    (folder / f"{name}.json").write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    arrays = {"lengths": streams.lengths}
    for place, part in enumerate(streams.parts):
        arrays[f"headers.{place}"] = part.headers
        for (cta, warp), ring in part.rings.items():
            kept = np.flatnonzero(ring)
            arrays[f"ring.{place}.{cta}.{warp}"] = ring[: int(kept[-1]) + 1 if len(kept) else 0]
    np.savez_compressed(folder / f"{name}.npz", **arrays)


def load(name: str, folder: Path = DATA) -> Streams:
    described = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    plan = described["plan"]
    with np.load(folder / f"{name}.npz") as arrays:
        held = dict(arrays)
    parts = [
        Part(
            number,
            held[f"headers.{number}"],
            {
                (int(cta), int(warp)): np.concatenate([ring, np.zeros(64, np.uint32)])
                for key, ring in held.items()
                if key.startswith(f"ring.{number}.")
                for _, _, cta, warp in [key.split(".")]
            },
        )
        for number in range(len(plan["shares"]))
    ]
    return Streams(
        kernel=described["kernel"],
        grid=tuple(described["grid"]),
        parameters=[(key, _made(value)) for key, value in described["parameters"]],
        ttgir=(folder / f"{described['ttgir']}.ttgir").read_text(encoding="utf-8"),
        metadata=described["metadata"],
        plan=Plan(
            Choice(tuple(plan["groups"])),
            tuple(plan["ctas"]),
            plan["all_warps"],
            tuple(Share(*each) for each in plan["shares"]),
            plan["everywhere"],
        ),
        parts=parts,
        lengths=held["lengths"],
    )


def _plain(value: Any) -> Any:
    match value:
        case torch.Tensor():
            return {"tensor": str(value.dtype), "shape": list(value.shape), "strides": list(value.stride())}
        case HostDescriptor():
            return {
                "base": _plain(value.base),
                "shape": value.shape,
                "strides": value.strides,
                "block": value.block,
                "padding": value.padding,
            }
        case _:
            return value


def _made(value: Any) -> Any:
    match value:
        case {"tensor": kind, "shape": shape, "strides": strides}:
            return torch.empty_strided(shape, strides, dtype=getattr(torch, kind.removeprefix("torch.")))
        case {"base": base}:
            sizes = (tuple(value[part]) for part in ("shape", "strides", "block"))
            return HostDescriptor(_made(base), *sizes, value["padding"])
        case _:
            return value
