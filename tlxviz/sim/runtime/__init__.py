"""What generated code calls while a kernel runs."""

from tlxviz.sim.runtime.names import namespace

__all__ = ["namespace"]
