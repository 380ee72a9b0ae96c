"""Traces with something wrong, and what reading them says."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tlxviz._errors import ExitCode
from tlxviz.trace import TraceReadError, load_trace

TRACK = "launches/0/track.npy"


def rewrite(path: Path, change: Callable[[dict[str, bytes]], object]) -> None:
    """Changes members of the trace at `path`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def rewrite_manifest(path: Path, change: Callable[[Any], object]) -> None:
    def change_member(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        change(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    rewrite(path, change_member)


def npy(values: Any, dtype: str) -> bytes:
    data = io.BytesIO()
    np.save(data, np.array(values, dtype))
    return data.getvalue()


def failure(path: Path) -> str:
    with pytest.raises(TraceReadError) as caught:
        load_trace(path)
    assert caught.value.exit_code == ExitCode.USAGE
    return str(caught.value)


def damaged(path: Path) -> str:
    """The reason in the message of a damaged trace."""
    message = failure(path)
    before, after = f"{path} is damaged or incomplete: ", ". Copy it again, or record it again."
    assert message.startswith(before)
    assert message.endswith(after)
    return message[len(before) : -len(after)]
