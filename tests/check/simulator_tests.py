"""The kernels of tests/sim, for tests of what the checker says of them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "sim"))
hangs = import_module("test_hangs")
clusters = import_module("test_cluster_faults")
cluster_runner = import_module("cluster_runner")
kernel_runner = import_module("kernel_runner")
