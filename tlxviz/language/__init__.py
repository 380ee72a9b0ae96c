"""What a kernel can say to whoever records it.

    import tlxviz.language as tv

    @triton.jit
    def kernel(...):
        tv.begin("softmax")
        ...
        tv.end("softmax")

names a stretch of the warp group's time: a trace has it as a range. Where nothing records, both are nothing: the kernel
is compiled as if they were not there.
"""

from __future__ import annotations

from typing import Any

from tlxviz import _triton
from tlxviz.ir.markers import CONSTRAINTS, fault_of_name, range_assembly

__all__ = ["begin", "end"]


@_triton.builtin
def begin(name: Any, _semantic: Any = None) -> None:
    """Begin the range `name`, a text that is known when the kernel is compiled.

    Ranges may nest, overlap and repeat. One that is never ended ends with its warp group.
    """
    _bound("begin", name, _semantic)


@_triton.builtin
def end(name: Any, _semantic: Any = None) -> None:
    """End the range `name` that this warp group began last; nothing, if it has begun none."""
    _bound("end", name, _semantic)


def _bound(bound: str, name: Any, semantic: Any) -> None:
    text = _triton.constant(name)
    fault = fault_of_name(text)
    if fault:
        raise ValueError(fault)
    if _triton.ranges_recorded():
        _triton.write_assembly(range_assembly(bound, text), CONSTRAINTS, semantic)
