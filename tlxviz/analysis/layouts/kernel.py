"""All that is known of a kernel's layouts."""

from __future__ import annotations

from tlxviz.analysis.layouts.buffers import buffer_layouts
from tlxviz.analysis.layouts.context import Context
from tlxviz.analysis.layouts.model import Change, KernelLayouts
from tlxviz.analysis.layouts.tensors import conversions, tensor_layouts


def layouts_of(context: Context, changes: tuple[Change, ...] = ()) -> KernelLayouts:
    """Buffers, tensors and conversions.

    Args:
        changes: Of buffers for which somebody gives another layout.
    """
    program = context.program
    return KernelLayouts(
        kernel=program.name,
        device=context.device.title,
        ctas=program.ctas_of_program,
        buffers=buffer_layouts(context),
        tensors=tensor_layouts(context),
        conversions=conversions(context),
        changes=changes,
    )
