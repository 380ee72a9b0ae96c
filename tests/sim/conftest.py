"""What the tests of the simulator share; its place puts `kernel_runner` on their path."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
