"""A trace file to damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from trace_samples import sample_trace

from tlxviz.trace import save_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.tlxtrace"
    save_trace(sample_trace(), path)
    return path
