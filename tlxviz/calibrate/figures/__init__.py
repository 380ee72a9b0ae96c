"""From what was measured to the figures of a data file: a function per figure, made known by `@figure`, a module per
section of the file.

Each says how it follows. Where a figure of the simulator is a part of what can be measured (a latency without the issue
before it and the wake-up after it), the other parts are taken off, so that their sum is what was measured.
"""

from tlxviz.calibrate.figures import alu, driver, launch, memory, sync, tensor_core, tma
from tlxviz.calibrate.figures.rules import Figure, figures, ruled

__all__ = ["Figure", "alu", "driver", "figures", "launch", "memory", "ruled", "sync", "tensor_core", "tma"]
