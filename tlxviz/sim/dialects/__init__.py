"""The semantics of operations, one module per dialect; each registers what it knows."""

from __future__ import annotations


def load() -> None:
    """Imports every dialect."""
    from tlxviz.sim.dialects import arith, cf, functions, gpu, math, scf, sync, tt, ttg, ttng

    del arith, cf, functions, gpu, math, scf, sync, tt, ttg, ttng
